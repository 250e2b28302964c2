//! Calls by a table that mostly mean one function: which one is counted, and that one is called directly where it is meant. A profile that tells wrong
//! costs time only: the place in the table and the function's type are compared.
//!
//! What a call of a trait object costs is a look at the table's bounds, at the place in the table, at the function's type and at its code, and for a
//! lone request nearly all of these come from beyond the processor's first cache. LLVM would know the same by its counts of values, which need a
//! runtime that is not there for this target. (docs/boundary.md)

use std::collections::BTreeMap;
use std::error::Error;
use wasm_encoder::{BlockType, Function, Instruction, MemArg};
use wasmparser::{ElementItems, ElementKind, ExternalKind, Operator, Parser, Payload, TypeRef};

/// The memory of counts, behind the module's own.
const COUNTS_MEMORY: u32 = 1;

/// What is counted of a call takes so many words of 8 bytes: the place in the table that has won so far, and how many votes it is ahead.
pub const VOTE_WORDS: usize = 2;

/// A function is called directly that is ahead by one of so many calls at least: then it has half of them, and who has three quarters always is.
const AHEAD: u64 = 2;

/// A function that is in the table: by what it does and takes, and its number among those in the table that do the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    pub hash: u64,
    pub number: u32,
}

/// Which function has won the vote of Boyer and Moore, in which each call is for the function that it means, and against the one that is ahead if that is
/// another one. Who has more than half of the calls wins.
#[derive(Clone, Copy, Default)]
pub struct Vote {
    candidate: Option<Target>,
    lead: u64,
}

impl Vote {
    /// One that has been counted.
    pub const fn of(candidate: Option<Target>, lead: u64) -> Self {
        Self { candidate, lead }
    }

    /// Adds the votes of another instance, or of another function that does the same.
    pub fn add(&mut self, other: Self) {
        if self.candidate == other.candidate {
            self.lead = self.lead.saturating_add(other.lead);
        } else if self.lead >= other.lead {
            self.lead -= other.lead;
        } else {
            *self = Self { candidate: other.candidate, lead: other.lead - self.lead };
        }
    }

    /// The function, if it is worth a direct call in so many calls.
    pub fn winner(self, calls: u64) -> Option<Target> {
        self.candidate.filter(|_| self.lead > 0 && self.lead.saturating_mul(AHEAD) >= calls)
    }
}

/// The functions of a module's table, by their places in it.
///
/// # Errors
/// For people: this is no core module, or what is in its table is not known before it runs.
pub fn table(module: &[u8]) -> Result<BTreeMap<u32, u32>, Box<dyn Error>> {
    let mut places = BTreeMap::new();
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    if matches!(import?.ty, TypeRef::Table(_)) {
                        return Err("a core module whose table is somebody else's".into());
                    }
                }
            }
            Payload::TableSection(section) if section.count() > 1 => return Err("a core module with several tables".into()),
            Payload::ExportSection(section) => {
                for export in section {
                    if export?.kind == ExternalKind::Table {
                        return Err("a core module that lends its table".into());
                    }
                }
            }
            Payload::ElementSection(section) => {
                for element in section {
                    let element = element?;
                    let (ElementKind::Active { offset_expr, .. }, ElementItems::Functions(functions)) = (element.kind, element.items)
                    else {
                        return Err("a core module whose table is not filled at once".into());
                    };
                    let mut offset = offset_expr.get_operators_reader();
                    let (Operator::I32Const { value }, Operator::End) = (offset.read()?, offset.read()?) else {
                        return Err("a core module whose table is filled from a place that is not constant".into());
                    };
                    for (place, function) in (value.cast_unsigned()..).zip(functions) {
                        places.insert(place, function?);
                    }
                }
            }
            _ => {}
        }
    }
    Ok(places)
}

/// Whether it changes a table.
pub const fn changes_a_table(operator: &Operator<'_>) -> bool {
    use Operator::{TableCopy, TableFill, TableGrow, TableInit, TableSet};
    matches!(operator, TableSet { .. } | TableGrow { .. } | TableFill { .. } | TableCopy { .. } | TableInit { .. })
}

/// Counts a vote for the place in the table that lies on the stack, in words at this address; `local` may be overwritten.
pub fn count(code: &mut Function, local: u32, at: u64) {
    let candidate = MemArg { offset: at, align: 2, memory_index: COUNTS_MEMORY };
    let lead = MemArg { offset: at + 8, align: 3, memory_index: COUNTS_MEMORY };
    code.instructions().local_set(local);
    code.instructions().i32_const(0).i32_load(candidate).local_get(local).i32_eq().if_(BlockType::Empty);
    code.instructions().i32_const(0).i32_const(0).i64_load(lead).i64_const(1).i64_add().i64_store(lead);
    code.instructions().else_().i32_const(0).i64_load(lead).i64_eqz().if_(BlockType::Empty);
    code.instructions().i32_const(0).local_get(local).i32_store(candidate).i32_const(0).i64_const(1).i64_store(lead);
    code.instructions().else_().i32_const(0).i32_const(0).i64_load(lead).i64_const(1).i64_sub().i64_store(lead).end().end();
    code.instructions().local_get(local);
}

/// A function, its type, and its place in the table.
#[derive(Clone, Copy, Debug)]
pub struct Direct {
    pub place: u32,
    pub function: u32,
    pub type_index: u32,
}

/// Writes a call of the place in the table that lies on the stack, of the type that the function has: directly, where it is the function's place. `hint` is
/// called in front of the `if` that is true then; `local` may be overwritten.
pub fn call(code: &mut Function, direct: Direct, local: u32, table_index: u32, hint: impl FnOnce(&Function)) {
    let type_index = direct.type_index;
    code.instructions().local_tee(local).i32_const(direct.place.cast_signed()).i32_eq();
    hint(code);
    code.instruction(&Instruction::If(BlockType::FunctionType(type_index)));
    code.instructions().call(direct.function).else_().local_get(local).call_indirect(table_index, type_index).end();
}
