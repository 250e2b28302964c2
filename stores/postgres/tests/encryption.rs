//! TLS, in the modes of libpq.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use orbweaver_engine::store::{Order, Store};
use orbweaver_postgres::PostgresStore;
use orbweaver_servers::{PostgresServer, PostgresTls};

fn opens(server: &PostgresServer, host: &str, options: &str) -> Result<(), String> {
    let url = PostgresServer::url_by(host, server.port(), &format!("connect_timeout=2s&{options}"));
    let store = PostgresStore::open(&url).map_err(|error| error.to_string())?;
    store.handle().open_keyspace("data", Order::Bytes).map(drop).map_err(|error| error.to_string())
}

#[test]
fn each_mode_asks_of_the_certificate_what_libpq_does() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let [trusted, untrusted] = [("trusted", made.cert.pem()), ("untrusted", other.cert.pem())].map(|(name, pem)| {
        let path = directory.path().join(name);
        std::fs::write(&path, pem).unwrap();
        path.display().to_string()
    });
    let tls = PostgresTls { certificate: made.cert.pem(), key: made.signing_key.serialize_pem() };
    // It takes no connection without TLS. Its certificate is for localhost, not for 127.0.0.1.
    let server = PostgresServer::start_with_tls(&tls).unwrap();

    for mode in ["sslmode=prefer", "sslmode=require", "application_name=with-the-default-mode"] {
        assert_eq!(opens(&server, "127.0.0.1", mode), Ok(()), "{mode}");
    }
    assert_eq!(opens(&server, "127.0.0.1", &format!("sslmode=verify-ca&sslrootcert={trusted}")), Ok(()));
    assert_eq!(opens(&server, "localhost", &format!("sslmode=verify-full&sslrootcert={trusted}")), Ok(()));

    for (host, options) in [
        ("127.0.0.1", "sslmode=disable".to_owned()),
        ("127.0.0.1", format!("sslmode=verify-full&sslrootcert={trusted}")),
        ("localhost", format!("sslmode=verify-full&sslrootcert={untrusted}")),
        ("127.0.0.1", format!("sslmode=verify-ca&sslrootcert={untrusted}")),
        ("127.0.0.1", format!("sslmode=require&sslrootcert={untrusted}")),
    ] {
        let error = opens(&server, host, &options).expect_err(&options);
        let says_what = if options == "sslmode=disable" { "no encryption" } else { "sslmode and sslrootcert" };
        assert!(error.contains(says_what), "{options}: {error}");
    }
}

#[test]
fn a_server_without_tls_is_refused_where_tls_is_required_and_taken_where_it_is_preferred() {
    let server = PostgresServer::start(&["fsync=off"]).unwrap();
    assert_eq!(opens(&server, "127.0.0.1", "sslmode=prefer"), Ok(()));
    let error = opens(&server, "127.0.0.1", "sslmode=require").unwrap_err();
    assert!(error.contains("server does not support TLS") && error.contains("sslmode"), "{error}");
}
