//! RESP, the protocol between clients and the engine: requests in, replies out, and the client's side of both.
//!
//! Rules: the [protocol specification](https://redis.io/docs/latest/develop/reference/protocol-spec/) and, where it is silent, what
//! Redis 7 does.

pub mod decode;
pub mod inline;
pub mod render;
pub mod reply;
pub mod request;

#[cfg(test)]
mod properties;

pub use decode::{DecodeError, Value, decode_reply};
pub use inline::split_inline;
pub use render::{render_human, render_raw};
pub use reply::{Deferred, Protocol, Reply};
pub use request::{Parsed, RequestLimits, parse_request};

/// An integer in its one canonical form, the only one that Redis reads in protocol lines: no plus sign, no leading zeros, no `-0`.
fn parse_integer(text: &[u8]) -> Option<i64> {
    match text {
        [b'0'] => Some(0),
        [b'1'..=b'9', ..] | [b'-', b'1'..=b'9', ..] => std::str::from_utf8(text).ok()?.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::parse_integer;

    #[test]
    fn an_integer_has_one_form() {
        for number in [0, 1, -1, 10, i64::MAX, i64::MIN] {
            assert_eq!(parse_integer(number.to_string().as_bytes()), Some(number));
        }
        for text in ["", "-", "+1", "00", "01", "-0", "-01", " 1", "1 ", "1x", "9223372036854775808", "-9223372036854775809"] {
            assert_eq!(parse_integer(text.as_bytes()), None, "{text:?}");
        }
    }
}
