//! Generated from `wit/`; nothing else is here.
#![expect(missing_docs, reason = "the documentation is that of the WIT files")]

wasmtime::component::bindgen!({
    world: "orbweaver:engine/orbweaver",
    path: ["../wit/deps/clocks", "../wit/deps/random", "../wit/kv", "../wit/engine"],
});
