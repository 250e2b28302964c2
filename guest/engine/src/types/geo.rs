//! Places on Earth as the scores of a sorted set ([GEOADD](https://redis.io/docs/latest/commands/geoadd/)): numbers of 52 bits, in which
//! bits of the longitude and of the latitude alternate, so that most of what is near in one order is near on Earth.
//!
//! Pure calculation (what touches data is in [`members`]), in the operations and the order of Redis (`src/geohash.c`, `src/geohash_helper.c`), so that scores are equal
//! and results without a sort come in the same order. Lengths are in metres, angles in degrees.

pub mod members;

use std::ops::Range;

/// Bits of each of the two numbers in a score.
const MAX_STEP: u32 = 26;
/// Bits of a score.
const SCORE_BITS: u32 = 2 * MAX_STEP;
const EARTH_RADIUS_M: f64 = 6_372_797.560_856;
/// Half of the equator, as the projection has it.
const HALF_EQUATOR_M: f64 = 20_037_726.37;
const LONGITUDES: Bounds = Bounds { min: -180.0, max: 180.0 };
/// Web Mercator ends here (EPSG:3857).
const LATITUDES: Bounds = Bounds { min: -85.051_128_78, max: 85.051_128_78 };
/// Those of the geohash in letters, which knows no projection.
const ALL_LATITUDES: Bounds = Bounds { min: -90.0, max: 90.0 };
/// The digits of <https://en.wikipedia.org/wiki/Geohash>.
const DIGITS: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";

/// A point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position {
    /// -180 to 180.
    pub longitude: f64,
    /// -85.05112878 to 85.05112878.
    pub latitude: f64,
}

impl Position {
    /// Whether it has a score: beyond these latitudes there is none.
    #[must_use]
    pub fn is_valid(self) -> bool {
        (LONGITUDES.min..=LONGITUDES.max).contains(&self.longitude) && (LATITUDES.min..=LATITUDES.max).contains(&self.latitude)
    }

    /// The score of a valid position.
    #[must_use]
    pub fn score(self) -> u64 {
        Cell::around(self, LATITUDES, MAX_STEP).bits()
    }

    /// The middle of what has this score.
    #[must_use]
    pub fn of_score(score: u64) -> Self {
        let (longitudes, latitudes) = Cell::of_bits(score, MAX_STEP).bounds();
        Self {
            longitude: ((longitudes.min + longitudes.max) / 2.0).clamp(LONGITUDES.min, LONGITUDES.max),
            latitude: ((latitudes.min + latitudes.max) / 2.0).clamp(LATITUDES.min, LATITUDES.max),
        }
    }

    /// The geohash in eleven letters, of which the last is always `0`: a score has no more bits
    /// ([GEOHASH](https://redis.io/docs/latest/commands/geohash/)).
    #[must_use]
    pub fn geohash(self) -> String {
        let bits = Cell::around(self, ALL_LATITUDES, MAX_STEP).bits();
        let digit = |number: u32| {
            let index = usize::try_from(bits >> (SCORE_BITS - 5 * number) & 0x1f).unwrap_or_default();
            char::from(DIGITS.get(index).copied().unwrap_or(b'0'))
        };
        (1..=10).map(digit).chain(['0']).collect()
    }

    /// The way to another point along the surface, in metres, by the haversine formula.
    #[must_use]
    pub fn distance_m(self, other: Self) -> f64 {
        let v = ((other.longitude.to_radians() - self.longitude.to_radians()) / 2.0).sin();
        if v == 0.0 {
            return self.north_south_m(other);
        }
        let (latitude, other_latitude) = (self.latitude.to_radians(), other.latitude.to_radians());
        let u = ((other_latitude - latitude) / 2.0).sin();
        let a = u * u + latitude.cos() * other_latitude.cos() * v * v;
        2.0 * EARTH_RADIUS_M * a.sqrt().asin()
    }

    /// The part of the way that changes the latitude, in metres.
    fn north_south_m(self, other: Self) -> f64 {
        EARTH_RADIUS_M * (other.latitude.to_radians() - self.latitude.to_radians()).abs()
    }
}

/// What a search covers, around its centre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Everything up to a distance (`BYRADIUS`).
    Circle {
        /// In metres, not negative.
        radius_m: f64,
    },
    /// Up to half of the width to the east and west, half of the height to the north and south (`BYBOX`).
    Box {
        /// In metres, not negative.
        width_m: f64,
        /// In metres, not negative.
        height_m: f64,
    },
}

/// Where to search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// The middle.
    pub centre: Position,
    /// What is covered around it.
    pub shape: Shape,
}

impl Search {
    /// The distance of a point from the centre in metres; `None` where it is outside.
    #[must_use]
    pub fn distance_m(&self, point: Position) -> Option<f64> {
        let distance = self.centre.distance_m(point);
        let is_inside = match self.shape {
            Shape::Circle { radius_m } => distance <= radius_m,
            Shape::Box { width_m, height_m } => {
                let across = Position { longitude: self.centre.longitude, ..point };
                self.centre.north_south_m(point) <= height_m / 2.0 && point.distance_m(across) <= width_m / 2.0
            }
        };
        is_inside.then_some(distance)
    }

    /// The ranges of scores in which everything is that the search covers, and more: nine at most, in the order in which Redis goes
    /// through them.
    #[must_use]
    pub fn score_ranges(&self) -> Vec<Range<u64>> {
        let mut cells: Vec<Cell> = Vec::new();
        for cell in self.cells().into_iter().flatten() {
            // Neighbours are the same where the cells are large. Redis compares with the one before, but never with the middle one.
            if cells.len() < 2 || cells.last() != Some(&cell) {
                cells.push(cell);
            }
        }
        cells.into_iter().map(Cell::scores).collect()
    }

    /// The middle cell and its neighbours that matter: north, south, east, west, north-east, north-west, south-east, south-west.
    fn cells(&self) -> [Option<Cell>; 9] {
        let (longitudes, latitudes) = self.bounding_box();
        let mut middle = Cell::around(self.centre, LATITUDES, self.step());
        let is_covered = |middle: Cell| {
            let ((_, north), (_, south)) = (middle.neighbour(0, 1).bounds(), middle.neighbour(0, -1).bounds());
            let ((east, _), (west, _)) = (middle.neighbour(1, 0).bounds(), middle.neighbour(-1, 0).bounds());
            let in_latitude = north.max >= latitudes.max && south.min <= latitudes.min;
            in_latitude && east.max >= longitudes.max && west.min <= longitudes.min
        };
        // Near the edge of a cell, its neighbour may end too soon.
        if middle.step > 1 && !is_covered(middle) {
            middle = Cell::around(self.centre, LATITUDES, middle.step - 1);
        }
        let (middle_longitudes, middle_latitudes) = middle.bounds();
        let may_leave_out = middle.step >= 2;
        let is_useless = |east: i8, north: i8| {
            let in_latitude = north < 0 && middle_latitudes.min < latitudes.min || north > 0 && middle_latitudes.max > latitudes.max;
            let in_longitude = east < 0 && middle_longitudes.min < longitudes.min || east > 0 && middle_longitudes.max > longitudes.max;
            may_leave_out && (in_latitude || in_longitude)
        };
        [(0, 0), (0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1)]
            .map(|(east, north)| (!is_useless(east, north)).then(|| middle.neighbour(east, north)))
    }

    /// The longitudes and latitudes that the search reaches.
    fn bounding_box(&self) -> (Bounds, Bounds) {
        let Position { longitude, latitude } = self.centre;
        let (half_width, half_height) = match self.shape {
            Shape::Circle { radius_m } => (radius_m, radius_m),
            Shape::Box { width_m, height_m } => (width_m / 2.0, height_m / 2.0),
        };
        let north = degrees(half_height / EARTH_RADIUS_M);
        // Where it is nearest to a pole, a length takes the most degrees.
        let widest = if latitude < 0.0 { latitude - north } else { latitude + north };
        let east = degrees(half_width / EARTH_RADIUS_M / widest.to_radians().cos());
        let around = |middle: f64, half: f64| Bounds { min: middle - half, max: middle + half };
        (around(longitude, east), around(latitude, north))
    }

    /// Bits of the longitude and latitude of cells that are about as large as the search.
    fn step(&self) -> u32 {
        let mut range_m = match self.shape {
            Shape::Circle { radius_m } => radius_m,
            Shape::Box { width_m, height_m } => ((width_m / 2.0).powi(2) + (height_m / 2.0).powi(2)).sqrt(),
        };
        if range_m == 0.0 {
            return MAX_STEP;
        }
        let mut step = 1_u32;
        // Smaller than any cell there is nothing to gain.
        while range_m < HALF_EQUATOR_M && step < 2 * MAX_STEP {
            range_m *= 2.0;
            step += 1;
        }
        let poleward = [66.0, 80.0].map(|limit| u32::from(self.centre.latitude.abs() > limit));
        step.saturating_sub(2 + poleward.iter().sum::<u32>()).clamp(1, MAX_STEP)
    }
}

/// Divides, as Redis does, where the standard library multiplies: the last digit may differ.
fn degrees(radians: f64) -> f64 {
    radians / 1_f64.to_radians()
}

/// From one number to another.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bounds {
    min: f64,
    max: f64,
}

impl Bounds {
    fn width(self) -> f64 {
        self.max - self.min
    }

    /// Which of 2^`step` equal parts a number is in; the very end is beyond the last.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 2^26 for numbers within the bounds")]
    fn part_of(self, number: f64, step: u32) -> u32 {
        ((number - self.min) / self.width() * parts(step)) as u32
    }

    /// One of 2^`step` equal parts.
    fn part(self, index: u32, step: u32) -> Self {
        let at = |index: u32| self.min + f64::from(index) / parts(step) * self.width();
        Self { min: at(index), max: at(index.saturating_add(1)) }
    }
}

/// 2^`step`
fn parts(step: u32) -> f64 {
    f64::from(1_u32 << step)
}

/// A rectangle of the grid that has 2^`step` columns and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    column: u32,
    row: u32,
    step: u32,
}

impl Cell {
    fn around(position: Position, latitudes: Bounds, step: u32) -> Self {
        let (column, row) = (LONGITUDES.part_of(position.longitude, step), latitudes.part_of(position.latitude, step));
        Self { column, row, step }
    }

    fn of_bits(bits: u64, step: u32) -> Self {
        Self { column: gather(bits >> 1), row: gather(bits), step }
    }

    /// Columns in the odd bits, rows in the even ones.
    fn bits(self) -> u64 {
        spread(self.column) << 1 | spread(self.row)
    }

    fn bounds(self) -> (Bounds, Bounds) {
        (LONGITUDES.part(self.column, self.step), LATITUDES.part(self.row, self.step))
    }

    /// The cell so many columns to the east and rows to the north; the grid has no ends. The very end of the longitudes has a column
    /// beyond the last, which is kept where it is not moved.
    fn neighbour(self, east: i8, north: i8) -> Self {
        let around_the_grid = |index: u32| index & ((1 << self.step) - 1);
        let moved = |index: u32, by: i8| if by == 0 { index } else { around_the_grid(index.wrapping_add_signed(by.into())) };
        Self { column: moved(self.column, east), row: moved(self.row, north), ..self }
    }

    /// The scores of everything within.
    fn scores(self) -> Range<u64> {
        let shift = SCORE_BITS - 2 * self.step;
        let bits = self.bits();
        bits << shift..(bits + 1) << shift
    }
}

/// How bits come apart, and together again: by half of the distance each time.
const SPREADING: [(u32, u64); 5] = [
    (16, 0x0000_ffff_0000_ffff),
    (8, 0x00ff_00ff_00ff_00ff),
    (4, 0x0f0f_0f0f_0f0f_0f0f),
    (2, 0x3333_3333_3333_3333),
    (1, 0x5555_5555_5555_5555),
];

/// A zero before each bit.
fn spread(number: u32) -> u64 {
    SPREADING.into_iter().fold(number.into(), |bits, (distance, mask)| (bits | bits << distance) & mask)
}

/// The even bits.
fn gather(bits: u64) -> u32 {
    let even = bits & 0x5555_5555_5555_5555;
    let masks = [0x3333_3333_3333_3333, 0x0f0f_0f0f_0f0f_0f0f, 0x00ff_00ff_00ff_00ff, 0x0000_ffff_0000_ffff, 0x0000_0000_ffff_ffff];
    let gathered = [1, 2, 4, 8, 16].into_iter().zip(masks).fold(even, |bits, (distance, mask)| (bits | bits >> distance) & mask);
    u32::try_from(gathered).unwrap_or_default()
}

#[cfg(test)]
mod tests;
