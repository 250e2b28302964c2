use super::{Position, Search, Shape};

fn at(longitude: f64, latitude: f64) -> Position {
    Position { longitude, latitude }
}

/// Positions with the score, geohash, and the longitude and latitude of the score that redis-server has for them.
const PLACES: &[(f64, f64, u64, &str, f64, f64)] = &[
    (13.361389, 38.115556, 3479099956230698, "sqc8b49rny0", 13.361389338970184, 38.1155563954963),
    (15.087269, 37.502669, 3479447370796909, "sqdtr74hyu0", 15.087267458438873, 37.50266842333162),
    (0.0, 0.0, 3377699720527872, "s0000000000", 2.68220901489e-06, 1.26736058093e-06),
    (-180.0, -85.05112878, 0, "00bh0hbj200", -179.99999731779099, -85.05112751263943),
    (180.0, 85.05112878, 13510798882111488, "bp05b5048p0", 180.0, 85.05112878),
    (179.999999, 85.05, 4503599627287214, "zzpgzfzupv0", 179.99999731779099, 85.04999956172351),
    (-180.0, 85.05112878, 4503599627370496, "bp05b5048p0", -179.99999731779099, 85.05112878),
    (180.0, 0.0, 10133099161583616, "80000000000", 180.0, 1.26736058093e-06),
    (-122.4194, 37.7749, 1367859919124626, "9q8yyk8ytp0", -122.41940170526505, 37.77490001056578),
    (151.2093, -33.8688, 3252046221964352, "r3gx2f77bj0", 151.2092998623848, -33.86880091934156),
    (-1e-06, 1e-06, 1876499844737706, "ebpbpbpbpb0", -2.68220901489e-06, 1.26736058093e-06),
    (2.294694, 48.858093, 3663832614283843, "u09tunqgn00", 2.294691503047943, 48.85809248111215),
    (100.5, -70.25, 2836618195236791, "n5x2qgmu5d0", 100.49999803304672, -70.25000097613236),
    (-58.3816, -34.6037, 887133777343301, "69y7pkxff40", -58.381602466106415, -34.60370022923218),
    (37.6173, 55.7558, 3721706268066593, "ucfv0n014d0", 37.61729747056961, 55.75579875536732),
];

/// Distances between places as GEODIST has them.
const DISTANCES: &[(usize, usize, &str)] = &[
    (0, 1, "166274.1516"),
    (0, 2, "4454733.0204"),
    (2, 3, "10560811.9169"),
    (3, 4, "18919844.5891"),
    (5, 6, "125.5988"),
    (7, 2, "20020733.6202"),
    (8, 9, "11951031.4578"),
    (2, 10, "0.5967"),
    (11, 14, "2490457.6426"),
    (12, 13, "8234757.6104"),
    (4, 6, "0.0257"),
    (9, 12, "5049360.3277"),
];

#[test]
fn scores_geohashes_and_positions_are_those_of_redis() {
    for &(longitude, latitude, score, geohash, score_longitude, score_latitude) in PLACES {
        let position = at(longitude, latitude);
        assert!(position.is_valid());
        assert_eq!(position.score(), score, "{position:?}");
        // Redis takes both from the score.
        let of_score = Position::of_score(score);
        assert_eq!(of_score.geohash(), geohash, "{position:?}");
        // GEOPOS shows 17 decimals.
        let off = (of_score.longitude - score_longitude).abs().max((of_score.latitude - score_latitude).abs());
        assert!(off < 1e-17, "{position:?}: off by {off}");
    }
}

#[test]
fn distances_are_those_of_redis() {
    let place = |index: usize| Position::of_score(PLACES[index].2);
    for &(one, other, distance) in DISTANCES {
        assert_eq!(format!("{:.4}", place(one).distance_m(place(other))), distance, "{one} to {other}");
    }
}

#[test]
fn what_is_beyond_the_grid_is_not_valid() {
    for (longitude, latitude) in [(180.1, 0.0), (-180.1, 0.0), (0.0, 85.06), (0.0, -85.06), (f64::NAN, 0.0), (0.0, f64::NAN)] {
        assert!(!at(longitude, latitude).is_valid(), "{longitude} {latitude}");
    }
}

#[test]
fn scores_of_any_number_have_a_position() {
    for score in (0..64).map(|bit| 1 << bit).chain([0, u64::MAX, (1 << 52) - 1]) {
        assert!(Position::of_score(score).is_valid(), "{score}");
    }
}

/// Searches with what GEOSEARCH without a sort answers, in its order, among [`points`].
const SEARCHES: &[(f64, f64, Shape, &[usize])] = &[
    (15.0, 37.0, Shape::Circle { radius_m: 200000.0 }, &[]),
    (12.0, 42.0, Shape::Circle { radius_m: 100000.0 }, &[138, 131, 102, 142, 120, 109, 149, 127, 113]),
    (
        12.0,
        42.0,
        Shape::Box { width_m: 300000.0, height_m: 150000.0 },
        &[138, 131, 102, 142, 120, 109, 149, 127, 116, 105, 145, 135, 124, 113, 106, 146],
    ),
    (12.05, 42.05, Shape::Circle { radius_m: 60000.0 }, &[131, 102, 142, 120, 109, 149, 138]),
    (
        0.0,
        0.0,
        Shape::Circle { radius_m: 6000000.0 },
        &[
            100, 140, 101, 141, 130, 123, 112, 135, 124, 113, 72, 115, 108, 148, 137, 119, 126, 104, 144, 133, 111, 122, 138, 131, 102,
            142, 120, 109, 149, 127, 116, 105, 145, 134, 106, 146, 118, 136, 107, 147, 129, 125, 114, 103, 143, 132, 110, 121, 139, 128,
            117, 90, 13, 65, 38, 22, 43, 78, 75, 23, 48, 95, 68, 37, 61,
        ],
    ),
    (
        0.0,
        0.0,
        Shape::Circle { radius_m: 20000000.0 },
        &[
            100, 140, 101, 141, 130, 123, 112, 135, 124, 113, 72, 115, 108, 148, 137, 119, 126, 104, 144, 133, 111, 122, 138, 131, 102,
            142, 120, 109, 149, 127, 116, 105, 145, 134, 98, 62, 15, 69, 39, 106, 146, 118, 136, 107, 147, 129, 125, 114, 103, 143, 132,
            110, 121, 139, 128, 117, 24, 44, 16, 96, 55, 34, 91, 59, 66, 17, 63, 40, 18, 53, 12, 90, 49, 25, 79, 82, 13, 65, 38, 32, 14,
            58, 93, 76, 73, 45, 26, 70, 54, 85, 33, 88, 50, 27, 51, 28, 83, 6, 47, 86, 7, 29, 94, 35, 99, 89, 56, 60, 8, 22, 43, 78, 75,
            23, 52, 9, 30, 81, 48, 84, 10, 0, 1, 67, 19, 2, 41, 3, 20, 46, 4, 77, 80, 74, 71, 5, 36, 97, 92, 64, 11, 87, 31, 57, 95, 42,
            21, 68, 37, 61,
        ],
    ),
    (179.9, 10.0, Shape::Circle { radius_m: 3000000.0 }, &[55, 91, 59]),
    (-179.9, -10.0, Shape::Box { width_m: 4000000.0, height_m: 2000000.0 }, &[]),
    (20.0, 84.0, Shape::Circle { radius_m: 1500000.0 }, &[60, 10]),
    (-60.0, -82.0, Shape::Circle { radius_m: 1500000.0 }, &[0, 36, 97, 92, 11, 87, 53, 49]),
    (30.0, 70.0, Shape::Circle { radius_m: 1200000.0 }, &[24]),
    (
        11.0,
        41.0,
        Shape::Box { width_m: 100000.0, height_m: 1000000.0 },
        &[101, 141, 130, 135, 124, 113, 118, 136, 107, 147, 119, 102, 142, 125],
    ),
    (180.0, 0.0, Shape::Circle { radius_m: 5000000.0 }, &[55, 34, 91, 59, 27]),
    (12.0, 42.0, Shape::Circle { radius_m: 0.0 }, &[]),
    (-100.0, 40.0, Shape::Box { width_m: 9000000.0, height_m: 1000000.0 }, &[29, 8]),
    (45.0, -45.0, Shape::Circle { radius_m: 3500000.0 }, &[12, 90, 79, 82, 13, 32]),
    (0.0, 0.0, Shape::Box { width_m: 1.0, height_m: 1.0 }, &[]),
    (10.5, 44.2, Shape::Circle { radius_m: 90000.0 }, &[129, 118, 136, 107, 147]),
    (10.7, 41.1, Shape::Circle { radius_m: 25000.0 }, &[101, 141]),
];

/// A hundred points all over the grid, and fifty near to each other.
fn points() -> Vec<(usize, Position)> {
    let tenths = |number: usize, modulus: usize, from: f64| f64::from(u32::try_from(number % modulus).unwrap()) / 10.0 + from;
    let everywhere = (0..100).map(|i| at(tenths(i * 73 + i * i * 7, 3600, -180.0), tenths(i * 131 + i * i * 3, 1700, -85.0)));
    let near = (0..50).map(|i| at(tenths(i * 7, 40, 10.0), tenths(i * 11, 40, 40.0)));
    everywhere.chain(near).enumerate().collect()
}

#[test]
fn searches_find_what_redis_finds_and_in_its_order() {
    let mut members: Vec<(u64, String, usize)> =
        points().into_iter().map(|(index, position)| (position.score(), index.to_string(), index)).collect();
    members.sort();
    for &(longitude, latitude, shape, expected) in SEARCHES {
        let search = Search { centre: at(longitude, latitude), shape };
        let ranges = search.score_ranges();
        assert!(ranges.len() <= 9);
        let near = ranges.iter().flat_map(|range| members.iter().filter(|(score, ..)| range.contains(score)));
        let found = near.filter(|(score, ..)| search.distance_m(Position::of_score(*score)).is_some());
        let found: Vec<usize> = found.map(|&(.., index)| index).collect();
        assert_eq!(found, expected, "{search:?}");
    }
}
