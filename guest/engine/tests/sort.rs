//! SORT and SORT_RO, from bytes in to bytes out. The expected replies are those of redis-server.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use common::Client;
use orbweaver_engine::store::{Limits, MemoryStore};

const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
const NOT_NUMBERS: &str = "-ERR One or more scores can't be converted into double";
const SYNTAX: &str = "-ERR syntax error";

/// Runs commands one after the other and compares each reply.
fn check(client: &mut Client, steps: &[(&str, &str)]) {
    for (number, (command, reply)) in steps.iter().enumerate() {
        assert_eq!(client.run(command), *reply, "step {number}: {command}");
    }
}

#[test]
fn elements_are_sorted_as_numbers_or_as_bytes() {
    check(
        &mut Client::new(),
        &[
            ("RPUSH l 10 9 -1 1.5", ":4"),
            ("SORT l", "*4 $2 -1 $3 1.5 $1 9 $2 10"),
            ("SORT l DESC", "*4 $2 10 $1 9 $3 1.5 $2 -1"),
            ("SORT l ALPHA", "*4 $2 -1 $3 1.5 $2 10 $1 9"),
            ("SORT_RO l ALPHA DESC ASC", "*4 $2 -1 $3 1.5 $2 10 $1 9"),
            ("SADD s 3 1 2", ":3"),
            ("SORT s", "*3 $1 1 $1 2 $1 3"),
            ("ZADD z 1 30 2 20 3 10", ":3"),
            ("SORT z", "*3 $2 10 $2 20 $2 30"),
            ("SORT missing", "*0"),
            ("SET text x", "+OK"),
            ("SORT text", WRONG_TYPE),
            ("HSET h f v", ":1"),
            ("SORT_RO h", WRONG_TYPE),
        ],
    );
}

#[test]
fn numbers_are_those_of_strtod_and_equal_ones_are_in_byte_order() {
    check(
        &mut Client::new(),
        &[
            (r#"RPUSH l "" " 1" +1 0x10 inf 01 "1\x00x" -inf"#, ":8"),
            ("SORT l", "*8 $4 -inf $0  $2  1 $2 +1 $2 01 $3 1\0x $4 0x10 $3 inf"),
            (r#"RPUSH trailing "1 ""#, ":1"),
            ("SORT trailing", NOT_NUMBERS),
            ("RPUSH tiny 1e-320", ":1"),
            ("SORT tiny", NOT_NUMBERS),
            ("RPUSH nan nan", ":1"),
            ("SORT nan LIMIT 0 0", NOT_NUMBERS),
            ("SORT nan BY nosort", "*1 $3 nan"),
        ],
    );
}

#[test]
fn what_is_equal_up_to_a_nul_stays_in_its_order_unless_it_is_stored() {
    check(
        &mut Client::new(),
        &[
            (r#"RPUSH l "b\x00z" "b\x00a" a"#, ":3"),
            ("SORT l ALPHA", "*3 $1 a $3 b\0z $3 b\0a"),
            ("SORT l ALPHA DESC", "*3 $3 b\0z $3 b\0a $1 a"),
            ("SORT l ALPHA STORE d", ":3"),
            ("LRANGE d 0 -1", "*3 $1 a $3 b\0a $3 b\0z"),
        ],
    );
}

#[test]
fn other_keys_tell_the_order_and_the_values() {
    check(
        &mut Client::new(),
        &[
            ("RPUSH l 1 2 3", ":3"),
            ("MSET w_1 30 w_2 20 w_3 10 name_1 one name_3 three", "+OK"),
            ("HSET o_1 f b", ":1"),
            ("HSET o_2 f a", ":1"),
            ("SORT l BY w_*", "*3 $1 3 $1 2 $1 1"),
            ("SORT l BY w_* GET name_* GET #", "*6 $5 three $1 3 $-1 $1 2 $3 one $1 1"),
            // What has no weight weighs 0 as a number, and comes first as bytes.
            ("SORT l BY o_*->f ALPHA", "*3 $1 3 $1 2 $1 1"),
            ("SORT l BY o_*->missing", "*3 $1 1 $1 2 $1 3"),
            ("SORT l BY o_*->f", NOT_NUMBERS),
            ("SORT l BY w_* GET o_*->f", "*3 $-1 $1 a $1 b"),
            // Without a star there is nothing to find; a hash is no string, and an arrow without a field no arrow.
            ("SORT l GET name_1 LIMIT 0 1", "*1 $-1"),
            ("SORT l GET o_* GET o_*-> GET w_*->f LIMIT 0 1", "*3 $-1 $-1 $-1"),
            ("SORT l BY nosort BY w_*", "*3 $1 1 $1 2 $1 3"),
        ],
    );
}

#[test]
fn what_is_not_sorted_keeps_its_order() {
    check(
        &mut Client::new(),
        &[
            ("RPUSH l 3 1 2", ":3"),
            ("SORT l BY nosort", "*3 $1 3 $1 1 $1 2"),
            ("SORT l BY nosort DESC", "*3 $1 2 $1 1 $1 3"),
            ("SORT l BY nosort DESC LIMIT 0 2", "*2 $1 2 $1 1"),
            ("ZADD z 1 b 2 a 3 c", ":3"),
            ("SORT z BY nosort", "*3 $1 b $1 a $1 c"),
            ("SORT z BY nosort DESC LIMIT 1 5", "*2 $1 a $1 b"),
            ("SORT z BY nosort LIMIT 1 1", "*1 $1 a"),
            // A set has no order to keep: in byte order here; sorted where it is stored.
            ("SADD s c a b", ":3"),
            ("SORT s BY nosort DESC", "*3 $1 a $1 b $1 c"),
            ("SORT s BY nosort DESC STORE d", ":3"),
            ("LRANGE d 0 -1", "*3 $1 c $1 b $1 a"),
        ],
    );
}

#[test]
fn limits_are_cut_to_what_there_is() {
    check(
        &mut Client::new(),
        &[
            ("RPUSH l 3 1 2", ":3"),
            ("SORT l LIMIT 1 1", "*1 $1 2"),
            ("SORT l LIMIT -5 2", "*2 $1 1 $1 2"),
            ("SORT l LIMIT 1 -1", "*2 $1 2 $1 3"),
            ("SORT l LIMIT 3 1", "*0"),
            ("SORT l LIMIT 9223372036854775807 9223372036854775807", "*0"),
            ("SORT l LIMIT 0 0", "*0"),
            ("SORT l LIMIT x 1", "-ERR value is not an integer or out of range"),
            ("SORT l LIMIT 1", SYNTAX),
            ("SORT l LIMIT x y NOTHING", "-ERR value is not an integer or out of range"),
            ("SORT l NOTHING", SYNTAX),
            ("SORT l BY", SYNTAX),
            ("SORT_RO l STORE d", SYNTAX),
            ("SORT", "-ERR wrong number of arguments for 'sort' command"),
        ],
    );
}

#[test]
fn a_stored_result_takes_the_place_of_what_was_there() {
    check(
        &mut Client::new(),
        &[
            ("RPUSH l 2 1", ":2"),
            ("SET d x EX 1000", "+OK"),
            ("SORT l STORE d", ":2"),
            ("LRANGE d 0 -1", "*2 $1 1 $1 2"),
            ("TTL d", ":-1"),
            ("SET name_1 one", "+OK"),
            ("SORT l GET name_* GET # STORE d", ":4"),
            ("LRANGE d 0 -1", "*4 $3 one $1 1 $0  $1 2"),
            ("SORT l STORE l", ":2"),
            ("LRANGE l 0 -1", "*2 $1 1 $1 2"),
            ("SORT l STORE a STORE b", ":2"),
            ("EXISTS a b", ":1"),
            ("SORT missing STORE d", ":0"),
            ("EXISTS d", ":0"),
            ("RPUSH words x", ":1"),
            ("SORT words STORE l", NOT_NUMBERS),
            ("LLEN l", ":2"),
        ],
    );
}

#[test]
fn patterns_are_followed_within_transactions_as_well() {
    check(
        &mut Client::new(),
        &[
            ("RPUSH l 1 2", ":2"),
            ("MULTI", "+OK"),
            ("MSET w_1 2 w_2 1", "+QUEUED"),
            ("SORT l BY w_* GET w_* STORE d", "+QUEUED"),
            ("LRANGE d 0 -1", "+QUEUED"),
            ("EXEC", "*3 +OK :2 *2 $1 1 $1 2"),
        ],
    );
}

#[test]
fn a_read_only_store_is_sorted_but_not_written() {
    let store = MemoryStore::with_limits(Limits { read_only: true, ..Limits::NONE });
    check(
        &mut Client::on(&store),
        &[
            ("SORT l BY w_* GET w_*", "*0"),
            ("GEORADIUS g 0 0 1 m", "*0"),
            ("SORT l STORE d", "-ERR storage: the store is read-only"),
            ("SORT l BY w_* STORE d", "-ERR storage: the store is read-only"),
            ("GEORADIUS g 0 0 1 m STORE d", "-ERR storage: the store is read-only"),
        ],
    );
}

#[test]
fn the_keys_of_a_call_are_the_source_and_the_destination() {
    check(
        &mut Client::new(),
        &[
            ("COMMAND GETKEYS SORT a", "*1 $1 a"),
            ("COMMAND GETKEYS SORT a BY store STORE b", "*2 $1 a $1 b"),
            ("COMMAND GETKEYS SORT a STORE b LIMIT 1 2 STORE c", "*2 $1 a $1 c"),
            ("COMMAND GETKEYS SORT a STORE", "*1 $1 a"),
            ("COMMAND GETKEYS SORT_RO a STORE b", "*1 $1 a"),
            ("COMMAND GETKEYS GEORADIUS a 0 0 1 m STOREDIST b", "*2 $1 a $1 b"),
            ("COMMAND GETKEYSANDFLAGS SORT a STORE b", "*2 *2 $1 a *2 +RO +access *2 $1 b *2 +OW +update"),
        ],
    );
}
