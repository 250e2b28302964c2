//! The WIT packages: as a folder, as components, and as a page to read.

use anyhow::{Context as _, Result};
use std::fs;
use std::path::Path;
use wit_bindgen_core::Files;
use wit_bindgen_core::wit_parser::{PackageId, Resolve};

/// The packages' folders within the repository, each behind those that it needs, and the folders that they get.
pub const PACKAGES: [(&str, &str); 7] = [
    ("wit/deps/clocks", "wasi-clocks"),
    ("wit/deps/random", "wasi-random"),
    ("wit/kv", "orbweaver-kv"),
    ("wit/engine", "orbweaver-engine"),
    ("plugins/wit", "orbweaver-plugins"),
    ("plugins/keyvalue/wit/keyvalue-0.2.0-draft", "wasi-keyvalue-0.2.0-draft"),
    ("plugins/keyvalue/wit/keyvalue-0.2.0-draft2", "wasi-keyvalue-0.2.0-draft2"),
];

/// The worlds that the page shows: between them, they have every interface.
const WORLDS: [(&str, &str); 2] = [("orbweaver-engine", "orbweaver"), ("orbweaver-plugins", "provider")];

/// The packages, read.
pub struct Packages {
    resolve: Resolve,
    ids: Vec<(&'static str, PackageId)>,
}

/// A WIT package as a component.
pub struct Encoded {
    pub name: &'static str,
    pub wasm: Vec<u8>,
}

impl Packages {
    pub fn read(workspace: &Path) -> Result<Self> {
        let mut resolve = Resolve::default();
        let mut ids = Vec::new();
        for (folder, name) in PACKAGES {
            ids.push((name, resolve.push_dir(workspace.join(folder)).with_context(|| format!("reading {folder}"))?.0));
        }
        Ok(Self { resolve, ids })
    }

    /// The packages of this project as components.
    pub fn encode(&self) -> Result<Vec<Encoded>> {
        let ours = self.ids.iter().filter(|(name, _)| name.starts_with("orbweaver"));
        ours.map(|(name, id)| Ok(Encoded { name, wasm: wit_component::encode(&self.resolve, *id)? })).collect()
    }

    /// A page, in Markdown, of every interface.
    pub fn page(&self) -> Result<String> {
        let mut page = String::from("<!-- Generated from the WIT packages by `cargo xtask package`. -->\n\n");
        for (package, world) in WORLDS {
            let ids: Vec<PackageId> = self.ids.iter().filter(|(name, _)| *name == package).map(|(_, id)| *id).collect();
            let mut resolve = self.resolve.clone();
            let world = resolve.select_world(&ids, Some(world))?;
            let mut files = Files::default();
            wit_bindgen_markdown::Opts::default().build().generate(&mut resolve, world, &mut files)?;
            let markdown = files.iter().find(|(name, _)| name.ends_with(".md")).context("the generator gave no page")?.1;
            page.push_str(std::str::from_utf8(markdown)?);
            page.push('\n');
        }
        Ok(page)
    }
}

/// Copies the packages, each into a folder of its own: what bindings generators take.
pub fn copy(workspace: &Path, target: &Path) -> Result<()> {
    for (folder, name) in PACKAGES {
        let target = target.join(name);
        fs::create_dir_all(&target)?;
        for entry in fs::read_dir(workspace.join(folder))? {
            let entry = entry?;
            fs::copy(entry.path(), target.join(entry.file_name()))?;
        }
    }
    Ok(())
}
