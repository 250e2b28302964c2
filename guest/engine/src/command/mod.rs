//! Commands: what they are called, what they take, and what runs them.
//!
//! Each file below holds the handlers of one group with its rows of the command table beside them. The rows are the one source
//! for dispatch, `COMMAND`, the checks of MULTI, the keys that a transaction declares, and `docs/commands.md`.

pub mod categories;
pub mod expiry;
pub mod flags;
mod help;
pub mod keyspec;
pub mod options;
pub mod parts;
pub mod peers;
pub mod reference;
pub mod table;

mod bitmaps;
mod blocking;
mod client;
mod connection;
mod field_expiry;
mod geo;
mod hashes;
mod hyperloglog;
mod keys;
mod lists;
mod pika;
mod pubsub;
mod scan;
mod server;
mod sets;
mod sort;
mod sorted_sets;
pub mod straight;
mod strings;
mod transactions;

pub use blocking::Wait;

use crate::db::Db;
use crate::error::Result;
use crate::layout::Kind;
use crate::layout::lots::{Lot, Stored};
use crate::resp::reply::Reply;
use crate::session::{Server, Session};
use bytes::Bytes;
use flags::Flags;
use keyspec::KeySpec;
use parts::Parts;
use straight::Straight;

/// A row of the command table.
pub struct Command {
    /// Lower case.
    pub name: &'static str,
    /// Number of arguments, the name included; negative: at least that many.
    pub arity: i32,
    /// What the command does to data, and where it may run.
    pub flags: Flags,
    /// Which arguments are keys.
    pub keys: KeySpec,
    /// Which arguments are parts of the collection under the first key.
    pub parts: Parts,
    /// The group of the documentation.
    pub group: Group,
    /// The Redis version that brought the command; of those that Redis has not, the server that has it.
    pub since: &'static str,
    /// One line on what it does.
    pub summary: &'static str,
    /// Subcommands, where the command has them: their names are both words, `client|id`.
    pub subcommands: &'static [Command],
    /// What runs it.
    pub run: Run,
}

impl Command {
    /// A row of a command that has no keys and no subcommands.
    #[must_use]
    pub const fn without_keys(
        group: Group,
        name: &'static str,
        arity: i32,
        flags: Flags,
        since: &'static str,
        summary: &'static str,
        run: Run,
    ) -> Self {
        Self { name, arity, flags, keys: KeySpec::None, parts: Parts::None, group, since, summary, subcommands: &[], run }
    }

    /// The row with other keys.
    #[must_use]
    pub const fn with_keys(self, keys: KeySpec) -> Self {
        Self { keys, ..self }
    }

    /// The row of a command on data that has a handler for many on one key as well.
    #[must_use]
    pub const fn in_rows(self, row: RowHandler) -> Self {
        match self.run {
            Run::Data(one, ways) => Self { run: Run::Data(one, Ways { row: Some(row), ..ways }), ..self },
            _ => self,
        }
    }

    /// The row of a command on data that may go straight as well.
    #[must_use]
    pub const fn straight(self, straight: Straight) -> Self {
        match self.run {
            Run::Data(one, ways) => Self { run: Run::Data(one, Ways { straight: [Some(straight), None], ..ways }), ..self },
            _ => self,
        }
    }

    /// The same, with other numbers of arguments.
    #[must_use]
    pub const fn or_straight(self, other: Straight) -> Self {
        match self.run {
            Run::Data(run, Ways { row, straight: [one, _] }) => {
                Self { run: Run::Data(run, Ways { row, straight: [one, Some(other)] }), ..self }
            }
            _ => self,
        }
    }

    /// The row with parts that the command names.
    #[must_use]
    pub const fn naming(self, parts: Parts) -> Self {
        Self { parts, ..self }
    }

    /// Whether very many calls of it may run as one. Not of those that take elements: all are read before, and may be large.
    #[must_use]
    pub const fn has_long_rows(&self) -> bool {
        matches!(self.run, Run::Data(_, Ways { row: Some(_), .. })) && !matches!(self.parts, Parts::End(_))
    }

    /// Whether a request of `count` arguments, the name included, fits the arity.
    #[must_use]
    pub fn takes(&self, count: usize) -> bool {
        let count = i32::try_from(count).unwrap_or(i32::MAX);
        if self.arity >= 0 { count == self.arity } else { count >= self.arity.saturating_neg() }
    }

    /// Whether a call with these arguments may change data: SORT and GEORADIUS only where they store their result.
    #[must_use]
    pub fn writes(&self, args: &[Bytes]) -> bool {
        self.flags.has(Flags::WRITE) && self.keys.is_stored(args)
    }

    /// Whether no other writer may run beside a call with these arguments: its keys cannot be declared.
    #[must_use]
    pub fn is_exclusive(&self, args: &[Bytes]) -> bool {
        self.flags.has(Flags::EXCLUSIVE) || self.keys.is_stored_from_patterns(args)
    }

    /// Whether it does nothing but to work on one key, whose place is fixed, beside whatever others do.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.run.is_data() && self.keys.only().is_some() && !self.flags.has(Flags::EXCLUSIVE) && self.subcommands.is_empty()
    }

    /// A row of a command that only has subcommands.
    #[must_use]
    pub const fn container(
        group: Group,
        name: &'static str,
        since: &'static str,
        summary: &'static str,
        subcommands: &'static [Self],
    ) -> Self {
        let (flags, keys, parts) = (Flags::NONE, KeySpec::None, Parts::None);
        Self { name, arity: -2, flags, keys, parts, group, since, summary, subcommands, run: Run::Container }
    }
}

/// Appends a value, or that there is none.
pub(crate) fn reply_value(reply: &mut Reply, value: Option<&[u8]>) {
    match value {
        Some(value) => reply.bulk(value),
        None => reply.null(),
    }
}

/// Appends the members or elements that are handed over, and returns how many these are.
#[inline(always)]
fn reply_strings<T>(reply: &mut Reply, some: Lot<'_, '_, T>, string: impl Fn(&T) -> &[u8]) -> usize {
    match some {
        Lot::Stored(stored) => reply_stored(reply, stored),
        Lot::Rows(rows) => {
            reply.bulks(rows, |row| [string(row)]);
            rows.len()
        }
    }
}

// Once for all commands: it is a loop for each form.
#[inline(never)]
fn reply_stored(reply: &mut Reply, stored: &mut Stored<'_>) -> usize {
    reply.lying_bulks(stored.most(), stored.bytes(), |bulks| stored.take_strings(bulks))
}

/// The groups of Redis' command documentation, and one of our own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Strings.
    String,
    /// Keys of any type.
    Generic,
    /// Hashes.
    Hash,
    /// Lists.
    List,
    /// Sets.
    Set,
    /// Sorted sets.
    SortedSet,
    /// Strings as rows of bits.
    Bitmap,
    /// Estimated counts of distinct elements.
    HyperLogLog,
    /// Places on Earth.
    Geo,
    /// Publish and subscribe.
    PubSub,
    /// Connections.
    Connection,
    /// The server.
    Server,
    /// Transactions.
    Transactions,
    /// What Pika has and Redis has not.
    Pika,
}

/// What runs a command on data.
pub type DataHandler = fn(&mut Context, &mut Reply) -> Result<()>;

/// What runs a command for each of these arguments, one after the other, all with the key of the context's. `answered` is told of each
/// reply, behind it, how long all of them are. Where it fails, nothing that it has done is to count.
pub type RowHandler = fn(&mut Context, &mut dyn Iterator<Item = &[Bytes]>, &mut Reply, answered: &mut dyn FnMut(usize)) -> Result<()>;

impl Group {
    /// A row of a command of the group that works on data: on the key that is its first argument, unless [`Command::with_keys`] says
    /// otherwise.
    #[must_use]
    pub const fn row(
        self,
        name: &'static str,
        arity: i32,
        flags: Flags,
        since: &'static str,
        summary: &'static str,
        run: DataHandler,
    ) -> Command {
        let (keys, parts, run) = (KeySpec::FIRST, Parts::None, Run::data(run));
        Command { name, arity, flags, keys, parts, group: self, since, summary, subcommands: &[], run }
    }

    /// The kind of the values that its commands look for; `None`: any, or none.
    #[must_use]
    pub const fn kind(self) -> Option<Kind> {
        match self {
            Self::String | Self::Bitmap | Self::HyperLogLog => Some(Kind::String),
            Self::Hash => Some(Kind::Hash),
            Self::List => Some(Kind::List),
            Self::Set => Some(Kind::Set),
            Self::SortedSet | Self::Geo => Some(Kind::SortedSet),
            Self::Generic | Self::PubSub | Self::Connection | Self::Server | Self::Transactions | Self::Pika => None,
        }
    }

    /// The name in Redis' documentation.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Generic => "generic",
            Self::Hash => "hash",
            Self::List => "list",
            Self::Set => "set",
            Self::SortedSet => "sorted-set",
            Self::Bitmap => "bitmap",
            Self::HyperLogLog => "hyperloglog",
            Self::Geo => "geo",
            Self::PubSub => "pubsub",
            Self::Connection => "connection",
            Self::Server => "server",
            Self::Transactions => "transactions",
            Self::Pika => "pika",
        }
    }
}

/// What runs a command.
pub enum Run {
    /// Works on data, within a transaction. May run more than once (after a conflict), so it changes nothing but the transaction.
    Data(DataHandler, Ways),
    /// As `Data`, but where there is nothing to take it may wait: the reply is then what is said where that is not allowed.
    Blocking(fn(&mut Context, &mut Reply) -> Result<Option<Wait>>),
    /// Works on the connection that it came on (SELECT, HELLO, CLIENT), outside of any transaction.
    Session(fn(&mut Session, &[Bytes], &mut Reply) -> Result<()>),
    /// As `Session`, for commands on subscriptions. What they answer are pushes, which also go to a client that wants no replies; they run
    /// when the events of what came before are published.
    Subscription(fn(&mut Session, &[Bytes], &mut Reply) -> Result<()>),
    /// Steers transactions: the session itself does it.
    Transaction(TransactionCommand),
    /// Only has subcommands.
    Container,
}

impl Run {
    /// Works on data, with one handler.
    #[must_use]
    pub const fn data(run: DataHandler) -> Self {
        Self::Data(run, Ways { row: None, straight: [None, None] })
    }

    /// Whether it works on data, and never waits.
    #[must_use]
    pub const fn is_data(&self) -> bool {
        matches!(self, Self::Data(..))
    }
}

/// What else may run calls of a command on data, with the same outcome.
#[derive(Clone, Copy)]
pub struct Ways {
    /// Where it comes several times in a row for one key, with no events to tell in between and nobody who waits, on layouts that
    /// [take rows](crate::layout::Layout::takes_rows).
    pub row: Option<RowHandler>,
    /// Groups of such calls may [go straight](straight), those with as many arguments as one of these [takes](Straight::takes).
    pub straight: [Option<Straight>; 2],
}

/// The commands that steer transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionCommand {
    /// Begins to queue.
    Multi,
    /// Runs what is queued.
    Exec,
    /// Forgets what is queued.
    Discard,
    /// Lets EXEC depend on keys being unchanged.
    Watch,
    /// Forgets the watched keys.
    Unwatch,
}

/// What a data command works with.
pub struct Context<'c, 't, 's> {
    /// The command's arguments; the first is its name.
    pub args: &'c [Bytes],
    /// The selected db.
    pub db: Db<'t, 's>,
    /// What INFO, CONFIG and the like tell and set.
    pub server: &'c mut Server,
}

impl Context<'_, '_, '_> {
    /// The argument at `position`, the name being 0. The table's arity has been checked, so a missing one is empty only in
    /// variadic commands that look beyond.
    #[must_use]
    pub fn arg(&self, position: usize) -> &Bytes {
        static EMPTY: Bytes = Bytes::new();
        self.args.get(position).unwrap_or(&EMPTY)
    }
}
