//! Publish and subscribe, as far as every command has one reply: nobody subscribes, and commands that subscribe have a reply for
//! each channel.

use super::{Rules, args};

pub const RULES: Rules = &[
    (3, |w| args![w.one(&["PUBLISH", "SPUBLISH"]), w.key(), w.value()]),
    (1, |w| args!["PUBSUB", w.one(&["CHANNELS", "SHARDCHANNELS", "NUMPAT", "NUMSUB", "SHARDNUMSUB", "NOTHING"])]),
    (1, |w| args!["PUBSUB", w.one(&["CHANNELS", "SHARDCHANNELS", "NUMPAT"]), w.pattern()]),
    (2, |w| {
        let command = args!["PUBSUB", w.one(&["NUMSUB", "SHARDNUMSUB"])];
        w.repeated(command, 3, |w| args![w.key()])
    }),
];
