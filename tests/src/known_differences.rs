//! Where Orbweaver is meant to answer otherwise than Redis 7.0.15: it has the texts of Redis 7.2.

use crate::compare::Exchange;

/// A difference that is wanted.
pub struct KnownDifference {
    /// Why.
    pub reason: &'static str,
    /// Whether it explains this exchange. As narrow as possible: the command, and both replies.
    pub explains: fn(&Exchange<'_>) -> bool,
}

/// All of them.
pub const KNOWN_DIFFERENCES: &[KnownDifference] = &[];

/// The known difference that explains this exchange.
#[must_use]
pub fn explanation(exchange: &Exchange<'_>) -> Option<&'static KnownDifference> {
    KNOWN_DIFFERENCES.iter().find(|known| (known.explains)(exchange))
}
