//! What commands do that look at one value, and at most put another in its place or take it away: a string, a field, a member, or an element at an end
//! of a list; or at several of one collection, or at strings under several keys, one after the other. All that such a command needs to know is the value,
//! and all that it tells is what becomes of that. Groups of such calls need no transaction that sees its own changes, and no savepoints
//! (`session/straight`). So do commands that tell of a key, or how large a collection is, and, where nothing else in the group changes it, commands that
//! show one, all of it, a range or a rank; in groups that only read also an element.

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
    /// How many arguments such a call has, the name included, at least: with others it does something else.
    pub args: usize,
    /// How many arguments are in front of those of members, elements and keys that may be several.
    front: usize,
    /// How many more each further one of these has, or an option; 0 where there is none.
    step: usize,
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
    /// The strings under several keys, one after the other: what it puts there never expires.
    Strings {
        /// What is no string is none for it.
        takes_any: bool,
        /// It puts none, and may take some away.
        removes: bool,
        /// What it does with each, told the arguments of that alone, the key among them.
        act: Act,
        /// What it replies.
        replies: Replies,
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
    /// Fields or members of the collection under the key, one after the other.
    Members {
        /// The kind of the collection.
        kind: Kind,
        /// Which argument among [those of each](Straight::parts) is its name.
        name: usize,
        /// It adds none, and may take some away.
        removes: bool,
        /// What it does with each, told the arguments of that alone.
        act: Act,
        /// Whether it goes straight with these arguments of one; `None`: with any.
        is_meant: Option<fn(part: &[Bytes]) -> bool>,
        /// What it replies.
        replies: Replies,
    },
    /// An end of the list under the key: it puts elements there, and replies how many there are then.
    Push(End),
    /// An end of the list under the key: it takes an element from there, and replies it.
    Pop(End),
    /// The collection of that kind under the key: it replies how many fields, members or elements there are.
    Count(Kind),
    /// Whatever is under the key: it tells of it.
    Key(KeyHandler),
    /// Whatever is under the key: it expires after the time that the second argument tells, and the reply is whether there is anything.
    Expire(Time),
    /// Whatever is under the key: it does not expire any more, and the reply is whether it would have.
    Persist,
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
    /// As its arguments tell; `None`: they say something else, and the call does not go straight.
    Told(fn(args: &[Bytes]) -> Option<Expires<'_>>),
}

/// When a string expires that a call puts.
#[derive(Clone, Copy)]
pub enum Expires<'a> {
    /// When the one in whose place it is would have.
    AsBefore,
    /// Never.
    Never,
    /// After a time to live, of that many.
    After(Time, &'a [u8]),
}

impl NewExpiry {
    /// What it is in a call with these arguments.
    #[inline]
    #[must_use]
    pub fn of(self, args: &[Bytes]) -> Option<Expires<'_>> {
        match self {
            Self::Same => Some(Expires::AsBefore),
            Self::Never => Some(Expires::Never),
            Self::Told(tell) => tell(args),
        }
    }
}

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

/// What a command replies that does something with each of several members or keys.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Replies {
    /// How many there were not before, or are not any more.
    Changed,
    /// OK.
    Ok,
    /// An array of what is told of each.
    Each,
}

impl Replies {
    /// Appends what is replied in front of so many of them.
    pub fn start(self, count: usize, reply: &mut Reply) {
        if self == Self::Each {
            reply.array(count);
        }
    }

    /// Appends what is replied behind all of them, so many of which have changed.
    pub fn finish(self, changed: u64, reply: &mut Reply) {
        match self {
            Self::Changed => reply.length(changed),
            Self::Ok => reply.ok(),
            Self::Each => {}
        }
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
        Self::fixed(args, On::String { expiry: NewExpiry::Same, removes: false, act })
    }

    /// A command on a string that puts another one, or the first.
    #[must_use]
    pub const fn setting(args: usize, expiry: NewExpiry, run: StraightHandler) -> Self {
        Self::fixed(args, On::String { expiry, removes: false, act: Act::Run(run) })
    }

    /// A command on a string that takes it away.
    #[must_use]
    pub const fn removing_string(run: StraightHandler) -> Self {
        Self::fixed(2, On::String { expiry: NewExpiry::Never, removes: true, act: Act::Run(run) })
    }

    /// A command on a member. `name`: which argument that is.
    #[must_use]
    pub const fn on_member(args: usize, kind: Kind, name: usize, act: Act) -> Self {
        Self::fixed(args, On::Member { kind, name, removes: false, act })
    }

    /// A command that puts strings under several keys, or takes them away: the act tells which. With so many arguments for each.
    #[must_use]
    pub const fn on_strings(least: usize, each: usize, removes: bool, act: Act, replies: Replies) -> Self {
        Self { args: 1 + least * each, front: 1, step: each, on: On::Strings { takes_any: false, removes, act, replies } }
    }

    /// A command that shows the strings under keys, or that there is none.
    #[must_use]
    pub const fn showing_strings() -> Self {
        Self { args: 2, front: 1, step: 1, on: On::Strings { takes_any: true, removes: false, act: Act::Show, replies: Replies::Each } }
    }

    /// A command on several members, `least` or more, each with so many arguments, the last of which is its name.
    #[must_use]
    pub const fn on_members(least: usize, each: usize, kind: Kind, act: Act, replies: Replies) -> Self {
        Self::on_parts(least, each, On::Members { kind, name: each - 1, removes: false, act, is_meant: None, replies })
    }

    /// The same, each with a value behind its name.
    #[must_use]
    pub const fn on_pairs(least: usize, kind: Kind, act: Act, replies: Replies) -> Self {
        Self::on_parts(least, 2, On::Members { kind, name: 0, removes: false, act, is_meant: None, replies })
    }

    /// What goes straight only where each of its members is meant so.
    #[must_use]
    pub const fn where_meant(self, is_meant: fn(&[Bytes]) -> bool) -> Self {
        match self.on {
            On::Members { kind, name, removes, act, replies, .. } => {
                Self { on: On::Members { kind, name, removes, act, is_meant: Some(is_meant), replies }, ..self }
            }
            _ => self,
        }
    }

    /// A command that takes a member away, its last argument, and replies whether it has.
    #[must_use]
    pub const fn removing(kind: Kind) -> Self {
        Self::fixed(3, On::Member { kind, name: 2, removes: true, act: Act::Run(remove) })
    }

    /// A command that takes several members away, and replies how many.
    #[must_use]
    pub const fn removing_several(kind: Kind) -> Self {
        let (act, replies) = (Act::Run(|_, value, _| Ok(removed(value))), Replies::Changed);
        Self::on_parts(2, 1, On::Members { kind, name: 0, removes: true, act, is_meant: None, replies })
    }

    /// A command that puts elements at an end of a list.
    #[must_use]
    pub const fn pushing_at(end: End) -> Self {
        Self::on_parts(1, 1, On::Push(end))
    }

    /// With so many arguments.
    const fn fixed(args: usize, on: On) -> Self {
        Self { args, front: args, step: 0, on }
    }

    /// On so many members or elements at least, with so many arguments each.
    const fn on_parts(least: usize, each: usize, on: On) -> Self {
        Self { args: 2 + least * each, front: 2, step: each, on }
    }

    /// A command that takes one element from an end of a list.
    #[must_use]
    pub const fn popping_from(end: End) -> Self {
        Self::fixed(2, On::Pop(end))
    }

    /// A command that replies how large a collection is.
    #[must_use]
    pub const fn counting(kind: Kind) -> Self {
        Self::fixed(2, On::Count(kind))
    }

    /// A command that shows a collection, or a range whose beginning is known.
    #[must_use]
    pub const fn showing(args: usize, kind: Kind, show: ShowHandler) -> Self {
        Self::showing_near(args, kind, |_, _| true, show)
    }

    /// The same, where it is near for some arguments only.
    #[must_use]
    pub const fn showing_near(args: usize, kind: Kind, is_near: fn(&[Bytes], &Head) -> bool, show: ShowHandler) -> Self {
        Self::fixed(args, On::Shown { kind, is_near, show })
    }

    /// A command that tells of a key.
    #[must_use]
    pub const fn telling(tell: KeyHandler) -> Self {
        Self::fixed(2, On::Key(tell))
    }

    /// A command on a string with options behind its arguments.
    #[must_use]
    pub const fn with_options(self) -> Self {
        Self { step: 1, ..self }
    }

    /// A command that has a key never expire.
    #[must_use]
    pub const fn persisting() -> Self {
        Self::fixed(2, On::Persist)
    }

    /// A command that lets a key expire.
    #[must_use]
    pub const fn expiring(after: Time) -> Self {
        Self::fixed(3, On::Expire(after))
    }

    /// A command that replies an element of a list.
    #[must_use]
    pub const fn element() -> Self {
        Self::fixed(3, On::Element)
    }

    /// A command that replies a rank, the lowest score being the first `Forward`.
    #[must_use]
    pub const fn ranking(direction: Direction) -> Self {
        Self::fixed(3, On::Rank(direction))
    }

    /// Whether a call may have so many arguments.
    #[inline]
    #[must_use]
    pub const fn takes(&self, args: usize) -> bool {
        args == self.args || self.step > 0 && args > self.args && (args - self.args).is_multiple_of(self.step)
    }

    /// How many members, elements or keys a call with these arguments names.
    #[inline]
    #[must_use]
    pub fn count(&self, args: &[Bytes]) -> usize {
        if self.may_name_several() { args.len().saturating_sub(self.front) / self.step.max(1) } else { 1 }
    }

    /// Whether a call may name more than one of them.
    #[inline]
    #[must_use]
    pub const fn may_name_several(&self) -> bool {
        matches!(self.on, On::Members { .. } | On::Push(_) | On::Strings { .. })
    }

    /// The arguments of each of them, where they may be several.
    pub fn parts<'a>(&self, args: &'a [Bytes]) -> impl Iterator<Item = &'a [Bytes]> + use<'a> {
        args.get(self.front..).unwrap_or_default().chunks_exact(self.step.max(1))
    }

    /// How many bytes the arguments of that one have that has most.
    #[must_use]
    pub fn longest_part(&self, args: &[Bytes]) -> usize {
        self.parts(args).map(|part| part.iter().map(Bytes::len).sum()).max().unwrap_or(0)
    }

    /// The names of the members or keys that a call names, where these may be several.
    pub fn names<'a>(&self, args: &'a [Bytes]) -> impl Iterator<Item = &'a Bytes> + use<'a> {
        let name = match self.on {
            On::Members { name, .. } => Some(name),
            On::Strings { .. } => Some(0),
            _ => None,
        };
        let parts = name.map(|name| self.parts(args).map(move |part| arg(part, name)));
        parts.into_iter().flatten()
    }

    /// Which argument is the name of a field or a member, where it is one.
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
            On::String { expiry, .. } => expiry.of(args).is_some(),
            On::Members { is_meant: Some(is_meant), .. } => self.parts(args).all(is_meant),
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
        match self.on {
            On::String { removes, .. } | On::Strings { removes, .. } | On::Member { removes, .. } | On::Members { removes, .. } => removes,
            On::Pop(_) => true,
            _ => false,
        }
    }

    /// The kind of what is under the key; `None`: any.
    #[must_use]
    pub const fn kind(&self) -> Option<Kind> {
        match self.on {
            On::String { .. } | On::Strings { takes_any: false, .. } => Some(Kind::String),
            On::Member { kind, .. } | On::Members { kind, .. } | On::Count(kind) | On::Shown { kind, .. } => Some(kind),
            On::Push(_) | On::Pop(_) | On::Element => Some(Kind::List),
            On::Rank(_) => Some(Kind::SortedSet),
            On::Key(_) | On::Expire(_) | On::Persist | On::Strings { .. } => None,
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
    Ok(removed(value))
}

/// What becomes of a value that is taken away, if there is one.
pub(super) const fn removed<'a>(value: Option<Value<'_>>) -> Fate<'a> {
    if value.is_some() { Fate::Goes } else { Fate::Stays }
}

/// Puts the last argument, and replies nothing.
pub(super) fn put_last<'a>(args: &'a [Bytes], _: Option<Value<'_>>, _: &mut Reply) -> Result<Fate<'a>> {
    Ok(Fate::Becomes(Value::Bytes(last(args))))
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
