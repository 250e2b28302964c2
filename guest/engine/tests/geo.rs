//! Commands on places, from bytes in to bytes out. The expected replies are those of redis-server.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use common::Client;

const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
const SYNTAX: &str = "-ERR syntax error";
const NO_UNIT: &str = "-ERR unsupported unit provided. please use M, KM, FT, MI";
const NO_MEMBER: &str = "-ERR could not decode requested zset member";

/// Runs commands one after the other and compares each reply.
fn check(client: &mut Client, steps: &[(&str, &str)]) {
    for (number, (command, reply)) in steps.iter().enumerate() {
        assert_eq!(client.run(command), *reply, "step {number}: {command}");
    }
}

/// A client of an engine that knows two places in Sicily.
fn sicily() -> Client {
    let mut client = Client::new();
    check(&mut client, &[("GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania", ":2"), ("SET text x", "+OK")]);
    client
}

#[test]
fn places_are_members_of_a_sorted_set() {
    check(
        &mut sicily(),
        &[
            ("ZSCORE g Palermo", "$16 3479099956230698"),
            ("GEOADD g CH 13 38 Palermo 15 37 Enna", ":2"),
            ("GEOADD g NX 1 1 Palermo", ":0"),
            ("GEOADD g xx ch 1 1 Palermo 2 2 new", ":1"),
            ("GEOADD g NX XX 1 1 Palermo", SYNTAX),
            ("GEOADD g CH 1 1", SYNTAX),
            ("GEOADD g NX NX NX", SYNTAX),
            ("GEOADD g 200 1 a", "-ERR invalid longitude,latitude pair 200.000000,1.000000"),
            ("GEOADD g 1 86 a", "-ERR invalid longitude,latitude pair 1.000000,86.000000"),
            ("GEOADD g inf 1 a", "-ERR invalid longitude,latitude pair inf,1.000000"),
            ("GEOADD g x 1 a", "-ERR value is not a valid float"),
            ("GEOADD text x 1 a", "-ERR value is not a valid float"),
            ("GEOADD text 1 1 a", WRONG_TYPE),
            ("ZCARD g", ":3"),
        ],
    );
}

#[test]
fn positions_geohashes_and_distances_are_shown() {
    check(
        &mut sicily(),
        &[
            ("GEOPOS g Palermo x", "*2 *2 $20 13.36138933897018433 $20 38.11555639549629859 *-1"),
            ("GEOPOS missing x y", "*2 *-1 *-1"),
            ("GEOPOS g", "*0"),
            ("GEOPOS text x", WRONG_TYPE),
            ("GEOHASH g Palermo x", "*2 $11 sqc8b49rny0 $-1"),
            ("GEOHASH missing x", "*1 $-1"),
            ("GEODIST g Palermo Catania", "$11 166274.1516"),
            ("GEODIST g Palermo Catania Mi", "$8 103.3182"),
            ("GEODIST g Palermo Palermo", "$6 0.0000"),
            ("GEODIST g Palermo x", "$-1"),
            ("GEODIST missing a b", "$-1"),
            ("GEODIST missing a b yd", NO_UNIT),
            ("GEODIST g Palermo Catania km m", SYNTAX),
            ("GEODIST text a b yd", NO_UNIT),
            ("GEODIST text a b", WRONG_TYPE),
        ],
    );
}

#[test]
fn scores_of_any_kind_have_a_position() {
    let mut client = Client::new();
    client.run("ZADD g -5 negative inf infinite 1e300 huge 1.5 fraction");
    let far = "*2 $22 -179.99999731779098511";
    let positions = format!(
        "*4 *2 $3 180 $19 85.0511287799999991 {far} $21 -85.05112751263942528 {far} $21 -85.05112751263942528 {far} $21 -85.05112497791824921"
    );
    assert_eq!(client.run("GEOPOS g negative infinite huge fraction"), positions);
}

#[test]
fn protocol_3_has_doubles_for_positions_and_texts_for_distances() {
    let mut client = sicily();
    client.run("HELLO 3");
    check(
        &mut client,
        &[
            ("GEOPOS g Palermo x", "*2 *2 ,13.36138933897018433 ,38.11555639549629859 _"),
            ("GEODIST g Palermo Catania", "$11 166274.1516"),
            ("GEODIST g Palermo x", "_"),
            (
                "GEOSEARCH g FROMMEMBER Palermo BYRADIUS 1 m WITHCOORD WITHDIST WITHHASH",
                "*1 *4 $7 Palermo $6 0.0000 :3479099956230698 *2 ,13.36138933897018433 ,38.11555639549629859",
            ),
        ],
    );
}

#[test]
fn what_is_near_is_found_in_order() {
    check(
        &mut sicily(),
        &[
            ("GEORADIUS g 15 37 200 km", "*2 $7 Palermo $7 Catania"),
            ("GEORADIUS_RO g 15 37 200 km ASC", "*2 $7 Catania $7 Palermo"),
            ("GEORADIUS g 15 37 200 km COUNT 1", "*1 $7 Catania"),
            ("GEORADIUS g 15 37 200 km COUNT 1 ANY", "*1 $7 Palermo"),
            ("GEORADIUS g 15 37 200 km COUNT 1 DESC WITHDIST", "*1 *2 $7 Palermo $8 190.4424"),
            ("GEORADIUSBYMEMBER g Palermo 100 km", "*1 $7 Palermo"),
            ("GEOSEARCH g FROMLONLAT 15 37 BYBOX 400 400 km ASC", "*2 $7 Catania $7 Palermo"),
            ("GEOSEARCH g FROMLONLAT 15 37 BYBOX 100 400 km", "*1 $7 Catania"),
            ("GEOSEARCH g BYRADIUS 200 km FROMMEMBER Catania DESC", "*2 $7 Palermo $7 Catania"),
            ("GEOSEARCH missing FROMMEMBER x BYRADIUS 1 m", "*0"),
            ("GEORADIUSBYMEMBER missing x y z", "*0"),
        ],
    );
}

#[test]
fn results_are_stored_with_their_scores_or_distances() {
    check(
        &mut sicily(),
        &[
            ("SET d x EX 1000", "+OK"),
            ("GEOSEARCHSTORE d g FROMLONLAT 15 37 BYRADIUS 100 km", ":1"),
            ("ZRANGE d 0 -1 WITHSCORES", "*2 $7 Catania $16 3479447370796909"),
            ("TTL d", ":-1"),
            ("GEOSEARCHSTORE d g FROMMEMBER Palermo BYRADIUS 100 km STOREDIST", ":1"),
            ("ZRANGE d 0 -1 WITHSCORES", "*2 $7 Palermo $1 0"),
            ("GEORADIUS g 15 37 200 km STORE d STOREDIST e", ":2"),
            ("ZRANGE e 0 -1", "*2 $7 Catania $7 Palermo"),
            ("ZCARD d", ":1"),
            ("GEORADIUS g 0 0 1 m STORE d", ":0"),
            ("EXISTS d", ":0"),
            ("GEOSEARCHSTORE e missing FROMMEMBER x BYRADIUS 1 m", ":0"),
            ("EXISTS e", ":0"),
            ("GEOSEARCHSTORE g g FROMMEMBER Palermo BYRADIUS 1 m", ":1"),
            ("ZCARD g", ":1"),
        ],
    );
}

#[test]
fn wrong_searches_are_refused_in_the_order_of_redis() {
    let store = "-ERR STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and WITHCOORD options";
    check(
        &mut sicily(),
        &[
            ("GEORADIUS text x 37 1 m", WRONG_TYPE),
            ("GEORADIUS missing 15 37 x yd", "-ERR need numeric radius"),
            ("GEORADIUS g 15 37 -1 yd", "-ERR radius cannot be negative"),
            ("GEORADIUS g 15 37 1 yd", NO_UNIT),
            ("GEORADIUS g 15 37 1 m STORE", SYNTAX),
            ("GEORADIUS g 15 37 1 m STORE d WITHDIST", store),
            ("GEORADIUS_RO g 15 37 1 m STORE d", SYNTAX),
            ("GEORADIUS g 15 37 1 m COUNT 0", "-ERR COUNT must be > 0"),
            ("GEORADIUS g 15 37 1 m COUNT x", "-ERR value is not an integer or out of range"),
            ("GEORADIUS g 15 37 1 m ANY", "-ERR the ANY argument requires COUNT argument"),
            ("GEORADIUSBYMEMBER g x y z", NO_MEMBER),
            ("GEOSEARCH g FROMMEMBER x BYRADIUS y m", NO_MEMBER),
            ("GEOSEARCH g FROMMEMBER Palermo FROMLONLAT 1 1 BYRADIUS 1 m", SYNTAX),
            ("GEOSEARCH g FROMLONLAT 1 1 BYRADIUS 1 m BYBOX 1 1 m", SYNTAX),
            ("GEOSEARCH g FROMLONLAT 1 1 BYBOX x 1 m", "-ERR need numeric width"),
            ("GEOSEARCH g FROMLONLAT 1 1 BYBOX 1 x m", "-ERR need numeric height"),
            ("GEOSEARCH g FROMLONLAT 1 1 BYBOX 1 -1 yd", "-ERR height or width cannot be negative"),
            ("GeoSearch g BYRADIUS 1 m ASC ASC", "-ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for GeoSearch"),
            ("GEOSEARCH missing FROMMEMBER x ASC ASC DESC", "-ERR exactly one of BYRADIUS and BYBOX can be specified for GEOSEARCH"),
            ("GEOSEARCH g FROMLONLAT 1 1 BYRADIUS 1 m STOREDIST", SYNTAX),
            (
                "GEOSEARCHSTORE d g FROMLONLAT 1 1 WITHDIST ASC",
                "-ERR GEOSEARCHSTORE is not compatible with WITHDIST, WITHHASH and WITHCOORD options",
            ),
        ],
    );
}
