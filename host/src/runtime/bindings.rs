//! Types generated from `wit/`. Calls are by hand, see `canonical`.
#![expect(missing_docs, reason = "the documentation is that of the WIT files")]

wasmtime::component::bindgen!({
    world: "orbweaver:engine/orbweaver",
    path: ["../wit/deps/clocks", "../wit/deps/random", "../wit/kv", "../wit/engine"],
    additional_derives: [orbweaver_canonical::Canonical],
});
