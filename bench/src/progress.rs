//! What a run is about, for those who wait for it.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar of `length` steps on standard error; nothing where that is no terminal.
pub fn bar(part: &'static str, length: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix:<12} {bar:40} {pos}/{len} {msg} [{elapsed}]");
    let bar = ProgressBar::new(u64::try_from(length).unwrap_or(u64::MAX)).with_prefix(part);
    // The template is right: otherwise the bar looks as usual.
    if let Ok(style) = style { bar.with_style(style) } else { bar }
}
