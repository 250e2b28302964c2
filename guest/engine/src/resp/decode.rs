//! What a client reads: replies of both versions of the protocol.

use crate::number::parse_i64;
use bytes::Bytes;
use memchr::memchr;
use std::fmt;

/// How deep arrays, maps, sets and pushes may be nested.
const MAX_NESTING: usize = 128;

/// Room made for values before they are seen, whatever number is announced.
const MAX_RESERVED_VALUES: usize = 256;

/// One reply. Strings are slices of the input.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A simple string: `OK`.
    Simple(Bytes),
    /// An error with its prefix, sent as a line or as a bulk.
    Error(Bytes),
    /// An integer.
    Integer(i64),
    /// A bulk string.
    Bulk(Bytes),
    /// RESP3's null, or RESP2's null bulk string.
    Null,
    /// RESP2's null array.
    NullArray,
    /// An array.
    Array(Vec<Value>),
    /// A map, its pairs in the order in which they were sent. Keys may repeat.
    Map(Vec<(Value, Value)>),
    /// A set, its members in the order in which they were sent. They may repeat.
    Set(Vec<Value>),
    /// A message that is not the answer to a command.
    Push(Vec<Value>),
    /// A double and its text.
    Double(f64, Bytes),
    /// A boolean.
    Boolean(bool),
    /// An integer of any size: its digits, after a sign if there is one.
    BigNumber(Bytes),
    /// A text for people.
    Verbatim {
        /// What the text is: `txt` or `mkd`.
        format: [u8; 3],
        /// The text.
        text: Bytes,
    },
}

/// The input is not a reply. Nothing behind it can be read either.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// Where, in bytes from the start of the input.
    pub position: usize,
    /// What is wrong there.
    pub problem: &'static str,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed reply at byte {}: {}", self.position, self.problem)
    }
}

impl std::error::Error for DecodeError {}

/// Decodes the reply at the start of `input`: the value and the bytes that it takes. `None` if more input is needed.
///
/// Attributes and streamed values, which Redis does not send, are errors, as is nesting deeper than 128.
pub fn decode_reply(input: &Bytes) -> Result<Option<(Value, usize)>, DecodeError> {
    let mut decoder = Decoder { input, position: 0, nesting: 0 };
    match decoder.value() {
        Ok(value) => Ok(Some((value, decoder.position))),
        Err(Stop::Incomplete) => Ok(None),
        Err(Stop::Malformed(error)) => Err(error),
    }
}

/// Why decoding ends before a reply is whole.
enum Stop {
    Incomplete,
    Malformed(DecodeError),
}

struct Decoder<'a> {
    input: &'a Bytes,
    /// Where the next line starts.
    position: usize,
    nesting: usize,
}

impl Decoder<'_> {
    fn value(&mut self) -> Result<Value, Stop> {
        let start = self.position;
        let malformed = |problem| Stop::Malformed(DecodeError { position: start, problem });
        let marker = *self.input.get(start).ok_or(Stop::Incomplete)?;
        if !b"+-:$*_#,(!=%~>".contains(&marker) {
            return Err(malformed("unknown type"));
        }
        let line = self.line()?;
        let integer = || parse_i64(&line);
        let length = || integer().and_then(|number| usize::try_from(number).ok()).ok_or_else(|| malformed("invalid length"));
        match marker {
            b'+' => Ok(Value::Simple(line)),
            b'-' => Ok(Value::Error(line)),
            b':' => integer().map(Value::Integer).ok_or_else(|| malformed("invalid integer")),
            b'$' if line == "-1" => Ok(Value::Null),
            b'$' => self.bulk(length()?).map(Value::Bulk),
            b'*' if line == "-1" => Ok(Value::NullArray),
            b'*' => self.values(length()?, Self::value).map(Value::Array),
            b'_' if line.is_empty() => Ok(Value::Null),
            b'_' => Err(malformed("invalid null")),
            b'#' if line == "t" => Ok(Value::Boolean(true)),
            b'#' if line == "f" => Ok(Value::Boolean(false)),
            b'#' => Err(malformed("invalid boolean")),
            b',' => parse_double(&line).map(|number| Value::Double(number, line)).ok_or_else(|| malformed("invalid double")),
            b'(' if is_big_number(&line) => Ok(Value::BigNumber(line)),
            b'(' => Err(malformed("invalid big number")),
            b'!' => self.bulk(length()?).map(Value::Error),
            b'=' => split_verbatim(self.bulk(length()?)?).ok_or_else(|| malformed("invalid verbatim string")),
            b'%' => self.values(length()?, |decoder| Ok((decoder.value()?, decoder.value()?))).map(Value::Map),
            b'~' => self.values(length()?, Self::value).map(Value::Set),
            _ => self.values(length()?, Self::value).map(Value::Push),
        }
    }

    /// Takes the line here, without its marker and its end.
    fn line(&mut self) -> Result<Bytes, Stop> {
        let start = self.position + 1;
        let rest = self.input.get(start..).unwrap_or_default();
        let end = start + memchr(b'\r', rest).ok_or(Stop::Incomplete)?;
        self.position = end;
        self.line_end()?;
        Ok(self.input.slice(start..end))
    }

    fn line_end(&mut self) -> Result<(), Stop> {
        match self.input.get(self.position..).unwrap_or_default() {
            [b'\r', b'\n', ..] => {
                self.position += 2;
                Ok(())
            }
            [] | [b'\r'] => Err(Stop::Incomplete),
            _ => Err(self.malformed("missing end of line")),
        }
    }

    fn bulk(&mut self, length: usize) -> Result<Bytes, Stop> {
        let start = self.position;
        let end = start.checked_add(length).filter(|end| *end <= self.input.len()).ok_or(Stop::Incomplete)?;
        self.position = end;
        self.line_end()?;
        Ok(self.input.slice(start..end))
    }

    fn values<T>(&mut self, count: usize, decode: impl Fn(&mut Self) -> Result<T, Stop>) -> Result<Vec<T>, Stop> {
        if self.nesting == MAX_NESTING {
            return Err(self.malformed("nested too deeply"));
        }
        self.nesting += 1;
        let mut values = Vec::with_capacity(count.min(MAX_RESERVED_VALUES));
        for _ in 0..count {
            values.push(decode(self)?);
        }
        self.nesting -= 1;
        Ok(values)
    }

    fn malformed(&self, problem: &'static str) -> Stop {
        Stop::Malformed(DecodeError { position: self.position, problem })
    }
}

fn parse_double(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn is_big_number(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

fn split_verbatim(bulk: Bytes) -> Option<Value> {
    let format = *bulk.first_chunk()?;
    (bulk.get(3) == Some(&b':')).then(|| Value::Verbatim { format, text: bulk.slice(4..) })
}

#[cfg(test)]
mod tests {
    use super::{DecodeError, Value, decode_reply};
    use bytes::Bytes;

    fn decode(input: &[u8]) -> Result<Option<(Value, usize)>, DecodeError> {
        decode_reply(&Bytes::copy_from_slice(input))
    }

    fn bulk(text: &'static str) -> Value {
        Value::Bulk(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn every_type_is_read() {
        let text = Bytes::from_static;
        let table: Vec<(&[u8], Value)> = vec![
            (b"+OK\r\n", Value::Simple(text(b"OK"))),
            (b"-ERR no\r\n", Value::Error(text(b"ERR no"))),
            (b"!6\r\nERR\r\nx\r\n", Value::Error(text(b"ERR\r\nx"))),
            (b":-5\r\n", Value::Integer(-5)),
            (b"$4\r\na\r\nb\r\n", bulk("a\r\nb")),
            (b"$0\r\n\r\n", bulk("")),
            (b"$-1\r\n", Value::Null),
            (b"_\r\n", Value::Null),
            (b"*-1\r\n", Value::NullArray),
            (b"*2\r\n:1\r\n*0\r\n", Value::Array(vec![Value::Integer(1), Value::Array(vec![])])),
            (b"%1\r\n$1\r\nk\r\n_\r\n", Value::Map(vec![(bulk("k"), Value::Null)])),
            (b"~1\r\n#t\r\n", Value::Set(vec![Value::Boolean(true)])),
            (b">1\r\n#f\r\n", Value::Push(vec![Value::Boolean(false)])),
            (b",1.50\r\n", Value::Double(1.5, text(b"1.50"))),
            (b",-inf\r\n", Value::Double(f64::NEG_INFINITY, text(b"-inf"))),
            (b"(-123\r\n", Value::BigNumber(text(b"-123"))),
            (b"=7\r\ntxt:a\nb\r\n", Value::Verbatim { format: *b"txt", text: text(b"a\nb") }),
        ];
        for (input, value) in table {
            let name = input.escape_ascii();
            assert_eq!(decode(&[input, b"+NEXT"].concat()), Ok(Some((value, input.len()))), "{name}");
            for cut in 0..input.len() {
                assert_eq!(decode(&input[..cut]), Ok(None), "{name} cut at {cut}");
            }
        }
    }

    #[test]
    fn not_a_number_is_read() {
        let (value, _) = decode(b",nan\r\n").unwrap().unwrap();
        assert!(matches!(value, Value::Double(number, _) if number.is_nan()), "{value:?}");
    }

    #[test]
    fn malformed_replies_are_refused() {
        for (input, position, problem) in [
            (&b"?\r\n"[..], 0, "unknown type"),
            (b"|1\r\n", 0, "unknown type"),
            (b"*2\r\n:1\r\nx", 8, "unknown type"),
            (b":\r\n", 0, "invalid integer"),
            (b":1x\r\n", 0, "invalid integer"),
            (b":9223372036854775808\r\n", 0, "invalid integer"),
            (b"$\r\n", 0, "invalid length"),
            (b"$-2\r\n", 0, "invalid length"),
            (b"$01\r\n", 0, "invalid length"),
            (b"$?\r\n", 0, "invalid length"),
            (b"*-2\r\n", 0, "invalid length"),
            (b"%-1\r\n", 0, "invalid length"),
            (b"+a\rb\r\n", 2, "missing end of line"),
            (b"$1\r\nab\r\n", 5, "missing end of line"),
            (b"_x\r\n", 0, "invalid null"),
            (b"#x\r\n", 0, "invalid boolean"),
            (b",1.x\r\n", 0, "invalid double"),
            (b"(\r\n", 0, "invalid big number"),
            (b"(-\r\n", 0, "invalid big number"),
            (b"(1.5\r\n", 0, "invalid big number"),
            (b"=3\r\ntxt\r\n", 0, "invalid verbatim string"),
            (b"=4\r\ntxt \r\n", 0, "invalid verbatim string"),
        ] {
            assert_eq!(decode(input), Err(DecodeError { position, problem }), "{}", input.escape_ascii());
        }
        let error = decode(b"?").unwrap_err();
        assert_eq!(error.to_string(), "malformed reply at byte 0: unknown type");
    }

    #[test]
    fn announced_lengths_are_not_trusted() {
        for marker in "$*%~>=!".chars() {
            assert_eq!(decode(format!("{marker}9223372036854775807\r\n").as_bytes()), Ok(None), "{marker}");
        }
        let every_level_is_huge = b"*9223372036854775807\r\n".repeat(100);
        assert_eq!(decode(&every_level_is_huge), Ok(None));
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |levels| [b"*1\r\n".repeat(levels), b":1\r\n".to_vec()].concat();
        assert!(decode(&nested(128)).unwrap().is_some());
        assert_eq!(decode(&nested(129)), Err(DecodeError { position: 129 * 4, problem: "nested too deeply" }));
        let siblings = [b"*1000\r\n".to_vec(), b"*0\r\n".repeat(1000)].concat();
        assert!(decode(&siblings).unwrap().is_some());
    }
}
