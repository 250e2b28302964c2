//! A core module made by hand, its copies rewritten, and run beside copies of Rust's.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use orbweaver_component::copies::with_short_copies;
use wasm_encoder::{CodeSection, EntityType, ExportKind, ExportSection, Function, FunctionSection, ImportSection, MemorySection};
use wasm_encoder::{MemoryType, Module, TypeSection, ValType};
use wasmtime::{Engine, Instance, Memory, Store, TypedFunc};

const PAGE: usize = 1 << 16;

/// A module of one page of memory with two functions: `copy` takes the parameters of `memory.copy`, `copy_of_5` has its length by heart.
/// It imports a function, so that numbers of functions are not what they seem.
fn module() -> Vec<u8> {
    let (mut types, mut imports, mut functions) = (TypeSection::new(), ImportSection::new(), FunctionSection::new());
    let (mut memories, mut exports, mut code) = (MemorySection::new(), ExportSection::new(), CodeSection::new());
    types.ty().function([ValType::I32; 3], []);
    imports.import("host", "unused", EntityType::Function(0));
    memories.memory(MemoryType { minimum: 1, maximum: Some(1), memory64: false, shared: false, page_size_log2: None });
    exports.export("memory", ExportKind::Memory, 0);
    for (number, name) in [(1, "copy"), (2, "copy_of_5")] {
        functions.function(0);
        exports.export(name, ExportKind::Func, number);
    }
    let mut copy = Function::new([]);
    copy.instructions().local_get(0).local_get(1).local_get(2).memory_copy(0, 0).end();
    let mut copy_of_5 = Function::new([]);
    copy_of_5.instructions().local_get(0).local_get(1).i32_const(5).memory_copy(0, 0).end();
    code.function(&copy).function(&copy_of_5);
    let mut module = Module::new();
    module.section(&types).section(&imports).section(&functions).section(&memories).section(&exports).section(&code);
    module.finish()
}

struct Copier {
    store: Store<()>,
    instance: Instance,
    memory: Memory,
    copy: TypedFunc<(u32, u32, u32), ()>,
}

impl Copier {
    fn new() -> Self {
        let engine = Engine::default();
        let module = wasmtime::Module::new(&engine, with_short_copies(&module()).unwrap()).unwrap();
        let mut store = Store::new(&engine, ());
        let unused = wasmtime::Func::wrap(&mut store, |_: u32, _: u32, _: u32| {});
        let instance = Instance::new(&mut store, &module, &[unused.into()]).unwrap();
        let memory = instance.get_memory(&mut store, "memory").unwrap();
        let copy = instance.get_typed_func(&mut store, "copy").unwrap();
        Self { store, instance, memory, copy }
    }

    /// The first bytes of the memory after a copy within them; before it they are 0, 1, 2...
    fn copied(&mut self, to: usize, from: usize, length: usize) -> Vec<u8> {
        self.memory.write(&mut self.store, 0, &numbers()).unwrap();
        let number = |number: usize| u32::try_from(number).unwrap();
        self.copy.call(&mut self.store, (number(to), number(from), number(length))).unwrap();
        self.memory.data(&self.store)[..512].to_vec()
    }
}

fn numbers() -> Vec<u8> {
    (0..512_u16).map(|number| u8::try_from(number % 251).unwrap()).collect()
}

#[test]
fn pieces_of_every_length_arrive_whole_and_nothing_else_changes() {
    let mut copier = Copier::new();
    for length in 0..=200 {
        for (to, from) in [(300, 7), (7, 300), (0, 256), (201, 0)] {
            let mut expected = numbers();
            expected.copy_within(from..from + length, to);
            assert_eq!(copier.copied(to, from, length), expected, "{length} bytes from {from} to {to}");
        }
    }
}

#[test]
fn pieces_that_overlap_arrive_as_they_were() {
    let mut copier = Copier::new();
    for length in 1..=200 {
        for distance in [1, 2, 3, 5, 8, 15, 16, 17, 31, 64, 100] {
            for (to, from) in [(50, 50 + distance), (50 + distance, 50), (50, 50)] {
                let mut expected = numbers();
                expected.copy_within(from..from + length, to);
                assert_eq!(copier.copied(to, from, length), expected, "{length} bytes from {from} to {to}");
            }
        }
    }
}

#[test]
fn a_copy_beyond_the_memory_is_a_trap() {
    for length in [1, 3, 7, 16, 32, 64, 128, 129] {
        let mut copier = Copier::new();
        let behind = u32::try_from(PAGE).unwrap() - length + 1;
        assert!(copier.copy.call(&mut copier.store, (0, behind, length)).is_err(), "{length} bytes");
        assert!(copier.copy.call(&mut copier.store, (behind, 0, length)).is_err(), "{length} bytes");
    }
}

#[test]
fn a_constant_length_is_left_to_the_host() {
    let rewritten = with_short_copies(&module()).unwrap();
    let copies = |module: &[u8]| {
        let mut copies = Vec::new();
        for payload in wasmparser::Parser::new(0).parse_all(module) {
            if let wasmparser::Payload::CodeSectionEntry(body) = payload.unwrap() {
                let operators = body.get_operators_reader().unwrap().into_iter();
                copies.push(operators.filter(|operator| matches!(operator, Ok(wasmparser::Operator::MemoryCopy { .. }))).count());
            }
        }
        copies
    };
    assert_eq!(copies(&module()), [1, 1]);
    assert_eq!(copies(&rewritten), [0, 1, 1]);
    let mut copier = Copier::new();
    copier.memory.write(&mut copier.store, 0, b"12345678").unwrap();
    let copy_of_5 = copier.instance.get_typed_func::<(u32, u32, u32), ()>(&mut copier.store, "copy_of_5").unwrap();
    copy_of_5.call(&mut copier.store, (100, 1, 0)).unwrap();
    assert_eq!(&copier.memory.data(&copier.store)[100..106], b"23456\0");
}

#[test]
fn what_is_no_module_with_functions_is_refused() {
    let error = with_short_copies(&Module::new().finish()).unwrap_err();
    assert_eq!(error.to_string(), "a core module for copies needs types and functions of its own to add to");
    assert!(with_short_copies(b"no module").is_err());
}
