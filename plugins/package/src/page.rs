//! What a host author wants to know of each component: the page `docs/artefacts.md`, and the sizes of a build.

use crate::compose::interfaces;
use anyhow::{Context as _, Result};
use std::fmt::Write as _;

const HEAD: &str = "\
<!-- Generated: `cargo xtask package` writes it into dist/. -->

# The components of the release

What each one asks of its host, what it gives, and how large it may get. [Plugins](plugins.md) says what they are for.
`dist/sizes.txt` has the sizes of a build.
";

/// The most that a component may have, in kilobytes (1000 bytes). What needs more says so here.
const BUDGETS: [(&str, u64); 16] = [
    // Four foreign layouts, trees of ranks, packed collections, what instances tell each other, and what goes straight; what is hot is inlined.
    ("orbweaver", 3700),
    ("orbweaver-redb", 1200),
    ("orbweaver-memory", 150),
    ("orbweaver-log", 100),
    ("orbweaver-conform", 400),
    ("orbweaver-on-redb", 4850),
    ("orbweaver-on-memory", 3900),
    ("orbweaver-cli", 5000),
    ("orbweaver-keyvalue", 150),
    ("orbweaver-keyvalue-draft", 150),
    ("orbweaver-keyvalue-on-redb", 4950),
    ("orbweaver-keyvalue-on-memory", 3950),
    ("orbweaver-keyvalue-draft-on-redb", 4900),
    ("orbweaver-keyvalue-draft-on-memory", 3950),
    ("orbweaver-conform-on-redb", 1600),
    ("orbweaver-conform-on-memory", 550),
];

/// The page and the table of sizes, as far as they are written.
pub struct Report {
    /// The same for every build that imports and exports the same.
    pub page: String,
    /// One line a component: name, bytes, budget.
    pub sizes: String,
}

impl Report {
    pub fn new() -> Self {
        Self { page: HEAD.to_owned(), sizes: format!("{:<28} {:>9}  budget\n", "component", "bytes") }
    }

    /// Appends a component.
    ///
    /// # Errors
    /// Where it has no budget, or is no component.
    pub fn add(&mut self, name: &str, description: &str, wasm: &[u8]) -> Result<()> {
        let budget = budget(name).with_context(|| format!("{name} has no budget in plugins/package/src/page.rs"))?;
        let (imports, exports) = interfaces(wasm)?;
        writeln!(self.page, "\n## {name}.wasm\n\n{description}. At most {budget} KB.")?;
        for (what, names) in [("imports", imports), ("exports", exports)] {
            writeln!(self.page, "\n{what}:\n")?;
            names.iter().try_for_each(|name| writeln!(self.page, "- `{name}`"))?;
        }
        Ok(writeln!(self.sizes, "{name:<28} {:>9}  {} KB", wasm.len(), budget)?)
    }
}

fn budget(name: &str) -> Option<u64> {
    BUDGETS.iter().find(|(of, _)| *of == name).map(|(_, budget)| *budget)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};
    use std::{env, fs};

    fn workspace() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    /// The release: `cargo xtask test` says where it is.
    fn dist() -> PathBuf {
        env::var_os("ORBWEAVER_DIST").map_or_else(|| workspace().join("dist"), PathBuf::from)
    }

    #[test]
    fn no_component_is_above_its_budget() {
        for (name, budget) in BUDGETS {
            let bytes = fs::metadata(dist().join(format!("{name}.wasm"))).unwrap().len();
            let advice = "find out what made it larger; where that is worth it, raise the budget in plugins/package/src/page.rs";
            assert!(bytes <= budget * 1000, "{name}.wasm has {bytes} bytes, and its budget is {budget} KB: {advice}");
        }
    }

    #[test]
    fn the_page_in_docs_is_that_of_the_release() {
        let read = |path: PathBuf| fs::read_to_string(path).unwrap();
        let (documented, built) = (read(workspace().join("docs/artefacts.md")), read(dist().join("artefacts.md")));
        let advice = "imports, exports or budgets have changed: run `cargo xtask package` and copy dist/artefacts.md into docs/";
        assert!(documented == built, "{advice}\n{built}");
    }

    #[test]
    fn a_component_without_a_budget_is_refused() {
        assert_eq!(Report::new().add("new", "", b"").unwrap_err().to_string(), "new has no budget in plugins/package/src/page.rs");
    }
}
