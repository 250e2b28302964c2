//! The component that is built in: what it asks of a host, and what it gives.
#![allow(clippy::unwrap_used)]

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
