//! Programs and libraries from the operating system's packages.

use std::env;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::command;

/// Something that must be on the machine.
pub struct Need {
    /// The Debian package that brings it.
    package: &'static str,
    /// What it is for, to follow "for".
    purpose: &'static str,
    is_present: fn() -> bool,
}

/// What building anything in C++ needs.
pub const COMPILER: Need = Need { package: "g++", purpose: "compiling RocksDB and libFuzzer", is_present: || runs("c++", &["--version"]) };

/// What building RocksDB and the clients of the distributed stores needs.
pub const BUILD: [Need; 6] = [
    COMPILER,
    Need { package: "make", purpose: "compiling jemalloc", is_present: || runs("make", &["--version"]) },
    Need { package: "protobuf-compiler", purpose: "reading etcd's protocol", is_present: || runs("protoc", &["--version"]) },
    Need { package: "libprotobuf-dev", purpose: "what etcd's protocol includes", is_present: protobuf_includes_are_present },
    Need { package: "clang", purpose: "reading RocksDB's C header", is_present: || runs("clang", &["--version"]) },
    Need { package: "libclang-dev", purpose: "reading RocksDB's C header", is_present: libclang_is_present },
];

/// What the tests need on top of it: the server they compare with, and other clients.
pub const TEST: [Need; 6] = [
    Need { package: "etcd-server", purpose: "testing on a cluster of etcd", is_present: || runs("etcd", &["--version"]) },
    Need { package: "postgresql", purpose: "testing on PostgreSQL", is_present: postgresql_is_present },
    Need { package: "redis-server", purpose: "comparing replies", is_present: || runs("redis-server", &["--version"]) },
    Need { package: "redis-tools", purpose: "testing with redis-cli", is_present: || runs("redis-cli", &["--version"]) },
    Need { package: "python3", purpose: "testing with redis-py and wasmtime", is_present: || runs("python3", &["--version"]) },
    Need { package: "python3-venv", purpose: "testing with redis-py", is_present: || runs("python3", &["-c", "import ensurepip, venv"]) },
];

/// What programs and tests in JavaScript need, in Node and in a browser.
pub const BROWSER: [Need; 3] = [
    Need { package: "nodejs", purpose: "JavaScript: version 20 or later", is_present: node_is_present },
    Need { package: "npm", purpose: "what JavaScript uses from npm", is_present: || runs("npm", &["--version"]) },
    Need { package: "chromium", purpose: "testing in a browser", is_present: || runs("chromium", &["--version"]) },
];

/// What flame graphs need.
pub const FLAME: [Need; 1] = [Need { package: "linux-perf", purpose: "flame graphs", is_present: || runs("perf", &["--version"]) }];

/// Debian keeps the server's programs out of the PATH, in a folder for each version.
fn postgresql_is_present() -> bool {
    runs("initdb", &["--version"])
        || std::fs::read_dir("/usr/lib/postgresql").is_ok_and(|versions| versions.flatten().any(|v| v.path().join("bin/initdb").exists()))
}

/// Installs the packages of all needs that are not met: with apt-get as root on Debian and its relatives.
/// Elsewhere, and for other users, an error says what to run or to install.
pub fn install_missing<'n>(needs: impl Iterator<Item = &'n Need>) -> Result<()> {
    let missing: Vec<&Need> = needs.filter(|need| !(need.is_present)()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.iter().map(|need| need.package).collect();
    if !runs("apt-get", &["--version"]) {
        bail!("{}\nInstall them with this system's package manager, then run the same again.", list(&missing));
    }
    if !is_root() {
        bail!(
            "{}\nInstall them with this command, then run the same again:\n\n  \
             sudo apt-get update && sudo apt-get install --yes --no-install-recommends {}",
            list(&missing),
            names.join(" "),
        );
    }
    println!("{}", list(&missing));
    command::run(apt_get().arg("update")).context("cannot refresh the list of packages")?;
    command::run(apt_get().args(["install", "--yes", "--no-install-recommends"]).args(&names))
        .with_context(|| format!("cannot install {}", names.join(" ")))?;
    if let Some(need) = missing.iter().find(|need| !(need.is_present)()) {
        bail!("{} was installed and is still not found, or is too old: look at PATH", need.package);
    }
    Ok(())
}

fn list(missing: &[&Need]) -> String {
    let lines = missing.iter().map(|need| format!("\n  {:<13} for {}", need.package, need.purpose));
    format!("These packages are missing (Debian's names):{}", lines.collect::<String>())
}

fn apt_get() -> Command {
    let mut apt_get = Command::new("apt-get");
    // A package that asks questions would wait for ever in CI.
    apt_get.arg("--quiet").env("DEBIAN_FRONTEND", "noninteractive");
    apt_get
}

fn is_root() -> bool {
    command::output(Command::new("id").arg("-u")).as_deref() == Some("0")
}

fn runs(program: &str, arguments: &[&str]) -> bool {
    command::succeeds(Command::new(program).args(arguments))
}

/// Only recommended by Debian's compiler, which finds them beside itself elsewhere.
fn protobuf_includes_are_present() -> bool {
    runs("protoc", &["--descriptor_set_out=/dev/null", "google/protobuf/descriptor.proto", "google/protobuf/struct.proto"])
}

/// The client libraries want Node 20.
fn node_is_present() -> bool {
    let version = command::output(Command::new("node").arg("--version"));
    let major = version.as_deref().and_then(|version| version.strip_prefix('v')?.split('.').next()?.parse::<u32>().ok());
    major.is_some_and(|major| major >= 20)
}

/// A library cannot be run to see whether it is there. Debian packages it apart from clang; elsewhere the two come together.
fn libclang_is_present() -> bool {
    if env::var_os("LIBCLANG_PATH").is_some() || !runs("dpkg-query", &["--version"]) {
        return true;
    }
    let status = command::output(Command::new("dpkg-query").args(["--show", "--showformat=${db:Status-Status}", "libclang-dev"]));
    status.as_deref() == Some("installed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_each_missing_package_and_its_purpose() {
        let need = Need { package: "clang", purpose: "reading headers", is_present: || false };
        let expected = "These packages are missing (Debian's names):\n  clang         for reading headers";
        assert_eq!(list(&[&need]), expected);
    }

    #[test]
    fn needs_that_are_met_install_nothing() {
        let met = [Need { package: "no-such-package", purpose: "nothing", is_present: || true }];
        assert!(install_missing(met.iter()).is_ok());
    }
}
