//! How many round trips commands take on a store behind a network: those that wait for the one before them, for what they read, and
//! the commit. Counted on a store that counts, with the examples of [`examples`], and written down as `docs/round-trips.md`.
#![allow(dead_code, reason = "the test and the example that writes the page use parts of it")]

mod examples;

use super::measured::{Cost, Measured};
use orbweaver_engine::command::table;
use orbweaver_engine::store::MemoryStore;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::OnceLock;

/// Requests that arrive together.
pub const PIPELINE: usize = 32;

/// A command of the table, and what its example costs.
pub struct Counted {
    pub name: &'static str,
    pub group: &'static str,
    pub example: &'static str,
    pub alone: Cost,
    /// [`PIPELINE`] times the example, sent at once.
    pub together: Cost,
}

/// All examples, counted.
pub fn count() -> &'static [Counted] {
    static COUNTED: OnceLock<Vec<Counted>> = OnceLock::new();
    COUNTED.get_or_init(count_all)
}

fn count_all() -> Vec<Counted> {
    let counted = examples::EXAMPLES.iter().map(|&example| {
        let words: Vec<bytes::Bytes> = example.split(' ').map(|word| bytes::Bytes::copy_from_slice(word.as_bytes())).collect();
        let command = table::resolve(&words).unwrap_or_else(|| panic!("{example} is not a command"));
        let (alone, reply) = prepared().cost_of(example);
        assert!(!reply.starts_with('-') || command.name == "object|freq", "{example}: {reply}");
        let (together, _) = prepared().cost_of(&[example; PIPELINE].join("\r\n"));
        Counted { name: command.name, group: command.group.name(), example, alone, together }
    });
    counted.collect()
}

/// An engine that has what the examples work on.
fn prepared() -> Measured {
    let mut measured = Measured::on(MemoryStore::new());
    for line in examples::PREPARATION {
        let reply = measured.client.run(line);
        assert!(!reply.starts_with('-'), "{line}: {reply}");
    }
    measured
}

/// The page.
pub fn markdown() -> String {
    let mut groups: BTreeMap<&str, Vec<&Counted>> = BTreeMap::new();
    for counted in count() {
        groups.entry(counted.group).or_default().push(counted);
    }
    let mut page = format!("{HEAD}\n");
    for (group, mut commands) in groups {
        commands.sort_by_key(|counted| counted.name);
        // Writing to a string cannot fail.
        let _ = write!(
            page,
            "\n## {group}\n\n| command | example | reads | commit | {PIPELINE} at once: reads | commits |\n|---|---|---|---|---|---|\n"
        );
        for Counted { name, example, alone, together, .. } in commands {
            let name = name.replace('|', " ").to_ascii_uppercase();
            let (reads, commits) = (alone.reads, alone.commits);
            let _ = writeln!(page, "| {name} | `{example}` | {reads} | {commits} | {} | {} |", together.reads, together.commits);
        }
    }
    page
}

const HEAD: &str = "\
# Round trips

What a command waits for on a store behind a network. *Reads* are requests to the store of which each waits for the one before it:
`get`, `get-many` (many records, one round trip) and `scan` (a page) of the contract `orbweaver:kv`. *Commit* is the one request that
writes. A command that changes nothing has none. *At once*: the same request so many times in one pipeline, or from as many clients at
the same time, which share one transaction where nothing between them has to be seen first.

What these requests are on the wire:

| store | a transaction that reads | one that writes |
|---|---|---|
| RocksDB | no network | no network |
| etcd | each read a range request at one revision, or several in one transaction request; the first one also fetches the epoch | the reads, then one transaction request: compares and puts together |
| PostgreSQL | the statements that begin the transaction travel with the first read | the reads, then one round trip: the statements of the batch and COMMIT travel together |

A conflict runs all of it again. The sweep reads three pages a step, see [scale](scale.md).

Made by `cargo run -p orbweaver-engine --example generate_docs`, from examples on a small database: a collection of any size costs a read
more for each page that it fills, and one that is [packed](operations.md#packed-collections) none but that of its key. None is packed here. A test compares
this page with what it counts.
";
