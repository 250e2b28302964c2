//! GEOSEARCH, GEORADIUS and their kin.

use super::{metres, position, reply_distance, reply_position};
use crate::command::Context;
use crate::command::options::{integer, is_word, length};
use crate::error::{Error, Result, texts};
use crate::layout::KeyAt;
use crate::number::parse_double;
use crate::resp::reply::Reply;
use crate::types::geo::members::{self, Found};
use crate::types::geo::{Position, Search, Shape};
use crate::types::sorted_sets::{self, Member};
use bytes::Bytes;

const NO_SUCH_MEMBER: Error = Error::client("ERR could not decode requested zset member");
const NO_COUNT: Error = Error::client("ERR COUNT must be > 0");
const ANY_WITHOUT_COUNT: Error = Error::client("ERR the ANY argument requires COUNT argument");

/// Which of the commands it is, by what stands before the options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// GEORADIUS: `key longitude latitude radius unit`
    AroundPoint,
    /// GEORADIUSBYMEMBER: `key member radius unit`
    AroundMember,
    /// GEOSEARCH: `key`
    Search,
    /// GEOSEARCHSTORE: `destination key`
    SearchAndStore,
}

impl Form {
    /// Whether options say where to search.
    fn is_search(self) -> bool {
        matches!(self, Self::Search | Self::SearchAndStore)
    }
}

pub(super) fn georadius(context: &mut Context, reply: &mut Reply) -> Result<()> {
    run(context, reply, Form::AroundPoint, true)
}

pub(super) fn georadius_ro(context: &mut Context, reply: &mut Reply) -> Result<()> {
    run(context, reply, Form::AroundPoint, false)
}

pub(super) fn georadiusbymember(context: &mut Context, reply: &mut Reply) -> Result<()> {
    run(context, reply, Form::AroundMember, true)
}

pub(super) fn georadiusbymember_ro(context: &mut Context, reply: &mut Reply) -> Result<()> {
    run(context, reply, Form::AroundMember, false)
}

pub(super) fn geosearch(context: &mut Context, reply: &mut Reply) -> Result<()> {
    run(context, reply, Form::Search, false)
}

pub(super) fn geosearchstore(context: &mut Context, reply: &mut Reply) -> Result<()> {
    run(context, reply, Form::SearchAndStore, true)
}

fn run(context: &mut Context, reply: &mut Reply, form: Form, may_store: bool) -> Result<()> {
    let source = context.db.at(context.arg(if form == Form::SearchAndStore { 2 } else { 1 }))?;
    // A key of another type comes before wrong options.
    let exists = sorted_sets::len(&mut context.db, &source)? > 0;
    if !exists {
        context.db.notify_miss(&source);
    }
    let options = Options::parse(context, form, may_store, exists.then_some(&source))?;
    let found = match (options.centre.flatten(), options.shape) {
        (Some(centre), Some((shape, _))) if exists => options.search(context, &source, Search { centre, shape })?,
        _ => Vec::new(),
    };
    let Some((destination, scores)) = &options.destination else {
        options.answer(reply, &found);
        return Ok(());
    };
    let score = |found: &Found| if *scores == Scores::Distances { found.distance_m / options.unit_m() } else { found.score };
    let members: Vec<Member> = found.iter().map(|found| (found.member.clone(), score(found))).collect();
    let destination = context.db.at(destination)?;
    let event = if form == Form::SearchAndStore { "geosearchstore" } else { "georadiusstore" };
    sorted_sets::replace(&mut context.db, &destination, &members, event)?;
    reply.integer(length(members.len()));
    Ok(())
}

/// Which scores stored members get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scores {
    /// Those that they have.
    Own,
    /// Their distances from the centre, in the unit of the search.
    Distances,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    NearestFirst,
    FarthestFirst,
}

/// What the arguments say.
#[derive(Debug, Default)]
struct Options {
    /// The middle of the search; known to be a member, but not where that is, without a sorted set.
    centre: Option<Option<Position>>,
    /// The centre is a member.
    is_from_member: bool,
    /// What to cover around it, and how many metres its unit has.
    shape: Option<(Shape, f64)>,
    order: Option<Order>,
    count: Option<u64>,
    any: bool,
    with_distance: bool,
    with_score: bool,
    with_position: bool,
    destination: Option<(Bytes, Scores)>,
}

impl Options {
    /// Reads the arguments in the order in which Redis refuses them. `source`: the sorted set to search, where there is one.
    fn parse(context: &mut Context, form: Form, may_store: bool, source: Option<&KeyAt>) -> Result<Self> {
        let mut options = Self::default();
        let arguments = context.args.get(1..).unwrap_or_default();
        let mut rest = match (form, arguments) {
            (Form::AroundPoint, [_, longitude, latitude, radius, unit, rest @ ..]) => {
                options.centre = Some(Some(position(longitude, latitude)?));
                options.shape = Some(circle(radius, unit)?);
                rest
            }
            (Form::AroundMember, [_, member, radius, unit, rest @ ..]) => {
                // Without a sorted set nobody looks at these.
                if source.is_some() {
                    options.centre = Some(locate(context, source, member)?);
                    options.shape = Some(circle(radius, unit)?);
                }
                rest
            }
            (Form::Search, [_, rest @ ..]) => rest,
            (Form::SearchAndStore, [destination, _, rest @ ..]) => {
                options.destination = Some((destination.clone(), Scores::Own));
                rest
            }
            _ => return Err(texts::SYNTAX),
        };
        while let Some((word, behind)) = rest.split_first() {
            rest = match behind {
                _ if options.take_flag(word) => behind,
                [count, behind @ ..] if is_word(word, "count") => {
                    let count = u64::try_from(integer(count)?).ok().filter(|&count| count > 0);
                    options.count = Some(count.ok_or(NO_COUNT)?);
                    behind
                }
                _ if form.is_search() => options.take_search(context, form, source, word, behind)?,
                [key, behind @ ..] if may_store && is_word(word, "store") => {
                    options.destination = Some((key.clone(), Scores::Own));
                    behind
                }
                [key, behind @ ..] if may_store && is_word(word, "storedist") => {
                    options.destination = Some((key.clone(), Scores::Distances));
                    behind
                }
                _ => return Err(texts::SYNTAX),
            };
        }
        options.check(form, context.arg(0))?;
        Ok(options)
    }

    /// Takes a word that stands alone; false where it is none.
    fn take_flag(&mut self, word: &Bytes) -> bool {
        match word {
            word if is_word(word, "withdist") => self.with_distance = true,
            word if is_word(word, "withhash") => self.with_score = true,
            word if is_word(word, "withcoord") => self.with_position = true,
            word if is_word(word, "any") => self.any = true,
            word if is_word(word, "asc") => self.order = Some(Order::NearestFirst),
            word if is_word(word, "desc") => self.order = Some(Order::FarthestFirst),
            _ => return false,
        }
        true
    }

    /// Takes an option that only GEOSEARCH and GEOSEARCHSTORE have, and returns what is behind its arguments.
    fn take_search<'a>(
        &mut self,
        context: &mut Context,
        form: Form,
        source: Option<&KeyAt>,
        word: &Bytes,
        behind: &'a [Bytes],
    ) -> Result<&'a [Bytes]> {
        let is_from_point = self.centre.is_some() && !self.is_from_member;
        let is_box = matches!(self.shape, Some((Shape::Box { .. }, _)));
        let is_circle = matches!(self.shape, Some((Shape::Circle { .. }, _)));
        match behind {
            rest if form == Form::SearchAndStore && is_word(word, "storedist") => {
                self.destination = self.destination.take().map(|(key, _)| (key, Scores::Distances));
                Ok(rest)
            }
            [member, rest @ ..] if is_word(word, "frommember") && !is_from_point => {
                (self.centre, self.is_from_member) = (Some(locate(context, source, member)?), true);
                Ok(rest)
            }
            [longitude, latitude, rest @ ..] if is_word(word, "fromlonlat") && !self.is_from_member => {
                self.centre = Some(Some(position(longitude, latitude)?));
                Ok(rest)
            }
            [radius, unit, rest @ ..] if is_word(word, "byradius") && !is_box => {
                self.shape = Some(circle(radius, unit)?);
                Ok(rest)
            }
            [width, height, unit, rest @ ..] if is_word(word, "bybox") && !is_circle => {
                self.shape = Some(rectangle(width, height, unit)?);
                Ok(rest)
            }
            _ => Err(texts::SYNTAX),
        }
    }

    /// What must, and what must not come together.
    fn check(&self, form: Form, name: &Bytes) -> Result<()> {
        let error = |text: &str| Err(Error::Client(format!("ERR {text}").into()));
        if self.destination.is_some() && (self.with_distance || self.with_score || self.with_position) {
            let what = if form == Form::SearchAndStore { "GEOSEARCHSTORE" } else { "STORE option in GEORADIUS" };
            return error(&format!("{what} is not compatible with WITHDIST, WITHHASH and WITHCOORD options"));
        }
        let name = String::from_utf8_lossy(name);
        if form.is_search() && self.centre.is_none() {
            return error(&format!("exactly one of FROMMEMBER or FROMLONLAT can be specified for {name}"));
        }
        if form.is_search() && self.shape.is_none() {
            return error(&format!("exactly one of BYRADIUS and BYBOX can be specified for {name}"));
        }
        if self.any && self.count.is_none() { Err(ANY_WITHOUT_COUNT) } else { Ok(()) }
    }

    /// Searches: the nearest where a count is given without an order, unless any will do.
    fn search(&self, context: &mut Context, source: &KeyAt, search: Search) -> Result<Vec<Found>> {
        let count = self.count.unwrap_or(u64::MAX);
        let mut found = members::search(&mut context.db, source, &search, if self.any { count } else { u64::MAX })?;
        let nearest_by_default = (self.count.is_some() && !self.any).then_some(Order::NearestFirst);
        match self.order.or(nearest_by_default) {
            Some(Order::NearestFirst) => found.sort_by(|left, right| left.distance_m.total_cmp(&right.distance_m)),
            Some(Order::FarthestFirst) => found.sort_by(|left, right| right.distance_m.total_cmp(&left.distance_m)),
            None => {}
        }
        found.truncate(usize::try_from(count).unwrap_or(usize::MAX));
        Ok(found)
    }

    fn answer(&self, reply: &mut Reply, found: &[Found]) {
        let details = [self.with_distance, self.with_score, self.with_position].into_iter().filter(|with| *with).count();
        reply.array(found.len());
        for found in found {
            if details > 0 {
                reply.array(1 + details);
            }
            reply.bulk(&found.member);
            if self.with_distance {
                reply_distance(reply, found.distance_m / self.unit_m());
            }
            if self.with_score {
                reply.integer(members::bits(found.score).cast_signed());
            }
            if self.with_position {
                reply_position(reply, found.position);
            }
        }
    }

    /// How many metres the unit of the answer has.
    fn unit_m(&self) -> f64 {
        self.shape.map_or(1.0, |(_, unit_m)| unit_m)
    }
}

/// The position of a member; `None` without a sorted set.
fn locate(context: &mut Context, source: Option<&KeyAt>, member: &Bytes) -> Result<Option<Position>> {
    let Some(source) = source else { return Ok(None) };
    let positions = members::positions(&mut context.db, source, std::slice::from_ref(member))?;
    positions.into_iter().flatten().next().map(Some).ok_or(NO_SUCH_MEMBER)
}

fn circle(radius: &[u8], unit: &[u8]) -> Result<(Shape, f64)> {
    let radius = parse_double(radius).ok_or(Error::client("ERR need numeric radius"))?;
    if radius < 0.0 {
        return Err(Error::client("ERR radius cannot be negative"));
    }
    let unit_m = metres(unit)?;
    Ok((Shape::Circle { radius_m: radius * unit_m }, unit_m))
}

fn rectangle(width: &[u8], height: &[u8], unit: &[u8]) -> Result<(Shape, f64)> {
    let width = parse_double(width).ok_or(Error::client("ERR need numeric width"))?;
    let height = parse_double(height).ok_or(Error::client("ERR need numeric height"))?;
    if height < 0.0 || width < 0.0 {
        return Err(Error::client("ERR height or width cannot be negative"));
    }
    let unit_m = metres(unit)?;
    Ok((Shape::Box { width_m: width * unit_m, height_m: height * unit_m }, unit_m))
}
