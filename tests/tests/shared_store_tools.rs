//! The command's tools on stores behind a network, and what they say when something is wrong.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use orbweaver_engine::resp::Value;
use orbweaver_servers::free_ports;
use orbweaver_tests::client::args;
use orbweaver_tests::orbweaver_server::executable;
use orbweaver_tests::shared_store::{Servers, SharedStore, info};
use tempfile::TempDir;

/// Runs `orbweaver` in `dir`, with variables of the environment.
fn run(dir: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let mut command = Command::new(executable());
    command.current_dir(dir).args(arguments).envs(variables.iter().copied());
    let Output { status, stdout, stderr } = command.output().expect("the command starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (status.code(), text(stdout), text(stderr))
}

fn good(dir: &Path, arguments: &[&str]) -> String {
    let (code, out, err) = run(dir, arguments, &[]);
    assert_eq!(code, Some(0), "{arguments:?}: {out}{err}");
    out
}

/// A database goes from a directory to the store by migration, comes back, and is the same.
fn assert_databases_move(store: &SharedStore) {
    let dir = TempDir::new().unwrap();
    let (dir, url) = (dir.path(), store.url());
    for command in ["SET greeting hello", "HSET user:1 name Ada born 1815", "RPUSH queue a b c", "ZADD scores 1.5 one 2 two"] {
        let words: Vec<&str> = ["exec", "--dir", "data"].into_iter().chain(command.split(' ')).collect();
        good(dir, &words);
    }
    let dump = good(dir, &["dump", "--dir", "data"]);
    let said = good(dir, &["migrate", "--from", "data", "--to", &url]);
    assert!(said.starts_with("4 keys migrated to "), "{said}");
    assert!(fs::read_dir(dir).unwrap().all(|entry| !entry.unwrap().file_name().to_string_lossy().ends_with(".migration")));
    assert_eq!(good(dir, &["dump", "--store", &url]), dump);
    assert_eq!(good(dir, &["exec", "--store", &url, "HGET", "user:1", "born"]), "1815\n");
    assert!(good(dir, &["inspect", "--store", &url, "user:1"]).contains("Ada"));
    assert!(good(dir, &["check", "--store", &url]).ends_with("no record is wrong\n"));

    let (code, _, err) = run(dir, &["migrate", "--from", "data", "--to", &url], &[]);
    assert!(code == Some(1) && err.contains("is not empty: a migration makes a new database"), "{err}");
    let (code, out, _) = run(dir, &["exec", "--read-only", "--store", &url, "SET", "greeting", "bye"], &[]);
    assert!(code == Some(1) && out.contains("the store is read-only"), "{out}");

    good(dir, &["migrate", "--from", &url, "--to", "back"]);
    assert_eq!(good(dir, &["dump", "--dir", "back"]), dump);
}

#[test]
fn a_database_moves_to_postgres_and_back() {
    assert_databases_move(&SharedStore::postgres());
}

#[test]
fn a_database_moves_to_etcd_and_back() {
    assert_databases_move(&SharedStore::etcd());
}

/// A password that nobody may see, with what has to be encoded within a URL.
const PASSWORD: &str = "a secret/of tests";

#[test]
fn a_password_comes_from_a_file_or_the_environment_and_is_shown_to_nobody() {
    let store = SharedStore::postgres();
    let SharedStore::Postgres(server) = &store else { unreachable!("it is PostgreSQL") };
    server.run_sql(&format!("CREATE USER ada PASSWORD '{PASSWORD}'")).expect("the superuser may");
    server.run_sql("GRANT CREATE ON DATABASE postgres TO ada").expect("the superuser may");
    let dir = TempDir::new().unwrap();
    let without = store.url().replace("postgres@", "ada@");
    let with = without.replace("ada@", &format!("ada:{}@", PASSWORD.replace(' ', "%20").replace('/', "%2F")));
    fs::write(dir.path().join("password"), format!("{PASSWORD}\n")).unwrap();

    let by_file = ["exec", "--store", &without, "--store-password-file", "password", "SET", "key", "value"];
    assert_eq!(good(dir.path(), &by_file), "OK\n");
    let get = ["exec", "--store", &without, "GET", "key"];
    let (code, out, err) = run(dir.path(), &get, &[("ORBWEAVER_STORE_PASSWORD", PASSWORD)]);
    assert_eq!((code, out.as_str()), (Some(0), "value\n"), "{err}");
    let (code, out, err) = run(dir.path(), &get, &[("ORBWEAVER_STORE_PASSWORD", "a wrong word")]);
    assert!(code == Some(1) && err.contains("password") && !err.contains("a wrong word"), "{out}{err}");

    let mut servers = Servers::start(&with, 1, &[]);
    let log = servers.server(0).process().log();
    let mut client = servers.client(0);
    let address = info(&mut client, "store_address");
    assert!(address.starts_with("postgres://ada@127.0.0.1"), "{address}");
    let Value::Bulk(all) = client.call(&args(["INFO", "everything"])).unwrap() else { panic!("INFO is a text") };
    for shown in [log, String::from_utf8(all.to_vec()).unwrap()] {
        assert!(!shown.contains("secret"), "{shown}");
    }
}

#[test]
fn what_is_wrong_with_a_store_is_said() {
    let store = SharedStore::postgres();
    let dir = TempDir::new().unwrap();
    let [port] = free_ports().unwrap();
    let absent = store.url().replace("/postgres?", "/nowhere?");
    let cases: [(&str, i32, &[&str]); 6] = [
        (
            &format!("postgres://ada@127.0.0.1:{port}/app?sslmode=disable&connect_timeout=2s"),
            1,
            &["cannot open postgres://ada@127.0.0.1", "127.0.0.1"],
        ),
        (&format!("etcd://127.0.0.1:{port}/x?timeout=2s"), 1, &["cannot open etcd://127.0.0.1"]),
        (&absent, 1, &["nowhere"]),
        ("redis://localhost", 2, &["no store is named redis"]),
        ("tikv://localhost:2379", 1, &["--features tikv"]),
        ("disk", 2, &["rocksdb, memory or a URL is needed"]),
    ];
    for (url, expected, parts) in cases {
        let (code, _, err) = run(dir.path(), &["exec", "--store", url, "PING"], &[]);
        assert_eq!(code, Some(expected), "{url}: {err}");
        assert!(parts.iter().all(|part| err.contains(part)), "{url}: {err}");
    }
}
