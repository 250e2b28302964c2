//! What commands do that look at one string, and at most put another in its place: all that a command needs to know is the value, and all that
//! becomes of it is a value. Groups of such calls need no transaction that sees its own changes, savepoints or places of keys
//! (`session/straight.rs`).

use crate::error::Result;
use crate::resp::reply::Reply;
use bytes::Bytes;

/// A command on one string.
#[derive(Clone, Copy)]
pub struct Straight {
    /// How many arguments such a call has, the name included: with more of them it does something else.
    pub args: usize,
    /// What it puts has no expiry, whatever the key had. Otherwise the expiry stays.
    pub ends_expiry: bool,
    /// What it does.
    pub run: StraightHandler,
}

/// Appends the reply of a call with these arguments, where the key has this value, and tells what becomes of it. After an error nothing does.
pub type StraightHandler = for<'a> fn(args: &'a [Bytes], value: Option<&[u8]>, reply: &mut Reply) -> Result<Option<NewString<'a>>>;

/// A string to put.
#[derive(Clone, Copy, Debug)]
pub enum NewString<'a> {
    /// These bytes.
    Lent(&'a [u8]),
    /// The text of a number.
    Number(i64),
}

impl<'a> NewString<'a> {
    /// Its bytes. `room` is for the text of a number.
    #[inline]
    pub fn bytes<'b>(&self, room: &'b mut itoa::Buffer) -> &'b [u8]
    where
        'a: 'b,
    {
        match *self {
            Self::Lent(bytes) => bytes,
            Self::Number(number) => room.format(number).as_bytes(),
        }
    }
}
