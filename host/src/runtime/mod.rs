//! The component under wasmtime: instances, what they import, and what becomes of them after a trap.

mod bindings;
mod builder;
mod canonical;
mod component;
mod config;
mod exchange;
mod exports;
mod guest;
mod imports;
mod inspection;
mod instance;
mod server;
mod shelves;
pub mod typed;

pub use builder::Builder;
pub use component::{Component, wasm};
pub use exchange::{Answer, BLOCKED, Delivery, Outcome, Unsettled};
pub use instance::CallError;
pub use server::{Findings, Orbweaver, Swept};
