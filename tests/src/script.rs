//! Command scripts with expected replies, as plain text.
//!
//! A line is a command as in redis-cli, `@N ` before it names another connection than the first. The lines after it that begin with
//! `> ` are the expected reply as redis-cli prints it. Empty lines and those that begin with `#` say something to the reader.

use std::fmt::Write as _;
use std::io;

use orbweaver_engine::resp::{Value, render_human, split_inline};

use crate::client::Args;
use crate::target::{CONNECTIONS, Target};

/// `word` as a script has it: bare when it is plain, else in double quotes with escapes.
#[must_use]
pub fn quote(word: &[u8]) -> String {
    let is_plain = !word.is_empty() && word.iter().all(|byte| byte.is_ascii_graphic() && !b"\"'#\\@>".contains(byte));
    if is_plain {
        String::from_utf8_lossy(word).into_owned()
    } else {
        render_human(&Value::Bulk(word.to_vec().into())).trim_end().to_owned()
    }
}

/// A command and its expected reply.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    /// The line's number in the file, from 1.
    pub number: usize,
    /// Which connection: `0..CONNECTIONS`.
    pub connection: usize,
    /// The command.
    pub command: Args,
    /// The reply as redis-cli prints it, every line ended.
    pub expected: String,
}

/// Reads a script.
///
/// # Errors
/// Names the line that cannot be understood.
pub fn parse(text: &str) -> Result<Vec<Line>, String> {
    let mut lines: Vec<Line> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if let Some(reply) = line.strip_prefix("> ") {
            let last = lines.last_mut().ok_or_else(|| format!("line {number}: a reply without a command"))?;
            last.expected.push_str(reply);
            last.expected.push('\n');
        } else if !line.trim().is_empty() && !line.starts_with('#') {
            let (connection, command) = connection_and_command(line).ok_or_else(|| format!("line {number}: no such connection"))?;
            let command = split_inline(command.as_bytes()).ok_or_else(|| format!("line {number}: unbalanced quotes"))?;
            lines.push(Line { number, connection, command, expected: String::new() });
        }
    }
    Ok(lines)
}

fn connection_and_command(line: &str) -> Option<(usize, &str)> {
    let Some(rest) = line.strip_prefix('@') else {
        return Some((0, line));
    };
    let (connection, command) = rest.split_once(' ')?;
    connection.parse().ok().filter(|connection| *connection < CONNECTIONS).map(|connection| (connection, command))
}

/// Executes a script on an emptied target. Returns the differences as text, empty when there is none.
///
/// # Errors
/// When the target stops answering.
pub fn run(target: &mut dyn Target, script: &[Line]) -> io::Result<String> {
    target.reset()?;
    let mut differences = String::new();
    for line in script {
        let reply = render_human(&target.execute(line.connection, &[&line.command])?.remove(0));
        if reply != line.expected {
            let _ = writeln!(differences, "line {}: expected\n{}got\n{reply}", line.number, line.expected);
        }
    }
    Ok(differences)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_splits_into_itself() {
        let words: Args = vec![b"SET".to_vec(), Vec::new(), b"a b\"'\\\r\n\t\x00\xff".to_vec(), b"#x".to_vec()];
        let line = words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
        assert_eq!(split_inline(line.as_bytes()), Some(words));
    }

    #[test]
    fn a_script_has_commands_connections_replies_and_remarks() {
        let script = parse("# remark\nGET a\n> (nil)\n\n@1 KEYS *\n> 1) \"a\"\n> 2) \"b\"\n").expect("a sound script");
        let keys =
            Line { number: 5, connection: 1, command: vec![b"KEYS".to_vec(), b"*".to_vec()], expected: "1) \"a\"\n2) \"b\"\n".into() };
        assert_eq!(script.len(), 2);
        assert_eq!(script[0].expected, "(nil)\n");
        assert_eq!(script[1], keys);
    }

    #[test]
    fn a_line_that_makes_no_sense_is_named() {
        assert_eq!(parse("> OK"), Err("line 1: a reply without a command".into()));
        assert_eq!(parse("\nGET \"a"), Err("line 2: unbalanced quotes".into()));
        assert_eq!(parse("@9 GET a"), Err("line 1: no such connection".into()));
    }
}
