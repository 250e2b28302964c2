//! wasmtime's configuration, for the host, which loads the component, and for the build script, which precompiles it: for the target, and the
//! features of processors that all of the executable needs.

/// The configuration.
pub fn config() -> wasmtime::Config {
    let mut config = wasmtime::Config::new();
    config.cranelift_opt_level(wasmtime::OptLevel::Speed);
    // What is rare stands behind what is not (`tools/component/src/hints.rs`).
    config.wasm_branch_hinting(true);
    config
}
