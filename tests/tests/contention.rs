//! Conflicts between servers on one store: many clients on one counter, and on a thousand. Prints both rates.

use std::thread::scope;
use std::time::Instant;

use orbweaver_engine::resp::Value;
use orbweaver_tests::client::{Client, args};
use orbweaver_tests::shared_store::{Servers, SharedStore, info};

const SERVERS: usize = 3;
const CLIENTS: usize = 32;
const COUNTERS: usize = 1_000;

/// Sums of what all servers count.
fn counted(servers: &Servers, name: &str) -> u64 {
    (0..SERVERS).map(|number| info(&mut servers.client(number), name).parse::<u64>().expect("a number")).sum()
}

/// Has all clients INCR counters, each as often, and returns conflicts for each INCR. Clients of one server share commits.
fn count(servers: &Servers, store: &str, counters: usize, times: usize) -> f64 {
    // What was counted so far is told once a second.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let (commits, conflicts) = (counted(servers, "store_commits"), counted(servers, "store_conflicts"));
    let start = Instant::now();
    scope(|scope| {
        for number in 0..CLIENTS {
            scope.spawn(move || {
                let mut client: Client = servers.client(number % SERVERS);
                let mut rng = fastrand::Rng::with_seed(u64::try_from(number).unwrap_or_default());
                for _ in 0..times {
                    let key = format!("{counters}:{}", rng.usize(..counters));
                    let reply = client.call(&args(["INCR", &key])).expect("the server answers");
                    assert!(matches!(reply, Value::Integer(_)), "{reply:?}");
                }
            });
        }
    });
    let elapsed = start.elapsed().as_secs_f64();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let (commits, conflicts) = (counted(servers, "store_commits") - commits, counted(servers, "store_conflicts") - conflicts);
    let mut client = servers.client(0);
    let mut sum = 0;
    for counter in 0..counters {
        if let Value::Bulk(text) = client.call(&args(["GET", &format!("{counters}:{counter}")])).expect("the server answers") {
            sum += std::str::from_utf8(&text).expect("text").parse::<usize>().expect("a number");
        }
    }
    assert_eq!(sum, CLIENTS * times, "updates were lost");
    let incremented = (CLIENTS * times) as f64;
    let rate = conflicts as f64 / incremented;
    println!(
        "{store}, {SERVERS} servers, {CLIENTS} clients on {counters} counters: {:.0} INCR/s, {commits} commits, {conflicts} conflicts, \
         {rate:.3} for each INCR",
        incremented / elapsed
    );
    rate
}

fn assert_counters_are_exact(store: &SharedStore) {
    let servers = Servers::start(&store.url(), SERVERS, &[]);
    let hot = count(&servers, store.name(), 1, 50);
    let cold = count(&servers, store.name(), COUNTERS, 50);
    assert!(cold < 0.1, "conflicts on {COUNTERS} counters are not rare: {cold:.3} for each INCR, {hot:.3} on one");
    store.assert_check_is_clean();
}

#[test]
fn counters_on_postgres_are_exact_and_conflicts_on_many_are_rare() {
    assert_counters_are_exact(&SharedStore::postgres());
}

#[test]
fn counters_on_etcd_are_exact_and_conflicts_on_many_are_rare() {
    assert_counters_are_exact(&SharedStore::etcd());
}
