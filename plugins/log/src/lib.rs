//! The engine's last words, on the standard error stream.

/// Generated from the WIT packages.
mod bindings {
    wit_bindgen::generate!({
        world: "orbweaver:plugins/stderr",
        path: ["../../wit/deps/clocks", "../../wit/deps/random", "../../wit/kv", "../../wit/engine", "../wit"],
    });
}

struct Stderr;

impl bindings::exports::orbweaver::engine::log::Guest for Stderr {
    fn panicked(text: String) {
        eprintln!("orbweaver: {text}");
    }
}

bindings::export!(Stderr with_types_in bindings);
