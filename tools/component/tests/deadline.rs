//! Core modules made by hand, given checks, and run: what has no end is ended, and nothing else.
#![allow(clippy::unwrap_used)]

use orbweaver_component::deadline::{CHECK, Checked, with_checks};
use wasm_encoder::Instruction::{self, Br, BrIf, Call, Drop, End, I32Add, I32Const, LocalGet, LocalTee};
use wasm_encoder::{BlockType, CodeSection, ConstExpr, EntityType, ExportKind, ExportSection, Function, FunctionSection, GlobalSection};
use wasm_encoder::{GlobalType, ImportSection, Module, TypeSection, ValType};
use wasmtime::{Caller, Engine, Linker, Store};

const LOOP: Instruction<'static> = Instruction::Loop(BlockType::Empty);
/// The import, and a function that does nothing.
const IMPORT: Instruction<'static> = Call(0);
const NOTHING: Instruction<'static> = Call(1);

/// Ends a loop that is to turn so often; counts in the function's local.
fn turns(turns: i32) -> Vec<Instruction<'static>> {
    vec![LocalGet(0), I32Const(-1), I32Add, LocalTee(0), I32Const(-turns), Instruction::I32GtS, BrIf(0), End]
}

fn looped(body: &[Instruction<'static>], end: &[Instruction<'static>]) -> Vec<Instruction<'static>> {
    [&[LOOP], body, end].concat()
}

fn for_ever(body: &[Instruction<'static>]) -> Vec<Instruction<'static>> {
    looped(body, &[Br(0), End])
}

/// A module of these exported functions, each with one local.
fn module(functions: &[(&str, Vec<Instruction<'static>>)]) -> Vec<u8> {
    let (mut types, mut imports, mut declared) = (TypeSection::new(), ImportSection::new(), FunctionSection::new());
    let (mut globals, mut exports, mut code) = (GlobalSection::new(), ExportSection::new(), CodeSection::new());
    types.ty().function([], []);
    imports.import("host", "slow", EntityType::Function(0));
    globals.global(GlobalType { val_type: ValType::I32, mutable: true, shared: false }, &ConstExpr::i32_const(7));
    for (index, (name, body)) in (1..).zip([("nothing", vec![])].iter().chain(functions)) {
        declared.function(0);
        exports.export(name, ExportKind::Func, index);
        let mut function = Function::new([(1, ValType::I32)]);
        body.iter().chain([&End]).for_each(|instruction| _ = function.instruction(instruction));
        code.function(&function);
    }
    let mut module = Module::new();
    module.section(&types).section(&imports).section(&declared).section(&globals).section(&exports).section(&code);
    module.finish()
}

/// What a host has been called for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Calls {
    checks: u64,
    imports: u64,
}

/// Calls an export on a host that says at the third check that it is late. Returns the text of the trap, if there was one.
fn run(checked: &Checked, export: &str) -> (Calls, Option<String>) {
    let engine = Engine::default();
    let mut linker = Linker::new(&engine);
    let check = |mut caller: Caller<'_, Calls>| {
        caller.data_mut().checks += 1;
        if caller.data().checks == 3 { Err(wasmtime::Error::msg("late")) } else { Ok(()) }
    };
    linker.func_wrap(CHECK.0, CHECK.1, check).unwrap();
    linker.func_wrap("host", "slow", |mut caller: Caller<'_, Calls>| caller.data_mut().imports += 1).unwrap();
    let module = wasmtime::Module::new(&engine, &checked.module).unwrap();
    let mut store = Store::new(&engine, Calls::default());
    let instance = linker.instantiate(&mut store, &module).unwrap();
    let ended = instance.get_typed_func::<(), ()>(&mut store, export).unwrap().call(&mut store, ());
    (store.into_data(), ended.err().map(|error| error.root_cause().to_string()))
}

fn late() -> Option<String> {
    Some("late".to_owned())
}

#[test]
fn an_endless_loop_of_calls_is_stopped() {
    let checked = with_checks(&module(&[("run", for_ever(&[NOTHING]))])).unwrap();
    assert_eq!((checked.checked, checked.counted), (1, 0));
    assert_eq!(run(&checked, "run"), (Calls { checks: 3, imports: 0 }, late()));
}

#[test]
fn an_endless_loop_around_loops_that_end_is_stopped() {
    let checked = with_checks(&module(&[("run", for_ever(&looped(&[], &turns(10))))])).unwrap();
    assert_eq!((checked.checked, checked.counted), (1, 1));
    assert_eq!(run(&checked, "run"), (Calls { checks: 3, imports: 0 }, late()));
}

#[test]
fn an_endless_loop_of_imports_is_stopped_after_few_of_them() {
    let checked = with_checks(&module(&[("run", for_ever(&[IMPORT]))])).unwrap();
    let (calls, ended) = run(&checked, "run");
    assert_eq!((calls.checks, ended), (3, late()));
    assert!((100..1000).contains(&calls.imports), "{calls:?}");
}

#[test]
fn an_endless_innermost_loop_is_stopped_without_a_call() {
    let checked = with_checks(&module(&[("run", for_ever(&[I32Const(1), Drop]))])).unwrap();
    assert_eq!((checked.checked, checked.counted), (0, 1));
    let (calls, ended) = run(&checked, "run");
    assert_eq!(calls, Calls::default());
    assert_eq!(ended.unwrap(), "wasm trap: wasm `unreachable` instruction executed");
}

#[test]
fn a_call_that_ends_in_time_does_what_it_did() {
    let body = looped(&[NOTHING, IMPORT], &turns(50));
    let checked = with_checks(&module(&[("run", body)])).unwrap();
    assert_eq!(run(&checked, "run"), (Calls { checks: 0, imports: 50 }, None));
}

#[test]
fn what_the_canonical_abi_calls_never_calls_the_host() {
    let many = looped(&[NOTHING], &turns(1_000_000));
    let functions = [("shared", many.clone()), ("cabi_realloc", vec![Call(2)]), ("cabi_post_run", many.clone()), ("run", many)];
    let checked = with_checks(&module(&functions)).unwrap();
    assert_eq!((checked.checked, checked.unchecked.len()), (1, 2), "{checked:?}");
    for (export, expected) in [("cabi_realloc", (0, None)), ("cabi_post_run", (0, None)), ("run", (3, late()))] {
        let (calls, ended) = run(&checked, export);
        assert_eq!((calls.checks, ended), expected, "{export}");
    }
}

#[test]
fn what_leads_to_a_panic_keeps_its_checks() {
    let functions = [("panic", for_ever(&[NOTHING])), ("cabi_realloc", vec![Call(2), Instruction::Unreachable])];
    let checked = with_checks(&module(&functions)).unwrap();
    assert_eq!((checked.checked, checked.unchecked.len()), (1, 0));
}

#[test]
fn what_nothing_can_be_added_to_is_refused() {
    let error = with_checks(&Module::new().finish()).unwrap_err();
    assert_eq!(error.to_string(), "a core module for checks needs imports, types and globals of its own to add to");
    assert!(with_checks(b"no module").is_err());
}
