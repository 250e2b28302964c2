//! Commands on bitmaps.

use super::words::Words;
use super::{Rules, args};
use crate::client::Args;

pub const RULES: Rules = &[
    (8, |w| {
        let command = args!["BITCOUNT", w.string_key()];
        w.optional(command, 1, range)
    }),
    (12, |w| {
        let command = args!["BITFIELD", w.string_key()];
        w.repeated(command, 4, action)
    }),
    (4, |w| {
        let command = args!["BITFIELD_RO", w.string_key()];
        w.repeated(command, 3, |w| if w.percent(95) { args!["GET", field_type(w), offset(w)] } else { action(w) })
    }),
    (8, |w| {
        let command = args!["BITOP", w.one(&["AND", "OR", "XOR", "xor", "NOT", "NAND"]), w.string_key()];
        w.repeated(command, 3, |w| args![w.string_key()])
    }),
    (2, |w| args!["BITOP", w.one(&["NOT", "not"]), w.string_key(), w.string_key()]),
    (10, |w| {
        let command = args!["BITPOS", w.string_key(), w.one(&["0", "1", "0", "1", "2", "-1", "x"])];
        match w.below(3) {
            0 => command,
            1 => w.repeated(command, 1, |w| args![w.integer()]),
            _ => w.repeated(command, 1, range),
        }
    }),
    (6, |w| args!["GETBIT", w.string_key(), offset(w)]),
    (12, |w| args!["SETBIT", w.string_key(), offset(w), w.one(&["0", "1", "1", "0", "1", "2", "01", ""])]),
];

/// Bounds, perhaps with their unit.
fn range(w: &mut Words) -> Args {
    let bounds = args![w.integer(), w.integer()];
    w.optional(bounds, 1, |w| args![w.one(&["BIT", "BYTE", "bit", "byte", "BITS"])])
}

fn action(w: &mut Words) -> Args {
    match w.below(10) {
        0..=2 => args!["GET", field_type(w), offset(w)],
        3..=5 => args!["SET", field_type(w), offset(w), w.integer()],
        6..=7 => args!["INCRBY", field_type(w), offset(w), w.integer()],
        _ => args!["OVERFLOW", w.one(&["WRAP", "SAT", "FAIL", "sat", "fail", "NONE"])],
    }
}

fn field_type(w: &mut Words) -> Vec<u8> {
    let width = w.below(64) + 1;
    match w.below(10) {
        0..=3 => format!("i{width}").into(),
        4..=7 => format!("u{}", width.min(63)).into(),
        8 => w.one(&["u8", "i8", "i64", "u63", "u1", "i1"]).into(),
        _ => w.one(&["u64", "i65", "u0", "i0", "u", "", "U8", "u-1", "u08", "8", "u8 ", "u8\0x"]).into(),
    }
}

/// The offset of a bit, mostly of a small one.
fn offset(w: &mut Words) -> Vec<u8> {
    match w.below(20) {
        0..=12 => w.below(100).to_string().into(),
        13..=16 => format!("#{}", w.below(12)).into(),
        17 => format!("#{}", String::from_utf8_lossy(&w.integer())).into(),
        _ => w.integer(),
    }
}
