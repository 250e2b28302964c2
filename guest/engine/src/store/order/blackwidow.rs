//! The two comparators of Blackwidow: sections 4.2 and 4.3 of its format. Integers are little-endian.

use super::{push_number, push_text};

/// The user key of a data record and what follows it: a version, and an index or a score. A key that is cut short, or that says
/// more of its user key than there is, is split as far as it goes.
fn split(key: &[u8]) -> (&[u8], &[u8]) {
    let Some((length, rest)) = key.split_first_chunk::<4>() else { return (key, &[]) };
    let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX).min(rest.len());
    rest.split_at_checked(length).unwrap_or((rest, &[]))
}

/// User key in byte order without its length, version as a signed number, index as an unsigned one. What follows the index does
/// not count; a key that ends earlier comes first.
pub fn element_sort_key(key: &[u8]) -> Vec<u8> {
    let (user_key, rest) = split(key);
    let mut sort_key = Vec::with_capacity(user_key.len() + 14);
    push_text(&mut sort_key, user_key);
    let Some((version, rest)) = rest.split_first_chunk::<4>() else { return sort_key };
    sort_key.extend_from_slice(&(u32::from_le_bytes(*version) ^ 1 << 31).to_be_bytes());
    let Some((index, _)) = rest.split_first_chunk::<8>() else { return sort_key };
    sort_key.extend_from_slice(&u64::from_le_bytes(*index).to_be_bytes());
    sort_key
}

/// Length, user key and version as they are, then the score as a number, then the member. A key without a score, or without a
/// member, comes before those that go on.
pub fn score_sort_key(key: &[u8]) -> Vec<u8> {
    let (user_key, _) = split(key);
    let (prefix, rest) = key.split_at_checked(user_key.len().saturating_add(8)).unwrap_or((key, &[]));
    let mut sort_key = prefix.to_vec();
    let Some((score, member)) = rest.split_first_chunk::<8>() else { return sort_key };
    push_number(&mut sort_key, f64::from_le_bytes(*score));
    sort_key.extend_from_slice(member);
    sort_key
}

#[cfg(test)]
mod tests {
    use crate::store::Order;

    fn element(user_key: &str, version: i32, index: u64) -> Vec<u8> {
        let length = u32::try_from(user_key.len()).unwrap().to_le_bytes();
        [&length[..], user_key.as_bytes(), &version.to_le_bytes(), &index.to_le_bytes()].concat()
    }

    fn scored(user_key: &str, version: i32, score: f64, member: &str) -> Vec<u8> {
        let length = u32::try_from(user_key.len()).unwrap().to_le_bytes();
        [&length[..], user_key.as_bytes(), &version.to_le_bytes(), &score.to_le_bytes(), member.as_bytes()].concat()
    }

    fn assert_ascending(order: Order, keys: &[Vec<u8>]) {
        for (at, key) in keys.iter().enumerate() {
            for (other_at, other) in keys.iter().enumerate() {
                assert_eq!(order.compare(key, other), at.cmp(&other_at), "{key:?} against {other:?}");
            }
        }
    }

    #[test]
    fn elements_go_by_user_key_then_signed_version_then_index() {
        let keys = [
            element("", 5, 9),
            element("aa", -1, 9),
            element("aa", 1, 255),
            element("aa", 1, 256),
            element("aa", 1, u64::MAX),
            element("aa", 256, 0),
            element("b", 0, 0),
        ];
        assert_ascending(Order::BlackwidowLists, &keys);
    }

    #[test]
    fn an_element_key_that_ends_early_comes_first_and_what_follows_the_index_does_not_count() {
        let whole = element("k", 1, 7);
        let (without_index, without_version) = (whole[..9].to_vec(), whole[..5].to_vec());
        assert_ascending(Order::BlackwidowLists, &[without_version, without_index, whole.clone()]);
        assert!(Order::BlackwidowLists.compare(&whole, &[whole.as_slice(), b"behind"].concat()).is_eq());
    }

    #[test]
    fn scores_go_by_the_bytes_of_length_key_and_version_then_by_number_then_by_member() {
        let keys = [
            // Little-endian: 256 comes before 1, in the length and in the version.
            scored(&"x".repeat(256), 1, 0.0, "m"),
            scored("k", 256, 3.0, "m"),
            scored("k", 1, f64::NEG_INFINITY, "z"),
            scored("k", 1, -2.5, "m"),
            scored("k", 1, -0.0, ""),
            scored("k", 1, 0.0, "a"),
            scored("k", 1, -0.0, "b"),
            scored("k", 1, 10.0, "a"),
            scored("k", 1, f64::INFINITY, "a"),
        ];
        assert_ascending(Order::BlackwidowScores, &keys);
        assert!(Order::BlackwidowScores.compare(&scored("k", 1, 0.0, "m"), &scored("k", 1, -0.0, "m")).is_eq());
    }

    #[test]
    fn keys_of_no_valid_form_have_a_place_too() {
        for order in [Order::BlackwidowLists, Order::BlackwidowScores] {
            for key in [&b""[..], b"\x01", b"\xff\xff\xff\xffk", b"\x05\0\0\0key", b"\x01\0\0\0k\x01\0"] {
                assert!(order.compare(key, key).is_eq());
                assert!(order.compare(b"", key).is_le());
            }
        }
    }
}
