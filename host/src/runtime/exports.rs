//! The exports that the host calls for itself, as functions of an instance. (The typed interfaces are in `typed`.)

use super::bindings::exports::orbweaver::engine::maintenance;
use super::instance::{CallError, Instance};

/// An export's name, by its interface and its own. The compiler sees to it that its parameters and its answer are those of `wit/engine`: by the
/// function that `bindgen!` has made for it, which is not called. What is called reads and writes memory by these types.
macro_rules! export {
    ($exports:ident, $interface:literal, $call:ident, $name:literal, ($($arg:ident: $type:ty),*) -> $answer:ty) => {{
        use $crate::runtime::{bindings::Orbweaver as Exports, imports::State};
        #[expect(dead_code, reason = "only its signature matters")]
        fn is_as_in_wit(exports: &Exports, wasm: &mut wasmtime::Store<State>, $($arg: $type),*) -> wasmtime::Result<$answer> {
            exports.$exports().$call(wasm, $($arg),*)
        }
        concat!("orbweaver:engine/", $interface, "@0.1.0#", $name)
    }};
}
pub(super) use export;

macro_rules! functions {
    ($($exports:ident: $interface:literal {
        $($call:ident: $name:literal as $function:ident($($arg:ident: $type:ty),*) -> $answer:ty;)*
    })*) => {
        impl Instance {
            $($(
                #[doc = concat!("`", $interface, ".", $name, "` in `wit/engine`.")]
                pub fn $function(&mut self, $($arg: $type),*) -> Result<$answer, CallError> {
                    let name = export!($exports, $interface, $call, $name, ($($arg: $type),*) -> $answer);
                    self.call(name, ($($arg,)*))
                }
            )*)*
        }
    };
}

functions! {
    orbweaver_engine_control: "control" {
        call_open: "open" as open(settings: &[(String, String)]) -> Result<(), String>;
        call_tell: "tell" as tell(facts: &[(String, String)]) -> ();
    }
    orbweaver_engine_resp: "resp" {
        call_connect: "connect" as connect(connection: u64, address: &str, state: Option<&[u8]>) -> ();
        call_hear: "hear" as hear(messages: &[u8]) -> ();
        call_disconnect: "disconnect" as disconnect(connection: u64) -> ();
    }
    orbweaver_engine_maintenance: "maintenance" {
        call_sweep: "sweep" as sweep(budget: u32) -> Result<maintenance::Swept, String>;
        call_check: "check" as check(start: Option<&[u8]>, budget: u32) -> Result<maintenance::Findings, String>;
        call_dump: "dump" as dump(start: Option<&[u8]>, max_bytes: u32) -> Result<maintenance::Chunk, String>;
        call_load: "load" as load(lines: &[u8]) -> Result<maintenance::Loaded, String>;
        call_inspect: "inspect" as inspect(db: u32, key: &[u8], cursor: Option<&[u8]>, budget: u32) -> Result<maintenance::Inspection, String>;
        call_describe: "describe" as describe(keyspace: &str, key: &[u8], value: &[u8]) -> Result<maintenance::Inspected, String>;
    }
}
