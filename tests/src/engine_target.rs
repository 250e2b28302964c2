//! The engine in this process, over its memory store: the quickest way to see what a command answers.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use bytes::Bytes;
use orbweaver_engine::environment::SystemEnvironment;
use orbweaver_engine::resp::{Value, decode_reply};
use orbweaver_engine::session::{Answer, BLOCKED, Delivery, Engine};
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::MemoryStore;

use crate::client::{Args, args, encode_command};
use crate::target::{CONNECTIONS, Target};

/// Where its connections come from.
const CLIENT: &str = "in-process";

/// An engine with an empty store, made anew by every [`Target::reset`].
pub struct EngineTarget {
    engine: Engine,
    store: MemoryStore,
    settings: Settings,
    connections: Vec<u64>,
    last_connection: u64,
    /// What connections have got that had not asked.
    messages: Vec<u8>,
}

impl EngineTarget {
    /// An engine with these settings, that nobody is connected to.
    ///
    /// # Panics
    /// When the engine cannot open an empty store.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let store = MemoryStore::new();
        let engine = Engine::open(Box::new(store.clone()), Box::new(SystemEnvironment::default()), settings.clone());
        let engine = engine.expect("an empty store opens");
        Self { engine, store, settings, connections: Vec::new(), last_connection: 0, messages: Vec::new() }
    }

    /// The engine, for what is no command.
    pub fn engine(&mut self) -> &mut Engine {
        &mut self.engine
    }

    /// What the engine is on.
    #[must_use]
    pub const fn store(&self) -> &MemoryStore {
        &self.store
    }

    /// Hands over what a fresh connection's socket might deliver, in parts of at most `part` bytes. Returns the replies undecoded; what
    /// is left when the connection closes is not read.
    pub fn deliver(&mut self, bytes: &[u8], part: usize) -> Vec<u8> {
        let connection = self.connect();
        let mut waiting = Vec::new();
        let mut output = Vec::new();
        for part in bytes.chunks(part) {
            waiting.extend_from_slice(part);
            let input = Bytes::copy_from_slice(&waiting);
            let answer = self.engine.exchange(&[Delivery { connection, input }]).answers.remove(0);
            output.extend_from_slice(&answer.output);
            waiting.drain(..answer.consumed);
            if answer.close {
                break;
            }
        }
        self.engine.disconnect(connection);
        output
    }

    /// Opens a connection that subscribes to the channels which match `pattern`.
    pub fn subscribe(&mut self, pattern: &str) {
        let connection = self.connect();
        let input = encode_command(&args(["PSUBSCRIBE", pattern])).into();
        self.engine.exchange(&[Delivery { connection, input }]);
    }

    /// Takes the messages that have reached subscribers.
    ///
    /// # Panics
    /// Where they are no replies of Redis' protocol.
    pub fn take_messages(&mut self) -> Vec<Value> {
        let mut rest = Bytes::from(std::mem::take(&mut self.messages));
        let mut messages = Vec::new();
        while let Some((message, used)) = decode_reply(&rest).expect("messages are replies") {
            messages.push(message);
            rest = rest.slice(used..);
        }
        messages
    }

    fn connect(&mut self) -> u64 {
        self.last_connection += 1;
        self.engine.connect(self.last_connection, CLIENT, None);
        self.last_connection
    }

    /// What comes after a blocking command that has parked its connection: the end of the wait, or what was behind it.
    fn go_on(&mut self, connection: u64, input: &Bytes, needed: usize) -> io::Result<Answer> {
        let deliveries = if needed == BLOCKED { vec![] } else { vec![Delivery { connection, input: input.clone() }] };
        let outcome = self.engine.exchange(&deliveries);
        if outcome.answers.is_empty() {
            let wait_ms = outcome.wake_after_ms.ok_or(io::Error::other("the wait would never end"))?;
            std::thread::sleep(Duration::from_millis(wait_ms));
            return self.go_on(connection, input, needed);
        }
        let (own, others): (Vec<Answer>, Vec<Answer>) = outcome.answers.into_iter().partition(|answer| answer.connection == connection);
        self.keep_messages(others);
        own.into_iter().next().ok_or(io::Error::other("the engine leaves whole commands alone"))
    }

    fn keep_messages(&mut self, answers: Vec<Answer>) {
        self.messages.extend(answers.into_iter().flat_map(|other| other.output));
    }

    fn exchange(&mut self, connection: usize, commands: &[&Args]) -> io::Result<Vec<Value>> {
        let number = self.connections[connection];
        let input: Bytes = commands.iter().flat_map(|command| encode_command(command)).collect();
        let sent = input.len();
        let mut answers = self.engine.exchange(&[Delivery { connection: number, input: input.clone() }]).answers;
        let mut answer = answers.remove(0);
        self.keep_messages(answers);
        while answer.consumed < sent && !answer.close && [0, BLOCKED].contains(&answer.needed) {
            let next = self.go_on(number, &input.slice(answer.consumed..), answer.needed)?;
            answer.output.extend_from_slice(&next.output);
            answer = Answer { consumed: answer.consumed + next.consumed, output: answer.output, ..next };
        }
        if answer.close {
            self.engine.disconnect(number);
            self.connections[connection] = self.connect();
        } else if answer.consumed < sent {
            return Err(io::Error::other("the engine leaves whole commands alone"));
        }
        decode_all(&answer.output.into(), commands.len())
    }
}

impl Default for EngineTarget {
    fn default() -> Self {
        Self::new(Settings::default())
    }
}

impl Target for EngineTarget {
    fn reset(&mut self) -> io::Result<()> {
        *self = Self::new(self.settings.clone());
        self.connections = (0..CONNECTIONS).map(|_| self.connect()).collect();
        Ok(())
    }

    /// A panic is a broken connection, so that the sequence that leads to it is found.
    fn execute(&mut self, connection: usize, commands: &[&Args]) -> io::Result<Vec<Value>> {
        catch_unwind(AssertUnwindSafe(|| self.exchange(connection, commands)))
            .unwrap_or_else(|_| Err(io::Error::other("the engine panicked: its message is above")))
    }
}

/// Replies to so many commands, and nothing else.
pub(crate) fn decode_all(output: &Bytes, expected: usize) -> io::Result<Vec<Value>> {
    let mut replies = Vec::with_capacity(expected);
    let mut rest = output.clone();
    while replies.len() < expected {
        let (reply, used) = decode_reply(&rest).map_err(io::Error::other)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        replies.push(reply);
        rest = rest.slice(used..);
    }
    if rest.is_empty() { Ok(replies) } else { Err(io::Error::other("more replies than commands")) }
}
