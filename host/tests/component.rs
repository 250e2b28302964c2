//! The component that is built in: what it asks of a host, and what it gives.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use orbweaver::runtime::{Delivery, Orbweaver};
use orbweaver_engine::resp::encode_request;
use orbweaver_engine::store::MemoryStore;
use std::collections::BTreeSet;
use wasmtime::Engine;
use wasmtime::component::Component;

fn names<'a>(items: impl Iterator<Item = (&'a str, impl Sized)>) -> Vec<&'a str> {
    items.map(|(name, _)| name).collect()
}

#[test]
fn the_component_imports_a_store_a_clock_randomness_and_a_log_line_and_nothing_else() {
    let engine = Engine::default();
    let component = Component::new(&engine, orbweaver::runtime::wasm()).unwrap();
    let component_type = component.component_type();
    let mut imports = names(component_type.imports(&engine));
    imports.sort_unstable();
    let expected = ["orbweaver:engine/log@0.1.0", "orbweaver:kv/store@0.1.0", "wasi:clocks/wall-clock@0.2.0", "wasi:random/random@0.2.0"];
    assert_eq!(imports, expected);
    let mut exports = names(component_type.exports(&engine));
    exports.sort_unstable();
    let interfaces = ["batch", "control", "hashes", "keys", "lists", "maintenance", "resp", "sets", "sorted-sets", "strings", "types"];
    assert_eq!(exports, interfaces.map(|interface| format!("orbweaver:engine/{interface}@0.1.0")));
}

#[test]
fn what_is_no_component_of_these_interfaces_is_an_error() {
    let error = |bytes: &[u8]| orbweaver::runtime::Component::compile(bytes).err().unwrap().to_string();
    assert!(!error(b"no component").is_empty());
    // A component of nothing, and one whose module asks for what no host has.
    let head = b"\0asm\x0d\0\x01\0";
    assert!(error(head).contains("without a module"), "{}", error(head));
    let module = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x02\x07\x01\x01a\x01b\0\0";
    let length = u8::try_from(module.len()).unwrap();
    assert!(error(&[&head[..], &[1, length], module].concat()).contains("unknown import"));
    assert!(!error(&[&head[..], &[1, length + 1], module].concat()).is_empty());
}

#[test]
fn strings_of_all_lengths_that_differ_anywhere_compare_by_their_bytes_as_numbers_without_signs() {
    let others = |length: usize| (0..length).flat_map(move |at| [0, 0x7f, 0x80, 0xff].map(|byte| (length, Some((at, byte)))));
    let string = |(length, other): (usize, Option<(usize, u8)>)| {
        let mut string = vec![b'm'; length];
        if let Some((at, byte)) = other {
            string[at] = byte;
        }
        string
    };
    // None, one or two words of 16 bytes, one of 8 behind them or none, and single bytes.
    let strings: Vec<Vec<u8>> = (0..=41).flat_map(|length| [(length, None)].into_iter().chain(others(length))).map(string).collect();
    let sorted: BTreeSet<&[u8]> = strings.iter().map(Vec::as_slice).collect();

    let component = orbweaver::runtime::Component::load().unwrap();
    let mut orbweaver = Orbweaver::builder().open(&component, Box::new(MemoryStore::new())).unwrap();
    orbweaver.connect(1, "test").unwrap();
    let mut reply_to = |arguments: &[Vec<u8>]| {
        let outcome = orbweaver.exchange(&[Delivery { connection: 1, input: &encode_request(arguments) }]).unwrap();
        outcome.replies().map(|(_, reply)| reply.to_vec()).collect::<Vec<_>>().concat()
    };
    let words = |text: &str| text.split(' ').map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>();
    let add = [words("SADD set"), strings.clone()].concat();
    assert_eq!(reply_to(&add), format!(":{}\r\n", sorted.len()).into_bytes());
    let mut expected = format!("*{}\r\n", sorted.len()).into_bytes();
    for string in sorted {
        expected.extend([format!("${}\r\n", string.len()).as_bytes(), string, b"\r\n"].concat());
    }
    assert_eq!(reply_to(&words("SORT set ALPHA")), expected);
}

/// What tells a crate from others of its name, in the names of its functions: the letters and digits before `crate_name`.
fn crates(bytes: &[u8], crate_name: &str) -> BTreeSet<String> {
    let starts = bytes.windows(crate_name.len()).zip(0..).filter(|(window, _)| *window == crate_name.as_bytes()).map(|(_, at)| at);
    let before = |at: usize| {
        let before = bytes[..at].rsplit(|byte| !byte.is_ascii_alphanumeric()).next().unwrap();
        String::from_utf8_lossy(before).rsplit_once("Cs").map(|(_, own)| own.to_owned())
    };
    starts.filter_map(before).collect()
}

#[test]
fn the_profile_for_the_compiler_was_counted_with_the_names_that_functions_have() {
    let profile = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../guest/component.profdata")).unwrap();
    for crate_name in ["_16orbweaver_engine", "_15orbweaver_guest"] {
        let own = crates(orbweaver::runtime::wasm(), crate_name);
        assert_eq!(own.len(), 1, "{crate_name}: {own:?}");
        let why = "another dependency or compiler gives all functions other names, and the compiler finds none of their counts: cargo xtask profile";
        assert_eq!(own, crates(&profile, crate_name), "{crate_name}: {why}");
    }
}

#[test]
fn what_the_module_that_runs_has_counted_is_told_of_most_of_its_functions() {
    let module = std::fs::read(concat!(env!("OUT_DIR"), "/checked.wasm")).unwrap();
    let (mut functions, mut told, mut by_table, mut direct) = (0, 0, 0, 0);
    for payload in wasmparser::Parser::new(0).parse_all(&module) {
        match payload.unwrap() {
            wasmparser::Payload::CodeSectionStart { count, .. } => functions = count,
            wasmparser::Payload::CodeSectionEntry(body) => {
                for operator in body.get_operators_reader().unwrap() {
                    match operator.unwrap() {
                        wasmparser::Operator::CallIndirect { .. } => by_table += 1,
                        // The compiler makes none of a type of its own.
                        wasmparser::Operator::If { blockty: wasmparser::BlockType::FuncType(_) } => direct += 1,
                        _ => {}
                    }
                }
            }
            wasmparser::Payload::CustomSection(section) => {
                if let wasmparser::KnownCustom::BranchHints(hints) = section.as_known() {
                    told = hints.count();
                }
            }
            _ => {}
        }
    }
    // Of a third all is small, or nothing is rare, and a tenth never runs.
    assert!(told * 3 > functions, "{told} of {functions}: too much has changed since they were counted: cargo xtask profile");
    // More than half of the calls by a table never run, or mean several functions.
    assert!(direct * 4 > by_table, "{direct} of {by_table} calls by a table: too much has changed: cargo xtask profile");
}
