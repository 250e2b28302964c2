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
        with: { "orbweaver:kv/store@0.1.0": crate::store_bindings::orbweaver::kv::store },
        generate_all,
    });
}

/// The same of the store: what it is given is lent, and not copied into lists of the bindings' own first.
mod store_bindings {
    wit_bindgen::generate!({
        inline: "package orbweaver:stored; world stored { import orbweaver:kv/store@0.1.0; }",
        path: ["../wit/kv"],
        ownership: Borrowing { duplicate_if_necessary: true },
        type_section_suffix: "-store",
        generate_all,
    });
}

use exports::Orbweaver;

bindings::export!(Orbweaver with_types_in bindings);
