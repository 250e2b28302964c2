//! Sorted set commands, from bytes in to bytes out. The expected replies are those of redis-server.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod common;
mod keeper;

use common::Client;
use keeper::Keeper;
use orbweaver_engine::environment::{Environment, HeldEnvironment, random_below};
use orbweaver_engine::layout::lock_key;
use orbweaver_engine::store::{MemoryStore, Store};

/// Runs commands one after the other and compares each reply.
fn check(client: &mut Client, steps: &[(&str, &str)]) {
    for (number, (command, reply)) in steps.iter().enumerate() {
        assert_eq!(client.run(command), *reply, "step {number}: {command}");
    }
}

#[test]
fn members_have_scores_and_ranks() {
    check(
        &mut Client::new(),
        &[
            ("ZADD z 1 one 2 two 3 three", ":3"),
            ("ZADD z 4 one 2 two 5 four", ":1"),
            ("ZSCORE z one", "$1 4"),
            ("ZSCORE z nope", "$-1"),
            ("ZSCORE missing one", "$-1"),
            ("ZMSCORE z one nope two", "*3 $1 4 $-1 $1 2"),
            ("ZMSCORE missing one two", "*2 $-1 $-1"),
            ("ZCARD z", ":4"),
            ("ZCARD missing", ":0"),
            ("ZRANK z two", ":0"),
            ("ZRANK z four", ":3"),
            ("ZREVRANK z four", ":0"),
            ("ZRANK z nope", "$-1"),
            ("ZREVRANK missing two", "$-1"),
            ("ZRANGE z 0 -1 WITHSCORES", "*8 $3 two $1 2 $5 three $1 3 $3 one $1 4 $4 four $1 5"),
            ("ZREM z two two nope", ":1"),
            ("ZREM missing a", ":0"),
            ("ZREM z one three four", ":3"),
            ("EXISTS z", ":0"),
            ("TYPE z", "+none"),
            ("ZADD z 1 again", ":1"),
            ("TYPE z", "+zset"),
            ("ZRANGE z 0 -1", "*1 $5 again"),
        ],
    );
}

#[test]
fn zadd_takes_the_options_of_redis() {
    check(
        &mut Client::new(),
        &[
            ("ZADD z NX 1 a 2 b", ":2"),
            ("ZADD z NX 5 a 3 c", ":1"),
            ("ZADD z XX 5 a 9 nope", ":0"),
            ("ZADD z XX CH 6 a 9 nope", ":1"),
            ("ZADD z CH 6 a 7 b 1 d", ":2"),
            ("ZADD z GT CH 5 a 8 b 2 e", ":2"),
            ("ZADD z LT CH 5 a 9 b 3 f", ":2"),
            ("ZADD z GT XX CH 50 a 1 g", ":1"),
            ("ZADD z INCR 2 a", "$2 52"),
            ("ZADD z NX INCR 2 a", "$-1"),
            ("ZADD z XX INCR 2 nope", "$-1"),
            ("ZADD z GT INCR -1 a", "$-1"),
            ("ZADD z LT INCR 0 a", "$-1"),
            ("ZADD z LT INCR -1 a", "$2 51"),
            ("ZADD missing XX 1 a", ":0"),
            ("ZADD missing XX INCR 1 a", "$-1"),
            ("EXISTS missing", ":0"),
            ("ZADD twice CH 1 a 2 a 2 a 3 b", ":3"),
            ("ZADD twice NX 4 c 5 c", ":1"),
            ("ZRANGE twice 0 -1 WITHSCORES", "*6 $1 a $1 2 $1 b $1 3 $1 c $1 4"),
            ("ZADD z NX XX 1 a", "-ERR XX and NX options at the same time are not compatible"),
            ("ZADD z GT LT 1 a", "-ERR GT, LT, and/or NX options at the same time are not compatible"),
            ("ZADD z GT NX 1 a", "-ERR GT, LT, and/or NX options at the same time are not compatible"),
            ("ZADD z NX LT 1 a", "-ERR GT, LT, and/or NX options at the same time are not compatible"),
            ("ZADD z NX XX GT 1 a", "-ERR XX and NX options at the same time are not compatible"),
            ("ZADD z INCR 1 a 2 b", "-ERR INCR option supports a single increment-element pair"),
            ("ZADD z NX", "-ERR wrong number of arguments for 'zadd' command"),
            ("ZADD z NX 1", "-ERR syntax error"),
            ("ZADD z NX XX 1", "-ERR syntax error"),
            ("ZADD z 1 a 2", "-ERR syntax error"),
            ("ZADD z x a", "-ERR value is not a valid float"),
            ("ZADD z 1 a nan b", "-ERR value is not a valid float"),
            ("ZADD z NX NX nx ch 1 a", ":0"),
            ("ZRANGE z 0 -1 WITHSCORES", "*12 $1 d $1 1 $1 e $1 2 $1 c $1 3 $1 f $1 3 $1 b $1 8 $1 a $2 51"),
        ],
    );
}

#[test]
fn scores_may_be_infinite_and_not_nan() {
    check(
        &mut Client::new(),
        &[
            ("ZADD z inf a -inf b +inf c 1e400 d", "-ERR value is not a valid float"),
            ("ZADD z inf a -inf b +inf c", ":3"),
            ("ZRANGE z 0 -1 WITHSCORES", "*6 $1 b $4 -inf $1 a $3 inf $1 c $3 inf"),
            ("ZADD z INCR -inf a", "-ERR resulting score is not a number (NaN)"),
            ("ZINCRBY z inf b", "-ERR resulting score is not a number (NaN)"),
            ("ZINCRBY z inf a", "$3 inf"),
            ("ZINCRBY z 1e308 big", "$6 1e+308"),
            ("ZINCRBY z 1e308 big", "$3 inf"),
            ("ZINCRBY z 1e308 big", "$3 inf"),
            ("ZINCRBY z x a", "-ERR value is not a valid float"),
            ("ZINCRBY z nx a", "-ERR syntax error"),
            ("ZINCRBY z 1.5 new", "$3 1.5"),
            ("ZINCRBY z -3 new", "$4 -1.5"),
            ("ZRANGE z 0 -1 WITHSCORES", "*10 $1 b $4 -inf $3 new $4 -1.5 $1 a $3 inf $3 big $3 inf $1 c $3 inf"),
            ("ZCOUNT z -inf +inf", ":5"),
            ("ZCOUNT z (-inf (inf", ":1"),
            ("ZCOUNT z inf inf", ":3"),
            ("ZCOUNT z (inf inf", ":0"),
            ("ZRANGEBYSCORE z -inf -inf", "*1 $1 b"),
        ],
    );
}

#[test]
fn ranges_by_rank_count_from_both_ends() {
    check(
        &mut Client::new(),
        &[
            ("ZADD z 1 a 2 b 3 c 4 d 5 e", ":5"),
            ("ZRANGE z 0 1", "*2 $1 a $1 b"),
            ("ZRANGE z -2 -1", "*2 $1 d $1 e"),
            ("ZRANGE z 3 100", "*2 $1 d $1 e"),
            ("ZRANGE z -100 1", "*2 $1 a $1 b"),
            ("ZRANGE z 3 1", "*0"),
            ("ZRANGE z 5 9", "*0"),
            ("ZRANGE z 0 -6", "*0"),
            ("ZRANGE z 0 1 REV", "*2 $1 e $1 d"),
            ("ZRANGE z -2 -1 REV WITHSCORES", "*4 $1 b $1 2 $1 a $1 1"),
            ("ZREVRANGE z 0 0", "*1 $1 e"),
            ("ZREVRANGE z 3 4 withscores", "*4 $1 b $1 2 $1 a $1 1"),
            ("ZREVRANGE z 0 1 REV", "-ERR syntax error"),
            ("ZRANGE missing 0 -1", "*0"),
            ("ZRANGE z 0 -1 LIMIT 0 -1", "*5 $1 a $1 b $1 c $1 d $1 e"),
            ("ZRANGE z 0 -1 LIMIT 0 1", "-ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"),
            ("ZRANGE z 0 x", "-ERR value is not an integer or out of range"),
            ("ZRANGE z 0 1.5", "-ERR value is not an integer or out of range"),
            ("ZRANGE z 0 9223372036854775808", "-ERR value is not an integer or out of range"),
            ("ZRANGE z -9223372036854775808 9223372036854775807", "*5 $1 a $1 b $1 c $1 d $1 e"),
            ("ZRANGE z 0 1 x", "-ERR syntax error"),
            ("ZRANGE z 0 1 WITHSCORES LIMIT 1", "-ERR syntax error"),
            ("ZRANGE z 0 1 LIMIT x 1", "-ERR value is not an integer or out of range"),
            ("ZRANGE z 0 1 BYSCORE BYLEX", "-ERR syntax error"),
            ("ZRANGE z 0 1 REV REV", "-ERR syntax error"),
            ("ZREMRANGEBYRANK z 1 2", ":2"),
            ("ZREMRANGEBYRANK z 3 9", ":0"),
            ("ZREMRANGEBYRANK z x 1", "-ERR value is not an integer or out of range"),
            ("ZRANGE z 0 -1", "*3 $1 a $1 d $1 e"),
            ("ZREMRANGEBYRANK z -100 100", ":3"),
            ("EXISTS z", ":0"),
            ("ZREMRANGEBYRANK z 0 -1", ":0"),
        ],
    );
}

#[test]
fn ranges_by_score_have_exclusive_ends_and_limits() {
    check(
        &mut Client::new(),
        &[
            ("ZADD z 1 a 2 b 2 c 3 d 4 e", ":5"),
            ("ZRANGEBYSCORE z 2 3", "*3 $1 b $1 c $1 d"),
            ("ZRANGEBYSCORE z (2 3 WITHSCORES", "*2 $1 d $1 3"),
            ("ZRANGEBYSCORE z 2 (3", "*2 $1 b $1 c"),
            ("ZRANGEBYSCORE z (2 (2", "*0"),
            ("ZRANGEBYSCORE z 3 2", "*0"),
            ("ZREVRANGEBYSCORE z 3 2", "*3 $1 d $1 c $1 b"),
            ("ZREVRANGEBYSCORE z +inf -inf LIMIT 1 2", "*2 $1 d $1 c"),
            ("ZRANGEBYSCORE z -inf +inf LIMIT 1 -1", "*4 $1 b $1 c $1 d $1 e"),
            ("ZRANGEBYSCORE z -inf +inf LIMIT -1 2", "*0"),
            ("ZRANGEBYSCORE z -inf +inf LIMIT 1 0", "*0"),
            ("ZRANGEBYSCORE z -inf +inf LIMIT 9 1", "*0"),
            ("ZRANGEBYSCORE z -inf +inf LIMIT 0 1 LIMIT 1 1", "*1 $1 b"),
            ("ZRANGEBYSCORE z -inf +inf LIMIT 0", "-ERR syntax error"),
            ("ZRANGEBYSCORE z -inf +inf BYSCORE", "-ERR syntax error"),
            ("ZRANGE z 2 +inf BYSCORE LIMIT 1 2 WITHSCORES", "*4 $1 c $1 2 $1 d $1 3"),
            ("ZRANGE z 3 2 BYSCORE REV", "*3 $1 d $1 c $1 b"),
            ("ZRANGE z 2 3 REV BYSCORE", "*0"),
            ("ZRANGEBYSCORE z \"\" 1", "*1 $1 a"),
            ("ZRANGEBYSCORE z ( 1", "*1 $1 a"),
            ("ZRANGEBYSCORE z \" 1\" 1", "*1 $1 a"),
            ("ZRANGEBYSCORE z \"1 \" 1", "-ERR min or max is not a float"),
            ("ZRANGEBYSCORE z \"1\\x00 and more\" 1", "*1 $1 a"),
            ("ZRANGEBYSCORE z -1e400 1e400", "*5 $1 a $1 b $1 c $1 d $1 e"),
            ("ZRANGEBYSCORE z nan 1", "-ERR min or max is not a float"),
            ("ZRANGEBYSCORE z x 1", "-ERR min or max is not a float"),
            ("ZRANGEBYSCORE z ((1 1", "-ERR min or max is not a float"),
            ("ZRANGEBYSCORE z [1 1", "-ERR min or max is not a float"),
            ("ZCOUNT z (1 3", ":3"),
            ("ZCOUNT z x 3", "-ERR min or max is not a float"),
            ("ZCOUNT missing 1 3", ":0"),
            ("ZREMRANGEBYSCORE z (1 2", ":2"),
            ("ZREMRANGEBYSCORE z x 2", "-ERR min or max is not a float"),
            ("ZREMRANGEBYSCORE missing 1 2", ":0"),
            ("ZRANGE z 0 -1", "*3 $1 a $1 d $1 e"),
        ],
    );
}

#[test]
fn ranges_by_member_are_in_byte_order() {
    check(
        &mut Client::new(),
        &[
            ("ZADD z 0 a 0 b 0 c 0 ab 0 \"\"", ":5"),
            ("ZRANGEBYLEX z - +", "*5 $0  $1 a $2 ab $1 b $1 c"),
            ("ZRANGEBYLEX z [a (b", "*2 $1 a $2 ab"),
            ("ZRANGEBYLEX z (a [b", "*2 $2 ab $1 b"),
            ("ZRANGEBYLEX z [ [a", "*2 $0  $1 a"),
            ("ZRANGEBYLEX z ( [a", "*1 $1 a"),
            ("ZREVRANGEBYLEX z + (a", "*3 $1 c $1 b $2 ab"),
            ("ZREVRANGEBYLEX z [b [a LIMIT 1 1", "*1 $2 ab"),
            ("ZRANGEBYLEX z - + LIMIT -1 1", "*0"),
            ("ZRANGEBYLEX z - + LIMIT 3 -1", "*2 $1 b $1 c"),
            ("ZRANGEBYLEX z + -", "*0"),
            ("ZRANGEBYLEX z - -", "*0"),
            ("ZRANGEBYLEX z + +", "*0"),
            ("ZRANGEBYLEX z (a (a", "*0"),
            ("ZRANGEBYLEX z [a [a", "*1 $1 a"),
            ("ZRANGEBYLEX z a [b", "-ERR min or max not valid string range item"),
            ("ZRANGEBYLEX z [a \"\"", "-ERR min or max not valid string range item"),
            ("ZRANGEBYLEX z -x +", "-ERR min or max not valid string range item"),
            ("ZRANGEBYLEX z \"-\\x00x\" +", "*5 $0  $1 a $2 ab $1 b $1 c"),
            ("ZRANGEBYLEX z - + WITHSCORES", "-ERR syntax error, WITHSCORES not supported in combination with BYLEX"),
            ("ZRANGE z - + BYLEX LIMIT 1 2", "*2 $1 a $2 ab"),
            ("ZRANGE z + - BYLEX REV", "*5 $1 c $1 b $2 ab $1 a $0"),
            ("ZRANGE z - + BYLEX WITHSCORES", "-ERR syntax error, WITHSCORES not supported in combination with BYLEX"),
            ("ZRANGE z 0 1 BYLEX", "-ERR min or max not valid string range item"),
            ("ZLEXCOUNT z - +", ":5"),
            ("ZLEXCOUNT z (a [b", ":2"),
            ("ZLEXCOUNT z a b", "-ERR min or max not valid string range item"),
            ("ZLEXCOUNT missing - +", ":0"),
            ("ZREMRANGEBYLEX z [ab (c", ":2"),
            ("ZREMRANGEBYLEX z x (c", "-ERR min or max not valid string range item"),
            ("ZREMRANGEBYLEX missing - +", ":0"),
            ("ZRANGE z 0 -1", "*3 $0  $1 a $1 c"),
        ],
    );
}

#[test]
fn ranges_by_member_of_unequal_scores_are_those_of_the_small_encoding() {
    check(
        &mut Client::new(),
        &[
            ("ZADD z 1 b 2 a 3 d 4 c", ":4"),
            ("ZRANGEBYLEX z [b +", "*4 $1 b $1 a $1 d $1 c"),
            ("ZRANGEBYLEX z [b [c", "*2 $1 b $1 a"),
            ("ZRANGEBYLEX z [a [a", "*0"),
            ("ZRANGEBYLEX z [c +", "*2 $1 d $1 c"),
            ("ZRANGEBYLEX z - [b", "*2 $1 b $1 a"),
            ("ZREVRANGEBYLEX z [c -", "*4 $1 c $1 d $1 a $1 b"),
            ("ZREVRANGEBYLEX z [b -", "*2 $1 a $1 b"),
            ("ZRANGEBYLEX z - [b LIMIT 3 1", "*0"),
            ("ZLEXCOUNT z - [c", ":2"),
            ("ZREMRANGEBYLEX z [b [c", ":2"),
            ("ZRANGE z 0 -1", "*2 $1 d $1 c"),
        ],
    );
}

#[test]
fn a_range_is_stored_in_the_place_of_whatever_was_there() {
    check(
        &mut Client::new(),
        &[
            ("ZADD z 1 a 2 b 3 c 4 d", ":4"),
            ("SET to string EX 1000", "+OK"),
            ("ZRANGESTORE to z 1 2", ":2"),
            ("TTL to", ":-1"),
            ("ZRANGE to 0 -1 WITHSCORES", "*4 $1 b $1 2 $1 c $1 3"),
            ("ZRANGESTORE to z (1 +inf BYSCORE LIMIT 1 1", ":1"),
            ("ZRANGE to 0 -1 WITHSCORES", "*2 $1 c $1 3"),
            ("ZRANGESTORE to z 0 0 REV", ":1"),
            ("ZRANGE to 0 -1 WITHSCORES", "*2 $1 d $1 4"),
            ("ZRANGESTORE z z 1 -1", ":3"),
            ("ZRANGE z 0 -1", "*3 $1 b $1 c $1 d"),
            ("ZRANGESTORE to z 9 10", ":0"),
            ("EXISTS to", ":0"),
            ("ZRANGESTORE to missing 0 -1", ":0"),
            ("SET s string", "+OK"),
            ("ZRANGESTORE s missing 0 -1", ":0"),
            ("EXISTS s", ":0"),
            ("SET s string", "+OK"),
            ("ZRANGESTORE to s 0 -1", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZRANGESTORE to z 0 -1 WITHSCORES", "-ERR syntax error"),
            ("ZRANGESTORE to z 0 -1 LIMIT 0 1", "-ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"),
            ("ZRANGESTORE to z a b", "-ERR value is not an integer or out of range"),
            ("ZRANGESTORE to z 0", "-ERR wrong number of arguments for 'zrangestore' command"),
        ],
    );
}

#[test]
fn members_are_popped_from_both_ends() {
    check(
        &mut Client::new(),
        &[
            ("ZADD z 1 a 2 b 3 c 4 d 5 e 6 f", ":6"),
            ("ZPOPMIN z", "*2 $1 a $1 1"),
            ("ZPOPMAX z", "*2 $1 f $1 6"),
            ("ZPOPMIN z 2", "*4 $1 b $1 2 $1 c $1 3"),
            ("ZPOPMAX z 0", "*0"),
            ("ZPOPMIN z -1", "-ERR value is out of range, must be positive"),
            ("ZPOPMIN z x", "-ERR value is out of range, must be positive"),
            ("ZPOPMIN z 1 2", "-ERR syntax error"),
            ("ZPOPMIN z x 2", "-ERR syntax error"),
            ("ZPOPMAX z 9", "*4 $1 e $1 5 $1 d $1 4"),
            ("EXISTS z", ":0"),
            ("ZPOPMIN z", "*0"),
            ("ZPOPMIN z 1", "*0"),
            ("ZADD y 1 a 2 b 3 c", ":3"),
            ("ZMPOP 2 z y MIN", "*2 $1 y *1 *2 $1 a $1 1"),
            ("ZMPOP 2 z y max COUNT 9", "*2 $1 y *2 *2 $1 c $1 3 *2 $1 b $1 2"),
            ("ZMPOP 2 z y MIN", "*-1"),
            ("ZMPOP 0 z MIN", "-ERR numkeys should be greater than 0"),
            ("ZMPOP x z MIN", "-ERR numkeys should be greater than 0"),
            ("ZMPOP -1 z MIN", "-ERR numkeys should be greater than 0"),
            ("ZMPOP 1 z MID", "-ERR syntax error"),
            ("ZMPOP 2 z MIN", "-ERR syntax error"),
            ("ZMPOP 1 z MIN COUNT 0", "-ERR count should be greater than 0"),
            ("ZMPOP 1 z MIN COUNT x", "-ERR count should be greater than 0"),
            ("ZMPOP 1 z MIN COUNT", "-ERR syntax error"),
            ("ZMPOP 1 z MIN COUNT 1 COUNT 1", "-ERR syntax error"),
            ("ZMPOP 1 z MIN NOCOUNT 1", "-ERR syntax error"),
        ],
    );
}

#[test]
fn unions_intersections_and_differences_take_weights_and_aggregates() {
    check(
        &mut Client::new(),
        &[
            ("ZADD a 1 x 2 y 3 z", ":3"),
            ("ZADD b 10 y 20 z 30 w", ":3"),
            ("ZUNION 2 a b WITHSCORES", "*8 $1 x $1 1 $1 y $2 12 $1 z $2 23 $1 w $2 30"),
            ("ZINTER 2 a b WITHSCORES", "*4 $1 y $2 12 $1 z $2 23"),
            ("ZDIFF 2 a b WITHSCORES", "*2 $1 x $1 1"),
            ("ZDIFF 2 b a", "*1 $1 w"),
            ("ZUNION 2 a b WEIGHTS 2 -1 WITHSCORES", "*8 $1 w $3 -30 $1 z $3 -14 $1 y $2 -6 $1 x $1 2"),
            ("ZUNION 2 a b AGGREGATE MIN WITHSCORES", "*8 $1 x $1 1 $1 y $1 2 $1 z $1 3 $1 w $2 30"),
            ("ZINTER 2 a b WEIGHTS 2 3 AGGREGATE max WITHSCORES", "*4 $1 y $2 30 $1 z $2 60"),
            ("ZINTER 2 a missing", "*0"),
            ("ZUNION 2 a missing", "*3 $1 x $1 y $1 z"),
            ("ZDIFF 2 a missing", "*3 $1 x $1 y $1 z"),
            ("ZDIFF 2 missing a", "*0"),
            ("ZDIFF 3 a b a", "*0"),
            ("ZINTER 2 a a WITHSCORES", "*6 $1 x $1 2 $1 y $1 4 $1 z $1 6"),
            ("ZUNION 1 a WEIGHTS 1 WEIGHTS 2 WITHSCORES", "*6 $1 x $1 2 $1 y $1 4 $1 z $1 6"),
            ("ZINTERCARD 2 a b", ":2"),
            ("ZINTERCARD 2 a b LIMIT 1", ":1"),
            ("ZINTERCARD 2 a b LIMIT 0", ":2"),
            ("ZINTERCARD 2 a missing", ":0"),
            ("ZUNION 0 a", "-ERR at least 1 input key is needed for 'zunion' command"),
            ("ZDIFF -1 a", "-ERR at least 1 input key is needed for 'zdiff' command"),
            ("ZDIFFSTORE to 0 a", "-ERR at least 1 input key is needed for 'zdiffstore' command"),
            ("ZUNION x a", "-ERR value is not an integer or out of range"),
            ("ZINTERCARD 0 a", "-ERR at least 1 input key is needed for 'zintercard' command"),
            ("ZUNION 3 a b", "-ERR syntax error"),
            ("ZUNION 2 a b WEIGHTS 1", "-ERR syntax error"),
            ("ZUNION 2 a b WEIGHTS 1 x", "-ERR weight value is not a float"),
            ("ZUNION 1 a AGGREGATE", "-ERR syntax error"),
            ("ZUNION 1 a AGGREGATE AVG", "-ERR syntax error"),
            ("ZUNION 1 a WITHSCORE", "-ERR syntax error"),
            ("ZDIFF 1 a WEIGHTS 1", "-ERR syntax error"),
            ("ZDIFF 1 a AGGREGATE SUM", "-ERR syntax error"),
            ("ZINTERCARD 1 a LIMIT", "-ERR syntax error"),
            ("ZINTERCARD 1 a LIMIT -1", "-ERR LIMIT can't be negative"),
            ("ZINTERCARD 1 a LIMIT x", "-ERR LIMIT can't be negative"),
            ("ZINTERCARD 1 a WITHSCORES", "-ERR syntax error"),
            ("ZUNIONSTORE to 1 a WITHSCORES", "-ERR syntax error"),
        ],
    );
}

#[test]
fn infinities_that_cancel_out_count_as_nothing() {
    check(
        &mut Client::new(),
        &[
            ("ZADD a inf p -inf m", ":2"),
            ("ZADD b -inf p inf m", ":2"),
            ("ZUNION 2 a b WITHSCORES", "*4 $1 m $1 0 $1 p $1 0"),
            ("ZINTER 2 a b WITHSCORES", "*4 $1 m $1 0 $1 p $1 0"),
            ("ZINTER 2 a b AGGREGATE MIN WITHSCORES", "*4 $1 m $4 -inf $1 p $4 -inf"),
            ("ZUNION 1 a WEIGHTS 0 WITHSCORES", "*4 $1 m $1 0 $1 p $1 0"),
            ("ZINTER 1 a WEIGHTS 0 WITHSCORES", "*4 $1 m $1 0 $1 p $1 0"),
            ("ZINTER 2 a a WEIGHTS 0 0 AGGREGATE MAX WITHSCORES", "*4 $1 m $1 0 $1 p $1 0"),
        ],
    );
}

#[test]
fn results_are_stored_in_the_place_of_whatever_was_there() {
    check(
        &mut Client::new(),
        &[
            ("ZADD a 1 x 2 y", ":2"),
            ("ZADD b 10 y 20 z", ":2"),
            ("SET to string EX 1000", "+OK"),
            ("ZUNIONSTORE to 2 a b WEIGHTS 1 2", ":3"),
            ("TTL to", ":-1"),
            ("ZRANGE to 0 -1 WITHSCORES", "*6 $1 x $1 1 $1 y $2 22 $1 z $2 40"),
            ("ZINTERSTORE to 2 a b AGGREGATE MAX", ":1"),
            ("ZRANGE to 0 -1 WITHSCORES", "*2 $1 y $2 10"),
            ("ZDIFFSTORE to 2 a b", ":1"),
            ("ZRANGE to 0 -1 WITHSCORES", "*2 $1 x $1 1"),
            ("ZUNIONSTORE a 2 a b", ":3"),
            ("ZRANGE a 0 -1 WITHSCORES", "*6 $1 x $1 1 $1 y $2 12 $1 z $2 20"),
            ("ZINTERSTORE to 2 a missing", ":0"),
            ("EXISTS to", ":0"),
            ("ZDIFFSTORE a 2 a a", ":0"),
            ("EXISTS a", ":0"),
            ("SET s string", "+OK"),
            ("ZUNIONSTORE to 1 s", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZUNIONSTORE s 1 missing", ":0"),
            ("EXISTS s", ":0"),
        ],
    );
}

#[test]
fn another_type_is_refused_before_or_after_the_arguments_as_in_redis() {
    check(
        &mut Client::new(),
        &[
            ("SET s v", "+OK"),
            ("ZADD z 1 a", ":1"),
            ("ZADD s 1 a", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZADD s XX 1 a", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZADD s x a", "-ERR value is not a valid float"),
            ("ZINCRBY s x a", "-ERR value is not a valid float"),
            ("ZINCRBY s 1 a", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZCARD s", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZCOUNT s x 1", "-ERR min or max is not a float"),
            ("ZCOUNT s 0 1", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZLEXCOUNT s x +", "-ERR min or max not valid string range item"),
            ("ZLEXCOUNT s - +", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZSCORE s a", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZMSCORE s a", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZRANK s a", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZREVRANK s a", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZREM s a", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZRANGE s 0 x", "-ERR value is not an integer or out of range"),
            ("ZRANGE s 0 1", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZRANGE s 0 1 x", "-ERR syntax error"),
            ("ZRANGEBYSCORE s x 1", "-ERR min or max is not a float"),
            ("ZRANGEBYSCORE s 0 1", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZRANGEBYLEX s - +", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZREMRANGEBYRANK s 0 x", "-ERR value is not an integer or out of range"),
            ("ZREMRANGEBYRANK s 0 1", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZREMRANGEBYSCORE s 0 1", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZREMRANGEBYLEX s - +", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZPOPMIN s", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZPOPMIN s 0", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZPOPMIN s x", "-ERR value is out of range, must be positive"),
            ("ZMPOP 2 s z MIN", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZMPOP 2 z s MIN", "*2 $1 z *1 *2 $1 a $1 1"),
            ("ZMPOP 2 z s MIN COUNT 0", "-ERR count should be greater than 0"),
            ("ZRANDMEMBER s", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZRANDMEMBER s 0", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZRANDMEMBER s x", "-ERR value is not an integer or out of range"),
            ("ZRANDMEMBER s 1 y", "-ERR syntax error"),
            ("ZUNION 1 s x", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZUNION 2 missing s", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZDIFF 2 missing s", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZINTERCARD 2 missing s", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZSCAN s x", "-ERR invalid cursor"),
            ("ZSCAN s 0 y", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("HGET z a", "$-1"),
            ("GET z", "$-1"),
            ("GET s", "$1 v"),
        ],
    );
}

#[test]
fn random_members_come_in_the_shapes_of_redis() {
    check(
        &mut Client::new(),
        &[
            ("ZRANDMEMBER missing", "$-1"),
            ("ZRANDMEMBER missing 3", "*0"),
            ("ZRANDMEMBER missing -3 WITHSCORES", "*0"),
            ("ZADD z 1 a", ":1"),
            ("ZRANDMEMBER z", "$1 a"),
            ("ZRANDMEMBER z 0", "*0"),
            ("ZRANDMEMBER z 5", "*1 $1 a"),
            ("ZRANDMEMBER z 5 withscores", "*2 $1 a $1 1"),
            ("ZRANDMEMBER z -2", "*2 $1 a $1 a"),
            ("ZRANDMEMBER z -2 WITHSCORES", "*4 $1 a $1 1 $1 a $1 1"),
            ("ZRANDMEMBER z x", "-ERR value is not an integer or out of range"),
            ("ZRANDMEMBER z 1 x", "-ERR syntax error"),
            ("ZRANDMEMBER z 1 withscores x", "-ERR syntax error"),
            ("ZRANDMEMBER z 4611686018427387904 WITHSCORES", "-ERR value is out of range"),
            (
                "ZRANDMEMBER z -9223372036854775808",
                "-ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
            ),
        ],
    );
}

#[test]
fn zscan_takes_the_options_of_redis() {
    check(
        &mut Client::new(),
        &[
            ("ZADD z 3 a1 2 a2 1.5 b 4 \"\"", ":4"),
            ("ZSCAN z 0 MATCH a1 COUNT 100", "*2 $1 0 *2 $2 a1 $1 3"),
            ("ZSCAN z 0 MATCH nope MATCH b", "*2 $1 0 *2 $1 b $3 1.5"),
            ("ZSCAN missing 0", "*2 $1 0 *0"),
            ("ZSCAN missing 0 nonsense", "*2 $1 0 *0"),
            ("ZSCAN missing x", "-ERR invalid cursor"),
            ("ZSCAN z x", "-ERR invalid cursor"),
            ("ZSCAN z 0 MATCH", "-ERR syntax error"),
            ("ZSCAN z 0 COUNT 0", "-ERR syntax error"),
            ("ZSCAN z 0 COUNT x", "-ERR value is not an integer or out of range"),
            ("ZSCAN z 0 NOSCORES", "-ERR syntax error"),
        ],
    );
}

#[test]
fn resp3_has_pairs_and_doubles() {
    let mut client = Client::new();
    client.run("HELLO 3");
    check(
        &mut client,
        &[
            ("ZADD z 1 a 2.5 b inf c", ":3"),
            ("ZADD z INCR 1 a", ",2"),
            ("ZADD z NX INCR 1 a", "_"),
            ("ZINCRBY z 1 b", ",3.5"),
            ("ZSCORE z b", ",3.5"),
            ("ZSCORE z nope", "_"),
            ("ZMSCORE z a nope", "*2 ,2 _"),
            ("ZRANK z nope", "_"),
            ("ZRANGE z 0 -1", "*3 $1 a $1 b $1 c"),
            ("ZRANGE z 0 -1 WITHSCORES", "*3 *2 $1 a ,2 *2 $1 b ,3.5 *2 $1 c ,inf"),
            ("ZRANGEBYSCORE z 2 3 WITHSCORES", "*1 *2 $1 a ,2"),
            ("ZREVRANGE z 0 0 WITHSCORES", "*1 *2 $1 c ,inf"),
            ("ZUNION 1 z WITHSCORES", "*3 *2 $1 a ,2 *2 $1 b ,3.5 *2 $1 c ,inf"),
            ("ZDIFF 1 z WITHSCORES", "*3 *2 $1 a ,2 *2 $1 b ,3.5 *2 $1 c ,inf"),
            ("ZSCAN z 0 MATCH b", "*2 $1 0 *2 $1 b $3 3.5"),
            ("ZADD one 1.5 m", ":1"),
            ("ZRANDMEMBER one 1 WITHSCORES", "*1 *2 $1 m ,1.5"),
            ("ZRANDMEMBER one -2 WITHSCORES", "*2 *2 $1 m ,1.5 *2 $1 m ,1.5"),
            ("ZRANDMEMBER one", "$1 m"),
            ("ZRANDMEMBER missing", "_"),
            ("ZPOPMIN z", "*2 $1 a ,2"),
            ("ZPOPMIN z 1", "*1 *2 $1 b ,3.5"),
            ("ZPOPMIN missing 1", "*0"),
            ("ZPOPMIN missing", "*0"),
            ("ZMPOP 1 z MAX", "*2 $1 z *1 *2 $1 c ,inf"),
            ("ZMPOP 1 missing MAX", "_"),
        ],
    );
}

#[test]
fn an_encoding_depends_on_the_number_and_length_of_members() {
    check(
        &mut Client::new(),
        &[
            ("ZADD z 1 a", ":1"),
            ("OBJECT ENCODING z", "$8 listpack"),
            ("ZADD long 1 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", ":1"),
            ("OBJECT ENCODING long", "$8 listpack"),
            ("ZADD long 2 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", ":1"),
            ("OBJECT ENCODING long", "$8 skiplist"),
        ],
    );
}

#[test]
fn ranks_come_with_scores_since_redis_7_2() {
    let mut client = Client::new();
    check(
        &mut client,
        &[
            ("ZADD z 1 a 2.5 b", ":2"),
            ("ZRANK z b WITHSCORE", "*2 :1 $3 2.5"),
            ("ZREVRANK z b withscore", "*2 :0 $3 2.5"),
            ("ZRANK z nope WITHSCORE", "*-1"),
            ("ZRANK missing a WITHSCORE", "*-1"),
            ("ZRANK z a WITHSCORES", "-ERR syntax error"),
            ("ZRANK z a WITHSCORE x", "-ERR wrong number of arguments for 'zrank' command"),
            ("ZREVRANK z a WITHSCORE x", "-ERR wrong number of arguments for 'zrevrank' command"),
        ],
    );
    client.run("HELLO 3");
    check(&mut client, &[("ZRANK z b WITHSCORE", "*2 :1 ,2.5"), ("ZRANK z nope WITHSCORE", "_")]);
}

#[test]
fn scores_have_the_digits_that_they_need_and_zeros_keep_their_sign() {
    check(
        &mut Client::new(),
        &[
            ("ZADD z 0.1 a 3.0000000000000004 b 1e20 c 1.7976931348623157e308 d 5e-324 e -0 f 0x10 g", ":7"),
            ("ZMSCORE z a b c d e f g", "*7 $3 0.1 $18 3.0000000000000004 $5 1e+20 $23 1.7976931348623157e+308 $6 5e-324 $2 -0 $2 16"),
            ("ZADD z CH 0 f", ":0"),
            ("ZSCORE z f", "$2 -0"),
            ("ZRANGEBYSCORE z 0 0 WITHSCORES", "*2 $1 f $2 -0"),
            ("ZRANGEBYSCORE z (0 (0.1", "*1 $1 e"),
            ("ZRANGEBYSCORE z (-0 (0.1", "*1 $1 e"),
            ("ZADD z CH 1 f -0 f", ":2"),
            ("ZSCORE z f", "$2 -0"),
            ("ZINCRBY z 0.2 a", "$19 0.30000000000000004"),
        ],
    );
}

#[test]
fn an_expired_sorted_set_is_absent_and_its_successor_new() {
    let mut client = Client::new();
    check(&mut client, &[("ZADD z 1 a", ":1"), ("PEXPIRE z 100", ":1"), ("ZADD z 2 b", ":1"), ("PTTL z", ":100")]);
    client.wait_ms(101);
    check(
        &mut client,
        &[
            ("ZCARD z", ":0"),
            ("ZRANGE z 0 -1", "*0"),
            ("ZUNION 1 z", "*0"),
            ("ZADD z 3 c", ":1"),
            ("ZRANGE z 0 -1", "*1 $1 c"),
            ("PTTL z", ":-1"),
        ],
    );
}

#[test]
fn an_unchanged_score_writes_nothing() {
    let mut store = MemoryStore::new();
    let mut client = Client::on(&store);
    let mut revision_after = |command: &str| {
        client.run(command);
        store.revisions(&[lock_key(1, b"z")]).unwrap()
    };
    let mut before = revision_after("ZADD z 1 a 2 b");
    let unchanged =
        ["ZADD z 1 a", "ZADD z NX 5 a", "ZADD z GT 0 a", "ZADD z XX 1 c", "ZINCRBY z 0 a", "ZREM z c", "ZREMRANGEBYSCORE z 5 6"];
    for command in unchanged {
        assert_eq!(revision_after(command), before, "{command}");
    }
    for command in ["ZADD z 2 a", "ZINCRBY z 1 a", "ZADD z 1 c", "ZREM z c", "ZPOPMIN z", "ZRANGESTORE z z 0 -1", "ZREMRANGEBYRANK z 0 -1"]
    {
        let after = revision_after(command);
        assert_ne!(after, before, "{command}");
        before = after;
    }
}

#[test]
fn sets_are_sources_with_the_score_1() {
    let store = MemoryStore::new();
    let mut keeper = Keeper::over(store.clone(), store.clone());
    keeper.load(&keeper::line(0, "t", None, &keeper::set(2)));
    let mut client = Client::on(&store);
    check(
        &mut client,
        &[
            ("TYPE t", "+set"),
            ("ZADD z 5 m1 6 other", ":2"),
            ("ZUNION 2 t z WITHSCORES", "*6 $2 m0 $1 1 $2 m1 $1 6 $5 other $1 6"),
            ("ZINTER 2 t z WEIGHTS 10 1 WITHSCORES", "*2 $2 m1 $2 15"),
            ("ZDIFF 2 t z WITHSCORES", "*2 $2 m0 $1 1"),
            ("ZINTERCARD 2 t z", ":1"),
            ("ZUNIONSTORE t 1 t WEIGHTS 3", ":2"),
            ("ZRANGE t 0 -1 WITHSCORES", "*4 $2 m0 $1 3 $2 m1 $1 3"),
        ],
    );
    assert_eq!(keeper.check(1000), Vec::<String>::new());
}

#[test]
fn ranges_show_the_members_that_they_show_with_scores_whatever_these_look_like() {
    let mut random = HeldEnvironment::new(0, 5);
    let mut below = |limit: u64| random_below(&mut random as &mut dyn Environment, limit);
    for size in [1, 3, 40, 700, 2500] {
        let mut client = Client::new();
        for number in 0..size {
            // Every score record but that of the negative zero has an empty value; members are short, long, and both in turn.
            let score = ["-inf", "-7.5", "-0", "0", "3", "1e300", "inf"][usize::try_from(below(7)).unwrap()];
            let length = usize::try_from(if number / 150 % 2 == 0 { below(14) } else { below(30) }).unwrap();
            assert_eq!(client.run(&format!("ZADD z {score} {number:x}{}", "m".repeat(length))), ":1");
        }
        let mut shown = |range: &str| {
            let (alone, with_scores) = (client.run(range), client.run(&format!("{range} WITHSCORES")));
            let strings = |reply: &str| reply.split(' ').skip(2).step_by(2).map(str::to_owned).collect::<Vec<_>>();
            let expected: Vec<String> = strings(&with_scores).into_iter().step_by(2).collect();
            assert_eq!(alone.split(' ').next(), Some(format!("*{}", expected.len()).as_str()), "{range}");
            assert_eq!(strings(&alone), expected, "{size}: {range}");
            expected.len()
        };
        assert_eq!(shown("ZRANGE z 0 -1"), size);
        assert_eq!(shown("ZRANGEBYSCORE z -inf +inf"), size);
        for _ in 0..60 {
            let (offset, count) = (below(size as u64 + 2), below(size as u64 + 2));
            shown(&format!("ZRANGEBYSCORE z -8 3 LIMIT {offset} {count}"));
            shown(&format!("ZREVRANGEBYSCORE z +inf -0 LIMIT {offset} {count}"));
            shown(&format!("ZRANGE z {offset} {}", offset + count));
            shown(&format!("ZREVRANGE z {offset} {}", offset + count));
        }
    }
}
