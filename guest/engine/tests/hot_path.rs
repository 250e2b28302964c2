//! What the main commands cost, alone and in pipelines: counts, which no clock disturbs.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;
mod measured;

use measured::workload::Operation;
use measured::{Cost, Measured};
use orbweaver_engine::store::MemoryStore;

const PIPELINE: usize = 32;

/// The cost of one call of the engine that brings `pipeline` requests, and how often the engine allocates for it. The second such
/// call: the first one makes what later ones find.
fn cost(operation: Operation, pipeline: usize) -> (Cost, usize) {
    let mut measured = Measured::on(MemoryStore::new());
    measured.client.exchange(operation.preparation(2 * pipeline));
    measured.cost_of_many(operation, 0, pipeline);
    measured.cost_of_many(operation, pipeline, pipeline)
}

#[test]
fn store_calls_of_the_main_commands_stay_as_few_as_they_are() {
    // Alone: calls, records read, records written and deleted. In a pipeline: calls for all of it.
    let table = [
        (Operation::Set, (3, 1, 1, 0), 3),
        (Operation::Get, (3, 1, 0, 0), 3),
        (Operation::Incr, (3, 1, 1, 0), 3),
        (Operation::HSet, (4, 2, 1, 0), 3 + PIPELINE),
        (Operation::HGet, (4, 2, 0, 0), 3 + PIPELINE),
        (Operation::LPush, (3, 1, 2, 0), 3),
        (Operation::LPop, (4, 2, 1, 1), 3 + PIPELINE),
        (Operation::SAdd, (4, 2, 2, 0), 3 + PIPELINE),
        (Operation::ZAdd, (4, 2, 3, 0), 3 + PIPELINE),
        (Operation::ZScore, (4, 2, 0, 0), 3 + PIPELINE),
        (Operation::HGetAll, (4, 101, 0, 0), 3 + PIPELINE),
        (Operation::LRange, (4, 101, 0, 0), 3 + PIPELINE),
        (Operation::ZRange, (4, 101, 0, 0), 3 + PIPELINE),
    ];
    assert_eq!(table.map(|(operation, ..)| operation), Operation::ALL);
    for (operation, alone, calls) in table {
        let (cost, _) = self::cost(operation, 1);
        assert_eq!((cost.calls, cost.records_read, cost.puts, cost.deletes), alone, "{operation:?}");
        assert_eq!(self::cost(operation, PIPELINE).0.calls, calls, "{operation:?} in a pipeline");
    }
}
