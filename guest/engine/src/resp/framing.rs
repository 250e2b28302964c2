//! Bulk strings as they are written to room that is there already.

use crate::store::{Headed, StringSink};

/// The end of a line.
pub(super) const END: &[u8; 2] = b"\r\n";

/// A short line is written as a word of so many bytes, of which the last ones are written over.
pub(super) const WORD_BYTES: usize = 8;

/// For each number below 256 the line that has it behind a marker, in little-endian bytes: room for the marker, the digits, the end of
/// the line, and in the last byte how long that is. A header is one word to write then, whatever its length.
static SHORT_LINES: [u64; 256] = short_lines();

/// The line of a number below 256 behind a marker, as the first bytes of a little-endian word, and how many.
#[inline(always)]
pub(super) fn short_line(marker: u8, number: impl TryInto<u8>) -> Option<(u64, usize)> {
    let line = SHORT_LINES.get(usize::from(number.try_into().ok()?))?;
    Some((line | u64::from(marker), usize::from(line.to_le_bytes()[7])))
}

/// Room for bulk strings of so many bytes each at most, beside these bytes themselves and [`WORD_BYTES`] in all.
#[inline(always)]
pub(super) fn frame_bytes(longest: usize) -> usize {
    let digits = longest.checked_ilog10().map_or(1, |log| log as usize + 1);
    1 + digits + 2 * END.len()
}

const fn short_lines() -> [u64; 256] {
    let mut lines = [0; 256];
    let (mut left, mut number): (&mut [u64], u64) = (&mut lines, 0);
    while let Some((line, behind)) = left.split_first_mut() {
        let (mut digits, mut count, mut rest) = (0, 0, number);
        while count == 0 || rest > 0 {
            digits = (digits << 8) | (rest % 10 + b'0' as u64);
            (count, rest) = (count + 1, rest / 10);
        }
        let end = u16::from_le_bytes(*END) as u64;
        *line = ((digits | (end << (8 * count))) << 8) | ((count + 3) << 56);
        (left, number) = (behind, number + 1);
    }
    lines
}

/// Writes a bulk string to the head of `room`, and returns what is left; `None` where that is too small, or hardly large enough. The room
/// stays in registers from one string to the next; a buffer that is appended to has its length in memory.
#[inline(always)]
pub(super) fn framed_into<'r>(room: &'r mut [u8], data: &[u8]) -> Option<&'r mut [u8]> {
    let room = match short_line(b'$', data.len()) {
        Some((line, bytes)) => {
            *room.first_chunk_mut()? = line.to_le_bytes();
            room.get_mut(bytes..)?
        }
        None => long_line_into(room, data.len())?,
    };
    let (place, room) = room.split_at_mut_checked(data.len())?;
    match (data.first_chunk::<8>(), data.last_chunk::<8>()) {
        // Most names: without a call.
        (Some(head), Some(tail)) if data.len() <= 16 => {
            *place.first_chunk_mut()? = *head;
            *place.last_chunk_mut()? = *tail;
        }
        _ => place.copy_from_slice(data),
    }
    let (end, room) = room.split_first_chunk_mut()?;
    *end = *END;
    Some(room)
}

#[cold]
#[inline(never)]
fn long_line_into(room: &mut [u8], number: usize) -> Option<&mut [u8]> {
    let mut digits = itoa::Buffer::new();
    [b"$", digits.format(number).as_bytes(), END].into_iter().try_fold(room, |room, piece| {
        let (place, room) = room.split_at_mut_checked(piece.len())?;
        place.copy_from_slice(piece);
        Some(room)
    })
}

/// What is around a string at most whose length has up to three digits: a marker, the digits, the end of the line, and the end of the string.
const AROUND: usize = WORD_BYTES + END.len();

/// Room behind all strings for what [is copied with them](Headed): loops put two of up to so many bytes.
pub(super) const CHUNK_ROOM: usize = 2 * (AROUND + 128);

/// Room for bulk strings.
#[derive(Debug, Default)]
pub struct Bulks<'r> {
    room: &'r mut [u8],
    /// How much of it they have taken.
    taken: usize,
}

impl<'r> Bulks<'r> {
    pub(super) fn within(room: &'r mut [u8]) -> Self {
        Self { room, taken: 0 }
    }

    pub(super) fn left(&self) -> usize {
        self.room.len().saturating_sub(self.taken)
    }
}

impl StringSink for Bulks<'_> {
    #[inline(always)]
    fn last_for(&self, strings: usize, bytes: usize) -> Option<usize> {
        self.room.len().checked_sub(strings * AROUND + bytes)
    }

    #[inline(always)]
    fn put<const C: usize>(&mut self, last: usize, string: Headed<'_, C>) -> bool {
        let mut put = || {
            let place = if self.taken > last { None } else { self.room.get_mut(self.taken..)?.get_mut(..AROUND + C) };
            framed_at(place?, string)
        };
        put().is_some_and(|bytes| {
            self.taken += bytes;
            true
        })
    }

    #[inline(always)]
    fn put_pair<const A: usize, const B: usize>(&mut self, last: usize, first: Headed<'_, A>, second: Headed<'_, B>) -> bool {
        let mut put = || {
            let place = if self.taken > last { None } else { self.room.get_mut(self.taken..)?.get_mut(..2 * AROUND + A + B) };
            let place = place?;
            let bytes = framed_at(place, first)?;
            Some(bytes + framed_at(place.get_mut(bytes..)?, second)?)
        };
        put().is_some_and(|bytes| {
            self.taken += bytes;
            true
        })
    }

    #[inline(never)]
    fn put_any<const N: usize>(&mut self, strings: [&[u8]; N]) -> bool {
        let place = self.room.get_mut(self.taken..).unwrap_or_default();
        let before = place.len();
        let Some(left) = strings.into_iter().try_fold(place, framed_into) else { return false };
        self.taken += before - left.len();
        true
    }
}

/// Writes a bulk string that is in its chunk to the head of `place`, without a call and with few checks, with what lies behind it, which is written over by
/// what follows. Returns how many bytes it takes.
#[inline(always)]
fn framed_at<const C: usize>(place: &mut [u8], (chunk, length): Headed<'_, C>) -> Option<usize> {
    // First: no bound below needs to be looked at then.
    if length > C {
        return None;
    }
    let (line, bytes) = short_line(b'$', length)?;
    *place.first_chunk_mut()? = line.to_le_bytes();
    // It is less anyway, which the compiler does not know.
    let bytes = bytes % WORD_BYTES;
    *place.get_mut(bytes..)?.first_chunk_mut()? = *chunk;
    *place.get_mut(bytes + length..)?.first_chunk_mut()? = *END;
    Some(bytes + length + END.len())
}
