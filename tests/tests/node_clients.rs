//! ioredis and node-redis, the clients of Node, do what applications do with them: in RESP2 and RESP3, with Orbweaver as with Redis.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use orbweaver_tests::orbweaver_server::ServedTarget;
use orbweaver_tests::redis_server::RedisServer;
use orbweaver_tests::tools::node_modules;

const PROTOCOLS: [&str; 2] = ["2", "3"];

/// Runs a script of `tests/clients/node`, and asserts that every check of it but those `left_out` passed.
fn run(script: &str, address: SocketAddr, protocol: &str, left_out: &[&str]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/node").join(script);
    let mut command = Command::new("node");
    command.env("NODE_PATH", node_modules()).arg(path).args([&address.port().to_string(), protocol]).args(left_out);
    let output = command.output().expect("Node starts");
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "{script} in RESP{protocol}: {}\n{stdout}{stderr}", output.status);
    // The last check of each script: Node also ends, with success, when nothing is left to wait for.
    assert_eq!(stdout.lines().last(), Some("reconnects"), "{script} in RESP{protocol} ended early:\n{stdout}{stderr}");
}

fn runs_with_orbweaver(script: &str) {
    for protocol in PROTOCOLS {
        let server = ServedTarget::start(&[]);
        run(script, server.address(), protocol, &[]);
    }
}

#[test]
fn ioredis_does_what_applications_do() {
    runs_with_orbweaver("ioredis.js");
}

#[test]
fn node_redis_does_what_applications_do() {
    runs_with_orbweaver("node-redis.js");
}

#[test]
fn both_find_the_same_with_redis() {
    for script in ["ioredis.js", "node-redis.js"] {
        for protocol in PROTOCOLS {
            // Fields expire as of Redis 7.4, which is younger than the reference.
            let redis = RedisServer::start(&[]);
            run(script, redis.address(), protocol, &["fieldExpiry"]);
        }
    }
}
