//! wasmtime's configuration: the same for the build script, which precompiles the component, and the host, which loads it.

/// The configuration.
pub fn config() -> wasmtime::Config {
    let mut config = wasmtime::Config::new();
    config.cranelift_opt_level(wasmtime::OptLevel::Speed);
    // What is rare stands behind what is not (`tools/component/src/hints.rs`).
    config.wasm_branch_hinting(true);
    config
}
