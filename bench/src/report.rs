//! Tables for people, JSON for programs.

use crate::in_process::{Figure, PIPELINES, Side};
use crate::socket::Rate;
use crate::workload::Operation;
use comfy_table::{Table, presets::ASCII_MARKDOWN};
use serde_json::{Value, json};

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(ASCII_MARKDOWN).set_header(header);
    table
}

/// Microseconds an operation, and how many times raw RocksDB's, and the native engine's, CPU time that is.
pub fn in_process(figures: &[Figure]) -> Table {
    let mut table = table(&["operation", "pipeline", "side", "wall us", "CPU us", "CPU / raw", "CPU / native"]);
    for operation in Operation::ALL {
        for pipeline in PIPELINES {
            let of =
                |side: Side| figures.iter().find(|figure| (figure.operation, figure.pipeline, figure.side) == (operation, pipeline, side));
            let cpu = |side: Side| of(side).map_or(f64::NAN, |figure| figure.cpu_us);
            for figure in Side::ALL.into_iter().filter_map(of) {
                let ratio = |base: Side| format!("{:.2}", figure.cpu_us / cpu(base));
                let (wall, own) = (format!("{:.2}", figure.wall_us), format!("{:.2}", figure.cpu_us));
                let side = figure.side.name().to_owned();
                let cells = [operation.name().to_owned(), pipeline.to_string(), side, wall, own, ratio(Side::Raw), ratio(Side::Native)];
                table.add_row(cells);
            }
        }
    }
    table
}

/// Requests a second, and their ratio.
pub fn socket(rates: &[Rate]) -> Table {
    let mut table = table(&["operation", "pipeline", "orbweaver /s", "redis everysec /s", "orbweaver / redis"]);
    for rate in rates {
        let ratio = format!("{:.2}", rate.orbweaver / rate.redis);
        let (own, redis) = (format!("{:.0}", rate.orbweaver), format!("{:.0}", rate.redis));
        table.add_row([rate.operation.name().to_owned(), rate.pipeline.to_string(), own, redis, ratio]);
    }
    table
}

/// All figures.
pub fn json(figures: &[Figure], rates: &[Rate]) -> Value {
    let in_process: Vec<Value> = figures
        .iter()
        .map(|figure| {
            json!({
                "operation": figure.operation.name(), "pipeline": figure.pipeline, "side": figure.side.name(),
                "wall_us": figure.wall_us, "cpu_us": figure.cpu_us,
            })
        })
        .collect();
    let socket: Vec<Value> = rates
        .iter()
        .map(|rate| {
            json!({
                "operation": rate.operation.name(), "pipeline": rate.pipeline,
                "orbweaver_per_second": rate.orbweaver, "redis_per_second": rate.redis,
            })
        })
        .collect();
    json!({ "in_process": in_process, "socket": socket })
}
