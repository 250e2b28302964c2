//! A command reads in one round trip what does not depend on what it has read, and commits in one; `docs/round-trips.md` has the numbers.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod common;
#[path = "round_trips/mod.rs"]
mod counted;
mod measured;

use counted::{Counted, PIPELINE, count};
use orbweaver_engine::command::{Run, table};
use std::collections::BTreeSet;

#[test]
fn the_page_of_round_trips_is_what_is_counted() {
    let page = include_str!("../../../docs/round-trips.md");
    assert!(page == counted::markdown(), "docs/round-trips.md is old: cargo run -p orbweaver-engine --example generate_docs");
}

/// One that reads no data, and one whose argument no line of text holds: it costs what SET, HSET and the others do.
const WITHOUT_EXAMPLE: &[&str] = &["debug", "restore"];

#[test]
fn every_command_that_works_on_data_is_counted() {
    let counted: BTreeSet<&str> = count().iter().map(|counted| counted.name).collect();
    let all = table::all().iter().copied().flat_map(|command| std::iter::once(command).chain(command.subcommands));
    let works_on_data = all.filter(|command| command.run.is_data() || matches!(command.run, Run::Blocking(_)));
    let missing: Vec<&str> = works_on_data.map(|command| command.name).filter(|name| !counted.contains(name)).collect();
    assert_eq!(missing, WITHOUT_EXAMPLE);
}

#[test]
fn a_command_commits_at_most_once_and_one_that_only_reads_never() {
    for &Counted { name, example, alone, together, .. } in count() {
        let command = table::find_by_full_name(name.as_bytes()).unwrap();
        let writes = !command.flags.has(orbweaver_engine::command::flags::Flags::READONLY);
        assert!(alone.commits <= usize::from(writes), "{example} commits {} times", alone.commits);
        assert!(together.commits <= PIPELINE, "{example}");
    }
}

/// Commands that read several ranges, which the contract asks for one at a time: collections that are compared with each other, places
/// around a centre, elements on both sides of another, every db.
const SEVERAL_RANGES: &[&str] = &["geo", "list", "server", "set", "sorted-set"];

#[test]
fn what_does_not_depend_on_what_was_read_is_read_together() {
    for &Counted { name, group, example, alone, .. } in count() {
        // The meta records of all keys, then the records that these lead to.
        let most = match name {
            "randomkey" => 16,
            // They ask for the hash before they ask for its fields, which reads its meta record again.
            "hexpiretime" | "hpexpiretime" | "hpttl" | "httl" => 3,
            _ => 2,
        };
        assert!(alone.reads <= most || SEVERAL_RANGES.contains(&group), "{example} reads {} times", alone.reads);
    }
}
