//! A connection that writes until its server is gone, and the proof afterwards that the server lost nothing of it.
//!
//! Each writer has keys of its own. So what the server must hold for it is what some prefix of the commands that it sent leaves: a
//! prefix that has every acknowledged command in it. A command that is half there fits no prefix.

use std::net::SocketAddr;
use std::ops::Range;

use orbweaver_engine::resp::Value;

use crate::client::{Args, Client, args, encode_command};
use crate::engine_target::EngineTarget;
use crate::target::Target;

const STRINGS: usize = 4;
const HASHES: usize = 4;
const FIELDS: usize = 150;
/// Enough for a tree of ranks, which is cut and put together again.
const MEMBERS: usize = 1500;
const SCORES: usize = 1000;
/// Expiry times from here on (2100-01-01) are far enough to be compared.
const FAR_MS: u64 = 4_102_444_800_000;
/// Length of a large value: more than one block of the store's files.
const LARGE_BYTES: usize = 20_000;

/// What a writer has sent to one server.
pub struct Sent {
    /// The commands in their order; the last of them may not have arrived.
    pub commands: Vec<Args>,
    /// The replies to the first of them.
    pub replies: Vec<Value>,
}

/// Makes up commands and sends them.
pub struct Writer {
    name: String,
    rng: fastrand::Rng,
    /// Every value that is written is another one.
    sequence: u64,
    /// How many commands it sends at once.
    at_once: Range<usize>,
}

impl Writer {
    /// A writer whose keys begin with `name`, different for each writer of a server.
    #[must_use]
    pub fn new(name: &str, seed: u64) -> Self {
        Self { name: name.to_owned(), rng: fastrand::Rng::with_seed(seed), sequence: 0, at_once: 1..6 }
    }

    /// The writer, with pipelines of so many commands.
    #[must_use]
    pub fn with_pipelines_of(self, at_once: Range<usize>) -> Self {
        Self { at_once, ..self }
    }

    /// Writes to the server at `address` until it is gone.
    pub fn write_until_gone(&mut self, address: SocketAddr) -> Sent {
        let mut sent = Sent { commands: Vec::new(), replies: Vec::new() };
        // Whatever goes wrong is the end of the server: it is what the caller wants.
        let _ = self.write(address, &mut sent);
        sent
    }

    fn write(&mut self, address: SocketAddr, sent: &mut Sent) -> std::io::Result<()> {
        let mut client = Client::connect(address)?;
        loop {
            let batch: Vec<Args> = (0..self.rng.usize(self.at_once.clone())).flat_map(|_| self.commands()).collect();
            let request: Vec<u8> = batch.iter().flat_map(|command| encode_command(command)).collect();
            sent.commands.extend(batch);
            client.send_raw(&request)?;
            while sent.replies.len() < sent.commands.len() {
                sent.replies.push(client.read_reply()?);
            }
        }
    }

    /// One command, or a transaction.
    fn commands(&mut self) -> Vec<Args> {
        self.sequence += 1;
        let value = self.sequence.to_string();
        let (string, other_string, hash, other_hash) = (self.string(), self.string(), self.hash(), self.hash());
        let any = if self.rng.bool() { string.clone() } else { hash.clone() };
        let name = |suffix: &str| format!("{}:{suffix}", self.name);
        match self.rng.u8(..24) {
            0..3 => vec![args(["SET", &string, &value])],
            3 => vec![args(["INCR", &name("counter")])],
            4 => vec![args(["APPEND", &name("log"), &value])],
            5 => vec![args(["MSET", &string, &value, &other_string, &value])],
            6..9 => vec![self.set_fields(&hash, &value)],
            9 => vec![args(["HDEL", &hash, &self.field(), &self.field(), &self.field()])],
            10 => vec![args(["HINCRBY", &hash, "count", "1"])],
            11..13 => vec![
                args(["MULTI"]),
                args(["SET", &name("left"), &value]),
                args(["HSET", &name("right"), "value", &value]),
                args(["DEL", &string]),
                args(["EXEC"]),
            ],
            13 => vec![args(["DEL", &any, &name("log")])],
            14 => vec![args(["RENAME", &string, &other_string])],
            15 => vec![args(["RENAME", &hash, &other_hash])],
            16 => vec![args(["COPY", &any, &hash, "REPLACE"])],
            17 => vec![args(["PEXPIREAT", &any, &(FAR_MS + self.sequence).to_string()])],
            18 => vec![args(["SETRANGE", &name("large"), &self.rng.usize(..LARGE_BYTES).to_string(), &value])],
            19..21 => vec![self.set_scores(&name("board"))],
            21 => vec![args(["ZINCRBY", &name("board"), &self.score(), &self.member()])],
            22 => {
                let first = self.rng.usize(..MEMBERS);
                vec![args(["ZREMRANGEBYRANK", &name("board"), &first.to_string(), &(first + self.rng.usize(..200)).to_string()])]
            }
            // Not compared: it is gone soon, and keeps the sweep at work.
            _ => vec![args(["SET", &format!("short:{}:{value}", self.name), &value, "PX", "5"])],
        }
    }

    fn string(&mut self) -> String {
        format!("{}:string:{}", self.name, self.rng.usize(..STRINGS))
    }

    fn hash(&mut self) -> String {
        format!("{}:hash:{}", self.name, self.rng.usize(..HASHES))
    }

    fn field(&mut self) -> String {
        format!("field:{}", self.rng.usize(..FIELDS))
    }

    fn member(&mut self) -> String {
        format!("member:{}", self.rng.usize(..MEMBERS))
    }

    fn score(&mut self) -> String {
        self.rng.usize(..SCORES).to_string()
    }

    fn set_scores(&mut self, board: &str) -> Args {
        let mut command = args(["ZADD", board]);
        for _ in 0..self.rng.usize(1..100) {
            command.extend(args([&self.score(), &self.member()]));
        }
        command
    }

    fn set_fields(&mut self, hash: &str, value: &str) -> Args {
        let mut command = args(["HSET", hash]);
        for _ in 0..self.rng.usize(1..100) {
            command.extend(args([&self.field(), value]));
        }
        command
    }
}

/// What a writer's keys must hold: an engine in memory that executes the same commands.
pub struct Model {
    name: String,
    engine: EngineTarget,
}

impl Model {
    /// For the [`Writer`] of the same name.
    ///
    /// # Panics
    /// When the engine does not open an empty store.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let mut engine = EngineTarget::default();
        engine.reset().expect("an empty store opens");
        Self { name: name.to_owned(), engine }
    }

    /// Asserts that the server behind `client` holds what a prefix of `sent`, with everything acknowledged in it, leaves. The model
    /// then stands where the server stands.
    ///
    /// # Panics
    /// When an acknowledged command is lost, a command is half there, or a reply was wrong.
    pub fn assert_kept(&mut self, client: &mut Client, sent: &Sent) {
        let queries = self.queries();
        let queries: Vec<&Args> = queries.iter().collect();
        let found = client.pipeline(&queries).expect("the server answers");
        let (acknowledged, in_flight) = sent.commands.split_at(sent.replies.len());
        for (command, reply) in acknowledged.iter().zip(&sent.replies) {
            assert_eq!(&self.execute(command), reply, "{}", shown(command));
        }
        let mut expected = self.engine.execute(1, &queries).expect("the engine answers");
        let mut left = in_flight.iter();
        while expected != found {
            let Some(command) = left.next() else { panic!("{}", self.difference(sent, &queries, &found)) };
            self.execute(command);
            expected = self.engine.execute(1, &queries).expect("the engine answers");
        }
        // A transaction that was being sent ended with its connection.
        self.execute(&args(["DISCARD"]));
    }

    fn execute(&mut self, command: &Args) -> Value {
        self.engine.execute(0, &[command]).expect("the engine answers").remove(0)
    }

    /// Everything that there is to know of the writer's keys. A query of the wrong type has an error for its answer, and so have both.
    fn queries(&self) -> Vec<Args> {
        let own = |suffix: &str| format!("{}:{suffix}", self.name);
        let strings = (0..STRINGS).map(|index| own(&format!("string:{index}")));
        let hashes = (0..HASHES).map(|index| own(&format!("hash:{index}")));
        let others = ["counter", "log", "left", "right", "large"].map(own);
        let about = |key: String| ["GET", "HLEN", "HGETALL", "PEXPIRETIME"].map(|query| args([query, &key]));
        let keys = std::iter::once(args(["KEYS", &own("*")]));
        let board = own("board");
        let ranks = (0..MEMBERS).step_by(100).map(|index| args(["ZREVRANK", &board, &format!("member:{index}")]));
        let scores = [args(["ZRANGE", &board, "0", "-1", "WITHSCORES"]), args(["ZCOUNT", &board, "0", &(SCORES / 2).to_string()])];
        keys.chain(strings.chain(hashes).chain(others).flat_map(about)).chain(scores).chain(ranks).collect()
    }

    /// Says which queries fit no prefix, as far as the state behind the last command shows them.
    fn difference(&mut self, sent: &Sent, queries: &[&Args], found: &[Value]) -> String {
        let last = self.engine.execute(1, queries).expect("the engine answers");
        let differing = queries.iter().zip(last.iter().zip(found)).filter(|(_, (last, found))| last != found);
        let lines: Vec<String> = differing
            .map(|(query, (last, found))| format!("{}: found {found:?}, after all that was sent {last:?}", shown(query)))
            .collect();
        let tail = sent.commands.iter().skip(sent.replies.len().saturating_sub(5)).map(shown).collect::<Vec<_>>().join("\n");
        format!("no prefix of what {} sent fits.\n{}\nThe last commands, of them 5 acknowledged:\n{tail}", self.name, lines.join("\n"))
    }
}

fn shown(command: &Args) -> String {
    command.iter().map(|word| word.escape_ascii().to_string()).collect::<Vec<_>>().join(" ")
}
