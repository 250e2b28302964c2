//! Checks in loops: a core module is rewritten so that, however long it runs, it soon asks its host whether it may go on.
//!
//! * A loop that has loops or calls in it counts down a counter of the module's, each time at its head. So does each call of an
//!   import, by `IMPORT_TURNS`, for it may be slow. Below zero the counter is set up again, and [`CHECK`] is called: an import that
//!   traps where the call under way is late.
//! * An innermost loop without calls counts its turns in a register, and traps at 2^32: no pass over a memory of 4 GiB has as many. A
//!   call there, even one that is never made, would keep its other registers on the stack.
//!
//! What has no end has one of these loops, or recurses until the stack is full. All this costs a fraction of wasmtime's epochs, which
//! look at a clock on entry to every function as well (docs/boundary.md).
//!
//! While the host calls the canonical ABI's own functions, `cabi_realloc` and `cabi_post_*`, no import may be called: what those
//! reach by direct calls has no checks of the first kind. It is the allocator, whose loops end.

use crate::rewriting::{Copied, locals};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::error::Error;
use wasm_encoder::reencode::{Reencode, utils};
use wasm_encoder::{BlockType, CodeSection, ConstExpr, EntityType, Function, GlobalSection, GlobalType, ImportSection, Instruction};
use wasm_encoder::{Module, TypeSection, ValType};
use wasmparser::{FunctionBody, Operator, Parser, Payload, TypeRef};

/// The import that is called from time to time: module and function. No parameters, no results.
pub const CHECK: (&str, &str) = ("orbweaver:host/deadline", "check");

/// Turns of loops between two checks, each of which takes a tenth of a microsecond. A lone GET makes 24 such turns, and four calls of
/// imports.
const TURNS: i32 = 1 << 12;

/// Calls of imports count as so many turns: a store behind a network takes milliseconds for one.
const IMPORT_TURNS: i32 = 1 << 5;

/// A core module with checks.
#[derive(Debug)]
pub struct Checked {
    /// The module.
    pub module: Vec<u8>,
    /// How many of its loops have been given a check.
    pub checked: usize,
    /// How many innermost loops count their own turns.
    pub counted: usize,
    /// Names of the functions that have loops with neither: what the canonical ABI's own functions reach.
    pub unchecked: Vec<String>,
}

/// Puts a check at the head of each loop of a core module, and [`CHECK`] among its imports.
///
/// # Errors
/// For people: what is given is no core module, or lacks a section that this adds to.
pub fn with_checks(module: &[u8]) -> Result<Checked, Box<dyn Error>> {
    let survey = Survey::of(module)?;
    let mut rewriter = Rewriter {
        function: survey.imports,
        unchecked: survey.reached_from_the_canonical_abi(),
        survey,
        check_type: None,
        has_check: false,
        counter: None,
        checked: 0,
        counted: 0,
    };
    let mut rewritten = Module::new();
    rewriter.parse_core_module(&mut rewritten, Parser::new(0), module).map_err(|error| format!("a core module for checks: {error}"))?;
    if !rewriter.has_check || rewriter.counter.is_none() {
        return Err("a core module for checks needs imports, types and globals of its own to add to".into());
    }
    let module = rewritten.finish();
    let Rewriter { survey, unchecked, checked, counted, .. } = rewriter;
    Ok(Checked { module, checked, counted, unchecked: survey.names_of_outer_loops_in(&unchecked) })
}

/// What has to be known of a module before it is rewritten.
#[derive(Default)]
struct Survey {
    /// Imported functions; these have the first numbers.
    imports: u32,
    imported_globals: u32,
    /// The functions that the host calls while it calls or answers: exports whose names begin with `cabi_`.
    canonical: Vec<u32>,
    functions: Vec<Surveyed>,
    names: BTreeMap<u32, String>,
}

/// What has to be known of a function.
#[derive(Default)]
struct Surveyed {
    /// The functions that it calls, without those that never return: where a panic is told, checks disturb nobody.
    callees: BTreeSet<u32>,
    /// Its loops, in the order of their heads.
    loops: Vec<Loop>,
    /// How many parameters and locals it has.
    locals: u32,
}

/// A kind of loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loop {
    /// No loops in it, and no calls but those that never return.
    Inner,
    Outer,
}

impl Survey {
    fn of(module: &[u8]) -> Result<Self, Box<dyn Error>> {
        let mut survey = Self::default();
        let (mut parameters, mut parameters_of_functions) = (Vec::new(), Vec::new());
        for payload in Parser::new(0).parse_all(module) {
            match payload? {
                Payload::TypeSection(section) => {
                    for function in section.into_iter_err_on_gc_types() {
                        parameters.push(u32::try_from(function?.params().len())?);
                    }
                }
                Payload::FunctionSection(section) => {
                    for function in section {
                        let parameters = parameters.get(usize::try_from(function?)?);
                        parameters_of_functions.push(parameters.copied().ok_or("a function of no type")?);
                    }
                }
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        match import?.ty {
                            TypeRef::Func(_) => survey.imports += 1,
                            TypeRef::Global(_) => survey.imported_globals += 1,
                            _ => {}
                        }
                    }
                }
                Payload::ExportSection(section) => {
                    for export in section {
                        let export = export?;
                        if export.name.starts_with("cabi_") {
                            survey.canonical.push(export.index);
                        }
                    }
                }
                Payload::CodeSectionEntry(body) => {
                    let parameters = parameters_of_functions.get(survey.functions.len()).copied().ok_or("a body of no function")?;
                    survey.functions.push(Surveyed::of(&body, parameters)?);
                }
                Payload::CustomSection(section) => {
                    if let wasmparser::KnownCustom::Name(names) = section.as_known() {
                        survey.read_names(names)?;
                    }
                }
                _ => {}
            }
        }
        Ok(survey)
    }

    fn read_names(&mut self, names: wasmparser::NameSectionReader<'_>) -> Result<(), wasmparser::Error> {
        for subsection in names {
            if let wasmparser::Name::Function(functions) = subsection? {
                for naming in functions {
                    let naming = naming?;
                    self.names.insert(naming.index, naming.name.to_owned());
                }
            }
        }
        Ok(())
    }

    fn function(&self, index: u32) -> Option<&Surveyed> {
        self.functions.get(usize::try_from(index.checked_sub(self.imports)?).ok()?)
    }

    fn reached_from_the_canonical_abi(&self) -> BTreeSet<u32> {
        let mut reached = BTreeSet::new();
        let mut waiting = self.canonical.clone();
        while let Some(index) = waiting.pop() {
            if reached.insert(index) {
                waiting.extend(self.function(index).iter().flat_map(|function| &function.callees));
            }
        }
        reached
    }

    fn names_of_outer_loops_in(&self, functions: &BTreeSet<u32>) -> Vec<String> {
        let has_outer_loops = |&&index: &&u32| self.function(index).is_some_and(|function| function.loops.contains(&Loop::Outer));
        let with_loops = functions.iter().filter(has_outer_loops);
        with_loops.map(|index| self.names.get(index).cloned().unwrap_or_else(|| format!("function {index}"))).collect()
    }
}

impl Surveyed {
    fn of(body: &FunctionBody<'_>, parameters: u32) -> Result<Self, wasmparser::Error> {
        let mut surveyed = Self { locals: parameters, ..Self::default() };
        for locals in body.get_locals_reader()? {
            surveyed.locals += locals?.0;
        }
        // The blocks around an instruction: the numbers of loops, and nothing for others.
        let mut blocks: Vec<Option<usize>> = Vec::new();
        // Whether there was a call just now, and whose, if that is known.
        let mut called: Option<Option<u32>> = None;
        for operator in body.get_operators_reader()? {
            let operator = operator?;
            if let Some(callee) = called.take().filter(|_| !matches!(operator, Operator::Unreachable)) {
                surveyed.callees.extend(callee);
                surveyed.set_outer(&blocks);
            }
            match operator {
                Operator::Call { function_index } => called = Some(Some(function_index)),
                Operator::CallIndirect { .. } | Operator::CallRef { .. } => called = Some(None),
                Operator::ReturnCall { function_index } => _ = surveyed.callees.insert(function_index),
                Operator::Loop { .. } => {
                    surveyed.set_outer(&blocks);
                    blocks.push(Some(surveyed.loops.len()));
                    surveyed.loops.push(Loop::Inner);
                }
                Operator::Block { .. } | Operator::If { .. } | Operator::TryTable { .. } => blocks.push(None),
                Operator::End => _ = blocks.pop(),
                _ => {}
            }
        }
        Ok(surveyed)
    }

    fn set_outer(&mut self, blocks: &[Option<usize>]) {
        for &number in blocks.iter().flatten() {
            if let Some(kind) = self.loops.get_mut(number) {
                *kind = Loop::Outer;
            }
        }
    }
}

/// Copies a module and adds what is needed: an import behind the others, and with it one to the numbers of the functions that are
/// not imported; a type and a global behind all others.
struct Rewriter {
    survey: Survey,
    unchecked: BTreeSet<u32>,
    /// The function that is copied next, in the numbers of the original.
    function: u32,
    check_type: Option<u32>,
    has_check: bool,
    /// The global that counts down.
    counter: Option<u32>,
    checked: usize,
    counted: usize,
}

impl Rewriter {
    fn count_down(&self, function: &mut Function, turns: i32) {
        let counter = self.counter.unwrap_or_default();
        function.instructions().global_get(counter).i32_const(turns).i32_sub().global_set(counter);
    }

    /// At the head of an outer loop.
    fn check(&mut self, function: &mut Function) {
        let counter = self.counter.unwrap_or_default();
        self.count_down(function, 1);
        function.instructions().global_get(counter).i32_const(0).i32_lt_s().if_(BlockType::Empty);
        function.instructions().i32_const(TURNS).global_set(counter).call(self.survey.imports).end();
        self.checked += 1;
    }

    /// At the head of an inner loop.
    fn count(&mut self, function: &mut Function, turns: u32) {
        function.instructions().local_get(turns).i32_const(1).i32_add().local_tee(turns).i32_eqz();
        function.instructions().if_(BlockType::Empty).unreachable().end();
        self.counted += 1;
    }
}

impl Reencode for Rewriter {
    type Error = Infallible;

    fn function_index(&mut self, index: u32) -> Copied<u32> {
        Ok(if index < self.survey.imports { index } else { index + 1 })
    }

    fn parse_type_section(&mut self, types: &mut TypeSection, section: wasmparser::TypeSectionReader<'_>) -> Copied<()> {
        utils::parse_type_section(self, types, section)?;
        self.check_type = Some(types.len());
        types.ty().function([], []);
        Ok(())
    }

    fn parse_import_section(&mut self, imports: &mut ImportSection, section: wasmparser::ImportSectionReader<'_>) -> Copied<()> {
        utils::parse_import_section(self, imports, section)?;
        if let Some(check_type) = self.check_type {
            imports.import(CHECK.0, CHECK.1, EntityType::Function(check_type));
            self.has_check = true;
        }
        Ok(())
    }

    fn parse_global_section(&mut self, globals: &mut GlobalSection, section: wasmparser::GlobalSectionReader<'_>) -> Copied<()> {
        utils::parse_global_section(self, globals, section)?;
        self.counter = Some(self.survey.imported_globals + globals.len());
        globals.global(GlobalType { val_type: ValType::I32, mutable: true, shared: false }, &ConstExpr::i32_const(TURNS));
        Ok(())
    }

    fn parse_function_body(&mut self, code: &mut CodeSection, body: FunctionBody<'_>) -> Copied<()> {
        let mut locals = locals(self, &body)?;
        // Turns of the inner loop under way, behind all other locals.
        locals.push((1, ValType::I32));
        let mut function = Function::new(locals);
        let surveyed = self.survey.function(self.function);
        let turns = surveyed.map_or(0, |surveyed| surveyed.locals);
        let mut loops = surveyed.map_or_else(Vec::new, |surveyed| surveyed.loops.clone()).into_iter();
        let may_check = !self.unchecked.contains(&self.function);
        self.function += 1;

        let mut reader = body.get_operators_reader()?;
        while !reader.eof() {
            let instruction = self.parse_instruction(&mut reader)?;
            let is_import = matches!(instruction, Instruction::Call(callee) if callee < self.survey.imports);
            let kind = matches!(instruction, Instruction::Loop(_)).then(|| loops.next()).flatten();
            if is_import {
                self.count_down(&mut function, IMPORT_TURNS);
            }
            if kind == Some(Loop::Inner) {
                function.instructions().i32_const(0).local_set(turns);
            }
            function.instruction(&instruction);
            match kind {
                Some(Loop::Inner) => self.count(&mut function, turns),
                Some(Loop::Outer) if may_check => self.check(&mut function),
                _ => {}
            }
        }
        code.function(&function);
        Ok(())
    }
}
