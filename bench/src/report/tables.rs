//! The tables. A ratio that misses its goal stands in bold.

use crate::charts::Chart;
use crate::in_process::{Figure, PIPELINES, Time};
use crate::memory::Memory;
use crate::socket::Comparison;
use crate::start::Start;
use crate::statistics::geometric_mean;
use comfy_table::{Table, presets::ASCII_MARKDOWN};

/// The goals of issue 6, alone and in a pipeline of 32. The component's CPU time by the native engine's is at most:
const MOST_TO_NATIVE: [f64; 2] = [1.25, 1.10];
/// Blackwidow's time by the component's is at least, for every operation; in pipelines only the mean has a goal.
const LEAST_TO_BLACKWIDOW: [f64; 2] = [1.0, 0.0];
/// And in the mean.
const LEAST_MEAN_TO_BLACKWIDOW: [f64; 2] = [1.8, 3.0];
/// Requests a second by those of redis-server are at least:
const LEAST_TO_REDIS: [f64; 2] = [0.7, 1.0];
/// Milliseconds to the first reply are below:
const MOST_TO_START: f64 = 50.0;

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(ASCII_MARKDOWN).set_header(header);
    table
}

/// The goal of a pipeline.
fn of(goals: [f64; 2], pipeline: usize) -> f64 {
    PIPELINES.iter().zip(goals).find(|(known, _)| **known == pipeline).map_or(f64::NAN, |(_, goal)| goal)
}

fn marked(figure: f64, digits: usize, missed: bool) -> String {
    if missed { format!("**{figure:.digits$}**") } else { format!("{figure:.digits$}") }
}

fn at_least(goal: f64, ratio: f64) -> String {
    marked(ratio, 2, ratio < goal)
}

fn at_most(goal: f64, ratio: f64) -> String {
    marked(ratio, 2, ratio > goal)
}

impl Figure {
    fn over_raw(&self) -> f64 {
        self.component.cpu_us / self.raw.cpu_us
    }

    fn over_native(&self) -> f64 {
        self.component.cpu_us / self.native.cpu_us
    }

    fn ahead_of_blackwidow(&self) -> f64 {
        self.blackwidow_us / self.component.wall_us
    }
}

/// Microseconds an operation, ratios and counts.
pub fn in_process(figures: &[Figure]) -> Table {
    let mut table = table(&[
        "operation",
        "pipeline",
        "raw RocksDB: wall (CPU) us",
        "engine, native",
        "component",
        "component / raw, CPU",
        "component / native, CPU",
        "Blackwidow us",
        "Blackwidow / component",
        "store calls",
        "crossings",
    ]);
    let time = |time: &Time| format!("{:.2} ({:.2})", time.wall_us, time.cpu_us);
    for figure in figures {
        table.add_row([
            figure.operation.to_owned(),
            figure.pipeline.to_string(),
            time(&figure.raw),
            time(&figure.native),
            time(&figure.component),
            format!("{:.2}", figure.over_raw()),
            at_most(of(MOST_TO_NATIVE, figure.pipeline), figure.over_native()),
            figure.blackwidow_us.to_string(),
            at_least(of(LEAST_TO_BLACKWIDOW, figure.pipeline), figure.ahead_of_blackwidow()),
            format!("{:.2}", figure.store_calls),
            format!("{:.2}", figure.crossings),
        ]);
    }
    table
}

/// Geometric means over all operations.
pub fn means(figures: &[Figure]) -> Table {
    let mut table = table(&["pipeline", "component / raw, CPU", "component / native, CPU", "Blackwidow / component"]);
    for pipeline in PIPELINES {
        let mean = |ratio: fn(&Figure) -> f64| geometric_mean(figures.iter().filter(|figure| figure.pipeline == pipeline).map(ratio));
        table.add_row([
            pipeline.to_string(),
            format!("{:.2}", mean(Figure::over_raw)),
            at_most(of(MOST_TO_NATIVE, pipeline), mean(Figure::over_native)),
            at_least(of(LEAST_MEAN_TO_BLACKWIDOW, pipeline), mean(Figure::ahead_of_blackwidow)),
        ]);
    }
    table
}

/// Requests a second, their ratio to redis-server's, and CPU seconds for a million requests.
pub fn socket(comparisons: &[Comparison]) -> Table {
    let mut table = table(&["operation", "pipeline", "server", "requests a second", "/ redis", "CPU seconds a million"]);
    for comparison in comparisons {
        for (rate, position) in comparison.rates.iter().zip(1..) {
            let ratio = at_least(of(LEAST_TO_REDIS, comparison.pipeline), comparison.ratio(rate));
            let is_redis = position == comparison.rates.len();
            table.add_row([
                comparison.operation.to_owned(),
                comparison.pipeline.to_string(),
                rate.server.clone(),
                format!("{:.0}", rate.requests_per_second),
                if is_redis { String::new() } else { ratio },
                format!("{:.2}", rate.cpu_seconds_per_million),
            ]);
        }
    }
    table
}

/// Milliseconds to the first reply.
pub fn start(start: &Start) -> Table {
    let mut table = table(&["keys", "first start ms", "median ms", "longest ms"]);
    let ms = |ms: f64| marked(ms, 1, ms >= MOST_TO_START);
    table.add_row([start.keys.to_string(), ms(start.first_ms), ms(start.median_ms), ms(start.longest_ms)]);
    table
}

/// Megabytes of memory.
pub fn memory(memory: &Memory) -> Table {
    let mut table =
        table(&["data, GB", "caches and write buffers, MB", "resident at first, MB", "most while loading, MB", "most while reading, MB"]);
    let mb = |mb: f64| format!("{mb:.0}");
    table.add_row([
        format!("{:.1}", memory.data_bytes as f64 / 1e9),
        mb(memory.settings_mb),
        mb(memory.at_first_mb),
        mb(memory.most_while_loading_mb),
        mb(memory.most_while_reading_mb),
    ]);
    table
}

/// The first and the last figure of each line of charts: for programs and for those who do not see them.
pub fn ends(charts: &[&Chart]) -> Table {
    let mut table = table(&["chart", "line", "first", "last", "last / first"]);
    for chart in charts {
        for line in &chart.lines {
            let (Some(first), Some(last)) = (line.points.first(), line.points.last()) else { continue };
            let at = |point: &(f64, f64)| format!("{:.2} at {}", point.1, point.0);
            table.add_row([chart.file.clone(), line.name.clone(), at(first), at(last), format!("{:.2}", last.1 / first.1)]);
        }
    }
    table
}
