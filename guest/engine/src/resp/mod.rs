//! RESP, the protocol between clients and the engine: requests in, replies out, and the client's side of both.
//!
//! Rules: the [protocol specification](https://redis.io/docs/latest/develop/reference/protocol-spec/) and, where it is silent, what
//! Redis 7 does.

pub mod decode;
mod framing;
pub mod inline;
pub mod render;
pub mod reply;
pub mod request;
pub mod script;

#[cfg(test)]
mod properties;

pub use decode::{DecodeError, Value, decode_reply};
pub use inline::split_inline;
pub use render::{render_human, render_raw};
pub use reply::{Deferred, Protocol, Reply};
pub use request::{Parsed, RequestLimits, parse_request};
pub use script::{decode_replies, encode_request, script_words};
