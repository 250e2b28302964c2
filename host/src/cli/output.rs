//! Where tools write to and read from, and how they show their progress.

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

/// A file, or standard output where none is named.
pub enum Output {
    Stdout(BufWriter<io::Stdout>),
    File(BufWriter<File>),
}

impl Output {
    /// Creates the file; one that exists is replaced.
    pub fn create(path: Option<&Path>) -> anyhow::Result<Self> {
        Ok(match path {
            None => Self::Stdout(BufWriter::new(io::stdout())),
            Some(path) => {
                let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
                Self::File(BufWriter::new(file))
            }
        })
    }

    /// Appends bytes.
    pub fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.write_all(bytes),
            Self::File(file) => file.write_all(bytes),
        }
    }

    /// Writes what is still in memory; a file is on the disk then.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Self::Stdout(mut stdout) => stdout.flush(),
            Self::File(mut file) => {
                file.flush()?;
                file.get_ref().sync_all()
            }
        }
    }
}

/// A file, or standard input where none is named, and its size where it has one.
pub fn open_input(path: Option<&Path>) -> anyhow::Result<(Box<dyn BufRead>, Option<u64>)> {
    let Some(path) = path else { return Ok((Box::new(io::stdin().lock()), None)) };
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let size = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len());
    Ok((Box::new(BufReader::with_capacity(1 << 16, file)), size))
}

/// Progress in bytes, on standard error where that is a terminal: with a bar and the time left where the size is known.
pub fn byte_progress(size: Option<u64>) -> ProgressBar {
    match size {
        Some(size) => {
            let bar = ProgressBar::new(size);
            styled(bar, "{wide_bar} {bytes}/{total_bytes}  {bytes_per_sec}  {eta} left")
        }
        None => styled(ProgressBar::new_spinner(), "{spinner} {bytes}  {bytes_per_sec}  {elapsed}"),
    }
}

/// Progress in things that are counted, on standard error where that is a terminal.
pub fn count_progress(of: &str) -> ProgressBar {
    styled(ProgressBar::new_spinner(), &format!("{{spinner}} {{human_pos}} {of}  {{per_sec}}  {{elapsed}}"))
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    bar.enable_steady_tick(Duration::from_millis(200));
    // A template that indicatif refuses would leave its default style.
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
