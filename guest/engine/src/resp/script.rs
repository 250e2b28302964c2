//! What command lines send and read: words as a request, a line of a script as words, all replies of a call.

use super::{DecodeError, Value, decode_reply, split_inline};
use bytes::Bytes;

/// A request as clients send it: an array of bulk strings.
#[must_use]
pub fn encode_request(words: &[Vec<u8>]) -> Vec<u8> {
    let mut request = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        request.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        request.extend_from_slice(word);
        request.extend_from_slice(b"\r\n");
    }
    request
}

/// The words of a script's line; none for a blank line and for one whose first word begins with `#`.
///
/// # Errors
/// For people: a quote is not closed.
pub fn script_words(line: &[u8]) -> Result<Vec<Vec<u8>>, &'static str> {
    let words = split_inline(line).ok_or("a quote is not closed")?;
    let is_comment = words.first().is_some_and(|word| word.starts_with(b"#"));
    Ok(if is_comment { Vec::new() } else { words })
}

/// The replies of a call, which are whole.
///
/// # Errors
/// Where `output` is not made of whole replies.
pub fn decode_replies(output: impl Into<Bytes>) -> Result<Vec<Value>, DecodeError> {
    let output = output.into();
    let mut position = 0;
    let mut replies = Vec::new();
    while position < output.len() {
        let Some((reply, used)) = decode_reply(&output.slice(position..))? else {
            return Err(DecodeError { position, problem: "the reply is not whole" });
        };
        replies.push(reply);
        position += used;
    }
    Ok(replies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_an_array_of_bulk_strings() {
        assert_eq!(encode_request(&[b"GET".to_vec(), b"\r\n".to_vec()]), b"*2\r\n$3\r\nGET\r\n$2\r\n\r\n\r\n");
    }

    #[test]
    fn blank_lines_and_comments_have_no_words() {
        assert_eq!(script_words(b"SET 'a b' #c\n").unwrap(), [&b"SET"[..], b"a b", b"#c"]);
        assert!(script_words(b"  \n").unwrap().is_empty());
        assert!(script_words(b" # SET a b\n").unwrap().is_empty());
        assert!(script_words(b"SET 'a").is_err());
    }

    #[test]
    fn replies_are_read_up_to_the_last_byte() {
        let replies = decode_replies(&b"+OK\r\n:1\r\n"[..]).unwrap();
        assert_eq!(replies, [Value::Simple(Bytes::from_static(b"OK")), Value::Integer(1)]);
        assert_eq!(decode_replies(&b"+OK\r\n:1"[..]).unwrap_err().position, 5);
    }
}
