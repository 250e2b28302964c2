//! How often the boundary of the component is crossed for the main commands, alone and in pipelines: counts, which no clock disturbs.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

#[allow(dead_code, reason = "the engine's tests use the rest")]
#[path = "../../guest/engine/tests/measured/workload.rs"]
mod workload;

use orbweaver::runtime::{Component, Delivery, Orbweaver};
use orbweaver_engine::store::MemoryStore;
use workload::Operation;

const PIPELINE: usize = 32;

/// Calls of exports and imports for one exchange that brings `pipeline` requests. The second such exchange: the first one makes what
/// later ones find.
fn crossings(component: &Component, operation: Operation, pipeline: usize) -> u64 {
    let mut orbweaver = Orbweaver::builder().open(component, Box::new(MemoryStore::new())).unwrap();
    orbweaver.connect(1, "test").unwrap();
    let mut exchange = |input: &[u8]| {
        let before = orbweaver.crossings();
        let outcome = orbweaver.exchange(&[Delivery { connection: 1, input }]).unwrap();
        assert_ne!(outcome.output[0], b'-', "{operation:?}: {}", outcome.output.escape_ascii());
        orbweaver.crossings() - before
    };
    exchange(&operation.preparation(2 * pipeline));
    exchange(&operation.requests(0, pipeline));
    exchange(&operation.requests(pipeline, pipeline))
}

#[test]
fn the_main_commands_cross_the_boundary_no_more_often_than_they_did() {
    let component = Component::load().unwrap();
    // The export, the clock, and the calls of the store that `hot_path.rs` of the engine counts: alone, and in a pipeline.
    let table = [
        (Operation::Set, 5, 5),
        (Operation::Get, 5, 5),
        (Operation::Incr, 5, 5),
        (Operation::HSet, 6, 6),
        (Operation::HGet, 6, 6),
        (Operation::LPush, 5, 5),
        (Operation::LPop, 6, 6),
        (Operation::SAdd, 6, 6),
        (Operation::ZAdd, 6, 6),
        (Operation::ZScore, 6, 6),
        (Operation::HGetAll, 6, 5 + PIPELINE),
        (Operation::LRange, 6, 5 + PIPELINE),
        (Operation::ZRange, 6, 5 + PIPELINE),
    ];
    for (operation, alone, in_a_pipeline) in table {
        assert_eq!(crossings(&component, operation, 1), alone, "{operation:?}");
        assert_eq!(crossings(&component, operation, PIPELINE), u64::try_from(in_a_pipeline).unwrap(), "{operation:?} in a pipeline");
    }
}
