//! The contract `orbweaver:kv` over IndexedDB, for the Web Worker that owns a database.
//!
//! One object store a keyspace, binary keys, values as `Uint8Array`. What the contract asks for, and how it is met here:
//!
//! * **One state for all reads.** A transaction of IndexedDB ends with the task that has nothing more to ask of it, so none can be
//!   held as a snapshot. It need not be: the worker that uses this store holds an exclusive Web Lock on the database, and its one
//!   conversation with the engine has one transaction at a time. Nobody writes between its reads.
//! * **Atomic commits.** A batch is one `readwrite` transaction, acknowledged when the browser says `complete`, with the durability
//!   that was asked for.
//! * **Revisions and epoch** are kept in memory, for the same reason: whoever owns the database next is a new instance, which has
//!   kept nothing.

mod bindings;
mod convert;
mod failure;
mod opening;
mod reading;
mod store;
mod writing;

pub use store::IndexedDbStore;
