//! Commands on HyperLogLogs.

use super::words::Words;
use super::{Rules, args};
use crate::client::Args;
use crate::sequence::{Block, Step};

/// Damaged ones are left out: Redis keeps half of a PFADD that meets the damage, Orbweaver nothing of it. The engine's own tests have
/// them.
pub const RULES: Rules = &[
    (10, |w| {
        let command = args!["PFADD", w.sketch_key()];
        w.optional(command, 5, |w| args![w.value()])
    }),
    // Enough elements for the change to the dense representation, now and then.
    (6, |w| {
        let (command, first) = (args!["PFADD", w.sketch_key()], w.below(5_000));
        let elements = w.one(&[1, 10, 100, 2_000]);
        command.into_iter().chain((first..first + elements).map(|number| number.to_string().into())).collect()
    }),
    (6, |w| {
        let command = args!["PFMERGE", w.sketch_key()];
        w.optional(command, 3, |w| args![w.sketch_key()])
    }),
    (5, |w| args!["GET", w.sketch_key()]),
];

/// A PFCOUNT in a transaction that changes its key, so that what it keeps there can be compared as well; or one of several keys.
pub fn count(w: &mut Words) -> Block {
    if w.percent(40) {
        let command = args!["PFCOUNT", w.sketch_key(), w.sketch_key()];
        return vec![Step::new(w.optional(command, 3, |w| args![w.sketch_key()]))];
    }
    let key = w.sketch_key();
    let add: Args = args!["PFADD", key.clone(), w.value()];
    let commands = [args!["MULTI"], add, args!["PFCOUNT", key.clone()], args!["GET", key], args!["EXEC"]];
    commands.into_iter().map(Step::new).collect()
}
