//! A command sequence and its execution on one target.

use std::fmt::{self, Display, Formatter};
use std::io;

use orbweaver_engine::resp::Value;

use crate::client::Args;
use crate::script::quote;
use crate::target::{Target, closes_connection};

/// A complete SCAN of a test's few keys never takes this many pages.
const MAX_PAGES: usize = 10_000;

/// One command on one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Which connection: `0..CONNECTIONS`.
    pub connection: usize,
    /// The command.
    pub command: Args,
    /// The command is a SCAN, HSCAN, SSCAN or ZSCAN from cursor 0, to be followed to its end. Its reply then holds every element once, in byte
    /// order, since pages and their cursors are a server's own affair.
    pub to_the_end: bool,
}

impl Step {
    /// `command` on the first connection.
    #[must_use]
    pub fn new(command: Args) -> Self {
        Self { connection: 0, command, to_the_end: false }
    }
}

/// As a script line: the words as redis-cli reads them, after `@N ` when it is not the first connection.
impl Display for Step {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.connection > 0 {
            write!(f, "@{} ", self.connection)?;
        }
        let words: Vec<String> = self.command.iter().map(|word| quote(word)).collect();
        f.write_str(&words.join(" "))?;
        if self.to_the_end { f.write_str("   # followed to the end") } else { Ok(()) }
    }
}

/// Steps that mean something together only: a DBSIZE right after the SCAN that removes expired keys, say.
pub type Block = Vec<Step>;

/// Executes `steps` on an emptied target, pipelining those that follow each other on one connection, and returns their replies.
///
/// When the connection breaks, an error reply says so in the place of the step that was under way, and the rest is missing.
///
/// # Errors
/// When the target cannot be reset: it is gone.
pub fn run(target: &mut dyn Target, steps: &[Step]) -> io::Result<Vec<Value>> {
    target.reset()?;
    let mut replies = Vec::with_capacity(steps.len());
    while replies.len() < steps.len() {
        let rest = &steps[replies.len()..];
        let outcome = if rest[0].to_the_end {
            scan_to_the_end(target, &rest[0]).map(|reply| vec![reply])
        } else {
            let commands: Vec<&Args> = pipeline(rest).iter().map(|step| &step.command).collect();
            target.execute(rest[0].connection, &commands)
        };
        match outcome {
            Ok(some) => replies.extend(some),
            Err(error) => {
                replies.push(Value::Error(format!("the connection broke: {error}").into()));
                break;
            }
        }
    }
    Ok(replies)
}

/// The leading steps that can be sent together.
fn pipeline(steps: &[Step]) -> &[Step] {
    let mut length = 0;
    for step in steps {
        if step.to_the_end || step.connection != steps[0].connection {
            break;
        }
        length += 1;
        if closes_connection(&step.command) {
            break;
        }
    }
    &steps[..length]
}

/// A page of SCAN or its kin: the next cursor and the elements.
#[must_use]
pub fn as_page(reply: &Value) -> Option<(&[u8], &[Value])> {
    match reply {
        Value::Array(parts) => match parts.as_slice() {
            [Value::Bulk(cursor), Value::Array(elements)] => Some((cursor, elements)),
            _ => None,
        },
        _ => None,
    }
}

/// Where the cursor is among the words of SCAN or its kin, and how many items of a page belong together.
#[must_use]
pub fn scan_shape(name: &[u8]) -> (usize, usize) {
    match name.to_ascii_uppercase().as_slice() {
        b"HSCAN" | b"ZSCAN" => (2, 2),
        b"SSCAN" => (2, 1),
        _ => (1, 1),
    }
}

fn scan_to_the_end(target: &mut dyn Target, step: &Step) -> io::Result<Value> {
    let (cursor_at, width) = scan_shape(&step.command[0]);
    let mut command = step.command.clone();
    let mut elements: Vec<Vec<Value>> = Vec::new();
    for _ in 0..MAX_PAGES {
        let reply = target.execute(step.connection, &[&command])?.remove(0);
        let Some((cursor, page)) = as_page(&reply) else {
            return Ok(reply);
        };
        elements.extend(page.chunks(width).map(<[Value]>::to_vec));
        if cursor == b"0" {
            elements.sort_by_cached_key(|element| format!("{element:?}"));
            elements.dedup();
            return Ok(Value::Array(vec![Value::Bulk("0".into()), Value::Array(elements.concat())]));
        }
        command[cursor_at] = cursor.to_vec();
    }
    Err(io::Error::other("the scan does not end"))
}
