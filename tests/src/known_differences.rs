//! Where Orbweaver is meant to answer otherwise than Redis 7.0.15: it has the texts of Redis 7.2.

use orbweaver_engine::resp::Value;

use crate::compare::Exchange;

/// A difference that is wanted.
pub struct KnownDifference {
    /// Why.
    pub reason: &'static str,
    /// Whether it explains this exchange. As narrow as possible: the command, and both replies.
    pub explains: fn(&Exchange<'_>) -> bool,
}

/// All of them.
pub const KNOWN_DIFFERENCES: &[KnownDifference] = &[KnownDifference {
    reason: "LPOS refuses the RANK that has no positive counterpart",
    explains: |exchange| {
        let is_least = |pair: &[Vec<u8>]| pair[0].eq_ignore_ascii_case(b"RANK") && pair[1] == i64::MIN.to_string().as_bytes();
        exchange.name() == "LPOS"
            && exchange.command.windows(2).any(is_least)
            && is_error(exchange.other, "ERR value is out of range, value must between ")
    },
}];

fn is_error(reply: &Value, beginning: &str) -> bool {
    matches!(reply, Value::Error(text) if text.starts_with(beginning.as_bytes()))
}

/// The known difference that explains this exchange.
#[must_use]
pub fn explanation(exchange: &Exchange<'_>) -> Option<&'static KnownDifference> {
    KNOWN_DIFFERENCES.iter().find(|known| (known.explains)(exchange))
}
