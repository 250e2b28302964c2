//! Core modules made by hand that call by a table, and which calls are made directly then.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use orbweaver_component::hints::{COUNTS, profile, with_counts, with_hints};
use wasm_encoder::{CodeSection, ConstExpr, ElementSection, Elements, ExportKind, ExportSection, Function, FunctionSection};
use wasm_encoder::{Instruction, MemorySection, MemoryType, Module, RefType, TableSection, TableType, TypeSection, ValType};
use wasmparser::{Operator, Parser, Payload};
use wasmtime::{Config, Engine, Instance, Store};

use Instruction::{CallIndirect, End, I32Add, I32Const, I32Eqz, I32Mul, LocalGet, Unreachable};

/// Where the table begins.
const FIRST: i32 = 3;

/// `run(value, place)`: calls the function at the place in the table with the value, then a function of another type.
fn calling() -> Vec<Instruction<'static>> {
    let first = [LocalGet(0), LocalGet(1), CallIndirect { type_index: 0, table_index: 0 }];
    let second = [LocalGet(0), I32Const(1), I32Const(FIRST + 3), CallIndirect { type_index: 1, table_index: 0 }];
    [&first[..], &second, &[I32Add]].concat()
}

/// In the table: plus one, times two, another that says plus one, and one of two parameters.
fn called() -> [Vec<Instruction<'static>>; 4] {
    let plus = |number| vec![LocalGet(0), I32Const(number), I32Add];
    [plus(1), vec![LocalGet(0), I32Const(2), I32Mul], plus(100), vec![LocalGet(0), LocalGet(1), I32Mul]]
}

/// A module of these functions, of which the table has all but `run` and one before it, in front of which nothing or something stands.
fn module(before: &[Vec<Instruction<'static>>], run: &[Instruction<'static>]) -> Vec<u8> {
    let called = called();
    let (mut types, mut of_types, mut memories) = (TypeSection::new(), FunctionSection::new(), MemorySection::new());
    let (mut tables, mut elements) = (TableSection::new(), ElementSection::new());
    let (mut exports, mut code) = (ExportSection::new(), CodeSection::new());
    types.ty().function([ValType::I32], [ValType::I32]);
    types.ty().function([ValType::I32; 2], [ValType::I32]);
    memories.memory(MemoryType { minimum: 1, maximum: None, memory64: false, shared: false, page_size_log2: None });
    let first = u32::try_from(before.len()).unwrap();
    let places: Vec<u32> = (first..).take(called.len()).collect();
    tables.table(TableType { element_type: RefType::FUNCREF, minimum: 7, maximum: Some(7), table64: false, shared: false });
    elements.active(None, &ConstExpr::i32_const(FIRST), Elements::Functions(places.into()));
    exports.export("run", ExportKind::Func, first + 4);
    let with_type = before.iter().map(|body| (0, body)).chain([0, 0, 0, 1].into_iter().zip(&called));
    for (of_type, instructions) in with_type.chain([(1, &run.to_vec())]) {
        of_types.function(of_type);
        let mut function = Function::new([]);
        instructions.iter().chain([&End]).for_each(|instruction| _ = function.instruction(instruction));
        code.function(&function);
    }
    let mut module = Module::new();
    module.section(&types).section(&of_types).section(&tables).section(&memories).section(&exports).section(&elements).section(&code);
    module.finish()
}

/// What `run` answers to each of these; `None` where it traps; and what the module has counted then.
fn run(module: &[u8], calls: impl IntoIterator<Item = (i32, i32)>) -> (Vec<Option<i32>>, Vec<u64>) {
    let engine = Engine::new(Config::new().wasm_branch_hinting(true)).unwrap();
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &wasmtime::Module::new(&engine, module).unwrap(), &[]).unwrap();
    let run = instance.get_typed_func::<(i32, i32), i32>(&mut store, "run").unwrap();
    let answers = calls.into_iter().map(|call| run.call(&mut store, call).ok()).collect();
    let counts = instance.get_memory(&mut store, COUNTS);
    let counts = counts.map_or(&[][..], |counts| counts.data(&store).as_chunks().0).iter().map(|&count| u64::from_le_bytes(count));
    (answers, counts.collect())
}

fn counted(module: &[u8], calls: impl IntoIterator<Item = (i32, i32)>) -> Vec<u64> {
    run(&with_counts(module).unwrap(), calls).1
}

/// Which functions the last one of a module calls directly.
fn direct(module: &[u8]) -> Vec<u32> {
    let mut direct = Vec::new();
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::CodeSectionEntry(body) = payload.unwrap() {
            let operators = body.get_operators_reader().unwrap().into_iter().map(Result::unwrap);
            direct = operators
                .filter_map(|operator| if let Operator::Call { function_index } = operator { Some(function_index) } else { None })
                .collect();
        }
    }
    direct
}

/// Calls of one place in the table.
fn of(place: i32, count: usize) -> impl Iterator<Item = (i32, i32)> {
    std::iter::repeat_n((10, FIRST + place), count)
}

/// All that can be asked of a module, and what traps: places without a function, one of another type, one outside.
fn all() -> impl Iterator<Item = (i32, i32)> {
    (-1..9).flat_map(|place| [(10, place), (-3, place)])
}

#[test]
fn a_call_that_mostly_means_one_function_is_made_directly_and_any_other_one_as_before() {
    let module = module(&[], &calling());
    assert_eq!(run(&module, [(10, FIRST), (10, FIRST + 1), (10, FIRST + 2), (10, FIRST + 3)]).0, [Some(21), Some(30), Some(120), None]);
    for (mostly, others) in [(1, 2), (2, 0), (0, 1)] {
        let counts = counted(&module, of(mostly, 90).chain(of(others, 10)));
        let told = with_hints(&module, &profile(&module, &[counts]).unwrap()).unwrap();
        // The second call means the last function in the table, always.
        assert_eq!(direct(&told), [mostly.cast_unsigned(), 3]);
        assert_eq!(run(&told, all()).0, run(&module, all()).0);
    }
}

#[test]
fn a_module_that_counts_answers_as_before_and_counts_what_is_ahead() {
    let module = module(&[], &calling());
    let (answers, counts) = run(&with_counts(&module).unwrap(), of(0, 2).chain(of(1, 5)).chain(of(0, 1)).chain(all()));
    assert_eq!(answers[8..], run(&module, all()).0);
    // Behind the segments: five for and three against, then two calls of each place, those that trap included; and all that have come so far.
    let votes = &counts[counts.iter().position(|&count| count == u64::from(FIRST.cast_unsigned()) + 3).unwrap() - 2..];
    assert_eq!(votes[3], 14);
}

#[test]
fn calls_that_mean_several_functions_are_left() {
    let module = module(&[], &calling());
    let counts = counted(&module, (0..30).flat_map(|number| of(number % 3, 1)));
    assert_eq!(direct(&with_hints(&module, &profile(&module, &[counts]).unwrap()).unwrap()), [3]);
    // So are those on which instances do not agree.
    let instances = [counted(&module, of(0, 50)), counted(&module, of(1, 50)), counted(&module, of(2, 1))];
    assert_eq!(direct(&with_hints(&module, &profile(&module, &instances).unwrap()).unwrap()), [3]);
    let instances = [counted(&module, of(0, 50)), counted(&module, of(1, 500)), counted(&module, of(1, 5))];
    assert_eq!(direct(&with_hints(&module, &profile(&module, &instances).unwrap()).unwrap()), [1, 3]);
}

#[test]
fn a_function_in_the_table_is_known_again_by_what_it_does() {
    let trained = module(&[], &calling());
    let profile = profile(&trained, &[counted(&trained, of(2, 9))]).unwrap();
    // Another function stands in front; the two that do the same are told apart by their order.
    let other = module(&[vec![LocalGet(0), I32Eqz]], &calling());
    let told = with_hints(&other, &profile).unwrap();
    assert_eq!(direct(&told), [3, 4]);
    assert_eq!(run(&told, all()).0, run(&other, all()).0);
}

#[test]
fn what_never_ran_or_has_changed_is_left() {
    let module_of = |run: &[Instruction<'static>]| module(&[], run);
    let never = module_of(&[&[Unreachable][..], &calling()].concat());
    assert!(direct(&with_hints(&never, &profile(&never, &[counted(&never, of(1, 5))]).unwrap()).unwrap()).is_empty());
    let trained = module_of(&calling());
    let profile = profile(&trained, &[counted(&trained, of(1, 5))]).unwrap();
    let changed = module_of(&[&calling()[..], &[I32Eqz]].concat());
    assert!(direct(&with_hints(&changed, &profile).unwrap()).is_empty());
    assert!((1..profile.len()).rev().take(20).all(|length| with_hints(&trained, &profile[..length]).is_err()));
}
