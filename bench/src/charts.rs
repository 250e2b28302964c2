//! Line charts as SVG, without a background: they are read on light pages and on dark ones.

use anyhow::{Context as _, Result};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;
use serde::Serialize;
use std::fs;
use std::path::Path;

/// How figures are spread over the axes. A linear one begins at zero; zero cannot stand on a logarithmic one and is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Axes {
    Linear,
    /// Time is logarithmic, what it depends on is not.
    LogarithmicTime,
    Logarithmic,
}

/// A chart.
#[derive(Clone, Debug, Serialize)]
pub struct Chart {
    /// The name of its file, without the extension.
    pub file: String,
    pub title: String,
    /// What the axes show, with the unit.
    pub x: &'static str,
    pub y: &'static str,
    pub axes: Axes,
    pub lines: Vec<Line>,
}

/// A line of a chart.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Line {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

const SIZE: (u32, u32) = (960, 480);
/// Right of here is the legend.
const PLOT_WIDTH: i32 = 740;
const LINE_HEIGHT: i32 = 22;
/// A logarithmic axis whose end is less than so many times its beginning has powers of two.
const NARROW: f64 = 30.0;
const FONT: &str = "sans-serif";
/// Grey that stands out from white and from black alike, as the colours of the lines do.
const INK: RGBColor = RGBColor(118, 118, 118);
const COLOURS: [RGBColor; 9] = [
    RGBColor(31, 119, 206),
    RGBColor(222, 106, 16),
    RGBColor(30, 150, 75),
    RGBColor(205, 55, 75),
    RGBColor(138, 95, 210),
    RGBColor(15, 148, 160),
    RGBColor(150, 105, 55),
    RGBColor(205, 75, 160),
    RGBColor(120, 130, 20),
];

impl Chart {
    /// Draws the chart into a file of the folder `dir`.
    pub fn write(&self, dir: &Path) -> Result<()> {
        fs::create_dir_all(dir)?;
        let path = dir.join(&self.file).with_extension("svg");
        let area = SVGBackend::new(&path, SIZE).into_drawing_area();
        let (plot, legend) = area.split_horizontally(PLOT_WIDTH);
        let (x, y) = (self.range(|point| point.0), self.range(|point| point.1));
        // Powers of ten alone would leave a narrow axis with one number or none.
        let scale = |(least, most): (f64, f64)| (least..most).log_scale().base(if most / least < NARROW { 2.0 } else { 10.0 });
        let drawn = match self.axes {
            Axes::Linear => self.plot(&plot, 0.0..x.1, 0.0..y.1),
            Axes::LogarithmicTime => self.plot(&plot, 0.0..x.1, scale(y)),
            Axes::Logarithmic => self.plot(&plot, scale(x), scale(y)),
        };
        drawn
            .and_then(|()| self.legend(&legend))
            .and_then(|()| Ok(area.present()?))
            .with_context(|| format!("cannot draw {}", path.display()))
    }

    fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.lines.iter().flat_map(|line| line.shown(self.axes))
    }

    /// From the smallest figure to the largest, with some room.
    fn range(&self, pick: fn((f64, f64)) -> f64) -> (f64, f64) {
        let (least, most) = self.points().map(pick).fold((f64::INFINITY, 0.0_f64), |(least, most), n| (least.min(n), most.max(n)));
        if least > most { (1.0, 10.0) } else { (least * 0.8, most * 1.1) }
    }

    fn plot<X, Y>(&self, area: &DrawingArea<SVGBackend<'_>, Shift>, x: X, y: Y) -> Result<()>
    where
        X: AsRangedCoord<Value = f64>,
        Y: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64>,
        Y::CoordDescType: ValueFormatter<f64>,
    {
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, (FONT, 20, &INK))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(72)
            .build_cartesian_2d(x, y)?;
        let label = |n: &f64| label(*n);
        chart
            .configure_mesh()
            .x_desc(self.x)
            .y_desc(self.y)
            .x_label_formatter(&label)
            .y_label_formatter(&label)
            .axis_style(INK)
            .bold_line_style(INK.mix(0.25))
            .light_line_style(TRANSPARENT)
            .label_style((FONT, 14, &INK))
            .axis_desc_style((FONT, 15, &INK))
            .draw()?;
        for (line, colour) in self.lines.iter().zip(COLOURS.iter().cycle()) {
            chart.draw_series(LineSeries::new(line.shown(self.axes), colour.stroke_width(2)))?;
        }
        Ok(())
    }

    fn legend(&self, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<()> {
        for ((line, colour), at) in self.lines.iter().zip(COLOURS.iter().cycle()).zip(0..) {
            let y = 60 + at * LINE_HEIGHT;
            area.draw(&PathElement::new([(4, y), (28, y)], colour.stroke_width(3)))?;
            area.draw(&Text::new(line.name.as_str(), (36, y - 8), (FONT, 15).into_font().color(&INK)))?;
        }
        Ok(())
    }
}

impl Line {
    fn shown(&self, axes: Axes) -> impl Iterator<Item = (f64, f64)> {
        self.points.iter().copied().filter(move |(x, y)| match axes {
            Axes::Linear => true,
            Axes::LogarithmicTime => *y > 0.0,
            Axes::Logarithmic => *x > 0.0 && *y > 0.0,
        })
    }
}

/// A number at an axis: 1500 as 1.5k.
fn label(n: f64) -> String {
    let (n, unit) = match n.abs() {
        large if large >= 1e6 => (n / 1e6, "M"),
        large if large >= 1e3 => (n / 1e3, "k"),
        _ => (n, ""),
    };
    // Without digits that say nothing, and without the noise of binary fractions.
    format!("{}{unit}", (n * 1000.0).round() / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_names_its_axes_and_its_lines_and_has_no_background() {
        let dir = tempfile::tempdir().expect("a folder");
        for axes in [Axes::Linear, Axes::LogarithmicTime, Axes::Logarithmic] {
            let line = Line { name: "ZADD".into(), points: vec![(100.0, 5.0), (1_000_000.0, 12.0), (0.0, 0.0)] };
            let chart = Chart { file: "c".into(), title: "T".into(), x: "elements", y: "us", axes, lines: vec![line] };
            chart.write(dir.path()).expect("a chart");
            let svg = fs::read_to_string(dir.path().join("c.svg")).expect("a file");
            for text in ["elements", "us", "ZADD", "polyline"] {
                assert!(svg.contains(text), "{text}: {svg}");
            }
            assert!(!svg.contains("width=\"960\" height=\"480\" opacity"), "{svg}");
        }
    }

    #[test]
    fn a_narrow_logarithmic_axis_has_several_numbers() {
        let dir = tempfile::tempdir().expect("a folder");
        let line = Line { name: "ZADD".into(), points: vec![(1.0, 3.7), (2.0, 11.0)] };
        let axes = Axes::LogarithmicTime;
        let chart = Chart { file: "c".into(), title: "T".into(), x: "operations", y: "us", axes, lines: vec![line] };
        chart.write(dir.path()).expect("a chart");
        let svg = fs::read_to_string(dir.path().join("c.svg")).expect("a file");
        let numbers: Vec<&str> = svg.lines().filter(|line| ["4", "8"].contains(line)).collect();
        assert_eq!(numbers.len(), 2, "{svg}");
    }

    #[test]
    fn labels_are_short() {
        assert_eq!([0.0, 0.25, 1500.0, 1_000_000.0].map(label), ["0", "0.25", "1.5k", "1M"]);
    }
}
