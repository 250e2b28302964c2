//! What the engine answers: a buffer that replies are appended to, in the version of the protocol that the client has chosen.

use super::framing::{Bulks, CHUNK_ROOM, END, WORD_BYTES, frame_bytes, framed_into, short_line};
use crate::number::lend_double;
use arrayvec::ArrayVec;

/// Version of the protocol, per connection: 2 until the client asks for 3 with [`HELLO`](https://redis.io/docs/latest/commands/hello/).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// RESP2: maps, sets and pushes are sent as arrays, doubles and texts as bulk strings, booleans as 1 and 0.
    Resp2,
    /// RESP3: every type has a marker of its own.
    Resp3,
}

/// Encoded replies, appended one after the other.
///
/// The caller keeps to the lengths that it announces: after [`Reply::array`] of 2, two values follow.
#[derive(Clone, Debug)]
pub struct Reply {
    bytes: Vec<u8>,
    protocol: Protocol,
}

/// The first room for values of which there are several.
const FIRST_BYTES: usize = 64;

/// The place of a header whose length is not yet known has room for three digits: from a hundred to a thousand values stay where they are.
const DEFERRED_BYTES: usize = 6;

/// A marker, the digits of any length, and the end of the line.
const MAX_HEADER_BYTES: usize = 23;

/// The place of a header whose length is not yet known; see [`Reply::deferred`].
#[derive(Debug)]
#[must_use = "without its header the reply is not whole"]
pub struct Deferred {
    at: usize,
}

impl Reply {
    /// An empty buffer.
    pub fn new(protocol: Protocol) -> Self {
        Self { bytes: Vec::new(), protocol }
    }

    /// An empty buffer with room for so many bytes.
    pub fn with_capacity(protocol: Protocol, bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), protocol }
    }

    /// The version in which values are appended.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Changes the version for values to come.
    pub fn set_protocol(&mut self, protocol: Protocol) {
        self.protocol = protocol;
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing has been appended.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Takes back what was appended after the buffer had `len` bytes. Nothing happens if it has no more than that.
    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
    }

    /// The encoded replies.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The encoded replies.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Appends a reply that is encoded already.
    pub fn raw(&mut self, encoded: &[u8]) {
        self.bytes.extend_from_slice(encoded);
    }

    /// The simple string `OK`.
    pub fn ok(&mut self) {
        self.raw(b"+OK\r\n");
    }

    /// A simple string. CR and LF in it become spaces.
    pub fn simple(&mut self, text: &str) {
        self.line(b'+', text);
    }

    /// An error; `text` starts with its prefix: `ERR no such key`. CR and LF at its end are left out, others become spaces.
    pub fn error(&mut self, text: &str) {
        self.line(b'-', text.trim_end_matches(['\r', '\n']));
    }

    /// How many there are.
    pub fn length(&mut self, count: u64) {
        self.integer(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// An integer.
    pub fn integer(&mut self, number: i64) {
        self.header(b':', number);
    }

    /// A bulk string.
    pub fn bulk(&mut self, data: &[u8]) {
        self.make_room(data.len().saturating_add(frame_bytes(data.len())).max(WORD_BYTES));
        self.framed(data);
    }

    /// The bulk strings that `strings` finds in each of `rows`.
    pub fn bulks<T, const N: usize>(&mut self, rows: &[T], strings: impl Fn(&T) -> [&[u8]; N]) {
        let (mut bytes, mut longest) = (0_usize, 0);
        for string in rows.iter().flat_map(&strings) {
            (bytes, longest) = (bytes.saturating_add(string.len()), longest.max(string.len()));
        }
        let frames = rows.len().saturating_mul(N * frame_bytes(longest));
        self.fill(bytes.saturating_add(frames).saturating_add(WORD_BYTES), |mut room| {
            'all: for row in rows {
                for string in strings(row) {
                    // There is room for all of them.
                    let Some(behind) = framed_into(std::mem::take(&mut room), string) else { break 'all };
                    room = behind;
                }
            }
            ((), room.len())
        });
    }

    /// The bulk strings that `fill` pushes, `most` of them at most, which have so many bytes together. Returns what it returns.
    pub fn lying_bulks<R>(&mut self, most: usize, bytes: usize, fill: impl FnOnce(&mut Bulks<'_>) -> R) -> R {
        let frames = most.saturating_mul(frame_bytes(bytes));
        self.fill(bytes.saturating_add(frames).saturating_add(CHUNK_ROOM), |room| {
            let mut bulks = Bulks::within(room);
            let done = fill(&mut bulks);
            (done, bulks.left())
        })
    }

    /// Appends what `write` puts at the head of so many zeros. It returns how many of them it has left, with what this returns.
    #[inline(always)]
    fn fill<R>(&mut self, most: usize, write: impl FnOnce(&mut [u8]) -> (R, usize)) -> R {
        let start = self.bytes.len();
        self.make_room(most);
        self.bytes.resize(start.saturating_add(most), 0);
        let (done, left) = write(self.bytes.get_mut(start..).unwrap_or_default());
        self.bytes.truncate(self.bytes.len().saturating_sub(left));
        done
    }

    /// A bulk string, for which there is room.
    #[inline(always)]
    fn framed(&mut self, data: &[u8]) {
        self.header(b'$', data.len());
        self.bytes.extend_from_slice(data);
        self.bytes.extend_from_slice(END);
    }

    /// A bulk string of what `write` appends to the buffer: it is in memory once only. Nothing is appended where `write` fails.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn bulk_with<E>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        let header = self.deferred();
        if let Err(error) = write(&mut self.bytes) {
            self.truncate(header.at);
            return Err(error);
        }
        let len = self.bytes.len().saturating_sub(header.at.saturating_add(DEFERRED_BYTES));
        self.end(header, b'$', len);
        self.raw(END);
        Ok(())
    }

    /// A bulk string.
    pub fn text(&mut self, text: &str) {
        self.bulk(text.as_bytes());
    }

    /// Nothing, where a value would be; in RESP2 a null bulk string.
    pub fn null(&mut self) {
        self.raw(match self.protocol {
            Protocol::Resp2 => b"$-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        });
    }

    /// Nothing, where an array would be; in RESP3 the same as [`Reply::null`].
    pub fn null_array(&mut self) {
        self.raw(match self.protocol {
            Protocol::Resp2 => b"*-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        });
    }

    /// An array, of which `len` values follow.
    pub fn array(&mut self, len: usize) {
        self.begin();
        self.header(b'*', len);
    }

    /// A map, of which `pairs` times a key and a value follow; in RESP2 an array of twice that length.
    pub fn map(&mut self, pairs: usize) {
        let (marker, len) = self.map_header(pairs);
        self.begin();
        self.header(marker, len);
    }

    /// A set, of which `len` values follow; in RESP2 an array.
    pub fn set(&mut self, len: usize) {
        self.begin();
        self.header(self.marker(b'~'), len);
    }

    /// A message that no command asked for, of which `len` values follow; in RESP2 an array.
    pub fn push(&mut self, len: usize) {
        self.header(self.marker(b'>'), len);
    }

    /// A double; in RESP2 a bulk string of the same text.
    // What loops over members do with scores is not to make them larger where no scores are wanted.
    #[inline(never)]
    pub fn double(&mut self, number: f64) {
        lend_double(number, |digits| self.double_text(digits));
    }

    /// A double in the caller's digits; in RESP2 a bulk string of the same text.
    pub fn double_text(&mut self, digits: &str) {
        match self.protocol {
            Protocol::Resp2 => self.text(digits),
            Protocol::Resp3 => self.line(b',', digits),
        }
    }

    /// A boolean; in RESP2 the integer 1 or 0.
    pub fn boolean(&mut self, truth: bool) {
        self.raw(match (self.protocol, truth) {
            (Protocol::Resp2, true) => b":1\r\n",
            (Protocol::Resp2, false) => b":0\r\n",
            (Protocol::Resp3, true) => b"#t\r\n",
            (Protocol::Resp3, false) => b"#f\r\n",
        });
    }

    /// A text for people and its format, three ASCII letters such as `txt` (shorter ones are padded, longer ones cut); in RESP2 a bulk
    /// string.
    pub fn verbatim(&mut self, format: &str, text: &str) {
        if self.protocol == Protocol::Resp2 {
            return self.text(text);
        }
        self.header(b'=', text.len().saturating_add(4));
        let letters = format.bytes().chain(std::iter::repeat(b' ')).take(3);
        self.bytes.extend(letters.chain([b':']));
        self.raw(text.as_bytes());
        self.raw(END);
    }

    /// An integer of any size, given by its digits; in RESP2 a bulk string.
    pub fn big_number(&mut self, digits: &str) {
        match self.protocol {
            Protocol::Resp2 => self.text(digits),
            Protocol::Resp3 => self.line(b'(', digits),
        }
    }

    /// Marks the place of an array, map or set whose length is known only when its values have been appended. Ended by
    /// [`Reply::end_array`], [`Reply::end_map`] or [`Reply::end_set`], the inner one first where they are nested.
    pub fn deferred(&mut self) -> Deferred {
        self.begin();
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&[0; DEFERRED_BYTES]);
        Deferred { at }
    }

    /// The values appended since `deferred` are an array of `len`.
    pub fn end_array(&mut self, deferred: Deferred, len: usize) {
        self.end(deferred, b'*', len);
    }

    /// The values appended since `deferred` are a map of `pairs`.
    pub fn end_map(&mut self, deferred: Deferred, pairs: usize) {
        let (marker, len) = self.map_header(pairs);
        self.end(deferred, marker, len);
    }

    /// The values appended since `deferred` are a set of `len`.
    pub fn end_set(&mut self, deferred: Deferred, len: usize) {
        self.end(deferred, self.marker(b'~'), len);
    }

    /// Writes the header. Values move where it is not as long as its place: cheaper than a buffer for each.
    fn end(&mut self, deferred: Deferred, marker: u8, len: usize) {
        let Some((line, bytes)) = short_line(marker, len) else {
            let mut header = ArrayVec::<u8, MAX_HEADER_BYTES>::new();
            header.extend([marker].into_iter().chain(itoa::Buffer::new().format(len).bytes()).chain(*END));
            return self.put_header(deferred, &header);
        };
        let (line, place) = (line.to_le_bytes(), self.bytes.get_mut(deferred.at..).and_then(<[u8]>::first_chunk_mut));
        match (line.first_chunk::<DEFERRED_BYTES>(), place) {
            (Some(header), Some(place)) if bytes == DEFERRED_BYTES => *place = *header,
            _ => self.put_header(deferred, line.get(..bytes).unwrap_or_default()),
        }
    }

    fn put_header(&mut self, deferred: Deferred, header: &[u8]) {
        let place = deferred.at..deferred.at.saturating_add(DEFERRED_BYTES);
        match self.bytes.get_mut(place.clone()) {
            Some(room) if room.len() == header.len() => room.copy_from_slice(header),
            Some(_) => _ = self.bytes.splice(place, header.iter().copied()),
            // The place is gone: the buffer was truncated below it.
            None => self.raw(header),
        }
    }

    /// What follows is several values: their room does not grow from nothing.
    #[inline(always)]
    fn begin(&mut self) {
        if self.bytes.capacity() == 0 {
            self.grow(FIRST_BYTES);
        }
    }

    /// Room for so many bytes more.
    #[inline(always)]
    fn make_room(&mut self, bytes: usize) {
        if self.bytes.capacity().wrapping_sub(self.bytes.len()) < bytes {
            self.grow(bytes);
        }
    }

    // Within loops over elements it would take their registers.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, bytes: usize) {
        // What is first may be all: a component gives the buffer away as it is then.
        if self.bytes.is_empty() { self.bytes.reserve_exact(bytes) } else { self.bytes.reserve(bytes) }
    }

    fn map_header(&self, pairs: usize) -> (u8, usize) {
        match self.protocol {
            Protocol::Resp2 => (b'*', pairs.saturating_mul(2)),
            Protocol::Resp3 => (b'%', pairs),
        }
    }

    /// The marker of a type that RESP2 sends as an array.
    fn marker(&self, resp3: u8) -> u8 {
        match self.protocol {
            Protocol::Resp2 => b'*',
            Protocol::Resp3 => resp3,
        }
    }

    #[inline(always)]
    fn header(&mut self, marker: u8, number: impl itoa::Integer + TryInto<u8>) {
        // Most are short: these are appended at once, without a formatter.
        match short_line(marker, number) {
            Some((line, bytes)) => self.word(line, bytes),
            None => self.long_header(marker, itoa::Buffer::new().format(number)),
        }
    }

    /// The first `bytes` bytes of a little-endian word.
    #[inline(always)]
    fn word(&mut self, word: u64, bytes: usize) {
        let end = self.bytes.len().saturating_add(bytes);
        self.bytes.extend_from_slice(&word.to_le_bytes());
        self.bytes.truncate(end);
    }

    fn long_header(&mut self, marker: u8, digits: &str) {
        self.bytes.push(marker);
        self.bytes.extend_from_slice(digits.as_bytes());
        self.bytes.extend_from_slice(END);
    }

    /// A line cannot hold its own end.
    fn line(&mut self, marker: u8, text: &str) {
        self.bytes.push(marker);
        self.bytes.extend(text.bytes().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { byte }));
        self.raw(END);
    }
}

#[cfg(test)]
mod tests {
    use super::{Protocol, Reply};
    use crate::store::StringSink;

    fn encoded(protocol: Protocol, append: impl Fn(&mut Reply)) -> String {
        let mut reply = Reply::new(protocol);
        append(&mut reply);
        String::from_utf8(reply.into_bytes()).unwrap()
    }

    #[test]
    fn every_type_is_sent_as_redis_sends_it() {
        type Append = fn(&mut Reply);
        let table: &[(Append, &str, &str)] = &[
            (|r| r.ok(), "+OK\r\n", "+OK\r\n"),
            (|r| r.simple("PONG"), "+PONG\r\n", "+PONG\r\n"),
            (|r| r.error("ERR no such key"), "-ERR no such key\r\n", "-ERR no such key\r\n"),
            (|r| r.integer(0), ":0\r\n", ":0\r\n"),
            (|r| r.integer(i64::MIN), ":-9223372036854775808\r\n", ":-9223372036854775808\r\n"),
            (|r| r.bulk(b""), "$0\r\n\r\n", "$0\r\n\r\n"),
            (|r| r.bulk(b"a\r\n\0"), "$4\r\na\r\n\0\r\n", "$4\r\na\r\n\0\r\n"),
            (|r| r.text("caf\u{e9}"), "$5\r\ncaf\u{e9}\r\n", "$5\r\ncaf\u{e9}\r\n"),
            (|r| r.null(), "$-1\r\n", "_\r\n"),
            (|r| r.null_array(), "*-1\r\n", "_\r\n"),
            (|r| r.array(0), "*0\r\n", "*0\r\n"),
            (|r| r.array(12), "*12\r\n", "*12\r\n"),
            (|r| r.map(3), "*6\r\n", "%3\r\n"),
            (|r| r.set(3), "*3\r\n", "~3\r\n"),
            (|r| r.push(3), "*3\r\n", ">3\r\n"),
            (|r| r.double(-1.5), "$4\r\n-1.5\r\n", ",-1.5\r\n"),
            (|r| r.double(f64::INFINITY), "$3\r\ninf\r\n", ",inf\r\n"),
            (|r| r.boolean(true), ":1\r\n", "#t\r\n"),
            (|r| r.boolean(false), ":0\r\n", "#f\r\n"),
            (|r| r.verbatim("txt", "a\nb"), "$3\r\na\nb\r\n", "=7\r\ntxt:a\nb\r\n"),
            (|r| r.verbatim("x", ""), "$0\r\n\r\n", "=4\r\nx  :\r\n"),
            (|r| r.big_number("-123"), "$4\r\n-123\r\n", "(-123\r\n"),
            (|r| r.raw(b"+QUEUED\r\n"), "+QUEUED\r\n", "+QUEUED\r\n"),
        ];
        for (row, (append, resp2, resp3)) in table.iter().enumerate() {
            assert_eq!(encoded(Protocol::Resp2, append), *resp2, "row {row}");
            assert_eq!(encoded(Protocol::Resp3, append), *resp3, "row {row}");
        }
    }

    #[test]
    fn numbers_of_any_length_have_headers() {
        for number in (0..1100).chain([9999, 10_000, u32::MAX]) {
            assert_eq!(encoded(Protocol::Resp2, |r| r.length(number.into())), format!(":{number}\r\n"));
            assert_eq!(encoded(Protocol::Resp2, |r| r.array(number.try_into().unwrap())), format!("*{number}\r\n"));
            assert_eq!(encoded(Protocol::Resp2, |r| r.integer(-1 - i64::from(number))), format!(":-{}\r\n", u64::from(number) + 1));
        }
    }

    #[test]
    fn bulk_strings_of_rows_are_sent_as_one_after_the_other() {
        let lengths = [0, 1, 7, 8, 9, 10, 15, 16, 17, 99, 100, 255, 256, 1000, 99_999, 3];
        let strings: Vec<Vec<u8>> = lengths.iter().map(|&length| (b'a'..=b'z').cycle().take(length).collect()).collect();
        let rows: Vec<(&[u8], &[u8])> = strings.iter().zip(strings.iter().rev()).map(|(one, other)| (&**one, &**other)).collect();
        for rows in (0..=rows.len()).filter_map(|length| rows.get(..length)) {
            let each = encoded(Protocol::Resp2, |r| {
                r.ok();
                for (one, other) in rows {
                    r.bulk(one);
                    r.bulk(other);
                }
            });
            let together = |r: &mut Reply| {
                r.ok();
                r.bulks(rows, |(one, other)| [one, other]);
            };
            assert_eq!(encoded(Protocol::Resp2, together), each);
        }
    }

    #[test]
    fn a_line_cannot_be_ended_from_inside() {
        assert_eq!(encoded(Protocol::Resp2, |r| r.error("ERR unknown 'a\r\n+OK'")), "-ERR unknown 'a  +OK'\r\n");
        assert_eq!(encoded(Protocol::Resp3, |r| r.simple("a\nb")), "+a b\r\n");
    }

    #[test]
    fn a_deferred_header_stands_in_front_of_its_values() {
        let append = |reply: &mut Reply| {
            reply.integer(7);
            let outer = reply.deferred();
            reply.text("k");
            let inner = reply.deferred();
            reply.integer(1);
            reply.integer(2);
            reply.end_set(inner, 2);
            reply.text("empty");
            let empty = reply.deferred();
            reply.end_array(empty, 0);
            reply.end_map(outer, 2);
            reply.integer(8);
        };
        let values = |map: &str, set: &str| format!(":7\r\n{map}\r\n$1\r\nk\r\n{set}\r\n:1\r\n:2\r\n$5\r\nempty\r\n*0\r\n:8\r\n");
        assert_eq!(encoded(Protocol::Resp2, append), values("*4", "*2"));
        assert_eq!(encoded(Protocol::Resp3, append), values("%2", "~2"));
    }

    #[test]
    fn a_header_of_any_length_stands_where_values_have_been_waiting_for_it() {
        for length in [0, 9, 10, 99, 100, 999, 1000, 12_345_678] {
            let appended = encoded(Protocol::Resp2, |reply| {
                reply.ok();
                let header = reply.deferred();
                reply.text("value");
                reply.end_array(header, length);
                reply.ok();
            });
            assert_eq!(appended, format!("+OK\r\n*{length}\r\n$5\r\nvalue\r\n+OK\r\n"));
        }
        let string = "x".repeat(100);
        let written = |reply: &mut Reply| {
            _ = reply.bulk_with::<()>(|bytes| {
                bytes.extend_from_slice(string.as_bytes());
                Ok(())
            })
        };
        assert_eq!(encoded(Protocol::Resp2, written), format!("$100\r\n{string}\r\n"));
    }

    #[test]
    fn a_bulk_string_may_be_written_into_the_buffer() {
        let mut reply = Reply::new(Protocol::Resp2);
        reply.integer(1);
        let written: Result<(), &str> = reply.bulk_with(|bytes| {
            bytes.extend_from_slice(b"0123456789");
            Ok(())
        });
        assert_eq!(written, Ok(()));
        let failed = reply.bulk_with(|bytes| {
            bytes.push(b'x');
            Err("no more")
        });
        assert_eq!(failed, Err("no more"));
        assert_eq!(reply.as_bytes(), b":1\r\n$10\r\n0123456789\r\n");
    }

    #[test]
    fn bulk_strings_are_the_same_out_of_chunks() {
        let chunk: [u8; 128] = std::array::from_fn(|place| b'a' + u8::try_from(place % 26).unwrap());
        let short: &[u8; 32] = chunk.last_chunk().unwrap();
        let each = encoded(Protocol::Resp2, |r| {
            r.ok();
            for length in 0..=130 {
                r.bulk(chunk.get(..length).unwrap_or(&[b'x'; 999]));
                r.bulk(short.get(..length).unwrap_or(&[b'y'; 300]));
            }
        });
        let chunks = |in_pairs: bool| {
            encoded(Protocol::Resp2, |r| {
                r.ok();
                let pushed = r.lying_bulks(262, 1 << 18, |bulks| {
                    let mut push = |length| {
                        let last = bulks.last_for(2, 160).unwrap();
                        let others = [chunk.get(..length).unwrap_or(&[b'x'; 999]), short.get(..length).unwrap_or(&[b'y'; 300])];
                        if in_pairs {
                            return bulks.put_pair(last, (&chunk, length), (short, length)) || bulks.put_any(others);
                        }
                        (bulks.put(last, (&chunk, length)) || bulks.put_any([others[0]]))
                            && (bulks.put(last, (short, length)) || bulks.put_any([others[1]]))
                    };
                    (0..=130).filter(|&length| push(length)).count()
                });
                assert_eq!(pushed, 131);
            })
        };
        assert_eq!(chunks(false), each);
        assert_eq!(chunks(true), each);
    }

    #[test]
    fn a_bulk_string_without_room_or_longer_than_its_chunk_is_not_put_nor_is_the_one_before_it() {
        let chunk = [b'x'; 128];
        let mut reply = Reply::new(Protocol::Resp2);
        reply.lying_bulks(1, 10, |bulks| {
            let last = bulks.last_for(2, 256).unwrap();
            assert!(!bulks.put(last, (&chunk, 129)) && !bulks.put(last, (&chunk, usize::MAX)));
            assert!(!bulks.put_pair(last, (&chunk, 1), (&chunk, 129)) && !bulks.put_pair(last, (&chunk, usize::MAX), (&chunk, 1)));
            assert!(!bulks.put_any([&chunk[..], &[b'y'; 600]]));
            assert!(bulks.put(last, (&chunk, 3)));
            // There is room behind what was asked for.
            assert!(bulks.put(last, (&chunk, 100)) && !bulks.put(last, (&chunk, 100)));
            assert!(!bulks.put_pair(last, (&chunk, 0), (&chunk, 0)));
            assert!(bulks.last_for(2, 100_000).is_none());
        });
        let text = String::from_utf8(reply.into_bytes()).unwrap();
        let long = format!("$100\r\n{}\r\n", "x".repeat(100));
        assert_eq!(text, format!("$3\r\nxxx\r\n{long}"));
    }

    #[test]
    fn a_failed_reply_is_taken_back() {
        let mut reply = Reply::new(Protocol::Resp2);
        reply.ok();
        let before = reply.len();
        let deferred = reply.deferred();
        reply.integer(1);
        reply.truncate(before);
        reply.end_array(deferred, 0);
        assert_eq!(reply.as_bytes(), b"+OK\r\n*0\r\n");
        reply.truncate(0);
        assert!(reply.is_empty());
    }

    #[test]
    fn a_new_protocol_holds_for_values_to_come() {
        let mut reply = Reply::new(Protocol::Resp2);
        reply.null();
        reply.set_protocol(Protocol::Resp3);
        reply.null();
        assert_eq!(reply.protocol(), Protocol::Resp3);
        assert_eq!(reply.as_bytes(), b"$-1\r\n_\r\n");
    }
}
