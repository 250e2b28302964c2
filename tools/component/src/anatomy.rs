//! What functions consist of: pieces of code between branches, and calls by a table; and what they are known by in another build.

use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use wasm_encoder::Instruction;
use wasmparser::{FunctionBody, Operator, Parser, Payload};

use crate::calls::{self, Direct, Target};

/// Where FNV-1a begins.
const HASH_OF_NOTHING: u64 = 0xcbf2_9ce4_8422_2325;

/// The hash with one byte more.
const fn hash(hash: u64, byte: u8) -> u64 {
    (hash ^ byte as u64).wrapping_mul(0x0100_0000_01b3)
}

/// Pieces of code that run from their beginnings to their ends, but for traps: what begins at a function's head, behind a branch, at a loop's
/// head, and where a block ends. By the segment that each branch is in, those behind it, and the one that it goes to.
#[derive(Default)]
pub struct Anatomy {
    pub segments: usize,
    pub branches: Vec<Branch>,
    /// The segment of each call by a table.
    pub calls: Vec<usize>,
    changes_a_table: bool,
    /// How many parameters and locals it has.
    pub locals: u32,
    of_type: FunctionType,
    /// By its opcodes: what it calls, and where its data is, changes whenever anything else does.
    pub hash: u64,
}

/// The type of a function.
#[derive(Clone, Copy, Default)]
struct FunctionType {
    index: u32,
    params: u32,
    /// By its parameters and results.
    hash: u64,
}

pub struct Branch {
    pub segment: usize,
    /// The segment that it goes to: none where it leaves the function, or is an `if`, which goes to the one behind it or leaves it out.
    pub target: Option<usize>,
    pub is_if: bool,
}

impl Anatomy {
    fn of(body: &FunctionBody<'_>, of_type: FunctionType, code: &[u8]) -> Result<Self, wasmparser::Error> {
        let mut anatomy = Self { hash: HASH_OF_NOTHING, locals: of_type.params, of_type, ..Self::default() };
        for several in body.get_locals_reader()? {
            anatomy.locals += several?.0;
        }
        // The branches to the end of a block that is open, or where its loop begins.
        let mut blocks: Vec<Result<usize, Vec<usize>>> = vec![Err(Vec::new())];
        let mut segment = 0;
        let mut reader = body.get_operators_reader()?;
        while !reader.eof() {
            let (operator, offset) = reader.read_with_offset()?;
            let opcode = code.get(offset).copied().unwrap_or_default();
            anatomy.hash = hash(anatomy.hash, opcode);
            anatomy.changes_a_table |= calls::changes_a_table(&operator);
            match operator {
                Operator::Loop { .. } => {
                    segment += 1;
                    blocks.push(Ok(segment));
                }
                Operator::Block { .. } => blocks.push(Err(Vec::new())),
                Operator::BrIf { relative_depth } => {
                    let depth = usize::try_from(relative_depth).unwrap_or(usize::MAX);
                    let number = anatomy.branches.len();
                    let mut target = None;
                    match blocks.iter_mut().nth_back(depth) {
                        Some(Ok(head)) => target = Some(*head),
                        Some(Err(waiting)) => waiting.push(number),
                        None => {}
                    }
                    anatomy.branches.push(Branch { segment, target, is_if: false });
                    segment += 1;
                }
                Operator::If { .. } => {
                    anatomy.branches.push(Branch { segment, target: None, is_if: true });
                    segment += 1;
                    blocks.push(Err(Vec::new()));
                }
                Operator::CallIndirect { .. } => anatomy.calls.push(segment),
                Operator::Else => segment += 1,
                Operator::End => {
                    segment += 1;
                    let waiting = blocks.pop().and_then(Result::err).filter(|_| !blocks.is_empty());
                    for number in waiting.unwrap_or_default() {
                        if let Some(branch) = anatomy.branches.get_mut(number) {
                            branch.target = Some(segment);
                        }
                    }
                }
                _ => {}
            }
        }
        anatomy.segments = segment + 1;
        Ok(anatomy)
    }
}

/// Whether it goes one way or the other.
pub const fn is_branch(instruction: &Instruction<'_>) -> bool {
    matches!(instruction, Instruction::BrIf(_) | Instruction::If(_))
}

/// Whether a segment begins behind it.
pub const fn begins_segment(instruction: &Instruction<'_>) -> bool {
    is_branch(instruction) || matches!(instruction, Instruction::Loop(_) | Instruction::Else | Instruction::End)
}

/// The functions of a module, by their numbers.
///
/// # Errors
/// For people: this is no core module.
pub fn anatomies(module: &[u8]) -> Result<Vec<(u32, Anatomy)>, Box<dyn Error>> {
    let (mut function, mut anatomies) = (0, Vec::new());
    let (mut types, mut of_types) = (Vec::new(), VecDeque::new());
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::TypeSection(section) => {
                for (index, of_type) in (0..).zip(section.into_iter_err_on_gc_types()) {
                    let of_type = of_type?;
                    let hash = format!("{of_type:?}").bytes().fold(HASH_OF_NOTHING, hash);
                    types.push(FunctionType { index, params: u32::try_from(of_type.params().len())?, hash });
                }
            }
            Payload::FunctionSection(section) => {
                for of_function in section {
                    of_types.push_back(types.get(usize::try_from(of_function?)?).copied().unwrap_or_default());
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    function += u32::from(matches!(import?.ty, wasmparser::TypeRef::Func(_)));
                }
            }
            Payload::CodeSectionEntry(body) => {
                anatomies.push((function, Anatomy::of(&body, of_types.pop_front().unwrap_or_default(), module)?));
                function += 1;
            }
            _ => {}
        }
    }
    Ok(anatomies)
}

/// The functions of a module's table, and what they are known by in another build.
///
/// # Errors
/// As [`calls::table`]; and where the table may change.
pub fn targets(module: &[u8], anatomies: &[(u32, Anatomy)]) -> Result<Vec<(Direct, Target)>, Box<dyn Error>> {
    if anatomies.iter().any(|(_, anatomy)| anatomy.changes_a_table) {
        return Err("a core module that changes its table".into());
    }
    let anatomies: BTreeMap<u32, &Anatomy> = anatomies.iter().map(|(function, anatomy)| (*function, anatomy)).collect();
    let mut alike: BTreeMap<u64, u32> = BTreeMap::new();
    let target = |(place, function)| {
        let Anatomy { hash, of_type, .. } = anatomies.get(&function)?;
        let hash = hash ^ of_type.hash;
        let number = alike.entry(hash).or_default();
        *number += 1;
        Some((Direct { place, function, type_index: of_type.index }, Target { hash, number: *number }))
    };
    Ok(calls::table(module)?.into_iter().filter_map(target).collect())
}
