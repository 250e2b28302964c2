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
use wasm_encoder::reencode::Reencode;
use wasm_encoder::{BlockType, BranchHint, BranchHints, CodeSection, Function, Instruction, Module, RawSection, ValType};
use wasmparser::{FunctionBody, Parser, Payload};

use crate::anatomy::{Anatomy, Branch, anatomies, begins_segment, is_branch, targets};
use crate::calls::{self, Direct, Target};
use crate::profile::read_profile;
use crate::rewriting::{Copied, locals};

/// A segment is rare that runs so many times less often than the branch to it, or than its function where no branch tells.
const RARE: u64 = 64;

/// But not one that runs in each of so many calls: what is behind a loop runs less often than the loop's branch.
const USUAL: u64 = 4;

/// What is told of a function.
#[derive(Default)]
struct Hints {
    /// Of each branch, whether it is taken, if that is to be told.
    branches: Vec<Option<bool>>,
    /// Which segments are rare, and no branch tells it.
    rare: Vec<bool>,
}

impl Hints {
    /// What is to be told of a function, by the counts of its segments.
    fn of(anatomy: &Anatomy, counts: &[u64]) -> Self {
        let count = |segment: usize| counts.get(segment).copied();
        let Some(entered) = count(0).filter(|&entered| entered > 0) else { return Self::default() };
        let is_below = |segment: usize, share: u64, of: u64| count(segment).is_some_and(|count| count.saturating_mul(share) <= of);
        // Those of them that a branch tells of.
        let mut told = vec![false; anatomy.segments];
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
        let branches = anatomy.branches.iter().map(&mut hint).collect();
        Self { branches, rare: told.iter().enumerate().map(|(segment, &told)| !told && is_below(segment, RARE, entered)).collect() }
    }
}

/// A module with hints of what is rare, and with direct calls, by a [profile](crate::profile).
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
        Told { number, hints: Hints::of(&anatomy, &known.counts), calls, locals: anatomy.locals }
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
