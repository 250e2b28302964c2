//! Short copies without a call of the host: a core module is rewritten so that `memory.copy` of a length that is only known when it
//! runs goes to a function of the module's own.
//!
//! wasmtime leaves such a copy to its host, which costs more than most copies here: names, fields and values of some tens of bytes.
//! The function reads all of a short piece before it writes any, so that pieces may overlap, and leaves long ones to `memory.copy`.
//! (docs/boundary.md)

use crate::rewriting::{Copied, locals};
use std::convert::Infallible;
use std::error::Error;
use wasm_encoder::reencode::{Reencode, utils};
use wasm_encoder::{BlockType, CodeSection, Function, FunctionSection, ImportSection, Instruction, MemArg};
use wasm_encoder::{Module, TypeSection, ValType};
use wasmparser::{FunctionBody, Parser, TypeRef};

/// The function's parameters, as those of `memory.copy`.
const TO: u32 = 0;
const FROM: u32 = 1;
const LENGTH: u32 = 2;
/// Where the second half of either piece begins.
const TO_TAIL: u32 = 3;
const FROM_TAIL: u32 = 4;

/// Words that a piece is copied in, and the locals that hold them.
struct Words {
    bytes: u8,
    first_local: u32,
    load: fn(MemArg) -> Instruction<'static>,
    store: fn(MemArg) -> Instruction<'static>,
}

const WORDS_OF_4: Words = Words { bytes: 4, first_local: 5, load: Instruction::I32Load, store: Instruction::I32Store };
const WORDS_OF_8: Words = Words { bytes: 8, first_local: 8, load: Instruction::I64Load, store: Instruction::I64Store };
const WORDS_OF_16: Words = Words { bytes: 16, first_local: 10, load: Instruction::V128Load, store: Instruction::V128Store };
/// The locals behind the parameters: two tails; three words of 4 bytes, which three bytes use as well; two of 8; two times four of 16.
const LOCALS: [(u32, ValType); 4] = [(2, ValType::I32), (3, ValType::I32), (2, ValType::I64), (8, ValType::V128)];

/// Gives a core module the function, and has it called.
///
/// # Errors
/// For people: what is given is no core module, or one without functions.
pub fn with_short_copies(module: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut rewriter = Rewriter::default();
    let mut rewritten = Module::new();
    rewriter.parse_core_module(&mut rewritten, Parser::new(0), module).map_err(|error| format!("a core module for copies: {error}"))?;
    if rewriter.bodies == 0 || rewriter.functions != rewriter.bodies {
        return Err("a core module for copies needs types and functions of its own to add to".into());
    }
    Ok(rewritten.finish())
}

/// Copies a module and adds the function behind all others.
#[derive(Default)]
struct Rewriter {
    imports: u32,
    /// Functions of its own, the added one not counted, and how many of their bodies were copied.
    functions: u32,
    bodies: u32,
    copy_type: u32,
}

impl Reencode for Rewriter {
    type Error = Infallible;

    fn parse_type_section(&mut self, types: &mut TypeSection, section: wasmparser::TypeSectionReader<'_>) -> Copied<()> {
        utils::parse_type_section(self, types, section)?;
        self.copy_type = types.len();
        types.ty().function([ValType::I32; 3], []);
        Ok(())
    }

    fn parse_import_section(&mut self, imports: &mut ImportSection, section: wasmparser::ImportSectionReader<'_>) -> Copied<()> {
        for import in section.clone().into_imports() {
            self.imports += u32::from(matches!(import?.ty, TypeRef::Func(_)));
        }
        utils::parse_import_section(self, imports, section)
    }

    fn parse_function_section(&mut self, functions: &mut FunctionSection, section: wasmparser::FunctionSectionReader<'_>) -> Copied<()> {
        utils::parse_function_section(self, functions, section)?;
        self.functions = functions.len();
        functions.function(self.copy_type);
        Ok(())
    }

    fn parse_function_body(&mut self, code: &mut CodeSection, body: FunctionBody<'_>) -> Copied<()> {
        let mut function = Function::new(locals(self, &body)?);
        // A constant length: wasmtime copies short pieces in place, and others are long.
        let mut is_constant = false;
        let mut reader = body.get_operators_reader()?;
        while !reader.eof() {
            let instruction = self.parse_instruction(&mut reader)?;
            match instruction {
                Instruction::MemoryCopy { src_mem: 0, dst_mem: 0 } if !is_constant => {
                    function.instructions().call(self.imports + self.functions);
                }
                _ => _ = function.instruction(&instruction),
            }
            is_constant = matches!(instruction, Instruction::I32Const(_));
        }
        code.function(&function);
        self.bodies += 1;
        if self.bodies == self.functions {
            code.function(&copy());
        }
        Ok(())
    }
}

/// The function.
fn copy() -> Function {
    let mut code = Function::new(LOCALS);
    code.instructions().local_get(LENGTH).i32_const(16).i32_le_u().if_(BlockType::Empty);
    for words in [WORDS_OF_8, WORDS_OF_4] {
        code.instructions().local_get(LENGTH).i32_const(words.bytes.into()).i32_ge_u().if_(BlockType::Empty);
        halves(&mut code, &words, 1);
        code.instructions().return_().end();
    }
    code.instructions().local_get(LENGTH).if_(BlockType::Empty);
    up_to_three_bytes(&mut code);
    code.instructions().end().return_().end();
    for count in [1, 2, 4] {
        let longest = i32::from(WORDS_OF_16.bytes * count * 2);
        code.instructions().local_get(LENGTH).i32_const(longest).i32_le_u().if_(BlockType::Empty);
        halves(&mut code, &WORDS_OF_16, count);
        code.instructions().return_().end();
    }
    code.instructions().local_get(TO).local_get(FROM).local_get(LENGTH).memory_copy(0, 0).end();
    code
}

/// Copies a piece as its first so many words and its last so many, which may share bytes.
fn halves(code: &mut Function, words: &Words, count: u8) {
    for (tail, start) in [(TO_TAIL, TO), (FROM_TAIL, FROM)] {
        let half = i32::from(words.bytes * count);
        code.instructions().local_get(start).local_get(LENGTH).i32_add().i32_const(half).i32_sub().local_set(tail);
    }
    let at = |number: u8| MemArg { offset: u64::from(number % count * words.bytes), align: 0, memory_index: 0 };
    let local = |number: u8| words.first_local + u32::from(number);
    for number in 0..count * 2 {
        code.instructions().local_get(if number < count { FROM } else { FROM_TAIL });
        code.instruction(&(words.load)(at(number))).instructions().local_set(local(number));
    }
    for number in 0..count * 2 {
        code.instructions().local_get(if number < count { TO } else { TO_TAIL }).local_get(local(number));
        code.instruction(&(words.store)(at(number)));
    }
}

/// Copies one to three bytes: the first, the one in the middle, and the last.
fn up_to_three_bytes(code: &mut Function) {
    let byte = |code: &mut Function, start: u32, number: u32| {
        let mut code = code.instructions();
        code.local_get(start);
        match number {
            0 => code.i32_const(0),
            1 => code.local_get(LENGTH).i32_const(1).i32_shr_u(),
            _ => code.local_get(LENGTH).i32_const(1).i32_sub(),
        };
        code.i32_add();
    };
    let here = MemArg { offset: 0, align: 0, memory_index: 0 };
    for number in 0..3 {
        byte(code, FROM, number);
        code.instructions().i32_load8_u(here).local_set(WORDS_OF_4.first_local + number);
    }
    for number in 0..3 {
        byte(code, TO, number);
        code.instructions().local_get(WORDS_OF_4.first_local + number).i32_store8(here);
    }
}
