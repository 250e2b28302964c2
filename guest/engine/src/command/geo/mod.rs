//! Commands on places: <https://redis.io/docs/latest/commands/?group=geo>

mod members;
mod search;

use super::flags::Flags;
use super::keyspec::KeySpec;
use super::{Command, Group};
use crate::error::{Error, Result, texts};
use crate::number::parse_double;
use crate::resp::reply::Reply;
use crate::types::geo::Position;

const READ: Flags = Flags::READONLY;
const WRITE: Flags = Flags::WRITE.and(Flags::DENYOOM);
const MAY_STORE: Flags = WRITE.and(Flags::MOVABLEKEYS);
const STORE_WORDS: &[&str] = &["store", "storedist"];

/// The rows of this group.
pub const COMMANDS: &[Command] = &[
    Group::Geo.row("geoadd", -5, WRITE, "3.2.0", "Adds places, or moves them.", members::geoadd),
    Group::Geo.row("geodist", -4, READ, "3.2.0", "Returns the distance between two places.", members::geodist),
    Group::Geo.row("geohash", -2, READ, "3.2.0", "Returns the geohashes of places.", members::geohash),
    Group::Geo.row("geopos", -2, READ, "3.2.0", "Returns the longitudes and latitudes of places.", members::geopos),
    Group::Geo
        .row("georadius", -6, MAY_STORE, "3.2.0", "Returns or stores the places around a point.", search::georadius)
        .with_keys(KeySpec::Stored { from: 6, words: STORE_WORDS, others: &[] }),
    Group::Geo.row("georadius_ro", -6, READ, "3.2.10", "Returns the places around a point.", search::georadius_ro),
    Group::Geo
        .row("georadiusbymember", -5, MAY_STORE, "3.2.0", "Returns or stores the places around one of them.", search::georadiusbymember)
        .with_keys(KeySpec::Stored { from: 5, words: STORE_WORDS, others: &[] }),
    Group::Geo.row("georadiusbymember_ro", -5, READ, "3.2.10", "Returns the places around one of them.", search::georadiusbymember_ro),
    Group::Geo.row("geosearch", -7, READ, "6.2.0", "Returns the places within a circle or a box.", search::geosearch),
    Group::Geo
        .row("geosearchstore", -8, WRITE, "6.2.0", "Stores the places within a circle or a box.", search::geosearchstore)
        .with_keys(KeySpec::Range { first: 1, last: 2, step: 1 }),
];

/// A longitude and a latitude.
///
/// # Errors
/// `ERR value is not a valid float`; Redis' error for what is beyond the projection.
fn position(longitude: &[u8], latitude: &[u8]) -> Result<Position> {
    let number = |argument: &[u8]| parse_double(argument).ok_or(texts::NOT_A_FLOAT);
    let position = Position { longitude: number(longitude)?, latitude: number(latitude)? };
    if position.is_valid() {
        return Ok(position);
    }
    let Position { longitude, latitude } = position;
    Err(Error::Client(format!("ERR invalid longitude,latitude pair {longitude:.6},{latitude:.6}").into()))
}

/// How many metres a unit has.
///
/// # Errors
/// Redis' error for unknown units.
fn metres(unit: &[u8]) -> Result<f64> {
    let units: [(&[u8], f64); 4] = [(b"m", 1.0), (b"km", 1000.0), (b"ft", 0.3048), (b"mi", 1609.34)];
    let found = units.into_iter().find(|(name, _)| unit.eq_ignore_ascii_case(name));
    found.map(|(_, metres)| metres).ok_or(Error::client("ERR unsupported unit provided. please use M, KM, FT, MI"))
}

/// Appends a longitude and a latitude, with 17 decimals at most.
fn reply_position(reply: &mut Reply, position: Position) {
    reply.array(2);
    for degrees in [position.longitude, position.latitude] {
        let text = format!("{degrees:.17}");
        reply.double_text(text.trim_end_matches('0').trim_end_matches('.'));
    }
}

/// Appends a distance with 4 decimals: a text in RESP3 too.
fn reply_distance(reply: &mut Reply, distance: f64) {
    reply.text(&format!("{distance:.4}"));
}
