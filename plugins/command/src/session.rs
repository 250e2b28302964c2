//! A conversation with the engine.

use crate::bindings::orbweaver::engine::{control, resp};
use orbweaver_engine::resp::{Value, decode_replies, encode_request, render_human, render_raw, script_words};
use std::error::Error;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

/// The number of the only connection.
const CONNECTION: u64 = 1;

/// What a waiting connection needs, by the contract.
const BLOCKED: u64 = u64::MAX;

/// A conversation with the engine.
pub struct Session {
    /// Replies are printed with types and quotes.
    human: bool,
    /// A reply was an error.
    failed: bool,
    /// The engine has ended the conversation.
    closed: bool,
}

impl Session {
    pub fn open() -> Result<Self, Box<dyn Error>> {
        control::open(&[])?;
        resp::connect(CONNECTION, "cli", None);
        Ok(Self { human: io::stdout().is_terminal(), failed: false, closed: false })
    }

    /// Runs one command; whether a reply was an error.
    pub fn run_one(mut self, words: &[Vec<u8>]) -> Result<bool, Box<dyn Error>> {
        self.run(words)?;
        Ok(self.failed)
    }

    /// Runs the commands on standard input; whether a reply was an error.
    pub fn run_script(mut self) -> Result<bool, Box<dyn Error>> {
        let mut input = io::stdin().lock();
        let mut line = Vec::new();
        let mut number: u64 = 0;
        while !self.closed && input.read_until(b'\n', &mut line)? > 0 {
            number += 1;
            let words = script_words(&line).map_err(|problem| format!("line {number} of the script: {problem}"))?;
            if !words.is_empty() {
                self.run(&words)?;
            }
            line.clear();
        }
        Ok(self.failed)
    }

    /// Runs a command and prints what it says. Most have one reply; after CLIENT REPLY OFF there is none.
    fn run(&mut self, words: &[Vec<u8>]) -> Result<(), Box<dyn Error>> {
        let input = encode_request(words);
        let end = u32::try_from(input.len())?;
        let outcome = resp::exchange(&input, &[resp::Delivery { connection: CONNECTION, end }]);
        if outcome.answers.iter().any(|answer| answer.needed == BLOCKED) {
            let name = words.first().map(|name| String::from_utf8_lossy(name)).unwrap_or_default();
            return Err(format!("{name} finds nothing to take, and there is nobody to wait for").into());
        }
        self.closed |= outcome.shutdown || outcome.answers.iter().any(|answer| answer.close);
        let mut out = io::stdout().lock();
        for reply in decode_replies(outcome.output)? {
            self.failed |= matches!(reply, Value::Error(_));
            if self.human {
                out.write_all(render_human(&reply).as_bytes())?;
            } else {
                out.write_all(&render_raw(&reply))?;
            }
        }
        Ok(out.flush()?)
    }
}
