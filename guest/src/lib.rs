//! The component: glue between the contracts in `wit/` and the engine, nothing else.

mod allocator;
mod classes;
mod environment;
mod exports;
// By instructions of WebAssembly.
#[cfg(target_arch = "wasm32")]
mod memory;
#[cfg(orbweaver_profile)]
mod profile;
mod store;
mod typed;

/// Generated from `wit/`.
mod bindings {
    wit_bindgen::generate!({
        world: "orbweaver:engine/orbweaver",
        path: ["../wit/deps/clocks", "../wit/deps/random", "../wit/kv", "../wit/engine"],
        pub_export_macro: true,
        generate_all,
    });
}

use exports::Orbweaver;

bindings::export!(Orbweaver with_types_in bindings);
