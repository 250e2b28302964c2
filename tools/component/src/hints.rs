//! Which branches are hardly ever taken, told to wasmtime, so that it puts what is rare behind what is not; and which functions
//! calls by a table mean.
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
use wasm_encoder::{Module, RawSection, ValType};
use wasmparser::{FunctionBody, Operator, Parser, Payload};

use crate::calls::{self, Direct, Target, VOTE_WORDS, Vote};
use crate::rewriting::{Copied, locals};

/// The memory that a counting module exports: numbers of 8 bytes, one for each segment of its code, and two for each call by a table.
pub const COUNTS: &str = "orbweaver:host/counts";

/// A segment is rare that runs so many times less often than the branch to it, or than its function where no branch tells.
const RARE: u64 = 64;

/// But not one that runs in each of so many calls: what is behind a loop runs less often than the loop's branch.
const USUAL: u64 = 4;

/// Where FNV-1a begins.
const HASH_OF_NOTHING: u64 = 0xcbf2_9ce4_8422_2325;

/// The hash with one byte more.
const fn hash(hash: u64, byte: u8) -> u64 {
    (hash ^ byte as u64).wrapping_mul(0x0100_0000_01b3)
}

/// Pieces of code that run from their beginnings to their ends, but for traps: what begins at a function's head, behind a branch, at a loop's
/// head, and where a block ends. By the segment that each branch is in, those behind it, and the one that it goes to.
#[derive(Default)]
struct Anatomy {
    segments: usize,
    branches: Vec<Branch>,
    /// The segment of each call by a table.
    calls: Vec<usize>,
    changes_a_table: bool,
    /// How many parameters and locals it has.
    locals: u32,
    of_type: FunctionType,
    /// By its opcodes: what it calls, and where its data is, changes whenever anything else does.
    hash: u64,
}

/// The type of a function.
#[derive(Clone, Copy, Default)]
struct FunctionType {
    index: u32,
    params: u32,
    /// By its parameters and results.
    hash: u64,
}

struct Branch {
    segment: usize,
    /// The segment that it goes to: none where it leaves the function, or is an `if`, which goes to the one behind it or leaves it out.
    target: Option<usize>,
    is_if: bool,
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

/// A module that counts how often each of its segments runs, and which functions its calls by a table mean.
///
/// # Errors
/// For people: what is given is no core module, or lacks a section that this adds to.
pub fn with_counts(module: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let anatomies = anatomies(module)?;
    // What cannot be told of in the end is not counted either.
    targets(module, &anatomies)?;
    let segments: usize = anatomies.iter().map(|(_, anatomy)| anatomy.segments).sum();
    let calls: usize = anatomies.iter().map(|(_, anatomy)| anatomy.calls.len()).sum();
    let mut rewriter = Counting {
        words: u64::try_from(segments + calls * VOTE_WORDS)?,
        next: 0,
        next_vote: u64::try_from(segments)?,
        locals: anatomies.iter().map(|(_, anatomy)| anatomy.locals).collect(),
        has_memory: false,
        has_export: false,
    };
    let mut rewritten = Module::new();
    rewriter.parse_core_module(&mut rewritten, Parser::new(0), module).map_err(|error| format!("a core module to count: {error}"))?;
    if !rewriter.has_memory || !rewriter.has_export || rewriter.next == 0 {
        return Err("a core module to count needs one memory, exports and code".into());
    }
    Ok(rewritten.finish())
}

/// Copies a module and adds a memory behind its own.
struct Counting {
    /// How many words it has.
    words: u64,
    /// The segment that comes next, of all functions.
    next: u64,
    /// Where the next call's words are.
    next_vote: u64,
    /// How many parameters and locals the functions have.
    locals: VecDeque<u32>,
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
        let pages = (self.words * 8).div_ceil(1 << 16);
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
        let scratch = self.locals.pop_front().unwrap_or_default();
        let mut function = Function::new([locals(self, &body)?, vec![(1, ValType::I32)]].concat());
        self.count(&mut function);
        let mut depth = 1;
        let mut reader = body.get_operators_reader()?;
        while !reader.eof() {
            let instruction = self.parse_instruction(&mut reader)?;
            if matches!(instruction, Instruction::CallIndirect { .. }) {
                calls::count(&mut function, scratch, self.next_vote * 8);
                self.next_vote += u64::try_from(VOTE_WORDS).unwrap_or_default();
            }
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
fn targets(module: &[u8], anatomies: &[(u32, Anatomy)]) -> Result<Vec<(Direct, Target)>, Box<dyn Error>> {
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

/// What has been counted of all functions that do the same: those that mean different functions vote against each other.
struct Counted<'a> {
    segments: Vec<u64>,
    votes: Vec<Vote>,
    /// The segments of the calls that these are of.
    calls: &'a [usize],
}

impl<'a> Counted<'a> {
    fn nothing(anatomy: &'a Anatomy) -> Self {
        Self { segments: vec![0; anatomy.segments], votes: vec![Vote::default(); anatomy.calls.len()], calls: &anatomy.calls }
    }

    /// Which calls, by their numbers, mean mostly one function.
    fn winners(&self) -> Vec<(u32, Target)> {
        let winner = |(vote, segment): (&Vote, &usize)| vote.winner(self.segments.get(*segment).copied()?);
        (0..).zip(self.votes.iter().zip(self.calls).map(winner)).filter_map(|(call, target)| Some((call, target?))).collect()
    }
}

/// What is kept of the counts of a module's instances, which are in the order of its segments, and of its calls behind them: those of each function
/// that has run, by what it does.
///
/// # Errors
/// For people: this is no core module, or these are counts of another one.
pub fn profile(module: &[u8], instances: &[Vec<u64>]) -> Result<Vec<u8>, Box<dyn Error>> {
    let anatomies = anatomies(module)?;
    let targets = targets(module, &anatomies)?.into_iter().map(|(direct, target)| (direct.place.into(), target));
    let targets: BTreeMap<u64, Target> = targets.collect();
    let segments: usize = anatomies.iter().map(|(_, anatomy)| anatomy.segments).sum();
    let mut functions: BTreeMap<u64, Counted<'_>> = BTreeMap::new();
    let (mut start, mut votes_start) = (0, segments);
    for (_, anatomy) in &anatomies {
        let (end, votes_end) = (start + anatomy.segments, votes_start + anatomy.calls.len() * VOTE_WORDS);
        let sums = functions.entry(anatomy.hash).or_insert_with(|| Counted::nothing(anatomy));
        for counts in instances {
            let own = counts.get(start..end).zip(counts.get(votes_start..votes_end));
            let (own, votes) = own.ok_or("fewer counts than segments and calls")?;
            sums.segments.iter_mut().zip(own).for_each(|(sum, count)| *sum = sum.saturating_add(*count));
            let (votes, _) = votes.as_chunks::<VOTE_WORDS>();
            let votes = votes.iter().map(|[place, lead]| Vote::of(targets.get(place).copied(), *lead));
            sums.votes.iter_mut().zip(votes).for_each(|(sum, vote)| sum.add(vote));
        }
        (start, votes_start) = (end, votes_end);
    }
    functions.retain(|_, counted| counted.segments.iter().any(|&count| count > 0));
    let mut file = u32::try_from(functions.len())?.to_le_bytes().to_vec();
    for (hash, counted) in functions {
        file.extend_from_slice(&hash.to_le_bytes());
        file.extend_from_slice(&u32::try_from(counted.segments.len())?.to_le_bytes());
        // Powers of two are enough; there are 64 of them.
        file.extend(counted.segments.iter().map(|count| u8::try_from(u64::BITS - count.leading_zeros()).unwrap_or(u8::MAX)));
        let winners = counted.winners();
        file.extend_from_slice(&u32::try_from(winners.len())?.to_le_bytes());
        for (call, Target { hash, number }) in winners {
            file.extend_from_slice(&call.to_le_bytes());
            file.extend_from_slice(&hash.to_le_bytes());
            file.extend_from_slice(&number.to_le_bytes());
        }
    }
    Ok(file)
}

/// What a profile has of a function.
struct Known {
    counts: Vec<u64>,
    /// What some of its calls by a table mean, by their numbers.
    calls: BTreeMap<u32, Target>,
}

fn read_profile(mut file: &[u8]) -> Option<BTreeMap<u64, Known>> {
    let file = &mut file;
    let mut functions = BTreeMap::new();
    for _ in 0..u32::from_le_bytes(take(file)?) {
        let hash = u64::from_le_bytes(take(file)?);
        let length = u32::from_le_bytes(take(file)?);
        let powers = file.split_off(..usize::try_from(length).ok()?)?;
        let count = |&power: &u8| if power == 0 { 0 } else { 1_u64.checked_shl(u32::from(power) - 1).unwrap_or(u64::MAX) };
        let mut calls = BTreeMap::new();
        for _ in 0..u32::from_le_bytes(take(file)?) {
            let call = u32::from_le_bytes(take(file)?);
            calls.insert(call, Target { hash: u64::from_le_bytes(take(file)?), number: u32::from_le_bytes(take(file)?) });
        }
        functions.insert(hash, Known { counts: powers.iter().map(count).collect(), calls });
    }
    file.is_empty().then_some(functions)
}

/// The next bytes of a file.
fn take<const N: usize>(file: &mut &[u8]) -> Option<[u8; N]> {
    file.split_off(..N)?.try_into().ok()
}

/// A module with hints of what is rare, and with direct calls, by a [`profile`].
///
/// # Errors
/// For people: this is no core module, or no profile.
pub fn with_hints(module: &[u8], file: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let functions = read_profile(file).ok_or("the profile of branches is cut, or of another version: cargo xtask profile")?;
    let anatomies = anatomies(module)?;
    let targets: BTreeMap<Target, Direct> = targets(module, &anatomies)?.into_iter().map(|(direct, target)| (target, direct)).collect();
    let of_function = |(number, anatomy): (u32, Anatomy)| {
        let Some(known) = functions.get(&anatomy.hash).filter(|known| known.counts.len() == anatomy.segments) else {
            return Told { number, ..Told::default() };
        };
        let calls = known.calls.iter().filter_map(|(&call, target)| Some((call, *targets.get(target)?))).collect();
        Told { number, hints: anatomy.hints(&known.counts), calls, locals: anatomy.locals }
    };
    let mut rewriter = Hinting { functions: anatomies.into_iter().map(of_function).collect(), hints: BranchHints::new() };
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

/// What is changed in a function.
#[derive(Default)]
struct Told {
    /// Its own number.
    number: u32,
    hints: Hints,
    /// What some of its calls by a table mean mostly, by their numbers.
    calls: BTreeMap<u32, Direct>,
    /// How many parameters and locals it has.
    locals: u32,
}

struct Hinting {
    functions: VecDeque<Told>,
    hints: BranchHints,
}

impl Reencode for Hinting {
    type Error = Infallible;

    fn parse_function_body(&mut self, code: &mut CodeSection, body: FunctionBody<'_>) -> Copied<()> {
        let Told { number, hints: Hints { branches, rare }, calls, locals: scratch } = self.functions.pop_front().unwrap_or_default();
        let mut locals = locals(self, &body)?;
        locals.extend((!calls.is_empty()).then_some((1, ValType::I32)));
        let mut function = Function::new(locals);
        let (mut branches, mut rare, mut call) = (branches.into_iter(), rare.into_iter().skip(1), 0);
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
            if let Instruction::CallIndirect { type_index, table_index } = instruction {
                call += 1;
                // Types are in a module once each.
                if let Some(&direct) = calls.get(&(call - 1)).filter(|direct| direct.type_index == type_index) {
                    calls::call(&mut function, direct, scratch, table_index, |function| hints.push(hint(function, true)));
                    continue;
                }
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
