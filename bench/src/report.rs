//! Results: tables for people, JSON for programs, and the generated parts of docs/benchmarks.md.

mod tables;

use crate::charts::Chart;
use crate::in_process::Figure;
use crate::machine::Machine;
use crate::memory::Memory;
use crate::socket::Comparison;
use crate::start::Start;
use anyhow::{Context as _, Result};
use serde::Serialize;
use std::fs;
use std::path::Path;

/// Everything that a run has measured; what it left out is empty.
#[derive(Debug, Serialize)]
pub struct Results {
    pub machine: Machine,
    pub in_process: Vec<Figure>,
    pub socket: Vec<Comparison>,
    /// Of the tests that redis-benchmark brings along.
    pub own_tests: Vec<Comparison>,
    pub start: Option<Start>,
    pub memory: Option<Memory>,
    pub charts: Vec<Chart>,
}

/// A generated part of the page.
pub struct Section {
    /// Its name in the page's markers.
    name: &'static str,
    text: String,
}

impl Results {
    /// What was measured.
    pub fn sections(&self) -> Vec<Section> {
        let mut sections = Vec::new();
        let mut add = |name, table: String| sections.push(Section { name, text: format!("{}.\n\n{table}", self.machine) });
        if !self.in_process.is_empty() {
            add("in-process", tables::in_process(&self.in_process).to_string());
            add("means", tables::means(&self.in_process).to_string());
        }
        if !self.socket.is_empty() {
            add("socket", tables::socket(&self.socket).to_string());
        }
        if !self.own_tests.is_empty() {
            add("own tests", tables::socket(&self.own_tests).to_string());
        }
        if let Some(start) = &self.start {
            add("start", tables::start(start).to_string());
        }
        if let Some(memory) = &self.memory {
            add("memory", tables::memory(memory).to_string());
        }
        for kind in ["churn", "growth"] {
            let charts: Vec<&Chart> = self.charts.iter().filter(|chart| chart.file.starts_with(kind)).collect();
            if !charts.is_empty() {
                add(kind, tables::ends(&charts).to_string());
            }
        }
        sections
    }

    /// Draws all charts into a folder.
    pub fn draw(&self, dir: &Path) -> Result<()> {
        self.charts.iter().chain(self.memory.as_ref().map(|memory| &memory.chart)).try_for_each(|chart| chart.write(dir))
    }
}

/// Puts sections into a page, between their markers; the rest of it stays.
pub fn write(page: &Path, sections: &[Section]) -> Result<()> {
    let mut text = fs::read_to_string(page).with_context(|| format!("cannot read {}", page.display()))?;
    for section in sections {
        text = replaced(&text, section).with_context(|| format!("{} has no markers for {}", page.display(), section.name))?;
    }
    fs::write(page, text).with_context(|| format!("cannot write {}", page.display()))
}

fn replaced(page: &str, section: &Section) -> Option<String> {
    let (start, end) = (format!("<!-- bench: {} -->", section.name), format!("<!-- end of bench: {} -->", section.name));
    let (before, rest) = page.split_once(&start)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{start}\n{}\n{end}{after}", section.text))
}

impl std::fmt::Display for Section {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\n== {}: {}", self.name, self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_replaces_what_is_between_its_markers_and_nothing_else() {
        let page = "# Title\n<!-- bench: start -->\nold\n<!-- end of bench: start -->\nText.\n";
        let section = Section { name: "start", text: "new".into() };
        let written = "# Title\n<!-- bench: start -->\nnew\n<!-- end of bench: start -->\nText.\n";
        assert_eq!(replaced(page, &section).as_deref(), Some(written));
        assert_eq!(replaced(written, &section).as_deref(), Some(written));
        assert!(replaced("no markers", &section).is_none());
    }
}
