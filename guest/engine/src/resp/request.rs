//! What clients send: arrays of bulk strings, and inline commands.

use super::split_inline;
use crate::number::parse_i64;
use bytes::Bytes;
use memchr::memchr2;

/// What an unauthenticated client may send, so that strangers cannot make the server hold much.
const UNAUTHENTICATED_ARGS: u64 = 10;
const UNAUTHENTICATED_BULK_BYTES: u64 = 16 * 1024;

/// The shortest line that announces an array: `*0` and its end.
const MIN_HEADER_BYTES: usize = 4;

/// The shortest argument: `$0`, the end of that line, and the end of the argument.
const MIN_ARG_BYTES: usize = 6;

/// How many bytes to ask for at most on behalf of arguments of unknown length. Large enough that reading a request in small pieces does
/// not parse its start over and over, small enough that an error in it shows soon.
const MAX_LOOKAHEAD_BYTES: usize = 64 * 1024;

/// Lengths up to about this are read without a search for the end of their line.
const MAX_SHORT_LENGTH: i64 = 100_000_000;

/// Requests of more arguments are not parsed in one go.
const MAX_COMMON_ARGS: usize = 16;

/// Room made for arguments before they are seen, whatever number is announced.
const MAX_RESERVED_ARGS: usize = 1024;

/// What a request may measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestLimits {
    /// Bytes in one argument: the setting `proto-max-bulk-len`.
    pub max_bulk_bytes: u64,
    /// Arguments in one request, the command's name included.
    pub max_args: u64,
    /// Bytes in an inline command or in the line that announces a length, its end not counted.
    pub max_inline_bytes: usize,
    /// Whether the client has authenticated, or need not. One that has not may send 10 arguments of 16 KiB each.
    pub authenticated: bool,
}

/// What the start of an input holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// One whole request.
    Request {
        /// The command's name and its arguments. Empty for a blank line and for an array of no or of negative length: nothing is to be
        /// done and nothing is answered.
        args: Vec<Bytes>,
        /// Bytes that the request takes from the start of the input.
        used: usize,
    },
    /// Not yet a whole request.
    Incomplete {
        /// Bytes, counted from the start of the input, without which the request cannot be whole. Always more than the input has.
        /// Exact when only the rest of the last argument is missing, else a lower bound. Input that turns out to be malformed may show
        /// it with fewer bytes.
        needed: usize,
    },
    /// Not a request. The client is told and the connection closed.
    Broken {
        /// The reply's text without prefix, such as `Protocol error: invalid multibulk length`.
        message: String,
    },
}

/// Why parsing ends before a request is whole.
enum Stop {
    Incomplete { needed: usize },
    Broken(String),
}

/// Parses the request at the start of `input`, which may hold less than one request or many.
///
/// Arguments of the array form are slices of `input` and share its memory; those of an inline command are copies. As in Redis, a length
/// ends at CR and the byte behind that is not looked at, nor are the two behind an argument; a line with a NUL in it never ends.
pub fn parse_request(input: &Bytes, limits: &RequestLimits) -> Parsed {
    parse_request_into(Vec::new(), input, limits)
}

/// As [`parse_request`], with an empty list for the arguments, whose room is used again.
#[inline]
pub fn parse_request_into(mut args: Vec<Bytes>, input: &Bytes, limits: &RequestLimits) -> Parsed {
    if let Some(used) = parse_common(&mut args, input, limits) {
        return Parsed::Request { args, used };
    }
    args.clear();
    parse_any(args, input, limits)
}

/// A request as most are: whole, an array of few strings, of a client that may send them. How many bytes it takes; `None` where it is another one.
// A function apart: all that the loop needs stays in registers.
#[inline(never)]
fn parse_common(args: &mut Vec<Bytes>, input: &Bytes, limits: &RequestLimits) -> Option<usize> {
    let (count, mut start) = read_short(input, 0, b'*')?;
    if !limits.authenticated || count > MAX_COMMON_ARGS || limits.max_args < MAX_COMMON_ARGS.try_into().ok()? {
        return None;
    }
    let most = usize::try_from(limits.max_bulk_bytes).unwrap_or(usize::MAX);
    args.reserve_exact(count);
    for _ in 0..count {
        let (length, data) = read_short(input, start, b'$')?;
        let end = data + length;
        if length > most || input.len() < end + 2 {
            return None;
        }
        args.push(input.slice(data..end));
        start = end + 2;
    }
    Some(start)
}

#[inline(never)]
fn parse_any(args: Vec<Bytes>, input: &Bytes, limits: &RequestLimits) -> Parsed {
    let request = match input.first() {
        None => Err(Stop::Incomplete { needed: 1 }),
        Some(b'*') => parse_array(args, input, limits),
        Some(_) => parse_inline(input, limits),
    };
    match request {
        Ok((args, used)) => Parsed::Request { args, used },
        Err(Stop::Incomplete { needed }) => Parsed::Incomplete { needed },
        Err(Stop::Broken(reason)) => Parsed::Broken { message: format!("Protocol error: {reason}") },
    }
}

fn parse_inline(input: &Bytes, limits: &RequestLimits) -> Result<(Vec<Bytes>, usize), Stop> {
    let Some(end) = find_line_end(input, b'\n', limits, "too big inline request")? else {
        return Err(Stop::Incomplete { needed: input.len() + 1 });
    };
    let words = split_inline(input.get(..end).unwrap_or_default()).ok_or_else(|| broken("unbalanced quotes in request"))?;
    Ok((words.into_iter().map(Bytes::from).collect(), end + 1))
}

fn parse_array(mut args: Vec<Bytes>, input: &Bytes, limits: &RequestLimits) -> Result<(Vec<Bytes>, usize), Stop> {
    let (announced, mut position) = read_length(input, 0, MIN_HEADER_BYTES, limits, "too big mbulk count string")?;
    let count = announced.ok_or_else(|| broken("invalid multibulk length"))?.max(0).unsigned_abs();
    if count > limits.max_args {
        return Err(broken("invalid multibulk length"));
    }
    if count > UNAUTHENTICATED_ARGS && !limits.authenticated {
        return Err(broken("unauthenticated multibulk length"));
    }
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    args.reserve_exact(count.min(MAX_RESERVED_ARGS));
    for remaining in (0..count).rev() {
        let (arg, end) = parse_bulk(input, position, limits).map_err(|stop| stop.look_ahead(remaining))?;
        args.push(arg);
        position = end;
    }
    Ok((args, position))
}

/// The argument whose length line starts at `start`, and where the next one starts.
fn parse_bulk(input: &Bytes, start: usize, limits: &RequestLimits) -> Result<(Bytes, usize), Stop> {
    let (announced, data) = read_length(input, start, MIN_ARG_BYTES, limits, "too big bulk count string")?;
    let marker = input.get(start).copied().unwrap_or_default();
    if marker != b'$' {
        return Err(unexpected_marker(marker));
    }
    let length = announced.and_then(|length| u64::try_from(length).ok()).filter(|length| *length <= limits.max_bulk_bytes);
    let length = length.ok_or_else(|| broken("invalid bulk length"))?;
    if length > UNAUTHENTICATED_BULK_BYTES && !limits.authenticated {
        return Err(broken("unauthenticated bulk length"));
    }
    let data_end = data.saturating_add(usize::try_from(length).unwrap_or(usize::MAX));
    let end = data_end.saturating_add(2);
    if input.len() < end {
        return Err(Stop::Incomplete { needed: end });
    }
    Ok((input.slice(data..data_end), end))
}

/// Reads the line at `start`, a marker and a number: the number if it is one, and where the line behind it starts. `shortest` is the
/// least number of bytes that what starts here can have.
#[inline]
fn read_length(input: &Bytes, start: usize, shortest: usize, limits: &RequestLimits, too_long: &str) -> Result<(Option<i64>, usize), Stop> {
    let line = input.get(start..).unwrap_or_default();
    match read_short_length(line) {
        Some((number, bytes)) => Ok((Some(number), start + bytes)),
        None => read_long_length(input, start, shortest, limits, too_long),
    }
}

#[cold]
fn read_long_length(
    input: &Bytes,
    start: usize,
    shortest: usize,
    limits: &RequestLimits,
    too_long: &str,
) -> Result<(Option<i64>, usize), Stop> {
    let line = input.get(start..).unwrap_or_default();
    match find_line_end(line, b'\r', limits, too_long)? {
        // The byte behind CR belongs to the line.
        Some(end) if end + 1 < line.len() => Ok((line.get(1..end).and_then(parse_i64), start + end + 2)),
        _ => Err(Stop::Incomplete { needed: (input.len() + 1).max(start + shortest) }),
    }
}

/// Reads the line at `start`, which is there as a whole, and whose number has few digits, as most have: the number, and where the line behind it
/// starts.
#[inline]
fn read_short(input: &[u8], start: usize, marker: u8) -> Option<(usize, usize)> {
    // Six bytes are the line of the longest of these numbers, or a shorter line and some of what must be behind it.
    let [first, number @ ..] = *input.get(start..)?.first_chunk::<6>()?;
    let value = |digit: u8| usize::from(digit - b'0');
    let (number, bytes) = match number {
        [one @ b'0'..=b'9', b'\r', ..] => (value(one), 4),
        [ten @ b'1'..=b'9', one @ b'0'..=b'9', b'\r', ..] => (value(ten) * 10 + value(one), 5),
        [hundred @ b'1'..=b'9', ten @ b'0'..=b'9', one @ b'0'..=b'9', b'\r', _] => {
            ((value(hundred) * 10 + value(ten)) * 10 + value(one), 6)
        }
        _ => read_longer(input.get(start..)?)?,
    };
    (first == marker).then_some((number, start + bytes))
}

#[inline(never)]
fn read_longer(line: &[u8]) -> Option<(usize, usize)> {
    read_short_length(line).and_then(|(number, bytes)| Some((usize::try_from(number).ok()?, bytes)))
}

/// Reads a line that is there as a whole and whose number has few digits, as most have: the number, and how many bytes the line has.
#[inline]
fn read_short_length(line: &[u8]) -> Option<(i64, usize)> {
    let [b'*' | b'$', first @ b'0'..=b'9', rest @ ..] = line else { return None };
    let (mut number, mut rest, mut bytes) = (i64::from(first - b'0'), rest, 4);
    loop {
        match rest {
            [b'\r', _, ..] => return Some((number, bytes)),
            [digit @ b'0'..=b'9', behind @ ..] if (1..MAX_SHORT_LENGTH).contains(&number) => {
                number = number * 10 + i64::from(digit - b'0');
                (rest, bytes) = (behind, bytes + 1);
            }
            _ => return None,
        }
    }
}

/// Where `line` ends, `None` if it does not yet. Redis takes lines for C strings: behind a NUL it sees no end. A line whose end has
/// come is taken at any length, as in Redis: it is the wait for more that is limited.
fn find_line_end(line: &[u8], end: u8, limits: &RequestLimits, too_long: &str) -> Result<Option<usize>, Stop> {
    match memchr2(end, 0, line).filter(|at| line.get(*at) == Some(&end)) {
        None if line.len() > limits.max_inline_bytes => Err(broken(too_long)),
        at => Ok(at),
    }
}

fn broken(reason: &str) -> Stop {
    Stop::Broken(reason.to_owned())
}

/// A reply is one line of text: an end of line is shown as a space, what is not ASCII as U+FFFD.
fn unexpected_marker(byte: u8) -> Stop {
    let shown = match byte {
        b'\r' | b'\n' => ' ',
        byte if byte.is_ascii() => char::from(byte),
        _ => char::REPLACEMENT_CHARACTER,
    };
    Stop::Broken(format!("expected '$', got '{shown}'"))
}

impl Stop {
    /// Asks for the arguments behind an incomplete one too.
    fn look_ahead(self, args: usize) -> Self {
        match self {
            Self::Incomplete { needed } => {
                let ahead = args.saturating_mul(MIN_ARG_BYTES).min(MAX_LOOKAHEAD_BYTES);
                Self::Incomplete { needed: needed.saturating_add(ahead) }
            }
            broken => broken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Parsed, RequestLimits, parse_any, parse_request};
    use bytes::Bytes;
    use proptest::prelude::*;

    const LIMITS: RequestLimits =
        RequestLimits { max_bulk_bytes: 512 * 1024 * 1024, max_args: 1024 * 1024, max_inline_bytes: 64 * 1024, authenticated: true };
    const STRANGER: RequestLimits = RequestLimits { authenticated: false, ..LIMITS };

    fn parse(input: &[u8]) -> Parsed {
        parse_request(&Bytes::copy_from_slice(input), &LIMITS)
    }

    fn request(args: &[&[u8]], used: usize) -> Parsed {
        Parsed::Request { args: args.iter().map(|arg| Bytes::copy_from_slice(arg)).collect(), used }
    }

    fn message(input: &[u8], limits: &RequestLimits) -> String {
        match parse_request(&Bytes::copy_from_slice(input), limits) {
            Parsed::Broken { message } => message.strip_prefix("Protocol error: ").unwrap().to_owned(),
            other => panic!("{other:?}"),
        }
    }

    /// Parses all whole requests at the start of `input`; returns them and the bytes that they take.
    fn parse_all(input: &Bytes) -> (Vec<Vec<Bytes>>, usize) {
        let (mut requests, mut position) = (Vec::new(), 0);
        while let Parsed::Request { args, used } = parse_request(&input.slice(position..), &LIMITS) {
            requests.push(args);
            position += used;
        }
        (requests, position)
    }

    proptest! {
        #[test]
        fn what_is_parsed_in_one_go_is_parsed_as_any_other(
            pieces in prop::collection::vec(
                prop_oneof![
                    6 => prop::sample::select(["*1\r\n", "*2\r\n", "*3\r\n", "$0\r\n\r\n", "$1\r\na\r\n", "$3\r\nGET\r\n"].as_slice())
                        .prop_map(str::to_owned),
                    1 => (0..1100_usize).prop_map(|length| format!("${length}\r\n{}\r\n", "x".repeat(length))),
                    1 => prop::sample::select(
                        ["*0\r\n", "*17\r\n", "*02\r\n", "$01\r\na\r\n", "*-1\r\n", "$-1\r\n", "$", "*", "\r", "\n", "0", "9", "\0", "$5\rxhelloyz"]
                            .as_slice(),
                    )
                    .prop_map(str::to_owned),
                ],
                0..8,
            ),
            whole in prop::option::of((1..20_usize, prop::sample::select([1, 20, 600].as_slice()))),
            cut in prop::sample::select([0, 0, 1, 2, 3, 7, 40].as_slice()),
            (max_args, max_bulk_bytes) in (prop::sample::select([2, 15, 16, 1024].as_slice()), prop::sample::select([2, 500, 20_000].as_slice())),
            authenticated in any::<bool>(),
        ) {
            let mut bytes = pieces.concat().into_bytes();
            if let Some((count, length)) = whole {
                let argument = format!("${length}\r\n{}\r\n", "y".repeat(length));
                bytes = format!("*{count}\r\n{}", argument.repeat(count)).into_bytes();
            }
            bytes.truncate(bytes.len().saturating_sub(cut));
            let (input, limits) = (Bytes::from(bytes), RequestLimits { max_args, max_bulk_bytes, authenticated, ..LIMITS });
            prop_assert_eq!(parse_request(&input, &limits), parse_any(Vec::new(), &input, &limits));
        }
    }

    #[test]
    fn an_array_of_bulk_strings_is_a_request() {
        assert_eq!(parse(b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\n"), request(&[b"GET", b"k"], 20));
        assert_eq!(parse(b"*2\r\n$4\r\nECHO\r\n$0\r\n\r\n"), request(&[b"ECHO", b""], 20));
        assert_eq!(parse(b"*1\r\n$4\r\n\r\n\0*\r\n"), request(&[b"\r\n\0*"], 14));
    }

    #[test]
    fn arguments_share_the_memory_of_the_input() {
        let input = Bytes::from_static(b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
        let Parsed::Request { args, .. } = parse_request(&input, &LIMITS) else { panic!() };
        assert_eq!(args[0].as_ptr(), input[8..].as_ptr());
        assert_eq!(args[1].as_ptr(), input[17..].as_ptr());
    }

    #[test]
    fn a_line_of_words_is_a_request() {
        assert_eq!(parse(b"PING\n"), request(&[b"PING"], 5));
        assert_eq!(parse(b"set k \"a b\"\r\nGET k\r\n"), request(&[b"set", b"k", b"a b"], 13));
        assert_eq!(parse(b" *1\r\n"), request(&[b"*1"], 5));
        assert_eq!(parse(b"$4\r\nPING\r\n"), request(&[b"$4"], 4));
    }

    #[test]
    fn empty_requests_ask_for_nothing() {
        for input in [&b"\n"[..], b"\r\n", b"  \t\r\n", b"*0\r\n", b"*-1\r\n", b"*-9223372036854775808\r\n"] {
            assert_eq!(parse(input), request(&[], input.len()));
        }
    }

    #[test]
    fn the_bytes_behind_cr_and_behind_an_argument_are_not_looked_at() {
        assert_eq!(parse(b"*1\rX$4\rXPINGXX"), request(&[b"PING"], 14));
    }

    #[test]
    fn malformed_requests_get_the_texts_of_redis() {
        let table: &[(&[u8], &str)] = &[
            (b"*x\r\n", "invalid multibulk length"),
            (b"*\r\n", "invalid multibulk length"),
            (b"*01\r\n", "invalid multibulk length"),
            (b"*+1\r\n", "invalid multibulk length"),
            (b"*-0\r\n", "invalid multibulk length"),
            (b"* 1\r\n", "invalid multibulk length"),
            (b"*1048577\r\n", "invalid multibulk length"),
            (b"*-9223372036854775809\r\n", "invalid multibulk length"),
            (b"*1\r\nfoo\r\n", "expected '$', got 'f'"),
            (b"*1\r\n*1\r\n", "expected '$', got '*'"),
            (b"*1\r\n\r\n", "expected '$', got ' '"),
            (b"*1\r\n\n\r\n", "expected '$', got ' '"),
            (b"*1\r\r\n$4\r\nPING\r\n", "expected '$', got ' '"),
            (b"*1\r\n\xff\r\n", "expected '$', got '\u{fffd}'"),
            (b"*2\r\n$1\r\na\r\n:1\r\n", "expected '$', got ':'"),
            (b"*1\r\n$\r\n", "invalid bulk length"),
            (b"*1\r\n$-1\r\n", "invalid bulk length"),
            (b"*1\r\n$04\r\nPING\r\n", "invalid bulk length"),
            (b"*1\r\n$536870913\r\n", "invalid bulk length"),
            (b"*1\r\n$99999999999999999999\r\n", "invalid bulk length"),
            (b"ECHO \"a\n", "unbalanced quotes in request"),
            (b"ECHO 'a'b\r\n", "unbalanced quotes in request"),
        ];
        for (input, expected) in table {
            assert_eq!(message(input, &LIMITS), *expected, "{}", input.escape_ascii());
        }
    }

    #[test]
    fn lines_that_do_not_end_are_refused_above_64_kib() {
        for (start, expected) in [
            (&b""[..], "too big inline request"),
            (b"\0\n", "too big inline request"),
            (b"*", "too big mbulk count string"),
            (b"*1\0\r\n", "too big mbulk count string"),
            (b"*1\r\n", "too big bulk count string"),
        ] {
            let line_start = if start == b"*1\r\n" { 4 } else { 0 };
            let mut input = start.to_vec();
            input.resize(line_start + LIMITS.max_inline_bytes, b'1');
            assert_eq!(parse(&input), Parsed::Incomplete { needed: input.len() + 1 }, "{expected}");
            input.push(b'1');
            assert_eq!(message(&input, &LIMITS), expected);
        }
    }

    #[test]
    fn an_inline_command_above_64_kib_is_accepted_where_its_end_has_come() {
        let mut input = vec![b' '; 2 * LIMITS.max_inline_bytes];
        input.push(b'\n');
        assert_eq!(parse(&input), request(&[], input.len()));
    }

    #[test]
    fn strangers_may_send_little() {
        assert_eq!(message(b"*11\r\n", &STRANGER), "unauthenticated multibulk length");
        assert_eq!(message(b"*1\r\n$16385\r\n", &STRANGER), "unauthenticated bulk length");
        assert_eq!(message(b"*1\r\n$536870913\r\n", &STRANGER), "invalid bulk length");
        assert_eq!(message(b"*1048577\r\n", &STRANGER), "invalid multibulk length");
        let longest = Bytes::from_static(b"*10\r\n$16384\r\n");
        assert_eq!(parse_request(&longest, &STRANGER), Parsed::Incomplete { needed: 13 + 16384 + 2 + 9 * 6 });
        let inline = Bytes::from_static(b"a b c d e f g h i j k l\n");
        assert!(matches!(parse_request(&inline, &STRANGER), Parsed::Request { args, .. } if args.len() == 12));
    }

    #[test]
    fn what_is_missing_is_told() {
        for (input, needed) in [
            (&b""[..], 1),
            (b"PING", 5),
            (b"*", 4),
            (b"*123", 5),
            (b"*1\r", 4),
            (b"*1\r\n", 10),
            (b"*2\r\n", 16),
            (b"*1\r\n$100", 10),
            (b"*1\r\n$10000", 11),
            (b"*1\r\n$1000\r", 11),
            (b"*1\r\n$1000\r\n", 11 + 1002),
            (b"*3\r\n$1000\r\nabc", 11 + 1002 + 2 * 6),
            (b"*1\r\n$1\r\na\r", 11),
            (b"*1048576\r\n", 10 + 6 + 64 * 1024),
        ] {
            assert_eq!(parse(input), Parsed::Incomplete { needed }, "{}", input.escape_ascii());
        }
    }

    #[test]
    fn huge_announcements_take_no_memory_and_do_not_overflow() {
        let limits = RequestLimits { max_bulk_bytes: u64::MAX, max_args: u64::MAX, ..LIMITS };
        let input = Bytes::from_static(b"*9223372036854775807\r\n$9223372036854775807\r\n");
        let needed = 44 + usize::try_from(i64::MAX).unwrap() + 2 + 64 * 1024;
        assert_eq!(parse_request(&input, &limits), Parsed::Incomplete { needed });
    }

    #[test]
    fn pipelined_requests_are_the_same_at_every_cut() {
        let input = Bytes::from_static(
            b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$13\r\na\r\nb\0*1\r\n$1\r\n\r\nPING\n*0\r\n\r\n\
              get \"k\\x00\"\r\n*-1\r\n*2\r\n$0\r\n\r\n$10\r\n0123456789\r\n",
        );
        let (whole, used) = parse_all(&input);
        assert_eq!((whole.len(), used), (7, input.len()));
        for cut in 0..=input.len() {
            let (mut requests, first) = parse_all(&input.slice(..cut));
            let tail = input.slice(first..cut);
            let Parsed::Incomplete { needed } = parse_request(&tail, &LIMITS) else { panic!("cut at {cut}") };
            assert!(needed > tail.len(), "cut at {cut}");
            if let Parsed::Request { used, .. } = parse_request(&input.slice(first..), &LIMITS) {
                assert!(needed <= used, "cut at {cut}: {needed} above {used}");
            }
            let (rest, second) = parse_all(&input.slice(first..));
            requests.extend(rest);
            assert_eq!((requests, first + second), (whole.clone(), input.len()), "cut at {cut}");
        }
    }
}
