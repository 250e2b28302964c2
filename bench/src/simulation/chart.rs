//! The simulation as charts.

use super::{Line, Outcome};
use anyhow::Result;
use plotters::prelude::*;
use std::path::Path;

const SIZE: (u32, u32) = (760, 420);
/// Distinguishable with any colour vision (Okabe and Ito, 2008).
const COLOURS: [RGBColor; 5] =
    [RGBColor(0, 114, 178), RGBColor(230, 159, 0), RGBColor(0, 158, 115), RGBColor(204, 121, 167), RGBColor(213, 94, 0)];

/// Requests a second against servers.
pub fn throughput(path: &Path, lines: &[Line]) -> Result<()> {
    draw(path, lines, "requests a second, thousands", |outcome| outcome.requests_per_second / 1000.0)
}

/// Conflicts a commit against servers.
pub fn conflicts(path: &Path, lines: &[Line]) -> Result<()> {
    draw(path, lines, "conflicts for each commit", |outcome| outcome.conflicts_per_commit)
}

fn draw(path: &Path, lines: &[Line], what: &str, value: impl Fn(&Outcome) -> f64) -> Result<()> {
    let points =
        |line: &Line| -> Vec<(f64, f64)> { line.outcomes.iter().map(|(servers, outcome)| (*servers as f64, value(outcome))).collect() };
    let all = || lines.iter().flat_map(points);
    let right = all().map(|(servers, _)| servers).fold(1.0, f64::max);
    let top = all().map(|(_, value)| value).fold(0.0, f64::max) * 1.05;
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart =
        ChartBuilder::on(&area).margin(12).x_label_area_size(42).y_label_area_size(60).build_cartesian_2d(0.0..right, 0.0..top)?;
    chart.configure_mesh().x_desc("servers on one store").y_desc(what).light_line_style(WHITE).draw()?;
    for (line, colour) in lines.iter().zip(COLOURS) {
        let drawn = chart.draw_series(LineSeries::new(points(line), colour.stroke_width(2)))?;
        let name = format!("{} hot keys", line.hot_keys);
        drawn.label(name).legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
        chart.draw_series(points(line).into_iter().map(|point| Circle::new(point, 3, colour.filled())))?;
    }
    chart.configure_series_labels().position(SeriesLabelPosition::UpperLeft).background_style(WHITE).border_style(BLACK).draw()?;
    area.present()?;
    Ok(())
}
