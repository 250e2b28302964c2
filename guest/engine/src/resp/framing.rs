//! Bulk strings as they are written to room that is there already.

use crate::store::{Piece, PieceSink};

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

/// The longest string that is copied with what lies behind it, which is written over by what follows.
const CHUNK_BYTES: usize = 128;

/// Room for such a string and what is around it.
pub(super) const CHUNK_ROOM: usize = WORD_BYTES + CHUNK_BYTES + END.len();

/// The room that bulk strings have not taken.
#[derive(Debug, Default)]
pub struct Bulks<'r> {
    pub(super) room: &'r mut [u8],
}

impl Bulks<'_> {
    fn take(&mut self, bytes: usize) {
        self.room = std::mem::take(&mut self.room).get_mut(bytes..).unwrap_or_default();
    }
}

impl PieceSink for Bulks<'_> {
    /// As bulk strings. `false`: one is longer than [`CHUNK_BYTES`], or its page has too few bytes behind it, or there is no room.
    #[inline(always)]
    fn put<const N: usize>(&mut self, strings: [Piece<'_>; N]) -> bool {
        let mut end = 0;
        for string in strings {
            let Some(bytes) = framed_with_more(self.room, end, string) else { return false };
            end += bytes;
        }
        self.take(end);
        true
    }

    #[inline(never)]
    fn put_any<const N: usize>(&mut self, strings: [Piece<'_>; N]) -> bool {
        let mut end = 0;
        for string in strings {
            let Some(place) = self.room.get_mut(end..) else { return false };
            let before = place.len();
            let Some(left) = string.bytes().and_then(|bytes| framed_into(place, bytes)) else { return false };
            end += before - left.len();
        }
        self.take(end);
        true
    }
}

/// Writes a bulk string that is not long and has enough behind it: without a call, and with few checks. Returns how many bytes it takes.
#[inline(always)]
fn framed_with_more(room: &mut [u8], at: usize, string: Piece<'_>) -> Option<usize> {
    let place: &mut [u8; CHUNK_ROOM] = room.get_mut(at..)?.first_chunk_mut()?;
    let length = string.len();
    // Sooner than where it is copied: no bound below needs to be looked at then.
    if length > CHUNK_BYTES {
        return None;
    }
    let (line, bytes) = short_line(b'$', length)?;
    *place.first_chunk_mut()? = line.to_le_bytes();
    // It is less anyway, which the compiler does not know.
    let bytes = bytes % WORD_BYTES;
    let data = place.get_mut(bytes..)?;
    match length {
        0..=16 => *data.first_chunk_mut::<16>()? = *string.within()?,
        17..=32 => *data.first_chunk_mut::<32>()? = *string.within()?,
        33..=64 => *data.first_chunk_mut::<64>()? = *string.within()?,
        _ => *data.first_chunk_mut::<CHUNK_BYTES>()? = *string.within()?,
    }
    *data.get_mut(length..)?.first_chunk_mut()? = *END;
    Some(bytes + length + END.len())
}
