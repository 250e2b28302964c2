//! Core modules made by hand, what they count, and what is told of them then.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod modules;

use modules::At;
use orbweaver_component::counting::with_counts;
use orbweaver_component::hints::with_hints;
use orbweaver_component::profile::profile;
use wasm_encoder::{BlockType, CodeSection, ExportKind, ExportSection, Function, FunctionSection, Instruction, MemorySection};
use wasm_encoder::{MemoryType, Module, TypeSection, ValType};
use wasmparser::Operator;

use Instruction::{Block, Br, BrIf, Else, End, I32Add, I32Const, I32Eq, I32LtS, If, LocalGet, LocalTee, Loop, Return};

const N: Instruction<'static> = LocalGet(0);
const TURNS: Instruction<'static> = LocalGet(1);

/// Counts up to its parameter; of 7, -1.
fn counting() -> Vec<Instruction<'static>> {
    let block = [Block(BlockType::Empty), N, I32Const(7), I32Eq, BrIf(0)];
    let turns = [Loop(BlockType::Empty), TURNS, I32Const(1), I32Add, LocalTee(1), N, I32LtS, BrIf(0), End];
    [&block[..], &turns, &[TURNS, Return, End, I32Const(-1)]].concat()
}

/// Of 7 and 8 something that takes branches of its own.
fn branching() -> Vec<Instruction<'static>> {
    let rare = [If(BlockType::Empty), I32Const(70), Return, Else, Block(BlockType::Empty), Br(0), End, End, I32Const(80), Return, End];
    let head = [Block(BlockType::Empty), N, I32Const(7), I32LtS, BrIf(0), N, I32Const(7), I32Eq];
    [&head[..], &rare, &[N]].concat()
}

/// A module of these functions from a number to a number, the last of which is exported as `run`.
fn module(functions: &[Vec<Instruction<'static>>]) -> Vec<u8> {
    let (mut types, mut of_types, mut memories) = (TypeSection::new(), FunctionSection::new(), MemorySection::new());
    let (mut exports, mut code) = (ExportSection::new(), CodeSection::new());
    types.ty().function([ValType::I32], [ValType::I32]);
    memories.memory(MemoryType { minimum: 1, maximum: None, memory64: false, shared: false, page_size_log2: None });
    exports.export("run", ExportKind::Func, u32::try_from(functions.len()).unwrap() - 1);
    for instructions in functions {
        of_types.function(0);
        let mut function = Function::new([(1, ValType::I32)]);
        instructions.iter().chain([&End]).for_each(|instruction| _ = function.instruction(instruction));
        code.function(&function);
    }
    let mut module = Module::new();
    module.section(&types).section(&of_types).section(&memories).section(&exports).section(&code);
    module.finish()
}

/// What `run` answers to each of these, none of which traps, and what the module has counted then.
fn run(module: &[u8], numbers: impl IntoIterator<Item = i32>) -> (Vec<i32>, Vec<u64>) {
    let (answers, counts) = modules::run(module, numbers);
    (answers.into_iter().map(Option::unwrap).collect(), counts)
}

/// A profile of the module, after it has run with these numbers.
fn profiled(module: &[u8], numbers: impl IntoIterator<Item = i32>) -> Vec<u8> {
    profile(module, &[run(&with_counts(module).unwrap(), numbers).1]).unwrap()
}

/// The hints of a module: of which function, whether it is of a branch whose number in it is given, and whether that is taken.
fn hints(module: &[u8]) -> Vec<(u32, Option<usize>, bool)> {
    let is_branch = |operator: &Operator<'_>| matches!(operator, Operator::BrIf { .. } | Operator::If { .. }).then_some(());
    let branches: Vec<At> = modules::instructions(module, is_branch).into_iter().map(|(at, ())| at).collect();
    let number = |at: At| branches.iter().filter(|(function, _)| *function == at.0).position(|branch| *branch == at);
    modules::hints(module, 0).into_iter().map(|(at, is_taken)| (at.0, number(at), is_taken)).collect()
}

#[test]
fn each_piece_of_code_that_runs_from_its_beginning_to_its_end_is_counted() {
    let (answers, counts) = run(&with_counts(&module(&[counting()])).unwrap(), [3, 3, 7, 5]);
    assert_eq!(answers, [3, 3, -1, 5]);
    // Up to the first branch; up to the loop; its turns; behind its branch; behind it; behind the block; and nothing behind the function.
    assert_eq!(counts[..7], [4, 3, 11, 3, 3, 1, 0]);
    assert!(counts[7..].iter().all(|&count| count == 0));
}

#[test]
fn a_branch_that_is_nearly_always_taken_or_never_is_told() {
    let module = module(&[branching(), counting()]);
    let hinted = with_hints(&module, &profiled(&module, (0..200).chain([500; 100]))).unwrap();
    // Nobody has run the first function. What is behind the loop runs less often than the loop, but each time.
    assert_eq!(hints(&hinted), [(1, Some(0), false)]);
    let numbers = [0, 1, 6, 7, 8, 1000];
    assert_eq!(run(&hinted, numbers).0, run(&module, numbers).0);
    // Half of the branches go one way, or all of them the other.
    assert_eq!(hints(&with_hints(&module, &profiled(&module, [1, 7])).unwrap()), []);
    let hinted = with_hints(&module, &profiled(&module, [7; 100])).unwrap();
    assert_eq!(hints(&hinted)[0], (1, Some(0), true));
    assert_eq!(run(&hinted, numbers).0, run(&module, numbers).0);
}

#[test]
fn what_is_rare_within_what_is_rare_is_told_whatever_leads_there() {
    let module = module(&[branching()]);
    let mut once: Vec<i32> = vec![3; 1000];
    once.push(7);
    for numbers in [vec![3; 100], once] {
        let hinted = with_hints(&module, &profiled(&module, numbers)).unwrap();
        let hints = hints(&hinted);
        // The branch over it; its own; and in front of what no branch tells of, a block whose end one goes to.
        assert_eq!(hints[0], (0, Some(0), true));
        assert!(hints.len() > 3 && hints.iter().all(|(function, branch, _)| *function == 0 && branch.is_some()), "{hints:?}");
        assert_eq!(run(&hinted, 0..10).0, run(&module, 0..10).0);
    }
}

#[test]
fn a_function_is_known_again_by_what_it_does_and_not_by_its_place() {
    let (alone, numbers) = (module(&[counting()]), [200; 100]);
    let profile = profiled(&alone, numbers);
    assert_eq!(hints(&with_hints(&module(&[branching(), counting()]), &profile).unwrap()), [(1, Some(0), false)]);
    let mut changed = counting();
    changed.extend([I32Const(0), I32Add]);
    assert_eq!(hints(&with_hints(&module(&[changed]), &profile).unwrap()), []);
}

#[test]
fn what_cannot_be_counted_or_told_is_refused() {
    let module = module(&[counting()]);
    let profile = profiled(&module, [1]);
    assert_eq!(
        with_hints(&module, &profile[..profile.len() - 1]).unwrap_err().to_string(),
        "the profile of branches is cut, or of another version: cargo xtask profile"
    );
    assert!(with_hints(b"no module", &profile).is_err());
    assert!(with_counts(b"no module").is_err());
    assert_eq!(
        orbweaver_component::profile::profile(&module, &[vec![1, 2]]).unwrap_err().to_string(),
        "fewer counts than segments and calls"
    );
    assert_eq!(with_counts(&Module::new().finish()).unwrap_err().to_string(), "a core module to count needs one memory, exports and code");
}
