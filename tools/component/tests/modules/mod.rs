//! What tests of core modules made by hand have in common.

use orbweaver_component::counting::COUNTS;
use wasmparser::{KnownCustom, Operator, Parser, Payload};
use wasmtime::{Config, Engine, Linker, Store, WasmParams};

/// What `run` of a module answers to each of these; `None` where it traps; and what the module has counted then.
pub fn run<P: WasmParams>(module: &[u8], calls: impl IntoIterator<Item = P>) -> (Vec<Option<i32>>, Vec<u64>) {
    let engine = Engine::new(Config::new().wasm_branch_hinting(true)).unwrap();
    let mut store = Store::new(&engine, ());
    let mut linker = Linker::new(&engine);
    linker.func_wrap("host", "negate", |number: i32| -number).unwrap();
    let instance = linker.instantiate(&mut store, &wasmtime::Module::new(&engine, module).unwrap()).unwrap();
    let run = instance.get_typed_func::<P, i32>(&mut store, "run").unwrap();
    let answers = calls.into_iter().map(|call| run.call(&mut store, call).ok()).collect();
    let counts = instance.get_memory(&mut store, COUNTS);
    let counts = counts.map_or(&[][..], |counts| counts.data(&store).as_chunks().0).iter().map(|&count| u64::from_le_bytes(count));
    (answers, counts.collect())
}

/// Where an instruction is: the position of its function among those of the module's own, and its offset in that.
pub type At = (u32, usize);

/// The hints of a module that imports so many functions: where the branches are, and whether they are taken.
pub fn hints(module: &[u8], imports: u32) -> Vec<(At, bool)> {
    let mut hints = Vec::new();
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::CustomSection(section) = payload.unwrap()
            && let KnownCustom::BranchHints(reader) = section.as_known()
        {
            for of_function in reader {
                let of_function = of_function.unwrap();
                let at = |offset: u32| (of_function.func - imports, usize::try_from(offset).unwrap());
                hints.extend(of_function.hints.into_iter().map(|hint| hint.map(|hint| (at(hint.func_offset), hint.taken)).unwrap()));
            }
        }
    }
    hints
}

/// The instructions of a module that `take` makes something of, and where they are.
pub fn instructions<T>(module: &[u8], mut take: impl FnMut(&Operator<'_>) -> Option<T>) -> Vec<(At, T)> {
    let (mut taken, mut function) = (Vec::new(), 0);
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::CodeSectionEntry(body) = payload.unwrap() {
            for operator in body.get_operators_reader().unwrap().into_iter_with_offsets() {
                let (operator, offset) = operator.unwrap();
                taken.extend(take(&operator).map(|it| ((function, offset - body.range().start), it)));
            }
            function += 1;
        }
    }
    taken
}
