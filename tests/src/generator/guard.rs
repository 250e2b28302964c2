//! Which commands a comparison cannot use: those that cost too much, and those whose outcome is a matter of the moment.

use super::lists::TIMEOUTS;
use crate::client::Args;

/// SETRANGE up to here is cheap; past the limit of a string it is an error.
const CHEAP_OFFSETS: i64 = 20_000;
const MAX_STRING_LENGTH: i64 = 512 * 1024 * 1024;
/// HRANDFIELD, SRANDMEMBER and ZRANDMEMBER with a negative count return that many.
const CHEAP_COUNTS: i64 = -1_000;
/// The times to live that the generator hands out, each once in a sequence. Shorter ones might pass within a run; equal ones let GT
/// and LT decide by the millisecond.
const TTLS_S: std::ops::Range<i64> = 1_000..1_100_000;
/// Longer ones overflow, whatever the clock shows.
const OVERFLOW_MS: i64 = i64::MAX - 1_000_000_000_000;

/// Whether two servers can be given this command.
#[must_use]
pub fn is_fit(command: &Args) -> bool {
    let name = command[0].to_ascii_uppercase();
    let after = |option: &[u8]| {
        let pairs = command.windows(2).filter(|pair| pair[0].eq_ignore_ascii_case(option));
        pairs.filter_map(|pair| number(&pair[1])).collect::<Vec<i64>>()
    };
    match name.as_slice() {
        b"SETRANGE" => argument(command, 2).is_none_or(|offset| !(CHEAP_OFFSETS..MAX_STRING_LENGTH).contains(&offset)),
        b"SETBIT" | b"BITFIELD" => command.iter().all(|word| is_fit_as_offset(word)),
        b"HRANDFIELD" | b"SRANDMEMBER" | b"ZRANDMEMBER" => argument(command, 2).is_none_or(|count| count >= CHEAP_COUNTS),
        // What it leaves is a matter of chance, but for the block that removes the rest.
        b"SPOP" => command.len() > 2 && argument(command, 2).is_none_or(|count| count <= 0),
        b"EXPIRE" | b"SETEX" => argument(command, 2).is_none_or(is_fit_in_seconds),
        b"PEXPIRE" | b"PSETEX" => argument(command, 2).is_none_or(is_fit_in_milliseconds),
        b"SET" | b"GETEX" => after(b"EX").into_iter().all(is_fit_in_seconds) && after(b"PX").into_iter().all(is_fit_in_milliseconds),
        b"BLPOP" | b"BRPOP" | b"BZPOPMIN" | b"BZPOPMAX" => command.last().is_some_and(|word| is_fit_as_timeout(word)),
        b"BLMPOP" | b"BZMPOP" => command.get(1).is_none_or(|word| is_fit_as_timeout(word)),
        b"BRPOPLPUSH" => command.get(3).is_none_or(|word| is_fit_as_timeout(word)),
        b"BLMOVE" => command.get(5).is_none_or(|word| is_fit_as_timeout(word)),
        // Redis 7.0 follows one option before it looks at the next, Redis 7.2 looks at all of them first.
        b"HELLO" => {
            let options = |name: &[u8], words: &[Vec<u8>]| words.iter().filter(|word| word.eq_ignore_ascii_case(name)).count();
            let before_the_last = command.len().saturating_sub(2);
            options(b"AUTH", command) <= 1 && options(b"SETNAME", &command[..before_the_last]) == 0
        }
        // Redis 7.2 takes a command without arguments here: the arity is -3, not -4.
        b"COMMAND" if command.len() > 3 => is_fit_as_rank(&command[2..]),
        b"COMMAND" => command.len() < 3 || !command[1].to_ascii_uppercase().starts_with(b"GETKEYS"),
        // Would close this connection.
        b"CLIENT" => !command.iter().any(|word| word.eq_ignore_ascii_case(b"KILL")) || command.len() < 5,
        _ => is_fit_as_rank(command),
    }
}

/// Whether somebody waits no longer than a moment. Redis 7.0 has other texts for long times.
fn is_fit_as_timeout(word: &[u8]) -> bool {
    TIMEOUTS.iter().any(|known| known.as_bytes() == word)
}

/// Redis 7.0 has no WITHSCORE, so it refuses further words when they are queued, Redis 7.2 when they are executed.
fn is_fit_as_rank(command: &[Vec<u8>]) -> bool {
    let is_rank = [&b"ZRANK"[..], b"ZREVRANK"].iter().any(|name| command[0].eq_ignore_ascii_case(name));
    !is_rank || command.len() <= 3
}

/// Whether a bit there makes no long string: alone or, with `#`, as the number of a field of 1 to 64 bits.
fn is_fit_as_offset(word: &[u8]) -> bool {
    let (offset, most_bits) = word.strip_prefix(b"#").map_or((word, 1), |offset| (offset, 64));
    number(offset).is_none_or(|offset| offset.saturating_mul(most_bits) < CHEAP_OFFSETS || offset >= MAX_STRING_LENGTH * 8)
}

fn is_fit_in_seconds(ttl: i64) -> bool {
    ttl <= 0 || TTLS_S.contains(&ttl) || ttl > OVERFLOW_MS / 1000
}

fn is_fit_in_milliseconds(ttl: i64) -> bool {
    ttl <= 0 || TTLS_S.contains(&(ttl / 1000)) || ttl > OVERFLOW_MS
}

fn argument(command: &Args, at: usize) -> Option<i64> {
    command.get(at).and_then(|word| number(word))
}

fn number(word: &[u8]) -> Option<i64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}
