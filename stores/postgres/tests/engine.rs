//! Commands on the store, as several servers run them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use orbweaver_engine::environment::SystemEnvironment;
use orbweaver_engine::session::{Delivery, Engine};
use orbweaver_engine::settings::Settings;
use orbweaver_postgres::PostgresStore;
use orbweaver_servers::PostgresServer;

const CONNECTION: u64 = 1;

/// An engine with a client, as one server has it.
struct Client(Engine);

impl Client {
    fn new(url: &str) -> Self {
        let store = PostgresStore::open(url).unwrap();
        let mut engine = Engine::open(Box::new(store.handle()), Box::new(SystemEnvironment::default()), Settings::default()).unwrap();
        engine.connect(CONNECTION, "127.0.0.1:1", None);
        Self(engine)
    }

    /// The replies to inline commands, with spaces for line ends.
    fn run(&mut self, lines: &str) -> String {
        let input = lines.lines().map(|line| format!("{}\r\n", line.trim())).collect::<String>();
        let outcome = self.0.exchange(&[Delivery { connection: CONNECTION, input: input.into() }]);
        let output = outcome.answers.into_iter().next().map(|answer| answer.output).unwrap_or_default();
        String::from_utf8(output).unwrap().trim_end().replace("\r\n", " ")
    }
}

#[test]
fn two_servers_see_one_database() {
    let server = PostgresServer::start(&["fsync=off"]).unwrap();
    let url = server.url("sslmode=disable");
    let (mut one, mut other) = (Client::new(&url), Client::new(&url));
    assert_eq!(
        one.run("SET greeting hello\nINCRBY hits 41\nRPUSH queue a b c\nHSET user name ada\nZADD board 1 x 2 y\nSADD tags t1 t2"),
        "+OK :41 :3 :1 :2 :2"
    );
    assert_eq!(
        other.run("GET greeting\nINCR hits\nLPOP queue\nHGETALL user\nZREVRANGE board 0 -1\nSCARD tags\nDBSIZE"),
        "$5 hello :42 $1 a *2 $4 name $3 ada *2 $1 y $1 x :2 :6"
    );
    assert_eq!(one.run("GET hits\nLRANGE queue 0 -1\nDEL greeting hits\nEXISTS greeting hits user"), "$2 42 *2 $1 b $1 c :2 :1");
    // Keys with every byte, and none.
    assert_eq!(one.run("SET \"\\x00\\xff\" binary\nSET \"\" empty"), "+OK +OK");
    assert_eq!(other.run("GET \"\\x00\\xff\"\nGET \"\""), "$6 binary $5 empty");
}

#[test]
fn a_watched_key_is_watched_across_servers() {
    let server = PostgresServer::start(&["fsync=off"]).unwrap();
    let url = server.url("sslmode=disable");
    let (mut one, mut other) = (Client::new(&url), Client::new(&url));
    assert_eq!(one.run("SET seen 1\nWATCH seen\nMULTI\nINCR seen"), "+OK +OK +OK +QUEUED");
    assert_eq!(other.run("SET other 1"), "+OK");
    assert_eq!(one.run("EXEC"), "*1 :2", "nobody has changed it");
    assert_eq!(one.run("WATCH seen\nMULTI\nINCR seen"), "+OK +OK +QUEUED");
    assert_eq!(other.run("SET seen 10"), "+OK");
    assert_eq!(one.run("EXEC\nGET seen"), "*-1 $2 10");
    // An exclusive transaction of another server changes every key.
    assert_eq!(one.run("WATCH seen\nMULTI\nINCR seen"), "+OK +OK +QUEUED");
    assert_eq!(other.run("FLUSHALL"), "+OK");
    assert_eq!(one.run("EXEC\nDBSIZE"), "*-1 :0");
}

#[test]
fn servers_learn_that_dbs_were_swapped_and_flushed() {
    let server = PostgresServer::start(&["fsync=off"]).unwrap();
    let url = server.url("sslmode=disable");
    let (mut one, mut other) = (Client::new(&url), Client::new(&url));
    assert_eq!(one.run("SET where zero\nSELECT 1\nSET where one\nSELECT 0"), "+OK +OK +OK +OK");
    assert_eq!(other.run("GET where\nSWAPDB 0 1"), "$4 zero +OK");
    assert_eq!(one.run("GET where"), "$3 one");
    assert_eq!(other.run("FLUSHDB"), "+OK");
    assert_eq!(one.run("SET new 1\nKEYS *\nSELECT 1\nKEYS *"), "+OK *1 $3 new +OK *1 $5 where");
}
