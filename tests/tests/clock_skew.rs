//! A server whose clock is wrong does not start on a store that others use, and writes nothing while it is wrong.

use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use orbweaver_engine::resp::Value;
use orbweaver_tests::client::{Client, args};
use orbweaver_tests::orbweaver_server::executable;
use orbweaver_tests::process::free_address;
use orbweaver_tests::shared_store::{Servers, SharedStore};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(30);

fn is_written(client: &mut Client) -> Result<(), String> {
    match client.call(&args(["SET", "key", "value"])).expect("the server answers") {
        Value::Simple(_) => Ok(()),
        Value::Error(text) => Err(String::from_utf8_lossy(&text).into_owned()),
        other => panic!("{other:?}"),
    }
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what} did not come to pass");
        sleep(Duration::from_millis(50));
    }
}

fn assert_wrong_clocks_are_refused(store: &SharedStore) {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("error");
    let path = file.to_str().unwrap().to_owned();
    // Two servers that are right, so that it is known which one is wrong.
    let _others = Servers::start(&store.url(), 2, &[]);

    fs::write(&file, "-3000").unwrap();
    let mut serve = Command::new(executable());
    let listen = free_address().unwrap().to_string();
    serve.args(["serve", "--store", &store.url(), "--listen", &listen, "--clock-error-file", &path]);
    let output = serve.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("ms behind the others on the store, 500 ms are allowed") && text.contains("--max-clock-skew"), "{text}");

    fs::write(&file, "100").unwrap();
    let servers = Servers::start(&store.url(), 1, &["--clock-error-file", &path]);
    let mut client = servers.client(0);
    assert_eq!(is_written(&mut client), Ok(()));
    fs::write(&file, "5000").unwrap();
    wait_for("the refusal", || is_written(&mut client).is_err());
    let refusal = is_written(&mut client).unwrap_err();
    assert!(refusal.starts_with("ERR storage: the clock of this server is ") && refusal.contains(" ms ahead of the others"), "{refusal}");
    // What is there can be read.
    assert_eq!(client.call(&args(["GET", "key"])).unwrap(), Value::Bulk("value".into()));
    fs::write(&file, "0").unwrap();
    wait_for("the end of the refusal", || is_written(&mut client).is_ok());
}

#[test]
fn a_server_on_postgres_with_a_wrong_clock_writes_nothing() {
    assert_wrong_clocks_are_refused(&SharedStore::postgres());
}

#[test]
fn a_server_on_etcd_with_a_wrong_clock_writes_nothing() {
    assert_wrong_clocks_are_refused(&SharedStore::etcd());
}
