//! Programs and libraries that are not ours, as `cargo xtask test` installs and names them.

use std::env;
use std::path::PathBuf;

/// The Python that has redis-py and pytest.
///
/// # Panics
/// When `ORBWEAVER_PYTHON` does not name it.
#[must_use]
pub fn python() -> PathBuf {
    named("ORBWEAVER_PYTHON")
}

/// The unpacked source distribution of redis-py, with its tests.
///
/// # Panics
/// When `ORBWEAVER_REDIS_PY` does not name it.
#[must_use]
pub fn redis_py() -> PathBuf {
    named("ORBWEAVER_REDIS_PY")
}

/// The folder `node_modules` that has ioredis and node-redis.
///
/// # Panics
/// When `ORBWEAVER_NODE_MODULES` does not name it.
#[must_use]
pub fn node_modules() -> PathBuf {
    named("ORBWEAVER_NODE_MODULES")
}

fn named(variable: &str) -> PathBuf {
    let path = env::var_os(variable).map(PathBuf::from);
    path.unwrap_or_else(|| panic!("{variable} is not set: `cargo xtask test` installs what it names, and sets it"))
}
