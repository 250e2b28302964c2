//! What a host may set: limits and options of the engine.

/// Limits and options. Every command sees the same ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How many dbs there are.
    pub databases: usize,
    /// Longest string in bytes, also longest argument (`proto-max-bulk-len`).
    pub max_string_bytes: usize,
    /// Most arguments of one command.
    pub max_args: u64,
    /// What AUTH must say; `None`: nobody needs to.
    pub password: Option<String>,
    /// Allows `DEBUG PANIC`, which ends the instance: for tests of hosts.
    pub allow_debug_panic: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { databases: 16, max_string_bytes: 512 << 20, max_args: 1 << 20, password: None, allow_debug_panic: false }
    }
}
