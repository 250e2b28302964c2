//! Records on a terminal: a line for each field. Colours are always written; the stream takes them out where they are not wanted.

use anstyle::{AnsiColor, Effects, Style};
use orbweaver_engine::layout::anatomy::{Anatomy, Run, UNKNOWN, UNREADABLE, shown};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Bytes on a line.
const ROW_BYTES: usize = 8;
const HEX_WIDTH: usize = 3 * ROW_BYTES - 1;

const TITLE: Style = Style::new().effects(Effects::BOLD);
const ASIDE: Style = Style::new().effects(Effects::DIMMED);
/// Of what is not as the format has it; no other field is red.
const WRONG: Style = AnsiColor::Red.on_default().effects(Effects::BOLD);

const PALETTE: [AnsiColor; 10] = [
    AnsiColor::Cyan,
    AnsiColor::Green,
    AnsiColor::Yellow,
    AnsiColor::Magenta,
    AnsiColor::Blue,
    AnsiColor::BrightCyan,
    AnsiColor::BrightGreen,
    AnsiColor::BrightYellow,
    AnsiColor::BrightMagenta,
    AnsiColor::BrightBlue,
];

/// Writes records. A field has the same colour in all of them.
pub struct Painter {
    /// Most bytes of a field that are shown.
    max_bytes: usize,
    /// The fields met so far; their positions are those of their colours.
    fields: Vec<String>,
    /// Notes that have been written: each is written once.
    told: BTreeSet<String>,
}

impl Painter {
    pub const fn new(max_bytes: usize) -> Self {
        Self { max_bytes, fields: Vec::new(), told: BTreeSet::new() }
    }

    /// What stands above the records of a key.
    pub fn heading(&self, db: u32, key: &[u8]) -> String {
        format!("{}\n\n", paint(TITLE, &format!("key {} in db {db}", shown::text(key))))
    }

    /// A record, with an empty line behind it.
    pub fn record(&mut self, anatomy: &Anatomy) -> String {
        let mut text = String::new();
        let is_new = self.told.insert(anatomy.note.clone());
        let note = if is_new { format!("  {}", paint(ASIDE, &anatomy.note)) } else { String::new() };
        line(&mut text, format_args!("{}{note}", paint(TITLE, &anatomy.keyspace)));
        let runs = || anatomy.key_runs.iter().chain(&anatomy.value_runs);
        let width = runs().map(|run| run.field.chars().count()).max().unwrap_or_default();
        self.side(&mut text, "key", &anatomy.key, &anatomy.key_runs, width);
        self.side(&mut text, "value", &anatomy.value, &anatomy.value_runs, width);
        text.push('\n');
        text
    }

    /// What the lines and colours mean.
    pub fn legend(&self) -> String {
        let painted: Vec<String> = self.fields.iter().map(|field| paint(self.known_style(field), field)).collect();
        format!(
            "{ASIDE}Each line is a field: its bytes in hexadecimal and as text, its name, and what it says. Fields:{ASIDE:#} {}\n",
            painted.join(", ")
        )
    }

    fn side(&mut self, text: &mut String, label: &str, bytes: &[u8], runs: &[Run], width: usize) {
        if runs.is_empty() {
            line(text, format_args!("  {label:<7}{ASIDE}empty{ASIDE:#}"));
        }
        for (position, run) in runs.iter().enumerate() {
            let label = if position == 0 { label } else { "" };
            self.run(text, label, bytes.get(run.range.clone()).unwrap_or_default(), run, width);
        }
    }

    fn run(&mut self, text: &mut String, label: &str, bytes: &[u8], run: &Run, width: usize) {
        let style = self.style(&run.field);
        let shown_bytes = bytes.get(..self.max_bytes).unwrap_or(bytes);
        let mut rows = shown_bytes.chunks(ROW_BYTES);
        let name = paint(style, &format!("{:<width$}", run.field));
        let (hex, visible) = columns(style, rows.next().unwrap_or_default());
        line(text, format_args!("  {label:<7}{hex}  {visible:<ROW_BYTES$}  {name}  {}", run.shown));
        for bytes in rows {
            let (hex, visible) = columns(style, bytes);
            line(text, format_args!("         {hex}  {visible}"));
        }
        if bytes.len() > shown_bytes.len() {
            line(text, format_args!("         {ASIDE}... and {} more{ASIDE:#}", bytes.len() - shown_bytes.len()));
        }
    }

    /// The style of a field, which is given one if it has none yet.
    fn style(&mut self, field: &str) -> Style {
        if !self.fields.iter().any(|known| known == field) {
            self.fields.push(field.to_owned());
        }
        self.known_style(field)
    }

    fn known_style(&self, field: &str) -> Style {
        if [UNREADABLE, UNKNOWN].contains(&field) {
            return WRONG;
        }
        let position = self.fields.iter().position(|known| known == field).unwrap_or_default();
        PALETTE.get(position % PALETTE.len()).map_or(Style::new(), |color| color.on_default())
    }
}

/// Bytes in hexadecimal, as wide as those of a full line, and as text.
fn columns(style: Style, bytes: &[u8]) -> (String, String) {
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let visible = |byte: &u8| if byte.is_ascii_graphic() || *byte == b' ' { char::from(*byte) } else { '.' };
    (paint(style, &format!("{:<HEX_WIDTH$}", hex.join(" "))), bytes.iter().map(visible).collect())
}

fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use orbweaver_engine::layout::anatomy::Walk;

    fn anatomy(value: &[u8]) -> Anatomy {
        let (mut key, mut of_value) = (Walk::new(b"\0\0\0\x01k"), Walk::new(value));
        key.u32("space", shown::number);
        key.rest("user key", shown::text);
        of_value.u8("kind", shown::number);
        if !of_value.left().is_empty() {
            of_value.rest("value", shown::text);
        }
        Anatomy::new("meta", key, of_value, "A string.")
    }

    fn plain(text: &str) -> Vec<String> {
        anstream::adapter::strip_str(text).to_string().lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_record_has_a_line_for_each_field() {
        let expected = [
            "meta  A string.",
            "  key    00 00 00 01              ....      space     1",
            "         6b                       k         user key  \"k\"",
            "  value  01                       .         kind      1",
            "         61 62 63 64 65 66 67 68  abcdefgh  value     \"abcdefgh i\"",
            "         20 69                     i",
            "",
        ];
        assert_eq!(plain(&Painter::new(64).record(&anatomy(b"\x01abcdefgh i"))), expected);
    }

    #[test]
    fn of_a_long_field_the_beginning_is_shown() {
        let text = Painter::new(4).record(&anatomy(b"\x01abcde"));
        assert_eq!(
            plain(&text).get(4..6).unwrap_or_default(),
            ["         61 62 63 64              abcd      value     \"abcde\"", "         ... and 1 more"]
        );
    }

    #[test]
    fn a_note_is_told_once() {
        let mut painter = Painter::new(64);
        assert!(painter.record(&anatomy(b"\x01")).contains("A string."));
        assert!(!painter.record(&anatomy(b"\x01")).contains("A string."));
    }

    #[test]
    fn what_is_wrong_is_red_and_nothing_else() {
        let mut painter = Painter::new(64);
        let red = |text: &str| text.contains(&WRONG.to_string());
        assert!(!red(&painter.record(&anatomy(b"\x01v"))));
        assert!(red(&painter.record(&anatomy(b""))));
        assert!(plain(&painter.record(&anatomy(b""))).contains(&format!("  value  {:33}  unreadable  kind: missing", "")));
    }

    #[test]
    fn a_field_keeps_its_colour_and_the_legend_shows_it() {
        let mut painter = Painter::new(64);
        let first = painter.record(&anatomy(b"\x01"));
        let green = format!("{}user key", AnsiColor::Green.on_default());
        assert!(first.contains(&green), "{first:?}");
        assert!(painter.record(&anatomy(b"\x01")).contains(&green));
        let legend = painter.legend();
        assert!(legend.contains(&green), "{legend:?}");
        assert_eq!(
            plain(&legend).first().and_then(|line| line.split_once("Fields: ")).map(|(_, names)| names),
            Some("space, user key, kind")
        );
    }
}
