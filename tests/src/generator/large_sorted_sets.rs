//! Sorted sets of hundreds of members, past the size at which an engine may begin to keep them in another way: one of many scores, one
//! of equal scores. Ranges by member are only asked of the latter, ranks and ranges by score of both.

use super::args;
use super::words::Words;
use crate::client::Args;
use crate::sequence::{Block, Step};

const SCORED: &str = "large-scored";
const EQUAL: &str = "large-equal";
const STORED: &str = "large-stored";

/// Members that a filling command brings.
const TOGETHER: usize = 300;
const SCORES: usize = 250;

/// Sorted sets that are filled, and changes and questions that follow.
pub fn leaderboard(w: &mut Words) -> Block {
    let mut commands: Vec<Args> = (0..4).map(|_| fill(w)).collect();
    for _ in 0..10 + w.below(30) {
        commands.push(if w.percent(40) { change(w) } else { question(w) });
    }
    commands.push(args!["DEL", SCORED, EQUAL, STORED]);
    commands.into_iter().map(Step::new).collect()
}

fn fill(w: &mut Words) -> Args {
    let is_scored = w.percent(60);
    let mut command = args!["ZADD", if is_scored { SCORED } else { EQUAL }];
    for _ in 0..TOGETHER {
        let score = if is_scored { number(w, SCORES) } else { "0".into() };
        command.extend([score, member(w)]);
    }
    command
}

fn change(w: &mut Words) -> Args {
    match w.below(12) {
        0 => fill(w),
        1 => args!["ZADD", SCORED, number(w, SCORES), member(w)],
        2 => args!["ZINCRBY", SCORED, number(w, 20), member(w)],
        3 => args!["ZREM", w.one(&[SCORED, EQUAL]), member(w), member(w), member(w)],
        4 => args![w.one(&["ZPOPMIN", "ZPOPMAX"]), w.one(&[SCORED, EQUAL]), number(w, 200)],
        5 => {
            let first = w.below(900);
            args!["ZREMRANGEBYRANK", w.one(&[SCORED, EQUAL]), first.to_string().as_str(), (first + w.below(300)).to_string().as_str()]
        }
        6 => {
            let first = w.below(SCORES);
            args!["ZREMRANGEBYSCORE", SCORED, first.to_string().as_str(), (first + w.below(60)).to_string().as_str()]
        }
        7 => args!["ZREMRANGEBYLEX", EQUAL, bound(w), bound(w)],
        8 => args!["ZUNIONSTORE", STORED, "2", SCORED, EQUAL],
        9 => args!["ZRANGESTORE", STORED, SCORED, rank(w), rank(w)],
        10 => args!["COPY", SCORED, STORED, "REPLACE"],
        _ => args!["RENAME", STORED, SCORED],
    }
}

fn question(w: &mut Words) -> Args {
    let key = w.one(&[SCORED, EQUAL, STORED]);
    match w.below(9) {
        0..=2 => args![w.one(&["ZRANK", "ZREVRANK"]), key, member(w)],
        3 => {
            let first = w.below(1000);
            args![
                w.one(&["ZRANGE", "ZREVRANGE"]),
                key,
                first.to_string().as_str(),
                (first + w.below(20)).to_string().as_str(),
                "WITHSCORES"
            ]
        }
        4 => args!["ZCOUNT", key, score_bound(w), score_bound(w)],
        5 => args!["ZRANGEBYSCORE", key, score_bound(w), "+inf", "LIMIT", number(w, 500), number(w, 20)],
        6 => args!["ZREVRANGEBYSCORE", key, "+inf", score_bound(w), "LIMIT", number(w, 500), number(w, 20)],
        7 => args!["ZLEXCOUNT", EQUAL, bound(w), bound(w)],
        _ => args!["ZRANGEBYLEX", EQUAL, bound(w), bound(w), "LIMIT", number(w, 300), number(w, 20)],
    }
}

fn number(w: &mut Words, below: usize) -> Vec<u8> {
    w.below(below).to_string().into()
}

fn member(w: &mut Words) -> Vec<u8> {
    format!("m{:03}", w.below(1000)).into()
}

fn rank(w: &mut Words) -> Vec<u8> {
    let rank = w.below(900);
    if w.percent(30) { format!("-{rank}").into() } else { rank.to_string().into() }
}

fn score_bound(w: &mut Words) -> Vec<u8> {
    let exclusive = w.one(&["", "("]);
    format!("{exclusive}{}", w.below(SCORES)).into()
}

fn bound(w: &mut Words) -> Vec<u8> {
    match w.below(6) {
        0 => "-".into(),
        1 => "+".into(),
        2 => [b"(".as_slice(), &member(w)].concat(),
        _ => [b"[".as_slice(), &member(w)].concat(),
    }
}
