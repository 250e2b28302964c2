#![allow(clippy::all, missing_docs)]
// lone SIDE PIPE SECONDS PREPARE REQUEST : `{}` is a random number below 100000 in decimal, 8 digits
use orbweaver::runtime::{Component, Delivery, Orbweaver};
use orbweaver::stores::rocksdb::{Durability, RocksOptions, RocksStore};
use std::time::{Duration, Instant};
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
fn enc(line: &str) -> Vec<u8> {
    let words: Vec<&str> = line.split(' ').collect();
    let mut out = format!("*{}\r\n", words.len()).into_bytes();
    for w in words { out.extend_from_slice(format!("${}\r\n{}\r\n", w.len(), w).as_bytes()); }
    out
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let (side, pipe, secs) = (a[1].clone(), a[2].parse::<usize>().unwrap(), a[3].parse::<f64>().unwrap());
    let (prepare, request) = (a[4].clone(), a[5].clone());
    let dir = tempfile::tempdir().unwrap();
    let store = RocksStore::open(dir.path(), RocksOptions { durability: Durability::Os, ..RocksOptions::default() }).unwrap();
    enum S { N(orbweaver_engine::session::Engine), C(Orbweaver) }
    let mut s = if side == "n" {
        let mut e = orbweaver_bench_native(Box::new(store.handle()));
        e.connect(1, "bench", None);
        S::N(e)
    } else {
        let c = if side == "p" { Component::load_for_perf() } else { Component::load() }.unwrap();
        let mut o = Orbweaver::builder().memory_limit(1 << 30).open(&c, Box::new(store.handle())).unwrap();
        o.connect(1, "bench").unwrap();
        S::C(o)
    };
    let mut run = |input: &bytes::Bytes| -> Vec<u8> {
        match &mut s {
            S::N(e) => { let o = e.exchange(&[orbweaver_engine::session::Delivery { connection: 1, input: input.clone() }]); o.answers.into_iter().next().unwrap().output.into() }
            S::C(o) => o.exchange(&[Delivery { connection: 1, input }]).unwrap().output,
        }
    };
    let keys = 100_000usize;
    if !prepare.is_empty() {
        for block in 0..keys / 100 {
            let mut input = Vec::new();
            for k in block * 100..block * 100 + 100 { input.extend(enc(&prepare.replace("{}", &format!("{:08}", k)).replace("{c}", &format!("{}", k / 100)).replace("{v}", &"x".repeat(100)))); }
            let mut rest = bytes::Bytes::from(input);
            run(&mut rest);
        }
    }
    let mut seed = 12345u64;
    let mut next = || { seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407); (seed >> 33) as usize };
    let inputs: Vec<bytes::Bytes> = (0..40_000 / pipe).map(|_| { let mut v = Vec::new(); for _ in 0..pipe { let k = next() % keys; v.extend(enc(&request.replace("{}", &format!("{:08}", k)).replace("{c}", &format!("{}", k / 100)).replace("{v}", &"y".repeat(100)))); } v.into() }).collect();
    for input in &inputs { let o = run(input); assert!(o[0] != b'-', "{}", o.escape_ascii()); }
    let mut best = f64::MAX;
    let start = Instant::now();
    let loops: Option<usize> = std::env::var("LOOPS").ok().and_then(|l| l.parse().ok()); let mut done = 0;
    while loops.map_or(start.elapsed() < Duration::from_secs_f64(secs), |l| done < l) { done += 1;
        let t = Instant::now();
        for input in &inputs { std::hint::black_box(run(input)); }
        best = best.min(t.elapsed().as_secs_f64() * 1e9 / (inputs.len() * pipe) as f64);
    }
    println!("{side} {pipe} {request}: {best:.0} ns");
}
fn orbweaver_bench_native(store: Box<dyn orbweaver_engine::store::Store>) -> orbweaver_engine::session::Engine {
    orbweaver_engine::session::Engine::open(store, Box::new(orbweaver_engine::environment::SystemEnvironment::default()), orbweaver_engine::settings::Settings::default()).unwrap()
}
