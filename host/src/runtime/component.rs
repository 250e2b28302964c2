//! The component, loaded.

use super::config::config;
use super::imports::{self, State};
use wasmparser::{Parser, Payload};
use wasmtime::{Config, Engine, InstancePre, Linker, Module, ProfilingStrategy, format_err};

/// The component as it is built into the host: what other hosts run, byte for byte.
#[must_use]
pub const fn wasm() -> &'static [u8] {
    include_bytes!(concat!(env!("OUT_DIR"), "/orbweaver.wasm"))
}

/// Its core module with checks in its loops, by which its calls have deadlines: what runs here. Only compiled where the code below does
/// not fit the machine, and 3 MB of the executable for that case.
const CHECKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/checked.wasm"));

/// [`CHECKED`], compiled for this kind of machine when the host was built.
const PRECOMPILED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/checked.cwasm"));

/// The component, ready to be instantiated any number of times. Cheap to clone; instances may live on any thread.
#[derive(Clone)]
pub struct Component {
    pub(super) engine: Engine,
    pub(super) instance_pre: InstancePre<State>,
}

impl Component {
    /// Loads the component that is built in. Compiles nothing, unless the precompiled code does not fit this machine.
    ///
    /// # Errors
    /// Where wasmtime cannot run here at all.
    pub fn load() -> wasmtime::Result<Self> {
        Self::load_with(&config())
    }

    /// As [`Component::load`]. The component's functions are named to `perf`, in the file `/tmp/perf-PID.map`, where it looks for
    /// them.
    ///
    /// # Errors
    /// As [`Component::load`], or where that file cannot be written.
    pub fn load_for_perf() -> wasmtime::Result<Self> {
        Self::load_with(config().profiler(ProfilingStrategy::PerfMap))
    }

    /// Compiles another build of the component, such as one that counts for the compiler (`cargo xtask profile`). Its calls have
    /// deadlines where it has checks in its loops.
    ///
    /// # Errors
    /// Where this is no component, or one that imports other things than `wit/engine` says. What it does not export is an error when an
    /// instance is made, or where it is called.
    pub fn compile(wasm: &[u8]) -> wasmtime::Result<Self> {
        Self::compile_module(core_module(wasm)?)
    }

    /// Compiles a core module that has been made of the component's: for `cargo xtask profile`.
    ///
    /// # Errors
    /// As [`Component::compile`].
    #[doc(hidden)]
    pub fn compile_module(module: &[u8]) -> wasmtime::Result<Self> {
        let engine = Engine::new(&config())?;
        let module = Module::new(&engine, module)?;
        Self::link(engine, &module)
    }

    fn load_with(config: &Config) -> wasmtime::Result<Self> {
        let engine = Engine::new(config)?;
        let module = match precompiled(&engine) {
            Ok(module) => module,
            Err(_) => Module::new(&engine, CHECKED)?,
        };
        Self::link(engine, &module)
    }

    fn link(engine: Engine, module: &Module) -> wasmtime::Result<Self> {
        let mut linker = Linker::new(&engine);
        imports::add_to_linker(&mut linker)?;
        let instance_pre = linker.instantiate_pre(module)?;
        Ok(Self { engine, instance_pre })
    }
}

/// The module of a component that does its work: the first one. What stands behind it only passes its imports on.
fn core_module(component: &[u8]) -> wasmtime::Result<&[u8]> {
    for payload in Parser::new(0).parse_all(component) {
        if let Payload::ModuleSection { unchecked_range, .. } = payload? {
            return component.get(unchecked_range).ok_or_else(|| format_err!("the component ends within its module"));
        }
    }
    Err(format_err!("this is no component, or one without a module"))
}

#[expect(unsafe_code, reason = "wasmtime trusts precompiled code: this is what our build script made of our own component")]
fn precompiled(engine: &Engine) -> wasmtime::Result<Module> {
    // SAFETY: the bytes come from `Engine::precompile_module` in build.rs and are part of this executable.
    unsafe { Module::deserialize(engine, PRECOMPILED) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_compiled_where_the_host_was_built() {
        let loaded = Engine::new(&config()).and_then(|engine| precompiled(&engine)).map(drop);
        assert!(loaded.is_ok(), "{loaded:?}");
    }
}
