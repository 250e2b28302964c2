//! When two replies to the same command are the same: byte for byte, but for what Redis leaves open (order, cursors, random
//! choices), for clocks, and for what a server says of itself.

use orbweaver_engine::number::{format_double, parse_double};
use orbweaver_engine::resp::Value;

use crate::client::Args;
use crate::sequence::{Step, as_page, scan_shape};

/// Clocks of two runs are this far apart at most.
const TOLERANCE_S: u64 = 60;

/// A command with the reply of Redis and the reply of the other.
#[derive(Clone, Copy)]
pub struct Exchange<'a> {
    /// The command.
    pub command: &'a Args,
    /// What Redis answered.
    pub redis: &'a Value,
    /// What the other answered.
    pub other: &'a Value,
    /// What the connection watches.
    pub watch: Watch,
}

impl Exchange<'_> {
    /// The command's name in capitals, with the subcommand of those that have some.
    #[must_use]
    pub fn name(&self) -> String {
        let word = |at: usize| self.command.get(at).map(|word| String::from_utf8_lossy(word).to_ascii_uppercase()).unwrap_or_default();
        let name = word(0);
        match name.as_str() {
            "ACL" | "CLIENT" | "COMMAND" | "CONFIG" | "DEBUG" | "MEMORY" | "OBJECT" | "INFO" | "SLOWLOG" => format!("{name} {}", word(1)),
            _ => name,
        }
    }

    /// The other one's EXEC has failed for the keys that it watches, and that of Redis has not: from here on the two hold different data.
    #[must_use]
    pub fn is_false_alarm(&self) -> bool {
        self.watch != Watch::Nothing
            && self.name() == "EXEC"
            && matches!((self.redis, self.other), (Value::Array(_), Value::Null | Value::NullArray))
    }
}

/// Whether a connection watches keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Watch {
    /// It does not.
    #[default]
    Nothing,
    /// It does.
    Keys,
    /// It does, and since then a command came that Orbweaver takes for a change of every key.
    AllChanged,
}

/// Walks through a sequence and its replies, and calls `each` with every exchange and the one before it on the same
/// connection; replies inside of EXEC's count as their own commands' replies. Stops at the first for which `each` returns
/// false, and returns the number of the step; when one target has fewer replies, that of its last one. What comes after a false
/// alarm is not looked at.
pub fn first_difference<'a>(
    steps: &'a [Step],
    redis: &'a [Value],
    other: &'a [Value],
    each: &mut dyn FnMut(Exchange<'a>, Option<Exchange<'a>>) -> bool,
) -> Option<usize> {
    let mut connections = vec![Connection::default(); crate::target::CONNECTIONS];
    for (index, ((step, redis), other)) in steps.iter().zip(redis).zip(other).enumerate() {
        let exchange = Exchange { command: &step.command, redis, other, watch: connections[step.connection].watch };
        let is_alone = connections[step.connection].runs_alone(&step.command);
        if !connections[step.connection].follow(exchange, each) {
            return Some(index);
        }
        if exchange.is_false_alarm() {
            return None;
        }
        if is_alone {
            connections.iter_mut().for_each(Connection::all_keys_change);
        }
    }
    let answered = redis.len().min(other.len());
    (redis.len() != other.len()).then(|| answered.saturating_sub(1))
}

/// What must be known of a connection to understand its replies.
#[derive(Clone, Default)]
struct Connection<'a> {
    /// The commands since MULTI.
    queued: Option<Vec<&'a Args>>,
    watch: Watch,
    before: Option<Exchange<'a>>,
}

impl<'a> Connection<'a> {
    /// Whether this is a command that no other writer runs beside, or an EXEC that runs one.
    fn runs_alone(&self, command: &Args) -> bool {
        let runs_one = |queued: &Vec<&Args>| queued.iter().any(|command| is_exclusive(command));
        is_exclusive(command) || command[0].eq_ignore_ascii_case(b"EXEC") && self.queued.as_ref().is_some_and(runs_one)
    }

    fn all_keys_change(&mut self) {
        if self.watch == Watch::Keys {
            self.watch = Watch::AllChanged;
        }
    }

    fn follow(&mut self, exchange: Exchange<'a>, each: &mut dyn FnMut(Exchange<'a>, Option<Exchange<'a>>) -> bool) -> bool {
        let queued = self.queued.take();
        match (exchange.name().as_str(), exchange.redis) {
            (_, Value::Error(_)) => {}
            ("WATCH", _) if self.watch == Watch::Nothing => self.watch = Watch::Keys,
            ("EXEC" | "DISCARD" | "RESET" | "QUIT", _) => self.watch = Watch::Nothing,
            ("UNWATCH", _) if queued.is_none() => self.watch = Watch::Nothing,
            _ => {}
        }
        match (exchange.name().as_str(), queued) {
            ("MULTI", None) if is_simple(exchange.redis, b"OK") => self.queued = Some(Vec::new()),
            ("EXEC", Some(queued)) => {
                if let Some(inside) = inside_exec(&exchange, &queued) {
                    return inside.into_iter().all(|exchange| self.show(exchange, each));
                }
            }
            (_, Some(mut queued)) if is_queued(&exchange) => {
                queued.push(exchange.command);
                self.queued = Some(queued);
            }
            ("DISCARD" | "RESET" | "QUIT", _) if !matches!(exchange.redis, Value::Error(_)) => {}
            (_, queued) => self.queued = queued,
        }
        self.show(exchange, each)
    }

    fn show(&mut self, exchange: Exchange<'a>, each: &mut dyn FnMut(Exchange<'a>, Option<Exchange<'a>>) -> bool) -> bool {
        let before = self.before.replace(exchange);
        each(exchange, before)
    }
}

/// FLUSHALL, FLUSHDB, SWAPDB, and SORT with patterns that stores.
fn is_exclusive(command: &Args) -> bool {
    let is = |name: &[u8]| command[0].eq_ignore_ascii_case(name);
    let sorts_and_stores = || is(b"SORT") && command.iter().any(|word| word.eq_ignore_ascii_case(b"STORE"));
    is(b"FLUSHALL") || is(b"FLUSHDB") || is(b"SWAPDB") || sorts_and_stores()
}

/// The exchanges that an EXEC's reply holds, if both did execute as many commands as were queued.
fn inside_exec<'a>(exec: &Exchange<'a>, queued: &[&'a Args]) -> Option<Vec<Exchange<'a>>> {
    match (exec.redis, exec.other) {
        (Value::Array(redis), Value::Array(other)) if redis.len() == queued.len() && other.len() == queued.len() => Some(
            queued
                .iter()
                .zip(redis.iter().zip(other))
                .map(|(command, (redis, other))| Exchange { command, redis, other, watch: Watch::Nothing })
                .collect(),
        ),
        _ => None,
    }
}

/// Whether Redis keeps the command for an EXEC, whose reply will hold this command's own.
#[must_use]
pub fn is_queued(exchange: &Exchange<'_>) -> bool {
    is_simple(exchange.redis, b"QUEUED")
}

fn is_simple(reply: &Value, expected: &[u8]) -> bool {
    matches!(reply, Value::Simple(text) if text.as_ref() == expected)
}

/// Whether the replies mean the same. `before` is the exchange before on that connection: a random choice is held against the
/// listing that the generator put in front of it.
#[must_use]
pub fn same(exchange: &Exchange<'_>, before: Option<&Exchange<'_>>) -> bool {
    let Exchange { redis, other, .. } = exchange;
    if redis == other {
        return true;
    }
    if matches!(redis, Value::Error(_)) || matches!(other, Value::Error(_)) {
        return false;
    }
    let name = exchange.name();
    match name.as_str() {
        "KEYS" | "HKEYS" | "HVALS" | "SDIFF" | "SINTER" | "SMEMBERS" | "SUNION" => {
            same_kind(redis, other) && sorted_items(redis, 1) == sorted_items(other, 1)
        }
        "HGETALL" => same_kind(redis, other) && sorted_items(redis, 2) == sorted_items(other, 2),
        "SCAN" | "HSCAN" | "SSCAN" | "ZSCAN" => same_page(exchange),
        "TTL" | "EXPIRETIME" => near(redis, other, TOLERANCE_S),
        "PTTL" | "PEXPIRETIME" => near(redis, other, TOLERANCE_S * 1000),
        "OBJECT ENCODING" => same_encodings(redis, other),
        "HRANDFIELD" => same_kind(redis, other) && before.is_some_and(|before| is_choice_from(("HGETALL", 2), exchange, before)),
        "SPOP" | "SRANDMEMBER" => same_kind(redis, other) && before.is_some_and(|before| is_choice_from(("SMEMBERS", 1), exchange, before)),
        "ZRANDMEMBER" => same_kind(redis, other) && before.is_some_and(|before| is_choice_from(("ZRANGE", 2), exchange, before)),
        "BZMPOP" | "BZPOPMAX" | "BZPOPMIN" | "ZADD" | "ZINCRBY" | "ZSCORE" | "ZMSCORE" | "ZRANGE" | "ZRANGEBYSCORE" | "ZREVRANGE"
        | "ZREVRANGEBYSCORE" | "ZPOPMIN" | "ZPOPMAX" | "ZMPOP" | "ZDIFF" | "ZINTER" | "ZUNION" => same_scores(redis, other),
        "RANDOMKEY" => same_kind(redis, other) && before.is_none_or(|before| is_choice_of_keys(exchange, before)),
        "HELLO" => same_kind(redis, other) && self_description(redis) == self_description(other),
        "INFO KEYSPACE" => key_counts(redis).is_some_and(|counts| Some(counts) == key_counts(other)),
        "TIME" | "OBJECT IDLETIME" | "OBJECT REFCOUNT" | "OBJECT HELP" | "MEMORY USAGE" | "MEMORY HELP" | "CLIENT ID" | "CLIENT INFO"
        | "CLIENT LIST" | "CLIENT HELP" | "COMMAND " | "COMMAND COUNT" | "COMMAND INFO" | "COMMAND LIST" | "COMMAND DOCS"
        | "COMMAND HELP" | "CONFIG HELP" | "ACL HELP" | "SLOWLOG HELP" | "SLOWLOG GET" => same_kind(redis, other),
        _ => name.starts_with("INFO ") && same_kind(redis, other),
    }
}

/// The same type of reply, whatever is in it.
fn same_kind(redis: &Value, other: &Value) -> bool {
    std::mem::discriminant(redis) == std::mem::discriminant(other)
}

/// The items of an array, set or map, `width` of them kept together, in a fixed order.
fn sorted_items(reply: &Value, width: usize) -> Vec<Vec<Value>> {
    let mut items: Vec<Vec<Value>> = match reply {
        Value::Array(items) | Value::Set(items) => items.chunks(width).map(<[Value]>::to_vec).collect(),
        Value::Map(pairs) => pairs.iter().map(|(name, value)| vec![name.clone(), value.clone()]).collect(),
        _ => Vec::new(),
    };
    items.sort_by_cached_key(|item| format!("{item:?}"));
    items
}

/// Pages are a server's own affair, unless both show everything at once.
fn same_page(exchange: &Exchange<'_>) -> bool {
    let (Some((redis_cursor, redis)), Some((other_cursor, other))) = (as_page(exchange.redis), as_page(exchange.other)) else {
        return false;
    };
    let (cursor_at, width) = scan_shape(&exchange.command[0]);
    let is_everything =
        exchange.command.get(cursor_at).is_some_and(|cursor| cursor == b"0") && redis_cursor == b"0" && other_cursor == b"0";
    let sorted = |items: &[Value]| Value::Array(sorted_items(&Value::Array(items.to_vec()), width).concat());
    let same = if exchange.name() == "ZSCAN" { same_scores } else { Value::eq };
    !is_everything || same(&sorted(redis), &sorted(other))
}

/// Redis 7.2 writes doubles with the digits that they need, Redis 7.0 with 17. And Redis forgets the sign of a 0 in small sorted sets.
fn same_scores(redis: &Value, other: &Value) -> bool {
    let is_zero = |text: &[u8]| matches!(text, b"0" | b"-0");
    let same_text = |redis: &[u8], other: &[u8]| {
        let shortest = parse_double(redis).map(format_double);
        redis == other || is_zero(redis) && is_zero(other) || shortest.is_some_and(|shortest| shortest.as_bytes() == other)
    };
    match (redis, other) {
        (Value::Array(redis), Value::Array(other)) => {
            redis.len() == other.len() && redis.iter().zip(other).all(|(redis, other)| same_scores(redis, other))
        }
        (Value::Bulk(redis), Value::Bulk(other)) | (Value::Double(_, redis), Value::Double(_, other)) => same_text(redis, other),
        _ => redis == other,
    }
}

fn near(redis: &Value, other: &Value, tolerance: u64) -> bool {
    match (redis, other) {
        (Value::Integer(redis), Value::Integer(other)) => *redis >= 0 && *other >= 0 && redis.abs_diff(*other) <= tolerance,
        _ => false,
    }
}

/// The encodings of each kind of value.
const ENCODINGS: &[&[&[u8]]] =
    &[&[b"int", b"embstr", b"raw"], &[b"intset", b"listpack", b"hashtable"], &[b"listpack", b"quicklist"], &[b"listpack", b"skiplist"]];

/// How Redis keeps a value depends on its history and its version: a string that was appended to is raw, a hash or set that was large
/// stays a hash table, Redis 7.0 has no short form for lists.
fn same_encodings(redis: &Value, other: &Value) -> bool {
    let (Value::Bulk(redis), Value::Bulk(other)) = (redis, other) else { return false };
    ENCODINGS.iter().any(|kind| kind.contains(&redis.as_ref()) && kind.contains(&other.as_ref()))
}

/// Both replies are as many elements (perhaps with their values or scores) out of the listing before, each once when the count is
/// positive. `listing` is the command that lists the elements, and how many items of its reply belong together.
fn is_choice_from(listing: (&str, usize), exchange: &Exchange<'_>, before: &Exchange<'_>) -> bool {
    let with_values = exchange.command.len() > 3;
    let may_repeat = exchange.command.get(2).is_some_and(|count| count.starts_with(b"-"));
    let listed = |reply: &Value, width: usize| match reply {
        // RESP3 has pairs of their own.
        Value::Array(items) if items.iter().all(|item| matches!(item, Value::Array(_))) => items
            .iter()
            .map(|item| match item {
                Value::Array(pair) => pair.clone(),
                _ => Vec::new(),
            })
            .collect(),
        _ => sorted_items(reply, width),
    };
    let chosen = |reply: &Value| match reply {
        Value::Array(_) | Value::Set(_) => listed(reply, if with_values { 2 } else { 1 }),
        single => vec![vec![single.clone()]],
    };
    let come_from = |mut items: Vec<Vec<Value>>, all: &Value| {
        let all = listed(all, listing.1);
        let exist = items.iter().all(|item| all.iter().any(|field| field.starts_with(item)));
        items.sort_by_cached_key(|item| format!("{item:?}"));
        exist && (may_repeat || items.windows(2).all(|two| two[0] != two[1]))
    };
    let (redis, other) = (chosen(exchange.redis), chosen(exchange.other));
    redis.len() == other.len()
        && redis.iter().map(Vec::len).eq(other.iter().map(Vec::len))
        && before.name() == listing.0
        && come_from(redis, before.redis)
        && come_from(other, before.other)
}

/// Both replies are in the `KEYS *` before, if there is one.
fn is_choice_of_keys(exchange: &Exchange<'_>, before: &Exchange<'_>) -> bool {
    let is_in = |reply: &Value, all: &Value| matches!(all, Value::Array(keys) if keys.contains(reply));
    let lists_all = before.name() == "KEYS" && before.command.get(1).is_some_and(|pattern| pattern == b"*");
    !lists_all || (is_in(exchange.redis, before.redis) && is_in(exchange.other, before.other))
}

/// HELLO's reply without what every server and connection has its own of.
fn self_description(reply: &Value) -> Vec<Vec<Value>> {
    let own = [Value::Bulk("version".into()), Value::Bulk("id".into())];
    sorted_items(reply, 2).into_iter().filter(|pair| pair.first().is_some_and(|name| !own.contains(name))).collect()
}

/// The lines of INFO keyspace up to the average TTL.
fn key_counts(reply: &Value) -> Option<Vec<String>> {
    match reply {
        Value::Bulk(text) | Value::Verbatim { text, .. } => {
            let text = String::from_utf8_lossy(text);
            Some(text.lines().map(|line| line.split(",avg_ttl=").next().unwrap_or_default().to_owned()).collect())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::args;

    fn bulk(text: &'static str) -> Value {
        Value::Bulk(text.into())
    }

    fn array(items: &[&'static str]) -> Value {
        Value::Array(items.iter().map(|item| bulk(item)).collect())
    }

    fn are_same(command: &Args, redis: &Value, other: &Value) -> bool {
        same(&Exchange { command, redis, other, watch: Watch::Nothing }, None)
    }

    #[test]
    fn order_is_free_where_redis_leaves_it_open() {
        let (ab, ba) = (array(&["a", "b"]), array(&["b", "a"]));
        assert!(are_same(&args(["hkeys", "h"]), &ab, &ba));
        assert!(!are_same(&args(["HMGET", "h", "x", "y"]), &ab, &ba));
        assert!(!are_same(&args(["HKEYS", "h"]), &ab, &array(&["a", "a"])));
    }

    #[test]
    fn fields_stay_with_their_values() {
        let redis = array(&["f", "1", "g", "2"]);
        assert!(are_same(&args(["HGETALL", "h"]), &redis, &array(&["g", "2", "f", "1"])));
        assert!(!are_same(&args(["HGETALL", "h"]), &redis, &array(&["g", "1", "f", "2"])));
    }

    #[test]
    fn times_to_live_may_be_a_little_apart() {
        let ttl = args(["TTL", "k"]);
        assert!(are_same(&ttl, &Value::Integer(1000), &Value::Integer(999)));
        assert!(!are_same(&ttl, &Value::Integer(1000), &Value::Integer(1100)));
        assert!(!are_same(&ttl, &Value::Integer(-1), &Value::Integer(-2)));
    }

    #[test]
    fn a_random_field_must_exist_and_be_drawn_once() {
        let (all, listing) = (array(&["f", "1", "g", "2"]), args(["HGETALL", "h"]));
        let before = Exchange { command: &listing, redis: &all, other: &all, watch: Watch::Nothing };
        let draw = |command: &Args, other: &Value| {
            same(&Exchange { command, redis: &array(&["f", "g"]), other, watch: Watch::Nothing }, Some(&before))
        };
        assert!(draw(&args(["HRANDFIELD", "h", "2"]), &array(&["g", "f"])));
        assert!(!draw(&args(["HRANDFIELD", "h", "2"]), &array(&["g", "g"])));
        assert!(!draw(&args(["HRANDFIELD", "h", "2"]), &array(&["g", "x"])));
        assert!(!draw(&args(["HRANDFIELD", "h", "2"]), &array(&["g"])));
        assert!(draw(&args(["HRANDFIELD", "h", "-2"]), &array(&["g", "g"])));
    }

    #[test]
    fn scores_may_have_more_digits_than_needed_and_members_may_not() {
        let command = args(["ZRANGE", "z", "0", "-1", "WITHSCORES"]);
        let redis = array(&["m", "0.10000000000000001", "n", "0"]);
        assert!(are_same(&command, &redis, &array(&["m", "0.1", "n", "-0"])));
        assert!(!are_same(&command, &redis, &array(&["m", "0.1000", "n", "0"])));
        assert!(!are_same(&command, &redis, &array(&["m", "0.2", "n", "0"])));
        assert!(!are_same(&command, &redis, &array(&["o", "0.1", "n", "0"])));
    }

    #[test]
    fn replies_inside_of_exec_are_compared_as_their_commands() {
        let steps: Vec<Step> =
            [args(["MULTI"]), vec![b"HKEYS".to_vec(), b"h".to_vec()], args(["EXEC"])].into_iter().map(Step::new).collect();
        let replies = |keys| vec![Value::Simple("OK".into()), Value::Simple("QUEUED".into()), Value::Array(vec![keys])];
        let redis = replies(array(&["a", "b"]));
        let difference =
            |other: &[Value]| first_difference(&steps, &redis, other, &mut |exchange, before| same(&exchange, before.as_ref()));
        assert_eq!(difference(&replies(array(&["b", "a"]))), None);
        assert_eq!(difference(&replies(array(&["b", "c"]))), Some(2));
        assert_eq!(difference(&redis[..2]), Some(1));
    }
}
