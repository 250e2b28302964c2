//! Components made of components.

use anyhow::{Context as _, Result};
use std::collections::BTreeMap;
use wac_graph::types::Package;
use wac_graph::{CompositionGraph, EncodeOptions};

/// A component within a composition.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    name: &'a str,
    wasm: &'a [u8],
    /// The composition exports what the part exports.
    is_exported: bool,
}

impl<'a> Part<'a> {
    /// A part that only the parts behind it see.
    pub const fn inner(name: &'a str, wasm: &'a [u8]) -> Self {
        Self { name, wasm, is_exported: false }
    }

    /// A part that the composition's host sees, too.
    pub const fn outer(name: &'a str, wasm: &'a [u8]) -> Self {
        Self { name, wasm, is_exported: true }
    }
}

/// Composes the parts: each imports what a part before it exports under the same name, and the rest from the composition's host.
pub fn compose(parts: &[Part<'_>]) -> Result<Vec<u8>> {
    let mut graph = CompositionGraph::new();
    let mut exported = BTreeMap::new();
    for part in parts {
        let package =
            Package::from_bytes(part.name, None, part.wasm, graph.types_mut()).with_context(|| format!("reading {}", part.name))?;
        let world = &graph.types()[package.ty()];
        let imports: Vec<String> = world.imports.keys().cloned().collect();
        let exports: Vec<String> = world.exports.keys().cloned().collect();
        let package = graph.register_package(package)?;
        let instance = graph.instantiate(package);
        for name in imports {
            if let Some(provided) = exported.get(&name) {
                graph.set_instantiation_argument(instance, &name, *provided)?;
            }
        }
        for name in exports {
            let export = graph.alias_instance_export(instance, &name)?;
            if part.is_exported {
                graph.export(export, &name)?;
            }
            exported.insert(name, export);
        }
    }
    graph.encode(EncodeOptions::default()).context("encoding the composition")
}

/// What a component imports and exports, each sorted.
pub fn interfaces(wasm: &[u8]) -> Result<(Vec<String>, Vec<String>)> {
    let mut graph = CompositionGraph::new();
    let package = Package::from_bytes("component", None, wasm, graph.types_mut())?;
    let world = &graph.types()[package.ty()];
    let sorted = |names: Vec<&String>| {
        let mut names: Vec<String> = names.into_iter().cloned().collect();
        names.sort_unstable();
        names
    };
    Ok((sorted(world.imports.keys().collect()), sorted(world.exports.keys().collect())))
}
