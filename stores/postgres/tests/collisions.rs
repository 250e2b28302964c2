//! 32 clients at once: no update is lost, and the rates are printed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use bytes::Bytes;
use orbweaver_engine::store::{Batch, Keyspace, Order, Scope, Store, StoreError, lent};
use orbweaver_postgres::{PostgresHandle, PostgresStore};
use orbweaver_servers::PostgresServer;
use std::time::{Duration, Instant};

const CLIENTS: u64 = 32;
/// As many as Orbweaver servers in front of one database would be.
const SERVERS: usize = 4;

/// Adds one to a counter, again after a conflict. Returns how often it was run again.
fn increment(handle: &mut PostgresHandle, data: Keyspace, counter: u64) -> u64 {
    let key = Bytes::from(format!("counter:{counter}"));
    for again in 0.. {
        handle.begin(&Scope::Keys(vec![key.clone()])).unwrap();
        let read = handle.get(data, &key);
        let written = read.and_then(|value| {
            let number = value.map_or(0, |value| u64::from_be_bytes(value.as_ref().try_into().unwrap()));
            let mut batch = Batch::new();
            batch.put(data, &key, &(number + 1).to_be_bytes())?;
            handle.commit(&batch, &[0])
        });
        match written {
            Ok(()) => return again,
            Err(StoreError::Conflict | StoreError::Expired) => handle.rollback(),
            Err(error) => panic!("{error}"),
        }
    }
    0
}

/// Each client makes `rounds` increments of counters of `counters`. Returns the sum of all, how often transactions were run again by
/// their clients, the round trips, and the time.
fn count(server: &PostgresServer, counters: u64, rounds: u64) -> (u64, u64, u64, Duration) {
    let url = server.url(&format!("sslmode=disable&schema=c{counters}"));
    let stores: Vec<PostgresStore> = (0..SERVERS).map(|_| PostgresStore::open(&url).unwrap()).collect();
    let mut handles: Vec<_> = stores.iter().cycle().take(usize::try_from(CLIENTS).unwrap()).map(PostgresStore::handle).collect();
    // Keyspaces are opened before the time is taken; they have one number for all.
    let keyspaces = handles.iter_mut().map(|handle| handle.open_keyspace("data", Order::Bytes).unwrap());
    let data = keyspaces.last().unwrap();
    let start = Instant::now();
    let again: u64 = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .zip(handles)
            .map(|(client, mut handle)| {
                scope.spawn(move || {
                    let mut random = client.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
                    let mut next = || {
                        random ^= random << 13;
                        random ^= random >> 7;
                        random ^= random << 17;
                        random % counters
                    };
                    (0..rounds).map(|_| increment(&mut handle, data, next())).sum::<u64>()
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    });
    let time = start.elapsed();
    let trips = stores.iter().map(|store| store.round_trips().sum()).sum();
    let mut handle = stores.first().unwrap().handle();
    handle.open_keyspace("data", Order::Bytes).unwrap();
    handle.begin(&Scope::Read).unwrap();
    let wanted: Vec<_> = (0..counters).map(|counter| (data, Bytes::from(format!("counter:{counter}")))).collect();
    let values = handle.get_many(&lent(&wanted)).unwrap().of_each(wanted.len()).unwrap();
    let sum = values.flatten().map(|value| u64::from_be_bytes(value.as_ref().try_into().unwrap())).sum();
    (sum, again, trips, time)
}

#[test]
fn clients_lose_no_update_on_one_counter_nor_on_many() {
    let server = PostgresServer::start(&["fsync=off"]).unwrap();
    for (counters, rounds) in [(1, 20), (1000, 100)] {
        let (sum, again, trips, time) = count(&server, counters, rounds);
        let commits = CLIENTS * rounds;
        assert_eq!(sum, commits, "{counters} counters");
        println!(
            "{CLIENTS} clients of {SERVERS} servers on {counters} counters: {:.0} increments a second, {:.2} round trips an increment, {:.1} % run \
             again by the client",
            f64::from(u32::try_from(commits).unwrap()) / time.as_secs_f64(),
            f64::from(u32::try_from(trips).unwrap()) / f64::from(u32::try_from(commits).unwrap()),
            100.0 * f64::from(u32::try_from(again).unwrap()) / f64::from(u32::try_from(commits).unwrap()),
        );
        if counters > 1 {
            // Two for each increment, two for each handle that opens a keyspace.
            assert!(trips < commits * 5 / 2, "conflicts are rare: {trips} round trips for {commits} increments");
        }
    }
}
