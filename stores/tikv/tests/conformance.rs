//! The store contract's own suite, on the cluster whose placement drivers `TIKV_PD` names (`host:port,host:port`). Without it nothing is
//! tested.
#![allow(clippy::unwrap_used, missing_docs)]

use orbweaver_engine::store::conformance::{self, Part, Subject, contend};
use orbweaver_engine::store::{Store, StoreError};
use orbweaver_tikv::TikvStore;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

static PREFIXES: AtomicU64 = AtomicU64::new(0);

/// A URL of keys that nobody has had so far; `None` without a cluster.
fn fresh_url() -> Option<String> {
    let hosts = std::env::var("TIKV_PD").ok()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros();
    Some(format!("tikv://{hosts}/conform-{now}-{}", PREFIXES.fetch_add(1, Ordering::Relaxed)))
}

struct OnTikv {
    store: TikvStore,
    url: String,
}

impl OnTikv {
    fn new(url: String) -> Result<Self, StoreError> {
        Ok(Self { store: TikvStore::open(&url)?, url })
    }
}

impl Subject for OnTikv {
    fn handle(&self) -> Result<Box<dyn Store + Send>, StoreError> {
        Ok(Box::new(self.store.handle()))
    }

    fn reopen(&mut self) -> Result<bool, StoreError> {
        self.store = TikvStore::open(&self.url)?;
        Ok(true)
    }
}

#[test]
fn the_suite_passes() {
    if fresh_url().is_none() {
        println!("TIKV_PD names no cluster: nothing is tested");
        return;
    }
    let failures = conformance::run(&|| Ok(Box::new(OnTikv::new(fresh_url().unwrap_or_default())?)));
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn several_processes_pass() {
    const PROCESSES: u64 = 3;
    let Some(url) = fresh_url() else { return };
    std::thread::scope(|threads| {
        let process = |number| {
            let url = url.clone();
            threads.spawn(move || contend(&OnTikv::new(url).unwrap(), Part { number, of: PROCESSES }).unwrap())
        };
        let running: Vec<_> = (0..PROCESSES).map(process).collect();
        for running in running {
            for (name, outcome) in running.join().unwrap() {
                assert_eq!(outcome, Ok(()), "{name}");
            }
        }
    });
}

#[test]
fn urls_that_are_wrong_are_refused() {
    for (url, words) in [
        ("etcd://host", "tikv://host:port"),
        ("tikv://user@host", "without a user"),
        ("tikv://host?ca=a", "belong together"),
        ("tikv://host?retries=1", "no option retries"),
    ] {
        let told = TikvStore::open(url).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(told.contains(words), "{url}: {told}");
    }
}
