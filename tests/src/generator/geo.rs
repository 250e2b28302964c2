//! Commands on places. The places are far from each other and near to each other, at the ends of the map, and some the same.

use super::words::Words;
use super::{Rules, args};
use crate::client::Args;

const MEMBERS: &[&str] = &["a", "b", "c", "d", "e", "f", "palermo", "catania", "", "1"];
const LONGITUDES: &[&str] = &["13.361389", "15.087269", "0", "-180", "180", "179.999999", "-122.4194", "151.2093", "15", "13.5", "1e-6"];
const LATITUDES: &[&str] =
    &["38.115556", "37.502669", "0", "-85.05112878", "85.05112878", "85", "37.7749", "-33.8688", "37", "38", "-1e-6"];
const NO_DEGREES: &[&str] = &["180.1", "-181", "85.06", "-90", "inf", "-inf", "nan", "", "x", "1e300", " 1"];
const LENGTHS: &[&str] = &["0", "1", "100", "200", "1000", "5000", "0.5", "7000", "20000", "1e6", "50000", "inf", "-0"];
const NO_LENGTHS: &[&str] = &["-1", "", "x", "nan", "1e400", "-inf"];

pub const RULES: Rules = &[
    (30, |w| {
        let command = args!["GEOADD", w.geo_key()];
        let command = w.optional(command, 1, |w| args![w.one(&["NX", "XX", "CH", "ch", "GT"])]);
        w.repeated(command, 6, |w| {
            let mut place = position(w);
            place.extend(args![member(w)]);
            place
        })
    }),
    (2, |w| args!["ZADD", w.geo_key(), w.one(&["-5", "1.5", "inf", "-inf", "1e300", "4503599627370496", "1e19", "0"]), member(w)]),
    (8, |w| {
        let command = args!["GEODIST", w.geo_key(), member(w), member(w)];
        if w.percent(50) { command } else { [command, args![unit(w)]].concat() }
    }),
    (5, |w| {
        let command = args![w.one(&["GEOHASH", "GEOPOS"]), w.geo_key()];
        w.optional(command, 4, |w| args![member(w)])
    }),
    (5, |w| args!["ZRANGE", w.geo_key(), "0", "-1", "WITHSCORES"]),
    (2, |w| args!["ZREM", w.geo_key(), member(w)]),
    (10, |w| {
        let mut command = args![w.one(&["GEORADIUS", "GEORADIUS_RO"]), w.geo_key()];
        command.extend(position(w));
        command.extend(args![length(w), unit(w)]);
        w.optional(command, 4, radius_option)
    }),
    (10, |w| {
        let command = args![w.one(&["GEORADIUSBYMEMBER", "GEORADIUSBYMEMBER_RO"]), w.geo_key(), member(w), length(w), unit(w)];
        w.optional(command, 4, radius_option)
    }),
    (20, |w| {
        let command = args!["GEOSEARCH", w.geo_key()];
        let command = search(w, command);
        w.optional(command, 4, option)
    }),
    (12, |w| {
        let command = args!["GEOSEARCHSTORE", w.geo_key(), w.geo_key()];
        let command = search(w, command);
        w.optional(command, 2, |w| if w.percent(40) { args!["STOREDIST"] } else { option(w) })
    }),
];

fn member(w: &mut Words) -> Vec<u8> {
    w.one(MEMBERS).into()
}

fn unit(w: &mut Words) -> Vec<u8> {
    w.one(&["m", "km", "km", "KM", "ft", "mi", "M", "yd"]).into()
}

fn length(w: &mut Words) -> Vec<u8> {
    if w.percent(5) { w.one(NO_LENGTHS).into() } else { w.one(LENGTHS).into() }
}

fn position(w: &mut Words) -> Args {
    let longitude = if w.percent(2) { w.one(NO_DEGREES) } else { w.one(LONGITUDES) };
    args![longitude, if w.percent(2) { w.one(NO_DEGREES) } else { w.one(LATITUDES) }]
}

/// A centre and a shape, mostly one of each.
fn search(w: &mut Words, command: Args) -> Args {
    let command = if w.percent(97) { centre(w, command) } else { command };
    let command = if w.percent(97) { shape(w, command) } else { command };
    match w.below(30) {
        0 => centre(w, command),
        1 => shape(w, command),
        _ => command,
    }
}

fn centre(w: &mut Words, mut command: Args) -> Args {
    if w.percent(50) {
        command.extend(args!["FROMMEMBER", member(w)]);
    } else {
        command.extend(args!["FROMLONLAT"]);
        command.extend(position(w));
    }
    command
}

fn shape(w: &mut Words, mut command: Args) -> Args {
    if w.percent(50) {
        command.extend(args!["BYRADIUS", length(w), unit(w)]);
    } else {
        command.extend(args!["BYBOX", length(w), length(w), unit(w)]);
    }
    command
}

fn option(w: &mut Words) -> Args {
    match w.below(10) {
        0..=4 => args![w.one(&["WITHDIST", "WITHCOORD", "WITHHASH", "withdist"])],
        5 | 6 => args![w.one(&["ASC", "DESC", "asc"])],
        7 => args!["COUNT", w.one(&["1", "2", "3", "100", "0", "-1", "x"]), "ANY"],
        8 => args!["COUNT", w.integer()],
        _ => args![w.one(&["ANY", "STORE", "STOREDIST", "BYRADIUS", "FROMLONLAT"])],
    }
}

fn radius_option(w: &mut Words) -> Args {
    if w.percent(25) { args![w.one(&["STORE", "STOREDIST", "store"]), w.geo_key()] } else { option(w) }
}
