//! Which branches are hardly ever taken, told to wasmtime, so that it puts what is rare behind what is not.
//!
//! A call of the component runs some thousand instructions once each, and a processor waits for the lines of code that they lie in. LLVM
//! knows by its profile what is rare, but what it makes of it has no place for that; the [branch
//! hints](https://github.com/WebAssembly/branch-hinting) have. They are counted on the module that is run in the end, function by function: a
//! function that has changed since has none (docs/boundary.md).

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::error::Error;
use wasm_encoder::reencode::{Reencode, utils};
use wasm_encoder::{
    BlockType, BranchHint, BranchHints, CodeSection, ExportKind, ExportSection, Function, Instruction, MemArg, MemorySection, MemoryType,
};
use wasm_encoder::{Module, RawSection};
use wasmparser::{FunctionBody, Operator, Parser, Payload};

use crate::rewriting::{Copied, locals};

/// The memory that a counting module exports, with a number of 8 bytes for each segment of its code.
pub const COUNTS: &str = "orbweaver:host/counts";

/// A segment is rare that runs so many times less often than the branch to it, or than its function where no branch tells.
const RARE: u64 = 64;

/// But not one that runs in each of so many calls: what is behind a loop runs less often than the loop's branch.
const USUAL: u64 = 4;

/// Pieces of code that run from their beginnings to their ends, but for traps: what begins at a function's head, behind a branch, at a loop's
/// head, and where a block ends. By the segment that each branch is in, those behind it, and the one that it goes to.
#[derive(Default)]
struct Anatomy {
    segments: usize,
    branches: Vec<Branch>,
    /// By its opcodes: what it calls, and where its data is, changes whenever anything else does.
    hash: u64,
}

struct Branch {
    segment: usize,
    /// The segment that it goes to: none where it leaves the function, or is an `if`, which goes to the one behind it or leaves it out.
    target: Option<usize>,
    is_if: bool,
}

impl Anatomy {
    fn of(body: &FunctionBody<'_>, code: &[u8]) -> Result<Self, wasmparser::Error> {
        let mut anatomy = Self { hash: 0xcbf2_9ce4_8422_2325, ..Self::default() };
        // The branches to the end of a block that is open, or where its loop begins.
        let mut blocks: Vec<Result<usize, Vec<usize>>> = vec![Err(Vec::new())];
        let mut segment = 0;
        let mut reader = body.get_operators_reader()?;
        while !reader.eof() {
            let (operator, offset) = reader.read_with_offset()?;
            let opcode = code.get(offset).copied().unwrap_or_default();
            anatomy.hash = (anatomy.hash ^ u64::from(opcode)).wrapping_mul(0x0100_0000_01b3);
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

    /// What is to be told of it, by the counts of its segments.
    fn hints(&self, counts: &[u64]) -> Hints {
        let count = |segment: usize| counts.get(segment).copied();
        let Some(entered) = count(0).filter(|&entered| entered > 0) else { return Hints::default() };
        let is_below = |segment: usize, share: u64, of: u64| count(segment).is_some_and(|count| count.saturating_mul(share) <= of);
        // Those of them that a branch tells of.
        let mut told = vec![false; self.segments];
        let mut tell = |segment: usize| told.get_mut(segment).is_some_and(|told| !std::mem::replace(told, true));
        let mut hint = |branch: &Branch| {
            let (here, behind) = (count(branch.segment)?, branch.segment + 1);
            let is_rare = |segment: usize| is_below(segment, RARE, here) && is_below(segment, USUAL, entered);
            let goes_on = is_rare(behind);
            // Where the branch itself is rare one of both can be told: what else leads to its target tells of that as a rule.
            let leaves = branch.target.filter(|&target| is_rare(target));
            match leaves {
                _ if goes_on && (branch.is_if || here > 0) => tell(behind).then_some(!branch.is_if),
                Some(target) if tell(target) => Some(false),
                _ => (goes_on && tell(behind)).then_some(true),
            }
        };
        let branches = self.branches.iter().map(&mut hint).collect();
        Hints { branches, rare: told.iter().enumerate().map(|(segment, &told)| !told && is_below(segment, RARE, entered)).collect() }
    }
}

/// What is told of a function.
#[derive(Default)]
struct Hints {
    /// Of each branch, whether it is taken, if that is to be told.
    branches: Vec<Option<bool>>,
    /// Which segments are rare, and no branch tells it.
    rare: Vec<bool>,
}

/// A module that counts how often each of its segments runs.
///
/// # Errors
/// For people: what is given is no core module, or lacks a section that this adds to.
pub fn with_counts(module: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let segments: usize = anatomies(module)?.iter().map(|(_, anatomy)| anatomy.segments).sum();
    let mut rewriter = Counting { segments: u64::try_from(segments)?, next: 0, has_memory: false, has_export: false };
    let mut rewritten = Module::new();
    rewriter.parse_core_module(&mut rewritten, Parser::new(0), module).map_err(|error| format!("a core module to count: {error}"))?;
    if !rewriter.has_memory || !rewriter.has_export || rewriter.next == 0 {
        return Err("a core module to count needs one memory, exports and code".into());
    }
    Ok(rewritten.finish())
}

/// Copies a module and adds a memory behind its own.
struct Counting {
    segments: u64,
    /// The segment that comes next, of all functions.
    next: u64,
    has_memory: bool,
    has_export: bool,
}

impl Counting {
    fn count(&mut self, function: &mut Function) {
        let place = MemArg { offset: self.next * 8, align: 3, memory_index: 1 };
        function.instructions().i32_const(0).i32_const(0).i64_load(place).i64_const(1).i64_add().i64_store(place);
        self.next += 1;
    }
}

impl Reencode for Counting {
    type Error = Infallible;

    fn parse_memory_section(&mut self, memories: &mut MemorySection, section: wasmparser::MemorySectionReader<'_>) -> Copied<()> {
        utils::parse_memory_section(self, memories, section)?;
        let pages = (self.segments * 8).div_ceil(1 << 16);
        memories.memory(MemoryType { minimum: pages, maximum: Some(pages), memory64: false, shared: false, page_size_log2: None });
        self.has_memory = memories.len() == 2;
        Ok(())
    }

    fn parse_export_section(&mut self, exports: &mut ExportSection, section: wasmparser::ExportSectionReader<'_>) -> Copied<()> {
        utils::parse_export_section(self, exports, section)?;
        exports.export(COUNTS, ExportKind::Memory, 1);
        self.has_export = true;
        Ok(())
    }

    fn parse_function_body(&mut self, code: &mut CodeSection, body: FunctionBody<'_>) -> Copied<()> {
        let mut function = Function::new(locals(self, &body)?);
        self.count(&mut function);
        let mut depth = 1;
        let mut reader = body.get_operators_reader()?;
        while !reader.eof() {
            let instruction = self.parse_instruction(&mut reader)?;
            function.instruction(&instruction);
            match instruction {
                Instruction::Block(_) | Instruction::Loop(_) | Instruction::If(_) => depth += 1,
                Instruction::End => depth -= 1,
                _ => {}
            }
            if begins_segment(&instruction) {
                if depth > 0 { self.count(&mut function) } else { self.next += 1 }
            }
        }
        code.function(&function);
        Ok(())
    }
}

fn is_branch(instruction: &Instruction<'_>) -> bool {
    matches!(instruction, Instruction::BrIf(_) | Instruction::If(_))
}

/// Whether a segment begins behind it.
fn begins_segment(instruction: &Instruction<'_>) -> bool {
    is_branch(instruction) || matches!(instruction, Instruction::Loop(_) | Instruction::Else | Instruction::End)
}

/// The functions of a module, by their numbers.
fn anatomies(module: &[u8]) -> Result<Vec<(u32, Anatomy)>, Box<dyn Error>> {
    let (mut function, mut anatomies) = (0, Vec::new());
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    function += u32::from(matches!(import?.ty, wasmparser::TypeRef::Func(_)));
                }
            }
            Payload::CodeSectionEntry(body) => {
                anatomies.push((function, Anatomy::of(&body, module)?));
                function += 1;
            }
            _ => {}
        }
    }
    Ok(anatomies)
}

/// What is kept of the counts of a module, which are in the order of its segments: those of each function that has run, by what it does.
///
/// # Errors
/// For people: this is no core module, or these are counts of another one.
pub fn profile(module: &[u8], counts: &[u64]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut functions: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut start = 0;
    for (_, anatomy) in anatomies(module)? {
        let own = counts.get(start..start + anatomy.segments).ok_or("fewer counts than segments")?;
        start += anatomy.segments;
        let sums = functions.entry(anatomy.hash).or_insert_with(|| vec![0; anatomy.segments]);
        sums.iter_mut().zip(own).for_each(|(sum, count)| *sum += count);
    }
    let mut file = Vec::new();
    for (hash, counts) in functions.into_iter().filter(|(_, counts)| counts.iter().any(|&count| count > 0)) {
        file.extend_from_slice(&hash.to_le_bytes());
        file.extend_from_slice(&u32::try_from(counts.len())?.to_le_bytes());
        // Powers of two are enough; there are 64 of them.
        file.extend(counts.iter().map(|count| u8::try_from(u64::BITS - count.leading_zeros()).unwrap_or(u8::MAX)));
    }
    Ok(file)
}

fn read_profile(mut file: &[u8]) -> Option<BTreeMap<u64, Vec<u64>>> {
    let mut functions = BTreeMap::new();
    while !file.is_empty() {
        let (hash, rest) = file.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (powers, rest) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
        let count = |&power: &u8| if power == 0 { 0 } else { 1_u64.checked_shl(u32::from(power) - 1).unwrap_or(u64::MAX) };
        functions.insert(u64::from_le_bytes(*hash), powers.iter().map(count).collect());
        file = rest;
    }
    Some(functions)
}

/// A module with hints of what is rare, by a [`profile`].
///
/// # Errors
/// For people: this is no core module, or no profile.
pub fn with_hints(module: &[u8], file: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let functions = read_profile(file).ok_or("the profile of branches is cut")?;
    let of_function = |(number, anatomy): (u32, Anatomy)| {
        let counts = functions.get(&anatomy.hash).filter(|counts| counts.len() == anatomy.segments);
        (number, counts.map(|counts| anatomy.hints(counts)).unwrap_or_default())
    };
    let mut rewriter = Hinting { functions: anatomies(module)?.into_iter().map(of_function).collect(), hints: BranchHints::new() };
    let mut rewritten = Module::new();
    rewriter.parse_core_module(&mut rewritten, Parser::new(0), module).map_err(|error| format!("a core module for hints: {error}"))?;
    // They stand in front of the code.
    let (module, mut hinted) = (rewritten.finish(), Module::new());
    for payload in Parser::new(0).parse_all(&module) {
        let payload = payload?;
        if matches!(payload, Payload::CodeSectionStart { .. }) {
            hinted.section(&rewriter.hints);
        }
        if let Some((id, range)) = payload.as_section() {
            hinted.section(&RawSection { id, data: module.get(range).unwrap_or_default() });
        }
    }
    Ok(hinted.finish())
}

struct Hinting {
    functions: VecDeque<(u32, Hints)>,
    hints: BranchHints,
}

impl Reencode for Hinting {
    type Error = Infallible;

    fn parse_function_body(&mut self, code: &mut CodeSection, body: FunctionBody<'_>) -> Copied<()> {
        let mut function = Function::new(locals(self, &body)?);
        let (number, Hints { branches, rare }) = self.functions.pop_front().unwrap_or_default();
        let (mut branches, mut rare) = (branches.into_iter(), rare.into_iter().skip(1));
        let (mut hints, mut is_rare) = (Vec::new(), false);
        let mut reader = body.get_operators_reader()?;
        while !reader.eof() {
            let instruction = self.parse_instruction(&mut reader)?;
            if std::mem::take(&mut is_rare) {
                // A block to whose end a branch goes that is told to be rare: so is what is behind it.
                function.instructions().block(BlockType::Empty).i32_const(1);
                hints.push(hint(&function, false));
                function.instructions().br_if(0).end();
            }
            if is_branch(&instruction)
                && let Some(is_taken) = branches.next().flatten()
            {
                hints.push(hint(&function, is_taken));
            }
            function.instruction(&instruction);
            is_rare = begins_segment(&instruction) && rare.next() == Some(true);
        }
        if !hints.is_empty() {
            self.hints.function_hints(number, hints);
        }
        code.function(&function);
        Ok(())
    }
}

/// The hint for the instruction that comes next.
fn hint(function: &Function, is_taken: bool) -> BranchHint {
    let offset = u32::try_from(function.byte_len()).unwrap_or(u32::MAX);
    BranchHint { branch_func_offset: offset, branch_hint_value: u32::from(is_taken) }
}
