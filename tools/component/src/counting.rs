//! How often each piece of a module's code runs, and which functions its calls by a table mean.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::error::Error;
use wasm_encoder::reencode::{Reencode, utils};
use wasm_encoder::{CodeSection, ExportKind, ExportSection, Function, Instruction, MemArg, MemorySection, MemoryType, Module, ValType};
use wasmparser::{FunctionBody, Parser};

use crate::anatomy::{anatomies, begins_segment, targets};
use crate::calls::{self, VOTE_WORDS};
use crate::rewriting::{Copied, locals};

/// The memory that a counting module exports: numbers of 8 bytes, one for each segment of its code, and two for each call by a table.
pub const COUNTS: &str = "orbweaver:host/counts";

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
