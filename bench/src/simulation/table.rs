//! The simulation for people.

use super::Line;
use comfy_table::{Table, presets::ASCII_MARKDOWN};

/// Requests a second, and conflicts a commit.
pub fn of(lines: &[Line]) -> Table {
    let mut table = Table::new();
    let servers: Vec<usize> = lines.first().map(|line| line.outcomes.iter().map(|(servers, _)| *servers).collect()).unwrap_or_default();
    let header = std::iter::once("hot keys".to_owned()).chain(servers.iter().map(|servers| format!("{servers} servers")));
    table.load_preset(ASCII_MARKDOWN).set_header(header.collect::<Vec<_>>());
    for line in lines {
        let cells =
            line.outcomes.iter().map(|(_, outcome)| format!("{:.0} /s, {:.2}", outcome.requests_per_second, outcome.conflicts_per_commit));
        table.add_row(std::iter::once(line.hot_keys.to_string()).chain(cells).collect::<Vec<_>>());
    }
    table
}
