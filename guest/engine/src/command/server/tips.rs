//! Tips of commands for clients and proxies, see <https://redis.io/docs/latest/develop/reference/command-tips/>.

const TIPS: &[(&[&str], &[&str])] = &[
    (
        &[
            "client|info",
            "client|list",
            "dump",
            "hrandfield",
            "hscan",
            "object|encoding",
            "object|freq",
            "object|idletime",
            "object|refcount",
            "zrandmember",
            "zscan",
        ],
        &["nondeterministic_output"],
    ),
    (&["pttl", "time", "ttl"], &["nondeterministic_output"]),
    (&["command", "command|docs", "command|info", "command|list", "hgetall", "hkeys", "hvals"], &["nondeterministic_output_order"]),
    (&["del", "exists", "touch", "unlink"], &["request_policy:multi_shard", "response_policy:agg_sum"]),
    (&["dbsize"], &["request_policy:all_shards", "response_policy:agg_sum"]),
    (&["flushall", "flushdb", "memory|purge", "ping"], &["request_policy:all_shards", "response_policy:all_succeeded"]),
    (
        &["info", "memory|doctor", "memory|malloc-stats", "memory|stats"],
        &["nondeterministic_output", "request_policy:all_shards", "response_policy:special"],
    ),
    (&["keys"], &["request_policy:all_shards", "nondeterministic_output_order"]),
    (&["mget"], &["request_policy:multi_shard"]),
    (&["mset"], &["request_policy:multi_shard", "response_policy:all_succeeded"]),
    (&["msetnx"], &["request_policy:multi_shard", "response_policy:agg_min"]),
    (&["randomkey"], &["request_policy:all_shards", "nondeterministic_output"]),
    (&["scan"], &["nondeterministic_output", "request_policy:special"]),
    (&["client|setinfo", "config|set", "slowlog|reset"], &["request_policy:all_nodes", "response_policy:all_succeeded"]),
    (&["slowlog|get"], &["request_policy:all_nodes", "nondeterministic_output"]),
    (&["slowlog|len"], &["request_policy:all_nodes", "response_policy:agg_sum", "nondeterministic_output"]),
];

/// The tips of the command of that name.
pub fn of(name: &str) -> &'static [&'static str] {
    TIPS.iter().find(|(names, _)| names.contains(&name)).map_or(&[], |(_, tips)| *tips)
}

#[cfg(test)]
mod tests {
    use super::TIPS;
    use crate::command::table;

    #[test]
    fn tips_are_of_commands_that_exist() {
        for name in TIPS.iter().flat_map(|(names, _)| *names) {
            assert!(table::find_by_full_name(name.as_bytes()).is_some(), "{name}");
        }
    }
}
