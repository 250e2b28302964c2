//! The folder of the release.

use crate::build::{self, Parts};
use crate::compose::{Part, compose};
use crate::page::Report;
use crate::wit::{self, Packages};
use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use wasm_metadata::{AddMetadata, AddMetadataField, Description, Licenses, Source, Version};

/// A component of the release.
struct Artefact {
    name: &'static str,
    description: &'static str,
    wasm: Vec<u8>,
}

/// Builds everything and writes it into `out`, which is emptied first.
pub fn write(workspace: &Path, out: &Path, target_dir: &Path) -> Result<()> {
    let parts = build::build(workspace, target_dir)?;
    let packages = Packages::read(workspace)?;
    if out.exists() {
        fs::remove_dir_all(out).with_context(|| format!("cannot empty {}", out.display()))?;
    }
    fs::create_dir_all(out)?;
    write_for_tests(&parts, &out.join("tests"))?;
    let mut report = Report::new();
    for artefact in artefacts(parts)? {
        let wasm = with_metadata(&artefact.wasm, Some(artefact.name), artefact.description)?;
        fs::write(out.join(format!("{}.wasm", artefact.name)), &wasm)?;
        report.add(artefact.name, artefact.description, &wasm)?;
    }
    for package in packages.encode()? {
        let wasm = with_metadata(&package.wasm, None, "Interfaces of Orbweaver: Redis data structures over any ordered key-value store")?;
        fs::write(out.join(format!("{}.wit.wasm", package.name)), wasm)?;
    }
    wit::copy(workspace, &out.join("wit"))?;
    fs::write(out.join("interfaces.md"), packages.page()?)?;
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(workspace.join(licence), out.join(licence))?;
    }
    fs::write(out.join("artefacts.md"), &report.page)?;
    fs::write(out.join("sizes.txt"), &report.sizes)?;
    print!("{}", report.sizes);
    write_checksums(out)
}

/// Writes what only the tests of the release run.
fn write_for_tests(parts: &Parts, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let on_broken = compose(&[Part::inner("store", &parts.broken), Part::outer("conform", &parts.conform)])?;
    fs::write(folder.join("orbweaver-conform-on-broken.wasm"), on_broken)?;
    let Parts { redb, memory, clients, .. } = parts;
    let (draft, draft2) = (Part::inner("draft", &parts.keyvalue_draft), Part::inner("draft2", &parts.keyvalue));
    let write = |name: &str, store: &[u8], adapters: &[Part<'_>], client: &[u8]| {
        let below = [Part::inner("store", store), Part::inner("log", &parts.log), Part::inner("engine", &parts.engine)];
        let wasm = compose(&[&below, adapters, &[Part::outer("client", client)]].concat())?;
        fs::write(folder.join(name), wasm).with_context(|| format!("cannot write {name}"))
    };
    write("client-draft-on-memory.wasm", memory, &[draft], &clients.draft)?;
    write("client-draft-on-redb.wasm", redb, &[draft], &clients.draft)?;
    write("client-draft2-on-memory.wasm", memory, &[draft2], &clients.draft2)?;
    write("client-draft2-on-redb.wasm", redb, &[draft2], &clients.draft2)?;
    write("client-both-on-memory.wasm", memory, &[draft, draft2], &clients.both)
}

fn artefacts(parts: Parts) -> Result<Vec<Artefact>> {
    let Parts { engine, redb, memory, log, command, conform, keyvalue, keyvalue_draft, .. } = parts;
    let on = |store: &[u8]| compose(&[Part::outer("store", store), Part::inner("log", &log), Part::outer("engine", &engine)]);
    let tested = |store: &[u8]| compose(&[Part::inner("store", store), Part::outer("conform", &conform)]);
    let keyvalue_on = |adapter: &[u8], store: &[u8]| {
        let (log, engine) = (Part::inner("log", &log), Part::inner("engine", &engine));
        compose(&[Part::outer("store", store), log, engine, Part::outer("keyvalue", adapter)])
    };
    let parts = [Part::inner("store", &redb), Part::inner("log", &log), Part::inner("engine", &engine), Part::outer("command", &command)];
    let cli = compose(&parts)?;
    let compositions = [
        Artefact { name: "orbweaver-on-redb", description: "Orbweaver over a file of redb", wasm: on(&redb)? },
        Artefact { name: "orbweaver-on-memory", description: "Orbweaver over a store in memory", wasm: on(&memory)? },
        Artefact { name: "orbweaver-cli", description: "Orbweaver over a file of redb, as a command line", wasm: cli },
        Artefact {
            name: "orbweaver-keyvalue-on-redb",
            description: "wasi:keyvalue@0.2.0-draft2 over a file of redb",
            wasm: keyvalue_on(&keyvalue, &redb)?,
        },
        Artefact {
            name: "orbweaver-keyvalue-on-memory",
            description: "wasi:keyvalue@0.2.0-draft2 over a store in memory",
            wasm: keyvalue_on(&keyvalue, &memory)?,
        },
        Artefact {
            name: "orbweaver-keyvalue-draft-on-redb",
            description: "wasi:keyvalue@0.2.0-draft over a file of redb",
            wasm: keyvalue_on(&keyvalue_draft, &redb)?,
        },
        Artefact {
            name: "orbweaver-keyvalue-draft-on-memory",
            description: "wasi:keyvalue@0.2.0-draft over a store in memory",
            wasm: keyvalue_on(&keyvalue_draft, &memory)?,
        },
        Artefact { name: "orbweaver-conform-on-redb", description: "The test-suite over the redb store", wasm: tested(&redb)? },
        Artefact { name: "orbweaver-conform-on-memory", description: "The test-suite over the memory store", wasm: tested(&memory)? },
    ];
    let components = [
        Artefact { name: "orbweaver", description: "Redis data structures over any ordered key-value store", wasm: engine },
        Artefact { name: "orbweaver-redb", description: "orbweaver:kv over a file of redb", wasm: redb },
        Artefact { name: "orbweaver-memory", description: "orbweaver:kv in memory", wasm: memory },
        Artefact { name: "orbweaver-log", description: "The engine's last words on the standard error stream", wasm: log },
        Artefact { name: "orbweaver-keyvalue", description: "wasi:keyvalue@0.2.0-draft2 on Orbweaver", wasm: keyvalue },
        Artefact { name: "orbweaver-keyvalue-draft", description: "wasi:keyvalue@0.2.0-draft on Orbweaver", wasm: keyvalue_draft },
        Artefact { name: "orbweaver-conform", description: "The test-suite of orbweaver:kv", wasm: conform },
    ];
    Ok(components.into_iter().chain(compositions).collect())
}

/// The component with what registries show of it. A WIT package has its name already.
fn with_metadata(wasm: &[u8], name: Option<&str>, description: &'static str) -> Result<Vec<u8>> {
    let mut metadata = AddMetadata::default();
    if let Some(name) = name {
        metadata.name = AddMetadataField::Set(name.to_owned());
    }
    metadata.description = AddMetadataField::Set(Description::new(description));
    metadata.licenses = AddMetadataField::Set(Licenses::new(env!("CARGO_PKG_LICENSE"))?);
    metadata.source = AddMetadataField::Set(Source::new(env!("CARGO_PKG_REPOSITORY"))?);
    metadata.version = AddMetadataField::Set(Version::new(env!("CARGO_PKG_VERSION")));
    metadata.to_wasm(wasm)
}

/// Writes the checksums of the folder's files, as `sha256sum --check` reads them.
fn write_checksums(out: &Path) -> Result<()> {
    let mut files: Vec<_> = fs::read_dir(out)?.collect::<Result<Vec<_>, _>>()?;
    files.retain(|file| file.path().is_file());
    files.sort_by_key(fs::DirEntry::file_name);
    let mut lines = String::new();
    for file in files {
        let digest = Sha256::digest(fs::read(file.path())?);
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(lines, "{hex}  {}", file.file_name().to_string_lossy())?;
    }
    Ok(fs::write(out.join("SHA256SUMS"), lines)?)
}
