//! Replies as text, the way `redis-cli` prints them.

use super::decode::Value;

/// The reply as `redis-cli` prints it on a terminal, with the end of its last line: `(integer) 1`, `"quoted \x00"`, `1) "a"`.
///
/// What is printed without quotes (simple strings, errors, verbatim strings) shows U+FFFD for what is not UTF-8. Big numbers, which
/// `redis-cli` 7.0 cannot print, are printed as they are.
pub fn render_human(value: &Value) -> String {
    let mut out = String::new();
    human(&mut out, value, "");
    out
}

/// The reply as `redis-cli` prints it to a file or a pipe, with the end of its last line: strings as they are, one value a line.
///
/// As there, nothing tells a null from an empty string, an error is followed by an empty line, and a key of a map shares the line of its
/// value.
pub fn render_raw(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    raw(&mut out, value);
    out.push(b'\n');
    out
}

/// Appends `value` and an end of line. `indent` starts every further line.
fn human(out: &mut String, value: &Value, indent: &str) {
    let line = match value {
        Value::Simple(text) | Value::Verbatim { text, .. } | Value::BigNumber(text) => String::from_utf8_lossy(text).into_owned(),
        Value::Error(text) => format!("(error) {}", String::from_utf8_lossy(text)),
        Value::Integer(number) => format!("(integer) {number}"),
        Value::Bulk(data) => quote(data),
        Value::Null | Value::NullArray => "(nil)".to_owned(),
        Value::Double(_, text) => format!("(double) {}", String::from_utf8_lossy(text)),
        Value::Boolean(truth) => format!("({truth})"),
        Value::Array(values) if values.is_empty() => "(empty array)".to_owned(),
        Value::Map(pairs) if pairs.is_empty() => "(empty hash)".to_owned(),
        Value::Set(values) if values.is_empty() => "(empty set)".to_owned(),
        Value::Push(values) if values.is_empty() => "(empty push)".to_owned(),
        Value::Array(values) | Value::Push(values) => return numbered(out, ')', values, indent, human),
        Value::Set(values) => return numbered(out, '~', values, indent, human),
        Value::Map(pairs) => return numbered(out, '#', pairs, indent, human_pair),
    };
    out.push_str(&line);
    out.push('\n');
}

/// Appends items with their numbers, aligned to the right.
fn numbered<T>(out: &mut String, sign: char, items: &[T], indent: &str, print: impl Fn(&mut String, &T, &str)) {
    let width = items.len().to_string().len();
    let inner = format!("{indent}{:1$}", "", width + 2);
    for (index, item) in items.iter().enumerate() {
        // The first item is on the line of whatever holds it.
        if index > 0 {
            out.push_str(indent);
        }
        out.push_str(&format!("{:>width$}{sign} ", index + 1));
        print(out, item, &inner);
    }
}

fn human_pair(out: &mut String, (key, value): &(Value, Value), indent: &str) {
    human(out, key, indent);
    out.pop();
    out.push_str(" => ");
    if has_lines(value) {
        out.push('\n');
        out.push_str(indent);
    }
    human(out, value, indent);
}

/// Whether the value takes more than one line. A line end inside a text does not count.
fn has_lines(value: &Value) -> bool {
    match value {
        Value::Array(values) | Value::Set(values) | Value::Push(values) => values.len() > 1 || values.iter().any(has_lines),
        Value::Map(pairs) => pairs.len() > 1 || pairs.iter().any(|(key, value)| has_lines(key) || has_lines(value)),
        _ => false,
    }
}

/// A string in double quotes, all in ASCII.
fn quote(data: &[u8]) -> String {
    let mut out = String::with_capacity(data.len() + 2);
    out.push('"');
    for byte in data {
        match byte {
            b'\\' | b'"' => out.extend(['\\', char::from(*byte)]),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x07 => out.push_str("\\a"),
            0x08 => out.push_str("\\b"),
            b' '..=b'~' => out.push(char::from(*byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

fn raw(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Simple(text) | Value::Bulk(text) | Value::Verbatim { text, .. } | Value::BigNumber(text) | Value::Double(_, text) => {
            out.extend_from_slice(text)
        }
        Value::Error(text) => {
            out.extend_from_slice(text);
            out.push(b'\n');
        }
        Value::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::Null | Value::NullArray => {}
        Value::Boolean(truth) => out.extend_from_slice(format!("({truth})").as_bytes()),
        Value::Array(values) | Value::Set(values) | Value::Push(values) => lines(out, values, raw),
        Value::Map(pairs) => lines(out, pairs, |out, (key, value)| {
            raw(out, key);
            out.push(b' ');
            raw(out, value);
        }),
    }
}

fn lines<T>(out: &mut Vec<u8>, items: &[T], print: impl Fn(&mut Vec<u8>, &T)) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b'\n');
        }
        print(out, item);
    }
}

#[cfg(test)]
mod tests {
    use super::{render_human, render_raw};
    use crate::resp::decode_reply;
    use bytes::Bytes;

    /// Replies, and what `redis-cli --no-raw` and `redis-cli --raw` of Redis 7.0.15 printed when a server sent them.
    const PRINTED: &[(&[u8], &[u8], &[u8])] = &[
        (b"+OK\r\n", b"OK\n", b"OK\n"),
        (b"+\r\n", b"\n", b"\n"),
        (b"-ERR no such key\r\n", b"(error) ERR no such key\n", b"ERR no such key\n\n"),
        (b":1\r\n", b"(integer) 1\n", b"1\n"),
        (b":-5\r\n", b"(integer) -5\n", b"-5\n"),
        (b"$-1\r\n", b"(nil)\n", b"\n"),
        (b"*-1\r\n", b"(nil)\n", b"\n"),
        (b"_\r\n", b"(nil)\n", b"\n"),
        (b"$0\r\n\r\n", b"\"\"\n", b"\n"),
        (b"*0\r\n", b"(empty array)\n", b"\n"),
        (b"%0\r\n", b"(empty hash)\n", b"\n"),
        (b"~0\r\n", b"(empty set)\n", b"\n"),
        (b"*2\r\n$1\r\na\r\n:1\r\n", b"1) \"a\"\n2) (integer) 1\n", b"a\n1\n"),
        (
            b"*3\r\n*2\r\n$1\r\na\r\n*2\r\n+x\r\n*0\r\n$-1\r\n*1\r\n-ERR z\r\n",
            b"1) 1) \"a\"\n   2) 1) x\n      2) (empty array)\n2) (nil)\n3) 1) (error) ERR z\n",
            b"a\nx\n\n\nERR z\n\n",
        ),
        (
            b"%2\r\n+k\r\n$1\r\nv\r\n$2\r\nkk\r\n*2\r\n:1\r\n:2\r\n",
            b"1# k => \"v\"\n2# \"kk\" => \n   1) (integer) 1\n   2) (integer) 2\n",
            b"k v\nkk 1\n2\n",
        ),
        (b"~2\r\n+a\r\n*2\r\n:1\r\n:2\r\n", b"1~ a\n2~ 1) (integer) 1\n   2) (integer) 2\n", b"a\n1\n2\n"),
        (
            b"%1\r\n*2\r\n:1\r\n:2\r\n%2\r\n:1\r\n:2\r\n:3\r\n~0\r\n",
            b"1# 1) (integer) 1\n   2) (integer) 2 => \n   1# (integer) 1 => (integer) 2\n   2# (integer) 3 => (empty set)\n",
            b"1\n2 1 2\n3 \n",
        ),
        (b",1.5\r\n", b"(double) 1.5\n", b"1.5\n"),
        (b",inf\r\n", b"(double) inf\n", b"inf\n"),
        (b",-inf\r\n", b"(double) -inf\n", b"-inf\n"),
        (b",10\r\n", b"(double) 10\n", b"10\n"),
        (b",1e20\r\n", b"(double) 1e20\n", b"1e20\n"),
        (b"#t\r\n", b"(true)\n", b"(true)\n"),
        (b"#f\r\n", b"(false)\n", b"(false)\n"),
        (b"=7\r\ntxt:a\"b\r\n", b"a\"b\n", b"a\"b\n"),
        (b"*2\r\n=7\r\ntxt:a\"b\r\n#t\r\n", b"1) a\"b\n2) (true)\n", b"a\"b\n(true)\n"),
        (
            b"*2\r\n%1\r\n$1\r\na\r\n*2\r\n:1\r\n:2\r\n:9\r\n",
            b"1) 1# \"a\" => \n      1) (integer) 1\n      2) (integer) 2\n2) (integer) 9\n",
            b"a 1\n2\n9\n",
        ),
        (b"*1\r\n>2\r\n+a\r\n+b\r\n", b"1) 1) a\n   2) b\n", b"a\nb\n"),
        (b"*2\r\n$-1\r\n$1\r\nx\r\n", b"1) (nil)\n2) \"x\"\n", b"\nx\n"),
        (b"*1\r\n>0\r\n", b"1) (empty push)\n", b"\n"),
        (b"$2\r\n\xc3\xa9\r\n", b"\"\\xc3\\xa9\"\n", b"\xc3\xa9\n"),
        (b"+caf\xc3\xa9\xff\r\n", b"caf\xc3\xa9\xff\n", b"caf\xc3\xa9\xff\n"),
        (b"-E \xff\r\n", b"(error) E \xff\n", b"E \xff\n\n"),
        (b"%1\r\n%1\r\n+a\r\n+b\r\n*1\r\n-ERR\r\n", b"1# 1# a => b => 1) (error) ERR\n", b"a b ERR\n\n"),
        (
            b"*10\r\n+a\r\n+a\r\n+a\r\n+a\r\n+a\r\n+a\r\n+a\r\n+a\r\n+a\r\n*2\r\n+b\r\n+c\r\n",
            b" 1) a\n 2) a\n 3) a\n 4) a\n 5) a\n 6) a\n 7) a\n 8) a\n 9) a\n10) 1) b\n    2) c\n",
            b"a\na\na\na\na\na\na\na\na\nb\nc\n",
        ),
        (
            b"%3\r\n+a\r\n*1\r\n:1\r\n+b\r\n%1\r\n+c\r\n+d\r\n+e\r\n~1\r\n:1\r\n",
            b"1# a => 1) (integer) 1\n2# b => 1# c => d\n3# e => 1~ (integer) 1\n",
            b"a 1\nb c d\ne 1\n",
        ),
        (
            b"%2\r\n+a\r\n%0\r\n+b\r\n*1\r\n*2\r\n:1\r\n:2\r\n",
            b"1# a => (empty hash)\n2# b => \n   1) 1) (integer) 1\n      2) (integer) 2\n",
            b"a \nb 1\n2\n",
        ),
        (b"*1\r\n%1\r\n+a\r\n%1\r\n+b\r\n%1\r\n+c\r\n+d\r\n", b"1) 1# a => 1# b => 1# c => d\n", b"a b c d\n"),
        (b"*1\r\n%1\r\n+a\r\n>1\r\n+b\r\n", b"1) 1# a => 1) b\n", b"a b\n"),
        (
            b"%1\r\n%2\r\n+a\r\n+b\r\n+c\r\n+d\r\n~2\r\n:1\r\n:2\r\n",
            b"1# 1# a => b\n   2# c => d => \n   1~ (integer) 1\n   2~ (integer) 2\n",
            b"a b\nc d 1\n2\n",
        ),
        (b"%1\r\n+a\r\n$-1\r\n", b"1# a => (nil)\n", b"a \n"),
        (b"=8\r\nmkd:a\nb\xff\r\n", b"a\nb\xff\n", b"a\nb\xff\n"),
        (
            b"$23\r\n\0\x01\x02\x03\x04\x05\x06\x07\x08\t\n\x0b\x0c\r\x0e\x0f ~\\\"\x7f\x80\xff\r\n",
            b"\"\\x00\\x01\\x02\\x03\\x04\\x05\\x06\\a\\b\\t\\n\\x0b\\x0c\\r\\x0e\\x0f ~\\\\\\\"\\x7f\\x80\\xff\"\n",
            b"\0\x01\x02\x03\x04\x05\x06\x07\x08\t\n\x0b\x0c\r\x0e\x0f ~\\\"\x7f\x80\xff\n",
        ),
    ];

    #[test]
    fn replies_are_printed_as_redis_cli_prints_them() {
        for (reply, human, raw) in PRINTED {
            let (value, used) = decode_reply(&Bytes::from_static(reply)).unwrap().unwrap();
            assert_eq!(used, reply.len());
            assert_eq!(render_human(&value), String::from_utf8_lossy(human), "{}", reply.escape_ascii());
            assert_eq!(render_raw(&value), *raw, "{}", reply.escape_ascii());
        }
    }

    #[test]
    fn big_numbers_are_printed_as_they_are() {
        let (value, _) = decode_reply(&Bytes::from_static(b"(12345678901234567890\r\n")).unwrap().unwrap();
        assert_eq!(render_human(&value), "12345678901234567890\n");
        assert_eq!(render_raw(&value), b"12345678901234567890\n");
    }
}
