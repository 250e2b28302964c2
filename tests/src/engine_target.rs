//! The engine in this process, over its memory store: the quickest way to see what a command answers.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use orbweaver_engine::environment::SystemEnvironment;
use orbweaver_engine::resp::{Value, decode_reply};
use orbweaver_engine::session::{Delivery, Engine};
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::MemoryStore;

use crate::client::{Args, encode_command};
use crate::target::{CONNECTIONS, Target};

/// An engine with an empty store, made anew by every [`Target::reset`].
pub struct EngineTarget {
    engine: Engine,
    connections: Vec<u64>,
}

impl EngineTarget {
    /// An engine that nobody is connected to.
    ///
    /// # Panics
    /// When the engine cannot open an empty store.
    #[must_use]
    pub fn new() -> Self {
        let engine = Engine::open(Box::new(MemoryStore::new()), Box::new(SystemEnvironment::default()), Settings::default());
        Self { engine: engine.expect("an empty store opens"), connections: Vec::new() }
    }

    fn exchange(&mut self, connection: usize, commands: &[&Args]) -> io::Result<Vec<Value>> {
        let number = self.connections[connection];
        let mut input: Bytes = commands.iter().flat_map(|command| encode_command(command)).collect();
        let mut output = Vec::new();
        while !input.is_empty() {
            let outcome = self.engine.exchange(&[Delivery { connection: number, input: input.clone() }]);
            let answer = outcome.answers.into_iter().next().expect("an answer for the delivery");
            output.extend_from_slice(&answer.output);
            input = input.slice(answer.consumed..);
            if answer.close {
                self.engine.disconnect(number);
                self.connections[connection] = self.engine.connect("127.0.0.1:1", None);
                break;
            }
            if answer.consumed == 0 {
                return Err(io::Error::other("the engine leaves whole commands alone"));
            }
        }
        decode_all(&output.into(), commands.len())
    }
}

impl Default for EngineTarget {
    fn default() -> Self {
        Self::new()
    }
}

impl Target for EngineTarget {
    fn reset(&mut self) -> io::Result<()> {
        *self = Self::new();
        self.connections = (0..CONNECTIONS).map(|_| self.engine.connect("127.0.0.1:1", None)).collect();
        Ok(())
    }

    /// A panic is a broken connection, so that the sequence that leads to it is found.
    fn execute(&mut self, connection: usize, commands: &[&Args]) -> io::Result<Vec<Value>> {
        catch_unwind(AssertUnwindSafe(|| self.exchange(connection, commands)))
            .unwrap_or_else(|_| Err(io::Error::other("the engine panicked: its message is above")))
    }
}

fn decode_all(output: &Bytes, expected: usize) -> io::Result<Vec<Value>> {
    let mut replies = Vec::with_capacity(expected);
    let mut rest = output.clone();
    while replies.len() < expected {
        let (reply, used) = decode_reply(&rest).map_err(io::Error::other)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        replies.push(reply);
        rest = rest.slice(used..);
    }
    if rest.is_empty() { Ok(replies) } else { Err(io::Error::other("more replies than commands")) }
}
