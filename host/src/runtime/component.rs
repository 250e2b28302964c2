//! The component, loaded.

use super::bindings::OrbweaverPre;
use super::config::config;
use super::imports::{self, State};
use wasmtime::component::Linker;
use wasmtime::{Config, Engine, ProfilingStrategy};

/// The component as it is built into the host: what other hosts run, byte for byte.
#[must_use]
pub const fn wasm() -> &'static [u8] {
    include_bytes!(concat!(env!("OUT_DIR"), "/orbweaver.wasm"))
}

/// The same with checks in its loops, by which its calls have deadlines: what runs here. Only compiled where the code below does not
/// fit the machine, and 3 MB of the executable for that case.
const CHECKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/checked.wasm"));

/// [`CHECKED`], compiled for this kind of machine when the host was built.
const PRECOMPILED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/checked.cwasm"));

/// The component, ready to be instantiated any number of times. Cheap to clone; instances may live on any thread.
#[derive(Clone)]
pub struct Component {
    pub(super) engine: Engine,
    pub(super) instance_pre: OrbweaverPre<State>,
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
    /// Where this is no component, or one that imports or exports other things than `wit/engine` says.
    pub fn compile(wasm: &[u8]) -> wasmtime::Result<Self> {
        let engine = Engine::new(&config())?;
        let component = wasmtime::component::Component::new(&engine, wasm)?;
        Self::link(engine, &component)
    }

    fn load_with(config: &Config) -> wasmtime::Result<Self> {
        let engine = Engine::new(config)?;
        let component = match precompiled(&engine) {
            Ok(component) => component,
            Err(_) => wasmtime::component::Component::new(&engine, CHECKED)?,
        };
        Self::link(engine, &component)
    }

    fn link(engine: Engine, component: &wasmtime::component::Component) -> wasmtime::Result<Self> {
        let mut linker = Linker::new(&engine);
        imports::add_to_linker(&mut linker)?;
        let instance_pre = OrbweaverPre::new(linker.instantiate_pre(component)?)?;
        Ok(Self { engine, instance_pre })
    }
}

#[expect(unsafe_code, reason = "wasmtime trusts precompiled code: this is what our build script made of our own component")]
fn precompiled(engine: &Engine) -> wasmtime::Result<wasmtime::component::Component> {
    // SAFETY: the bytes come from `Engine::precompile_component` in build.rs and are part of this executable.
    unsafe { wasmtime::component::Component::deserialize(engine, PRECOMPILED) }
}
