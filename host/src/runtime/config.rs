//! wasmtime's configuration: the same for the build script, which precompiles the component, and the host, which loads it.

/// The configuration.
pub fn config() -> wasmtime::Config {
    let mut config = wasmtime::Config::new();
    config.wasm_component_model(true);
    // No function of the contracts is async; without it each crossing costs half (docs/decisions.md).
    config.concurrency_support(false);
    config.cranelift_opt_level(wasmtime::OptLevel::Speed);
    config
}
