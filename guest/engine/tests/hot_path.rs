//! What the main commands cost, alone and in pipelines: counts, which no clock disturbs.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;
mod measured;

use measured::workload::{Operation, request};
use measured::{Cost, Measured};
use orbweaver_engine::store::MemoryStore;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const PIPELINE: usize = 32;

/// The cost of one call of the engine that brings `pipeline` requests, and how often the engine allocates for it. The second such
/// call: the first one makes what later ones find. The least of three, as the thread that runs the tests may allocate beside it.
fn cost(operation: Operation, pipeline: usize) -> (Cost, usize) {
    (0..3).map(|_| cost_once(operation, pipeline)).min_by_key(|(_, allocations)| *allocations).unwrap()
}

fn cost_once(operation: Operation, pipeline: usize) -> (Cost, usize) {
    let mut measured = Measured::on(MemoryStore::new());
    measured.client.exchange(operation.preparation(2 * pipeline));
    measured.cost_of_many(operation, 0, pipeline);
    measured.cost_of_many(operation, pipeline, pipeline)
}

/// One test, as other threads of the process would allocate beside it.
#[test]
fn the_main_commands_call_the_store_and_allocate_no_more_than_they_did() {
    // Alone: calls, records read, records put, records deleted. In a pipeline: calls for all of it. Then the most allocations, alone and
    // in a pipeline; four of them are a read of several records, whatever their number: the keys, and the values in flat lists.
    let table = [
        (Operation::Set, (3, 1, 1, 0), 3, 5, 15),
        (Operation::Get, (3, 1, 0, 0), 3, 4, 11),
        (Operation::Incr, (3, 1, 1, 0), 3, 5, 15),
        (Operation::HSet, (4, 2, 1, 0), 4, 5, 18),
        (Operation::HGet, (4, 2, 0, 0), 4, 4, 14),
        (Operation::HMSet, (4, 11, 10, 0), 4, 10, 27),
        (Operation::HGetAll, (4, 101, 0, 0), 3 + PIPELINE, 7, 11),
        (Operation::LPush, (3, 1, 2, 0), 3, 6, 8),
        (Operation::LRange, (4, 101, 0, 0), 3 + PIPELINE, 7, 11),
        (Operation::LPop, (4, 2, 1, 1), 4, 5, 44),
        (Operation::SAdd, (4, 2, 2, 0), 4, 5, 12),
        (Operation::SIsMember, (4, 2, 0, 0), 4, 4, 11),
        (Operation::SMembers, (4, 101, 0, 0), 3 + PIPELINE, 7, 11),
        (Operation::ZAdd, (4, 2, 3, 0), 4, 5, 23),
        (Operation::ZScore, (4, 2, 0, 0), 4, 4, 11),
        (Operation::ZIncrBy, (4, 2, 2, 1), 4, 5, 44),
        (Operation::ZRange, (4, 101, 0, 0), 3 + PIPELINE, 7, 11),
        (Operation::ZRangeByScore, (4, 101, 0, 0), 3 + PIPELINE, 7, 11),
        (Operation::Del, (3, 1, 1, 1), 3, 11, 143),
    ];
    assert_eq!(table.map(|(operation, ..)| operation), Operation::ALL);
    for (operation, alone, calls, most_alone, most) in table {
        let (cost, allocations) = self::cost(operation, 1);
        assert_eq!((cost.calls, cost.records_read, cost.puts, cost.deletes), alone, "{operation:?}");
        assert!(allocations <= most_alone, "{operation:?}: {allocations} allocations");
        let (cost, allocations) = self::cost(operation, PIPELINE);
        assert_eq!(cost.calls, calls, "{operation:?} in a pipeline");
        assert!(allocations <= most, "{operation:?} in a pipeline: {allocations} allocations");
    }
    // What takes away goes straight, too: the heads are read, then the members and the element; and it allocates less than what does not.
    let replies = b"$1\r\na\r\n:1\r\n:1\r\n:1\r\n:5\r\n";
    goes_straight(
        (["LPOP l@", "HDEL h@ f", "SREM m@ a", "ZREM z@ a", "RPUSH l@ f"], replies),
        (4, 8, 5, 5),
        (["LPOP l@", "HDEL h@ f", "SREM m@ a", "ZREMRANGEBYSCORE z@ 1 1", "RPUSH l@ f"], replies),
        17,
    );
    // So does what tells of a key, of an element or of a rank: the heads are read, then the element and the member, then the page that has the rank.
    goes_straight(
        (["LINDEX l@ -1", "EXISTS h@", "TYPE m@", "ZRANK z@ b", "TTL l@"], b"$1\r\ne\r\n:1\r\n+set\r\n:1\r\n:-1\r\n"),
        (5, 8, 0, 0),
        (
            ["LINDEX l@ -1", "EXISTS h@", "TYPE m@", "ZRANK z@ b WITHSCORE", "TTL l@"],
            b"$1\r\ne\r\n:1\r\n+set\r\n*2\r\n:1\r\n$1\r\n2\r\n:-1\r\n",
        ),
        17,
    );
    // And what lets keys expire, also behind a DEL of what is no string, which has DELs rest alone: each has its head put and the record of its expiry,
    // in the place of the one before.
    let replies = b"+OK\r\n+OK\r\n:1\r\n:1\r\n+OK\r\n";
    goes_straight(
        (["SETEX s@ 100 v", "SET t@ v PX 5000", "EXPIRE h@ 100", "PEXPIRE e@ 5000", "SETEX s@ 90 v"], replies),
        (3, 4, 8, 1),
        (["SETEX s@ 100 v", "SET t@ v PX 5000", "EXPIRE h@ 100", "PEXPIRE e@ 5000 XX", "SETEX s@ 90 v"], replies),
        17,
    );
    // And what names several strings, fields and members: each of them is read once and put once.
    let replies = b"+OK\r\n$-1\r\n:1\r\n:2\r\n*2\r\n$1\r\n1\r\n$1\r\n3\r\n";
    goes_straight(
        (["MSET s@ v t@ w", "SET t@ v NX EX 100", "HSET h@ g 3 i 4", "SADD m@ a c d", "HMGET h@ f g"], replies),
        (4, 10, 8, 0),
        (["MSET s@ v t@ w", "SET t@ v NX EXAT 9", "HSET h@ g 3 i 4", "SADD m@ a c d", "HMGET h@ f g"], replies),
        24,
    );
}

/// Commands, and what they reply.
type Group<'g> = ([&'g str; 5], &'g [u8]);

/// A group costs so many calls, records read, put and deleted, and allocates no more than `most` times, as it goes straight; another one, which does
/// not, allocates more.
fn goes_straight((commands, replies): Group<'_>, costs: (usize, usize, usize, usize), (others, other_replies): Group<'_>, most: usize) {
    let (cost, straight) = cost_of_group(commands, replies);
    assert_eq!((cost.calls, cost.records_read, cost.puts, cost.deletes), costs, "{commands:?}");
    let (_, otherwise) = cost_of_group(others, other_replies);
    assert!(straight <= most && otherwise > most, "{commands:?}: {straight} and {otherwise} allocations");
}

/// As [`cost`], of a group of requests to keys whose names end in `@`.
fn cost_of_group(commands: [&str; 5], replies: &[u8]) -> (Cost, usize) {
    let once = || {
        let mut measured = Measured::on(MemoryStore::new());
        let [_, second] = ["1", "2"].map(|number| {
            for command in
                ["SADD gone@ a", "DEL gone@", "RPUSH l@ a b c d e", "HSET h@ f 1 g 2", "SADD m@ a b", "ZADD z@ 1 a 2 b", "SET e@ x EX 100"]
            {
                measured.client.run(&command.replace('@', number));
            }
            let requests = commands.map(|command| request(&command.replace('@', number))).concat();
            let (cost, allocations, told) = measured.cost_of_requests(requests.into());
            assert_eq!(told, replies);
            (cost, allocations)
        });
        second
    };
    (0..3).map(|_| once()).min_by_key(|(_, allocations)| *allocations).unwrap()
}
