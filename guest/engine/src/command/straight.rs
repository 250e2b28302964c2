//! What commands do that look at one value, and at most put another in its place or take it away: a string, a field, a member, or an element at an end
//! of a list. All that such a command needs to know is the value, and all that it tells is what becomes of that. Groups of such calls need no
//! transaction that sees its own changes, and no savepoints (`session/straight`). So do commands that tell of a key, or how large a collection is, and, where
//! nothing else in the group changes it, commands that show one, all of it, a range or a rank; in groups that only read also an element.

use super::expiry::Time;
use super::options::length;
use super::reply_value;
use crate::error::Result;
use crate::layout::Kind;
use crate::layout::lists::End;
use crate::layout::straight::{CollectionReader, Head, Value};
use crate::number::parse_i64;
use crate::resp::reply::Reply;
use crate::store::Direction;
use bytes::Bytes;

/// A command that may go straight.
#[derive(Clone, Copy)]
pub struct Straight {
    /// How many arguments such a call has, the name included: with others it does something else.
    pub args: usize,
    /// What it looks at.
    pub on: On,
}

/// What a command looks at, and what it does.
#[derive(Clone, Copy)]
pub enum On {
    /// The string under the key.
    String {
        /// Of what it puts.
        expiry: NewExpiry,
        /// It puts none, and may take the one away.
        removes: bool,
        /// What it does.
        act: Act,
    },
    /// A field or a member of the collection under the key.
    Member {
        /// The kind of the collection.
        kind: Kind,
        /// Which argument is the name of the field or the member.
        name: usize,
        /// It adds none, and may take the one away.
        removes: bool,
        /// What it does.
        act: Act,
    },
    /// An end of the list under the key: it puts its last argument there, and replies how many elements there are.
    Push(End),
    /// An end of the list under the key: it takes an element from there, and replies it.
    Pop(End),
    /// The collection of that kind under the key: it replies how many fields, members or elements there are.
    Count(Kind),
    /// Whatever is under the key: it tells of it.
    Key(KeyHandler),
    /// Whatever is under the key: it expires after the time that the second argument tells, and the reply is whether there is anything.
    Expire(Time),
    /// The list under the key: it replies the element at the position that its last argument tells. Only in groups that do not write.
    Element,
    /// The sorted set under the key: it replies the rank of a member, its last argument, counted in that direction. Only where the group does not change it.
    Rank(Direction),
    /// The collection under the key: it shows all of it, or a range. Only where the group does not change it.
    Shown {
        /// The kind of the collection.
        kind: Kind,
        /// Whether what a call with these arguments shows begins near the end that it counts from: it does not go straight otherwise.
        is_near: fn(args: &[Bytes], collection: &Head) -> bool,
        /// What it does.
        show: ShowHandler,
    },
}

/// When a string expires that a command puts.
#[derive(Clone, Copy)]
pub enum NewExpiry {
    /// When the one in whose place it is would have.
    Same,
    /// Never.
    Never,
    /// After the time that its arguments tell; `None`: they say something else, and the call does not go straight.
    After(TimeOf),
}

/// Which time to live the arguments of a call tell: the unit, and the number.
pub type TimeOf = fn(args: &[Bytes]) -> Option<(Time, &Bytes)>;

/// What a command does with a value.
#[derive(Clone, Copy)]
pub enum Act {
    /// It replies the value (GET, HGET).
    Show,
    /// It replies whether there is one (HEXISTS, SISMEMBER).
    Tell,
    /// Something else.
    Run(StraightHandler),
}

impl Act {
    /// As [`StraightHandler`]. To show a value and to tell of it are cases, not functions: a call by a pointer would cost most groups of reads as much as
    /// their work on the value.
    ///
    /// # Errors
    /// The command's.
    #[inline]
    pub fn on<'a>(self, args: &'a [Bytes], value: Option<Value<'_>>, reply: &mut Reply) -> Result<Fate<'a>> {
        match self {
            Self::Show => {
                let mut room = itoa::Buffer::new();
                reply_value(reply, value.map(|value| value.bytes(&mut room)));
            }
            Self::Tell => reply.integer(i64::from(value.is_some())),
            Self::Run(run) => return run(args, value, reply),
        }
        Ok(Fate::Stays)
    }
}

/// What becomes of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate<'a> {
    /// It stays, or stays away.
    Stays,
    /// This is in its place.
    Becomes(Value<'a>),
    /// It goes. There is one: only then, and only of what [removes](Straight::removes).
    Goes,
}

/// Appends the reply of a call with these arguments, where this is the value, `None` where there is none, and tells what becomes of it. After an error
/// it stays, and what was appended does not count.
pub type StraightHandler = for<'a> fn(args: &'a [Bytes], value: Option<Value<'_>>, reply: &mut Reply) -> Result<Fate<'a>>;

/// Appends the reply of a call with these arguments that shows this collection, `None` where there is none. After an error what was appended does not count.
pub type ShowHandler =
    fn(args: &[Bytes], collection: Option<&Head>, reader: &mut CollectionReader<'_, '_>, reply: &mut Reply) -> Result<()>;

/// What is under a key.
#[derive(Clone, Copy)]
pub struct Present {
    /// Of which kind it is.
    pub kind: Kind,
    /// When it expires, Unix time in milliseconds.
    pub expire_at_ms: Option<u64>,
}

/// Appends the reply of a call that tells of a key, `None` where there is nothing under it. Times to live count from `base_ms` on.
pub type KeyHandler = fn(present: Option<Present>, base_ms: u64, reply: &mut Reply);

impl Straight {
    /// A command on a string that keeps its expiry.
    #[must_use]
    pub const fn on_string(args: usize, act: Act) -> Self {
        Self { args, on: On::String { expiry: NewExpiry::Same, removes: false, act } }
    }

    /// A command on a string that puts another one, or the first.
    #[must_use]
    pub const fn setting(args: usize, expiry: NewExpiry, run: StraightHandler) -> Self {
        Self { args, on: On::String { expiry, removes: false, act: Act::Run(run) } }
    }

    /// A command on a string that takes it away.
    #[must_use]
    pub const fn removing_string(run: StraightHandler) -> Self {
        Self { args: 2, on: On::String { expiry: NewExpiry::Never, removes: true, act: Act::Run(run) } }
    }

    /// A command on a member. `name`: which argument that is.
    #[must_use]
    pub const fn on_member(args: usize, kind: Kind, name: usize, act: Act) -> Self {
        Self { args, on: On::Member { kind, name, removes: false, act } }
    }

    /// A command that takes a member away, its last argument, and replies whether it has.
    #[must_use]
    pub const fn removing(kind: Kind) -> Self {
        Self { args: 3, on: On::Member { kind, name: 2, removes: true, act: Act::Run(remove) } }
    }

    /// A command that puts one element at an end of a list.
    #[must_use]
    pub const fn pushing_at(end: End) -> Self {
        Self { args: 3, on: On::Push(end) }
    }

    /// A command that takes one element from an end of a list.
    #[must_use]
    pub const fn popping_from(end: End) -> Self {
        Self { args: 2, on: On::Pop(end) }
    }

    /// A command that replies how large a collection is.
    #[must_use]
    pub const fn counting(kind: Kind) -> Self {
        Self { args: 2, on: On::Count(kind) }
    }

    /// A command that shows a collection, or a range whose beginning is known.
    #[must_use]
    pub const fn showing(args: usize, kind: Kind, show: ShowHandler) -> Self {
        Self::showing_near(args, kind, |_, _| true, show)
    }

    /// The same, where it is near for some arguments only.
    #[must_use]
    pub const fn showing_near(args: usize, kind: Kind, is_near: fn(&[Bytes], &Head) -> bool, show: ShowHandler) -> Self {
        Self { args, on: On::Shown { kind, is_near, show } }
    }

    /// A command that tells of a key.
    #[must_use]
    pub const fn telling(tell: KeyHandler) -> Self {
        Self { args: 2, on: On::Key(tell) }
    }

    /// A command that lets a key expire.
    #[must_use]
    pub const fn expiring(after: Time) -> Self {
        Self { args: 3, on: On::Expire(after) }
    }

    /// A command that replies an element of a list.
    #[must_use]
    pub const fn element() -> Self {
        Self { args: 3, on: On::Element }
    }

    /// A command that replies a rank, the lowest score being the first `Forward`.
    #[must_use]
    pub const fn ranking(direction: Direction) -> Self {
        Self { args: 3, on: On::Rank(direction) }
    }

    /// Which argument is the name of a field or a member.
    #[must_use]
    pub const fn name(&self) -> Option<usize> {
        match self.on {
            On::Member { name, .. } => Some(name),
            On::Rank(_) => Some(2),
            _ => None,
        }
    }

    /// Whether a call with these arguments does that, as many as it has.
    #[must_use]
    pub fn is_meant_by(&self, args: &[Bytes]) -> bool {
        match self.on {
            On::String { expiry: NewExpiry::After(time), .. } => time(args).is_some(),
            // A time that is past removes the key.
            On::Expire(_) => parse_i64(last(args)).is_none_or(|time| time > 0),
            _ => true,
        }
    }

    /// Whether what it replies is known only of what the store has: it goes straight only where nothing in the group changes its key, an [element](On::Element)
    /// only where nothing is written.
    #[must_use]
    pub const fn shows(&self) -> bool {
        matches!(self.on, On::Shown { .. } | On::Element | On::Rank(_))
    }

    /// Whether it takes a string, members or elements away, and adds none.
    #[must_use]
    pub const fn removes(&self) -> bool {
        matches!(self.on, On::String { removes: true, .. } | On::Member { removes: true, .. } | On::Pop(_))
    }

    /// The kind of what is under the key; `None`: any.
    #[must_use]
    pub const fn kind(&self) -> Option<Kind> {
        match self.on {
            On::String { .. } => Some(Kind::String),
            On::Member { kind, .. } | On::Count(kind) | On::Shown { kind, .. } => Some(kind),
            On::Push(_) | On::Pop(_) | On::Element => Some(Kind::List),
            On::Rank(_) => Some(Kind::SortedSet),
            On::Key(_) | On::Expire(_) => None,
        }
    }
}

/// Replies how long the value is, 0 where there is none (STRLEN, HSTRLEN).
pub(super) fn value_length<'a>(_: &'a [Bytes], value: Option<Value<'_>>, reply: &mut Reply) -> Result<Fate<'a>> {
    let mut room = itoa::Buffer::new();
    reply.integer(length(value.map_or(0, |value| value.bytes(&mut room).len())));
    Ok(Fate::Stays)
}

/// Puts the last argument where there is no value, and replies whether it has (SETNX, HSETNX).
pub(super) fn put_new<'a>(args: &'a [Bytes], value: Option<Value<'_>>, reply: &mut Reply) -> Result<Fate<'a>> {
    reply.integer(i64::from(value.is_none()));
    Ok(if value.is_none() { Fate::Becomes(Value::Bytes(last(args))) } else { Fate::Stays })
}

/// Takes the value away, and replies whether there was one (HDEL, SREM, ZREM, DEL).
pub(super) fn remove<'a>(_: &'a [Bytes], value: Option<Value<'_>>, reply: &mut Reply) -> Result<Fate<'a>> {
    reply.integer(i64::from(value.is_some()));
    Ok(if value.is_some() { Fate::Goes } else { Fate::Stays })
}

/// The last argument of a call: what it puts, if it puts any.
#[must_use]
pub fn last(args: &[Bytes]) -> &[u8] {
    args.last().map_or(&[], Bytes::as_ref)
}

/// An argument of a call that has as many as it takes.
#[must_use]
pub fn arg(args: &[Bytes], position: usize) -> &Bytes {
    static EMPTY: Bytes = Bytes::new();
    args.get(position).unwrap_or(&EMPTY)
}
