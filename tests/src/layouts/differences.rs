//! Where a layout makes the engine answer otherwise than Redis, beside what it refuses. `docs/layouts/` has these in words.

use orbweaver_engine::number::parse_double;
use orbweaver_engine::resp::Value;

use crate::compare::Exchange;
use crate::known_differences::KnownDifference;

/// The estimates of Redis, which has 2^14 registers, and of layouts, which have 2^17, are no farther apart than one in so many.
const ESTIMATE_ERROR: i64 = 25;

/// Those of the layouts that keep sketches as registers of a byte each. The sketches have keys that no other command names.
const SKETCHES: KnownDifference = KnownDifference {
    reason: "sketches of other registers have other estimates, and are changed by other elements",
    explains: |exchange| match (exchange.name().as_str(), exchange.redis, exchange.other) {
        ("PFCOUNT", Value::Integer(redis), Value::Integer(other)) => (redis - other).abs() <= 1 + redis / ESTIMATE_ERROR,
        ("PFADD", Value::Integer(_), Value::Integer(_)) => true,
        _ => false,
    },
};

/// Half a slot.
const HALF_A_SLOT: f64 = 0.000_005;

/// Those of Nemo.
const NEMO: &[KnownDifference] = &[
    SKETCHES,
    KnownDifference {
        reason: "scores that come with members in their order have five decimals",
        explains: |exchange| RANGES.contains(&exchange.name().as_str()) && are_near(exchange.redis, exchange.other),
    },
];

/// The commands that read scores from the slots.
const RANGES: [&str; 4] = ["ZRANGE", "ZRANGEBYSCORE", "ZREVRANGE", "ZREVRANGEBYSCORE"];

/// The same but for numbers that are half a slot apart.
fn are_near(redis: &Value, other: &Value) -> bool {
    match (redis, other) {
        (Value::Array(redis), Value::Array(other)) => {
            redis.len() == other.len() && redis.iter().zip(other).all(|(redis, other)| are_near(redis, other))
        }
        (Value::Bulk(redis), Value::Bulk(other)) | (Value::Double(_, redis), Value::Double(_, other)) => {
            let apart = parse_double(redis).zip(parse_double(other)).map(|(redis, other)| (redis - other).abs());
            redis == other || apart.is_some_and(|apart| apart <= HALF_A_SLOT)
        }
        _ => redis == other,
    }
}

/// The differences of a layout.
#[must_use]
pub fn of_layout(layout: &str) -> &'static [KnownDifference] {
    match layout {
        "blackwidow" => &[SKETCHES],
        "nemo" => NEMO,
        _ => &[],
    }
}

/// The difference of a layout that explains this exchange.
#[must_use]
pub fn explanation(layout: &str, exchange: &Exchange<'_>) -> Option<&'static KnownDifference> {
    of_layout(layout).iter().find(|known| (known.explains)(exchange))
}
