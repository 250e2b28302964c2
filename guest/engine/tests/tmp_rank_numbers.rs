#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod common;
mod measured;
use common::Client;
use measured::{Cost, Measured};
use orbweaver_engine::store::MemoryStore;
use std::time::Instant;

fn mix(n: u64) -> u64 { let mut z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15); z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9); z ^ (z >> 31) }

#[test]
fn numbers() {
    for size in [100usize, 1000, 10_000, 100_000, 1_000_000] {
        let store = MemoryStore::new();
        let mut filler = Client::on(&store);
        let begun = Instant::now();
        for first in (0..size).step_by(100) {
            let pairs: Vec<String> = (first..first + 100).map(|n| format!("{} m{n:07}", mix(n as u64) % 1_000_000_000)).collect();
            filler.run(&format!("ZADD z {}", pairs.join(" ")));
        }
        println!("fill {size}: {:?} each", begun.elapsed() / size as u32);
        let nodes = store.contents().iter().find(|(name, _)| *name == "rank").map_or(0, |(_, r)| r.len());
        println!("nodes {nodes}, members a node {}", size.checked_div(nodes).unwrap_or(0));
        let mut set = Measured::on(store);
        let mut k = 77;
        let mut next = |limit: usize| { k += 1; (mix(k) % limit as u64) as usize };
        for name in ["ZRANK", "ZRANGE", "ZCOUNT", "ZRANDMEMBER", "ZADD", "ZINCRBY", "ZREMRANGEBYRANK", "ZSCORE"] {
            let (mut calls, mut reads, mut puts, mut most) = (0, 0, 0, 0);
            let rounds = 200;
            let mut spent = std::time::Duration::ZERO;
            for round in 0..rounds {
                let n = next(size);
                let command = match name {
                    "ZRANK" => format!("ZRANK z m{n:07}"),
                    "ZSCORE" => format!("ZSCORE z m{n:07}"),
                    "ZRANGE" => format!("ZRANGE z {n} {}", n + 9),
                    "ZCOUNT" => format!("ZCOUNT z {} inf", next(1_000_000_000)),
                    "ZRANDMEMBER" => "ZRANDMEMBER z".to_owned(),
                    "ZADD" => format!("ZADD z {} new{round}", next(1_000_000_000)),
                    "ZINCRBY" => format!("ZINCRBY z {} m{n:07}", next(1000)),
                    _ => format!("ZREMRANGEBYRANK z {} {}", n * 9 / 10, n * 9 / 10),
                };
                let begun = Instant::now();
                let (cost, _): (Cost, String) = set.cost_of(&command);
                spent += begun.elapsed();
                calls += cost.calls; reads += cost.records_read; puts += cost.puts; most = most.max(cost.records_read);
            }
            println!("{size} {name}: calls {:.2} reads {:.1} most {most} puts {:.2} us {:.1}", calls as f64 / rounds as f64, reads as f64 / rounds as f64, puts as f64 / rounds as f64, spent.as_secs_f64() * 1e6 / rounds as f64);
        }
    }
}
