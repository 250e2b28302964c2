//! Core modules made by hand that call by a table, and which calls are made directly then.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod modules;

use modules::{hints, instructions, run};
use orbweaver_component::counting::with_counts;
use orbweaver_component::hints::with_hints;
use orbweaver_component::profile::profile;
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, ElementSection, Elements, EntityType, ExportKind, ExportSection, Function, FunctionSection,
};
use wasm_encoder::{ImportSection, Instruction, MemorySection, MemoryType, Module, RefType, TableSection, TableType, TypeSection, ValType};
use wasmparser::Operator;

use Instruction::{Block, BrIf, CallIndirect, End, I32Add, I32Const, I32Eq, I32Eqz, I32Mul, I32WrapI64, I64Add, I64Const};
use Instruction::{If, LocalGet, LocalSet, LocalTee, Return, TableGet, TableSet, Unreachable};

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

/// A function: the number of its type, its locals, and what it does.
type Body = (u32, Vec<(u32, ValType)>, Vec<Instruction<'static>>);

/// What a module is made of; its last function is exported as `run`.
struct Made {
    imports: u32,
    functions: Vec<Body>,
    tables: u32,
    lends_its_table: bool,
    /// Where in the table each piece begins, and its functions.
    segments: Vec<(ConstExpr, Vec<u32>)>,
}

/// The types of all modules here.
const TYPES: [(&[ValType], &[ValType]); 4] =
    [(&[ValType::I32], &[ValType::I32]), (&[ValType::I32, ValType::I32], &[ValType::I32]), (&[ValType::I64], &[]), (&[], &[ValType::I64])];

impl Made {
    fn module(&self) -> Vec<u8> {
        let (mut types, mut imports, mut of_types) = (TypeSection::new(), ImportSection::new(), FunctionSection::new());
        let (mut tables, mut memories, mut elements) = (TableSection::new(), MemorySection::new(), ElementSection::new());
        let (mut exports, mut code) = (ExportSection::new(), CodeSection::new());
        TYPES.iter().for_each(|(params, results)| types.ty().function(params.iter().copied(), results.iter().copied()));
        (0..self.imports).for_each(|_| _ = imports.import("host", "negate", EntityType::Function(0)));
        memories.memory(MemoryType { minimum: 1, maximum: None, memory64: false, shared: false, page_size_log2: None });
        let table = TableType { element_type: RefType::FUNCREF, minimum: 9, maximum: Some(9), table64: false, shared: false };
        (0..self.tables).for_each(|_| _ = tables.table(table));
        for (first, functions) in &self.segments {
            elements.active(None, first, Elements::Functions(functions.as_slice().into()));
        }
        exports.export("run", ExportKind::Func, self.imports + u32::try_from(self.functions.len()).unwrap() - 1);
        if self.lends_its_table {
            exports.export("table", ExportKind::Table, 0);
        }
        for (of_type, locals, instructions) in &self.functions {
            of_types.function(*of_type);
            let mut function = Function::new(locals.clone());
            instructions.iter().chain([&End]).for_each(|instruction| _ = function.instruction(instruction));
            code.function(&function);
        }
        let mut module = Module::new();
        module.section(&types).section(&imports).section(&of_types).section(&tables).section(&memories).section(&exports);
        module.section(&elements).section(&code);
        module.finish()
    }
}

/// A module of these functions: some of one parameter that are not in the table, those that are, and `run`.
fn made(before: &[Vec<Instruction<'static>>], run: &[Instruction<'static>]) -> Made {
    let first = u32::try_from(before.len()).unwrap();
    let with_type = before.iter().cloned().map(|body| (0, body)).chain([0, 0, 0, 1].into_iter().zip(called()));
    let functions = with_type.chain([(1, run.to_vec())]).map(|(of_type, body)| (of_type, Vec::new(), body)).collect();
    let segments = vec![(ConstExpr::i32_const(FIRST), (first..first + 4).collect())];
    Made { imports: 0, functions, tables: 1, lends_its_table: false, segments }
}

fn module(before: &[Vec<Instruction<'static>>], run: &[Instruction<'static>]) -> Vec<u8> {
    made(before, run).module()
}

fn counted(module: &[u8], calls: impl IntoIterator<Item = (i32, i32)>) -> Vec<u64> {
    run(&with_counts(module).unwrap(), calls).1
}

/// Which functions that one of a module, by its position among the module's own, calls directly.
fn direct_of(module: &[u8], function: u32) -> Vec<u32> {
    let called = |operator: &Operator<'_>| if let Operator::Call { function_index } = operator { Some(*function_index) } else { None };
    instructions(module, called).into_iter().filter(|((of, _), _)| *of == function).map(|(_, called)| called).collect()
}

/// Which functions the last one calls directly.
fn direct(module: &[u8]) -> Vec<u32> {
    direct_of(module, last_of(module))
}

/// The position of the last function of a module among its own.
fn last_of(module: &[u8]) -> u32 {
    let ((last, _), ()) = instructions(module, |_| Some(())).pop().unwrap();
    last
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
fn a_module_that_counts_answers_as_before_and_counts_who_is_ahead() {
    let module = module(&[], &calling());
    assert_eq!(run(&with_counts(&module).unwrap(), all()).0, run(&module, all()).0);
    let counts = counted(&module, of(0, 2).chain(of(1, 5)).chain(of(0, 1)));
    // The segments of five functions, two each; then of the first call: two for the first function, three more for the second, one against it.
    assert_eq!(counts[10..14], [4, 2, 6, 8]);
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
    assert!((0..profile.len()).all(|length| with_hints(&trained, &profile[..length]).is_err()));
    assert!(with_hints(&trained, &[&profile[..], &[0]].concat()).is_err());
}

/// `run(value, place)` with locals of its own, which calls functions of several types, an import among them, between branches.
fn with_locals(mostly: u32) -> Made {
    let first = [
        Block(BlockType::Empty),
        LocalGet(0),
        I32Const(7),
        I32Eq,
        BrIf(0),
        I64Const(1),
        LocalSet(2),
        LocalGet(2),
        I32Const(1),
        CallIndirect { type_index: 2, table_index: 0 },
        LocalGet(0),
        LocalGet(1),
        CallIndirect { type_index: 0, table_index: 0 },
        LocalTee(5),
        I32Eqz,
        If(BlockType::Empty),
        I32Const(70),
        Return,
        End,
        I32Const(2),
        CallIndirect { type_index: 3, table_index: 0 },
        LocalGet(2),
        I64Add,
        LocalSet(3),
        End,
    ];
    let behind = [LocalGet(5), LocalGet(3), I32WrapI64, I32Add, LocalGet(4), I32Add, Return, LocalGet(0), LocalGet(1)];
    let unreachable = [CallIndirect { type_index: 0, table_index: 0 }];
    let run = [&first[..], &behind, &unreachable].concat();
    let plain = |of_type, body: &[Instruction<'static>]| (of_type, Vec::new(), body.to_vec());
    let [plus, times, plus_more, _] = called();
    let functions = vec![
        plain(2, &[]),
        plain(3, &[I64Const(1000)]),
        plain(0, &plus),
        plain(0, &times),
        plain(0, &plus_more),
        (1, vec![(2, ValType::I64), (2, ValType::I32)], run),
    ];
    let segments = vec![(ConstExpr::i32_const(1), vec![1, 2]), (ConstExpr::i32_const(FIRST), vec![3, mostly, 5, 0])];
    Made { imports: 1, functions, tables: 1, lends_its_table: false, segments }
}

#[test]
fn functions_with_locals_imports_and_results_of_other_types_answer_as_before() {
    let module = with_locals(4).module();
    assert_eq!(run(&module, [(10, FIRST), (10, FIRST + 3), (7, FIRST)]).0, [Some(1012), Some(991), Some(0)]);
    for place in 0..4 {
        let counts = counted(&module, of(place, 9));
        let told = with_hints(&module, &profile(&module, &[counts]).unwrap()).unwrap();
        // What is imported has nothing to be known by.
        let expected = [&[1][..], &[3 + place.cast_unsigned()][..usize::from(place < 3)], &[2]].concat();
        assert_eq!(direct(&told), expected);
        assert_eq!(run(&told, all().chain([(7, 0)])).0, run(&module, all().chain([(7, 0)])).0);
    }
}

#[test]
fn each_hint_is_of_a_branch_or_of_a_direct_call() {
    let module = with_locals(4).module();
    let told = with_hints(&module, &profile(&module, &[counted(&module, of(1, 100))]).unwrap()).unwrap();
    let place = |operator: &Operator<'_>| match operator {
        Operator::If { blockty: wasmparser::BlockType::Empty } => Some(false),
        Operator::If { .. } => Some(true),
        _ => None,
    };
    let places = instructions(&told, place);
    assert_eq!(last_of(&told), 5);
    assert!(places.len() == 4 && places.iter().all(|((function, _), _)| *function == 5), "{places:?}");
    assert_eq!(hints(&told, 1), places, "the branch between them is never taken, and each call means what it has meant");
}

#[test]
fn a_place_that_has_come_to_hold_a_function_of_another_type_is_called_by_the_table() {
    let trained = with_locals(4).module();
    let profile = profile(&trained, &[counted(&trained, of(1, 9))]).unwrap();
    // What does the same is another function now, which takes something else.
    let mut other = with_locals(4);
    other.functions[1].0 = 3;
    other.functions[0] = (1, Vec::new(), called()[3].clone());
    other.functions[3] = (1, Vec::new(), vec![LocalGet(0), I32Const(2), I32Mul]);
    let other = other.module();
    let told = with_hints(&other, &profile).unwrap();
    assert_eq!(direct(&told), [2]);
    assert_eq!(run(&told, all()).0, run(&other, all()).0);
}

#[test]
fn callers_that_do_the_same_vote_together() {
    let mut made = made(&[], &calling());
    made.functions.insert(0, (1, Vec::new(), calling()));
    made.segments = vec![(ConstExpr::i32_const(FIRST), vec![1, 2, 3, 4])];
    let module = made.module();
    let told = with_hints(&module, &profile(&module, &[counted(&module, of(1, 9))]).unwrap()).unwrap();
    // The one that never ran is told what the other one means.
    assert_eq!((direct_of(&told, 0), direct_of(&told, 5)), (vec![2, 4], vec![2, 4]));
}

#[test]
fn a_table_that_may_be_another_one_is_refused() {
    let refused = |change: &dyn Fn(&mut Made)| {
        let mut made = made(&[], &calling());
        change(&mut made);
        let module = made.module();
        let error = with_counts(&module).unwrap_err().to_string();
        assert_eq!(profile(&module, &[]).unwrap_err().to_string(), error);
        error
    };
    assert_eq!(refused(&|made| made.tables = 2), "a core module with several tables");
    assert_eq!(refused(&|made| made.lends_its_table = true), "a core module that lends its table");
    let sum = ConstExpr::i32_const(1).with_i32_const(2).with_i32_add();
    assert_eq!(refused(&|made| made.segments[0].0 = sum.clone()), "a core module whose table is filled from a place that is not constant");
    let change = [I32Const(3), I32Const(4), TableGet(0), TableSet(0)];
    assert_eq!(refused(&|made| made.functions[0].2.splice(0..0, change.clone()).for_each(drop)), "a core module that changes its table");
}
