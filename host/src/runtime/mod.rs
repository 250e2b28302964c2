//! The component under wasmtime: instances, what they import, and what becomes of them after a trap.

mod bindings;
mod builder;
mod component;
mod config;
mod imports;
mod inspection;
mod instance;
mod server;
pub mod typed;

pub use builder::Builder;
pub use component::{Component, wasm};
pub use instance::CallError;
pub use server::{Answer, BLOCKED, Delivery, Findings, Orbweaver, Outcome, Swept};
