use orbweaver::runtime::typed::sorted_sets::{Comparison, Direction, MemberRange, Selection, Update, Which};
use orbweaver::runtime::{Component, Orbweaver};
use orbweaver::stores::rocksdb::{RocksOptions, RocksStore};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = RocksStore::open("scores.db".as_ref(), RocksOptions::default())?;
    let mut orbweaver = Orbweaver::builder().open(&Component::load()?, Box::new(store.handle()))?;

    // Db 0, key `scores`: who has more than before gets the new score.
    let better = Update { which: Which::Any, comparison: Comparison::Greater };
    let scores = [(120.5, b"ada".to_vec()), (99.0, b"bob".to_vec())];
    orbweaver.sorted_sets().add(0, b"scores", &scores, better)?;

    // The best ten.
    let range = MemberRange::Ranks((0, 9));
    let best = Selection { range, direction: Direction::Descending, offset: 0, limit: None };
    let best = orbweaver.sorted_sets().range(0, b"scores", &best)?;
    for (name, score) in best.members.iter().zip(&best.scores) {
        println!("{score:8.1} {}", String::from_utf8_lossy(name));
    }
    Ok(())
}
