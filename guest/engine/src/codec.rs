//! Reading pieces off a byte string, never past its end. Numbers are big-endian where nothing else is said.

use crate::error::Error;
use bytes::Bytes;

/// What is wrong with bytes, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Bytes from the start.
    pub offset: usize,
    /// What was expected there.
    pub what: &'static str,
}

/// Reads a cursor that a client, or a host, gives back: `start` where there are no bytes.
///
/// # Errors
/// A client's mistake where `read` finds a flaw.
pub fn read_cursor<T>(bytes: &[u8], start: T, read: impl FnOnce(&Bytes) -> Result<T, Flaw>) -> crate::error::Result<T> {
    if bytes.is_empty() {
        return Ok(start);
    }
    read(&Bytes::copy_from_slice(bytes)).map_err(|_| Error::client("ERR invalid cursor"))
}

/// A position in a byte string.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a Bytes,
    offset: usize,
}

impl<'a> Reader<'a> {
    /// At the first byte.
    #[must_use]
    pub fn new(bytes: &'a Bytes) -> Self {
        Self { bytes, offset: 0 }
    }

    /// A flaw at the current position.
    #[must_use]
    pub fn flaw(&self, what: &'static str) -> Flaw {
        Flaw { offset: self.offset, what }
    }

    /// How many bytes have been read.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// The flaw `what` where the bytes end before.
    pub fn take<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Flaw> {
        let piece = self.bytes.get(self.offset..).and_then(|rest| rest.first_chunk::<N>()).ok_or(self.flaw(what))?;
        self.offset += N;
        Ok(*piece)
    }

    /// The next `length` bytes, without copying.
    ///
    /// # Errors
    /// As [`Reader::take`].
    pub fn slice(&mut self, length: usize, what: &'static str) -> Result<Bytes, Flaw> {
        let end = self.offset.checked_add(length).filter(|end| *end <= self.bytes.len()).ok_or(self.flaw(what))?;
        let piece = self.bytes.slice(self.offset..end);
        self.offset = end;
        Ok(piece)
    }

    /// One byte.
    ///
    /// # Errors
    /// As [`Reader::take`].
    pub fn u8(&mut self, what: &'static str) -> Result<u8, Flaw> {
        self.take::<1>(what).map(|[byte]| byte)
    }

    /// Four bytes, big-endian.
    ///
    /// # Errors
    /// As [`Reader::take`].
    pub fn u32(&mut self, what: &'static str) -> Result<u32, Flaw> {
        self.take(what).map(u32::from_be_bytes)
    }

    /// Eight bytes, big-endian.
    ///
    /// # Errors
    /// As [`Reader::take`].
    pub fn u64(&mut self, what: &'static str) -> Result<u64, Flaw> {
        self.take(what).map(u64::from_be_bytes)
    }

    /// Bytes with their length (four bytes, big-endian) before them, without copying.
    ///
    /// # Errors
    /// As [`Reader::take`].
    pub fn bytes(&mut self, what: &'static str) -> Result<Bytes, Flaw> {
        let length = usize::try_from(self.u32(what)?).map_err(|_| self.flaw(what))?;
        self.slice(length, what)
    }

    /// A text with its length (four bytes, big-endian) before it.
    ///
    /// # Errors
    /// As [`Reader::take`]; also where the text is not UTF-8.
    pub fn text(&mut self, what: &'static str) -> Result<String, Flaw> {
        let not_utf8 = self.flaw(what);
        String::from_utf8(self.bytes(what)?.to_vec()).map_err(|_| not_utf8)
    }

    /// Everything that is left, without copying.
    #[must_use]
    pub fn rest(self) -> Bytes {
        self.bytes.slice(self.offset.min(self.bytes.len())..)
    }

    /// The end of the bytes.
    ///
    /// # Errors
    /// A flaw where bytes are left.
    pub fn end(self) -> Result<(), Flaw> {
        if self.offset == self.bytes.len() { Ok(()) } else { Err(self.flaw("trailing bytes")) }
    }
}
