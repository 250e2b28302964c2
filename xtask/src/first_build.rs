//! A word of warning before the one build that takes long.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use crate::command;

/// Says what the first release build does and how long it takes; silent when RocksDB is already built.
pub fn announce() {
    let target_directory = command::target_directory();
    if !rocksdb_is_built(&target_directory) {
        println!(
            "First build: compiling RocksDB (C++) and wasmtime takes about 20 minutes on two cores, once; \
             the result is kept in {}.",
            target_directory.display()
        );
    }
}

/// Cargo writes the file `output` when a build script, here the one that compiles RocksDB, has succeeded.
fn rocksdb_is_built(target_directory: &Path) -> bool {
    let is_rocksdb = |name: &OsStr| name.to_string_lossy().starts_with("librocksdb-sys-");
    fs::read_dir(target_directory.join("release").join("build")).is_ok_and(|mut folders| {
        folders.any(|folder| folder.is_ok_and(|folder| is_rocksdb(&folder.file_name()) && folder.path().join("output").is_file()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_build_of_rocksdb_does_not_count() {
        let target_directory = std::env::temp_dir().join(format!("orbweaver-first-build-{}", std::process::id()));
        let build = target_directory.join("release/build/librocksdb-sys-0123456789abcdef");
        assert!(!rocksdb_is_built(&target_directory));
        fs::create_dir_all(build.join("out")).unwrap();
        assert!(!rocksdb_is_built(&target_directory));
        fs::write(build.join("output"), "").unwrap();
        assert!(rocksdb_is_built(&target_directory));
        fs::remove_dir_all(&target_directory).unwrap();
    }
}
