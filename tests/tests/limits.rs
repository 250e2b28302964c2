//! Strings at the longest length that is set: what would be longer is refused as Redis refuses it.

use orbweaver_engine::resp::render_human;
use orbweaver_engine::settings::Settings;
use orbweaver_tests::client::{Args, args};
use orbweaver_tests::engine_target::EngineTarget;
use orbweaver_tests::orbweaver_server::ServedTarget;
use orbweaver_tests::redis_server::RedisServer;
use orbweaver_tests::target::{SocketTarget, Target};

/// The lowest that Redis takes.
const MAX_STRING_BYTES: usize = 1 << 20;

/// Commands around the limit, on a string `long` of just that length.
fn commands() -> Vec<Args> {
    let long = "x".repeat(MAX_STRING_BYTES);
    let offset = |more: usize| (MAX_STRING_BYTES - 1 + more).to_string();
    let (last, behind) = (offset(0), offset(1));
    vec![
        args(["SET", "long", &long]),
        args(["APPEND", "long", "x"]),
        args(["APPEND", "long", ""]),
        args(["SETRANGE", "long", &last, "y"]),
        args(["SETRANGE", "long", &last, "yz"]),
        args(["SETRANGE", "long", &behind, "y"]),
        args(["SETRANGE", "long", &behind, ""]),
        args(["SETRANGE", "long", "9223372036854775807", "y"]),
        args(["SETRANGE", "long", "-1", "y"]),
        args(["SETRANGE", "missing", &behind, "y"]),
        args(["EXISTS", "missing"]),
        args(["HSET", "hash", "f", &long]),
        args(["HSTRLEN", "hash", "f"]),
        args(["SETRANGE", "hash", &behind, "y"]),
        args(["APPEND", "hash", &long]),
        args(["APPEND", "new", &long]),
        args(["APPEND", "new", "x"]),
        args(["GETRANGE", "long", "-3", "-1"]),
        args(["STRLEN", "long"]),
        args(["SET", "a", &long[..500]]),
        args(["SET", "b", &long[..600]]),
        args(["LCS", "a", "a", "LEN"]),
        args(["LCS", "b", "b", "LEN"]),
        args(["LCS", "long", "long"]),
        args(["MSET", "a", &long, "b", "1"]),
        args(["GETSET", "a", "short"]),
        args(["INCRBYFLOAT", "long", "1"]),
    ]
}

fn assert_as_redis(ours: &mut dyn Target) {
    let redis = RedisServer::start(&["--proto-max-bulk-len", "1mb"]);
    let mut redis = SocketTarget::new(redis.address());
    redis.reset().expect("Redis lives");
    ours.reset().expect("the target lives");
    for command in commands() {
        let [expected, got] =
            [&mut redis as &mut dyn Target, ours].map(|target| render_human(&target.execute(0, &[&command]).expect("it lives")[0]));
        let shown = command.iter().map(|word| String::from_utf8_lossy(&word[..word.len().min(40)])).collect::<Vec<_>>().join(" ");
        assert!(got == expected, "{shown}: expected {:.200}, got {:.200}", expected, got);
    }
}

#[test]
fn the_engine_refuses_longer_strings_as_redis_does() {
    assert_as_redis(&mut EngineTarget::new(Settings { max_string_bytes: MAX_STRING_BYTES, ..Settings::default() }));
}

#[test]
fn the_server_refuses_longer_strings_as_redis_does() {
    let mut served = ServedTarget::start(&["--store", "memory"]);
    served.reset().expect("the server lives");
    served.execute(0, &[&args(["CONFIG", "SET", "proto-max-bulk-len", "1mb"])]).expect("the server lives");
    assert_as_redis(&mut served);
}
