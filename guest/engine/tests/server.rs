//! Connection, server and transaction commands through the engine. Replies that no comment explains are those of a real Redis.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use orbweaver_engine::command::{reference, table};
use orbweaver_engine::environment::HeldEnvironment;
use orbweaver_engine::session::{Delivery, Engine, Outcome};
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::MemoryStore;

const FIRST: u64 = 1;
const SECOND: u64 = 2;

/// An engine at a clock that stands at one second after the epoch.
fn engine(settings: Settings) -> Engine {
    Engine::open(Box::new(MemoryStore::new()), Box::new(HeldEnvironment::new(1000, 1)), settings).unwrap()
}

fn exchange(engine: &mut Engine, connection: u64, line: &str) -> Outcome {
    engine.exchange(&[Delivery { connection, input: format!("{line}\r\n").into() }])
}

/// The reply to an inline command; ends of lines are shown as spaces.
fn run(engine: &mut Engine, connection: u64, line: &str) -> String {
    let outcome = exchange(engine, connection, line);
    let output: Vec<u8> = outcome.answers.into_iter().flat_map(|answer| answer.output).collect();
    String::from_utf8(output).unwrap().trim_end().replace("\r\n", " ")
}

/// Runs commands on one connection of a new engine and compares each reply.
#[track_caller]
fn check(settings: Settings, cases: &[(&str, &str)]) {
    let mut engine = engine(settings);
    engine.connect(FIRST, "127.0.0.1:5", None);
    for (line, expected) in cases {
        assert_eq!(run(&mut engine, FIRST, line), *expected, "{line}");
    }
}

fn with_password() -> Settings {
    Settings { password: Some("secret".to_owned()), ..Settings::default() }
}

const HELLO_3: &str =
    "%7 $6 server $5 redis $7 version $5 7.2.4 $5 proto :3 $2 id :1 $4 mode $10 standalone $4 role $6 master $7 modules *0";

#[test]
fn the_first_commands_of_redis_py_are_answered() {
    check(
        Settings::default(),
        &[
            ("HELLO 3", HELLO_3),
            ("CLIENT SETINFO LIB-NAME redis-py", "+OK"),
            ("CLIENT SETINFO LIB-VER 5.0.0", "+OK"),
            ("CLIENT SETINFO LIB-ETC x", "-ERR Unrecognized option 'LIB-ETC'"),
            ("SELECT 1", "+OK"),
            ("PING", "+PONG"),
        ],
    );
}

#[test]
fn hello_agrees_on_a_protocol_or_says_why_not() {
    check(
        Settings::default(),
        &[
            ("HELLO 4", "-NOPROTO unsupported protocol version"),
            ("HELLO x", "-ERR Protocol version is not an integer or out of range"),
            ("HELLO 2 FOO", "-ERR Syntax error in HELLO option 'FOO'"),
            ("HELLO 2 SETNAME", "-ERR Syntax error in HELLO option 'SETNAME'"),
            ("HELLO 2 SETNAME \"a b\"", "-ERR Client names cannot contain spaces, newlines or special characters."),
            ("HELLO 3 AUTH default anything SETNAME me", HELLO_3),
            ("CLIENT GETNAME", "$2 me"),
            ("RESET", "+RESET"),
            ("CLIENT GETNAME", "$-1"),
        ],
    );
}

#[test]
fn a_password_is_asked_for_and_recognised() {
    let hello = "-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be \
                 used to authenticate the client and select the RESP protocol version at the same time";
    let wrong = "-WRONGPASS invalid username-password pair or user is disabled.";
    check(
        with_password(),
        &[
            ("GET k", "-NOAUTH Authentication required."),
            ("HELLO 3", hello),
            ("AUTH wrong", wrong),
            ("AUTH other secret", wrong),
            ("AUTH a b c", "-ERR syntax error"),
            ("HELLO 3 AUTH default wrong", wrong),
            ("AUTH secret", "+OK"),
            ("GET k", "$-1"),
            ("CONFIG GET requirepass", "*2 $11 requirepass $6 secret"),
            ("RESET", "+RESET"),
            ("GET k", "-NOAUTH Authentication required."),
            ("HELLO 3 AUTH default secret", HELLO_3),
        ],
    );
    let not_set =
        "-ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?";
    check(Settings::default(), &[("AUTH x", not_set), ("AUTH default x", "+OK"), ("AUTH other x", wrong)]);
}

#[test]
fn dbs_are_selected_by_number() {
    check(
        Settings::default(),
        &[
            ("SET k zero", "+OK"),
            ("SELECT 15", "+OK"),
            ("GET k", "$-1"),
            ("SELECT 16", "-ERR DB index is out of range"),
            ("SELECT -1", "-ERR DB index is out of range"),
            ("SELECT x", "-ERR value is not an integer or out of range"),
            ("SELECT 0", "+OK"),
            ("GET k", "$4 zero"),
        ],
    );
}

#[test]
fn client_reply_holds_replies_back() {
    let mut engine = engine(Settings::default());
    engine.connect(FIRST, "127.0.0.1:5", None);
    assert_eq!(run(&mut engine, FIRST, "CLIENT REPLY SKIP\r\nECHO a\r\nECHO b"), "$1 b");
    assert_eq!(run(&mut engine, FIRST, "CLIENT REPLY OFF\r\nECHO a\r\nCLIENT REPLY ON\r\nECHO b"), "+OK $1 b");
    assert_eq!(run(&mut engine, FIRST, "CLIENT REPLY MAYBE"), "-ERR syntax error");
}

#[test]
fn clients_are_listed_by_type_and_number() {
    let mut engine = engine(Settings::default());
    engine.server().facts.insert("server.listen_address".to_owned(), "127.0.0.1:6379".to_owned());
    engine.connect(FIRST, "127.0.0.1:5", None);
    engine.connect(SECOND, "127.0.0.1:6", None);
    run(&mut engine, SECOND, "CLIENT SETNAME two\r\nCLIENT NO-TOUCH ON\r\nMULTI\r\nGET k");
    let zeros = "qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r";
    let own = format!(
        "id=1 addr=127.0.0.1:5 laddr=127.0.0.1:6379 fd=-1 name= age=0 idle=0 flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 {zeros} cmd=client|list \
         user=default redir=-1 resp=2 lib-name= lib-ver=\n"
    );
    let other = format!(
        "id=2 addr=127.0.0.1:6 laddr=127.0.0.1:6379 fd=-1 name=two age=0 idle=0 flags=xT db=0 sub=0 psub=0 ssub=0 multi=1 {zeros} cmd=get \
         user=default redir=-1 resp=2 lib-name= lib-ver=\n"
    );
    let listed = |text: &str| format!("${} {text}", text.len()).trim_end().to_owned();
    assert_eq!(run(&mut engine, FIRST, "CLIENT LIST"), listed(&format!("{own}{other}")));
    assert_eq!(run(&mut engine, FIRST, "CLIENT LIST ID 9 2"), listed(&other));
    assert_eq!(run(&mut engine, FIRST, "CLIENT LIST TYPE pubsub"), "$0");
    assert_eq!(run(&mut engine, FIRST, "CLIENT LIST TYPE odd"), "-ERR Unknown client type 'odd'");
    assert_eq!(run(&mut engine, FIRST, "CLIENT LIST ID x"), "-ERR Invalid client ID");
}

#[test]
fn a_killed_client_is_reported_to_the_host_and_oneself_is_answered_first() {
    let mut engine = engine(Settings::default());
    engine.connect(FIRST, "127.0.0.1:5", None);
    engine.connect(SECOND, "127.0.0.1:6", None);
    let outcome = exchange(&mut engine, FIRST, "CLIENT KILL ID 2");
    let closed: Vec<(u64, bool)> = outcome.answers.iter().map(|answer| (answer.connection, answer.close)).collect();
    assert_eq!(closed, [(FIRST, false), (SECOND, true)]);
    engine.disconnect(SECOND);
    assert_eq!(run(&mut engine, FIRST, "CLIENT KILL TYPE normal"), ":0");
    assert_eq!(run(&mut engine, FIRST, "CLIENT KILL 1.1.1.1:1"), "-ERR No such client");
    assert_eq!(run(&mut engine, FIRST, "CLIENT KILL ID 0"), "-ERR client-id should be greater than 0");
    assert_eq!(run(&mut engine, FIRST, "CLIENT KILL USER other"), "-ERR No such user 'other'");
    assert_eq!(run(&mut engine, FIRST, "CLIENT KILL ID 1 SKIPME"), "-ERR syntax error");
    let outcome = exchange(&mut engine, FIRST, "CLIENT KILL 127.0.0.1:5");
    assert_eq!((outcome.answers[0].output.as_slice(), outcome.answers[0].close), (&b"+OK\r\n"[..], true));
}

#[test]
fn what_is_not_supported_says_so() {
    check(
        Settings::default(),
        &[
            ("CLIENT PAUSE -1", "-ERR timeout is negative"),
            ("CLIENT PAUSE 10 ODD", "-ERR CLIENT PAUSE mode must be WRITE or ALL"),
            ("CLIENT PAUSE 10 WRITE", "-ERR CLIENT PAUSE is not supported"),
            ("CLIENT TRACKING ON", "-ERR CLIENT TRACKING ON is not supported"),
            ("CLIENT TRACKING OFF", "+OK"),
            ("CLIENT TRACKINGINFO", "*6 $5 flags *1 $3 off $8 redirect :-1 $8 prefixes *0"),
            ("CLIENT GETREDIR", ":-1"),
            ("CLIENT UNBLOCK 7", ":0"),
            ("CONFIG REWRITE", "-ERR The server is running without a config file"),
            ("DEBUG SLEEP 1", "-ERR DEBUG SLEEP is not supported"),
            ("DEBUG PANIC", "-ERR DEBUG PANIC is not allowed by the host"),
            ("DEBUG ODD", "-ERR unknown subcommand or wrong number of arguments for 'ODD'. Try DEBUG HELP."),
            ("SLOWLOG GET -2", "-ERR count should be greater than or equal to -1"),
            ("SLOWLOG GET 10", "*0"),
        ],
    );
}

#[test]
fn config_sets_all_of_its_parameters_or_none() {
    let failed = |name: &str, why: &str| format!("-ERR CONFIG SET failed (possibly related to argument '{name}') - {why}");
    check(
        Settings::default(),
        &[
            ("CONFIG SET proto-max-bulk-len 2mb", "+OK"),
            ("CONFIG SET Proto-Max-Bulk-Len 3mb maxmemory 1gb", &failed("maxmemory", "data is not held in memory")),
            ("CONFIG SET proto-max-bulk-len 3mb proto-max-bulk-len 4mb", &failed("proto-max-bulk-len", "duplicate parameter")),
            ("CONFIG SET proto-max-bulk-len 3zb", &failed("proto-max-bulk-len", "argument must be a memory value")),
            ("CONFIG SET proto-max-bulk-len 1", &failed("proto-max-bulk-len", "argument must be between 1048576 and 536870912 inclusive")),
            ("CONFIG SET databases 3", &failed("databases", "can't set immutable config")),
            ("CONFIG SET odd 3", "-ERR Unknown option or number of arguments for CONFIG SET - 'odd'"),
            ("CONFIG SET a b c", "-ERR syntax error"),
            ("CONFIG SET maxmemory 0", "+OK"),
            ("CONFIG GET proto-* PROTO-max-bulk-len data?ases odd", "*4 $9 databases $2 16 $18 proto-max-bulk-len $7 2097152"),
        ],
    );
}

#[test]
fn a_longest_string_that_is_set_holds_at_once() {
    let mut engine = engine(Settings::default());
    engine.connect(FIRST, "127.0.0.1:5", None);
    assert_eq!(run(&mut engine, FIRST, "CONFIG SET proto-max-bulk-len 1mb"), "+OK");
    assert_eq!(run(&mut engine, FIRST, "*2\r\n$4\r\nECHO\r\n$1048577"), "-ERR Protocol error: invalid bulk length");
}

#[test]
fn info_shows_sections_in_the_order_of_redis_with_the_facts_of_the_host() {
    let mut engine = engine(Settings::default());
    let facts = [("cpu.used_cpu_sys", "1.5"), ("server.redis_mode", "sandboxed"), ("config.port", "6379")];
    engine.server().facts.extend(facts.map(|(name, value)| (name.to_owned(), value.to_owned())));
    engine.connect(FIRST, "127.0.0.1:5", None);
    assert_eq!(run(&mut engine, FIRST, "INFO cpu"), "$25 # CPU used_cpu_sys:1.5");
    assert_eq!(run(&mut engine, FIRST, "INFO odd"), "$0");
    assert_eq!(run(&mut engine, FIRST, "CONFIG GET port"), "*2 $4 port $4 6379");
    run(&mut engine, FIRST, "SET k v\r\nODD\r\nSELECT 3\r\nSET k v");
    let info = run(&mut engine, FIRST, "INFO");
    let titles: Vec<&str> = info.split(" # ").skip(1).map(|section| section.split(' ').next().unwrap()).collect();
    let expected =
        ["Server", "Clients", "Memory", "Persistence", "Stats", "Replication", "CPU", "Modules", "Errorstats", "Cluster", "Keyspace"];
    assert_eq!(titles, expected);
    for line in ["redis_version:7.2.4", "redis_mode:sandboxed", "connected_clients:1", "errorstat_ERR:count=1", "total_error_replies:1"] {
        assert!(info.contains(&format!(" {line} ")), "{line}: {info}");
    }
    assert!(info.ends_with("# Keyspace db0:keys=1,expires=0,avg_ttl=0 db3:keys=1,expires=0,avg_ttl=0"), "{info}");
    assert_eq!(run(&mut engine, FIRST, "CONFIG RESETSTAT"), "+OK");
    assert!(run(&mut engine, FIRST, "INFO stats clients").contains("connected_clients:1 "));
    assert_eq!(run(&mut engine, FIRST, "INFO errorstats"), "$14 # Errorstats");
}

#[test]
fn memory_usage_is_the_size_of_the_records() {
    check(
        Settings::default(),
        &[
            ("SET key value", "+OK"),
            // Keys: space (4), 3 bytes. Value: kind, flags, 5 bytes.
            ("MEMORY USAGE key", ":14"),
            ("MEMORY USAGE missing", "$-1"),
            ("MEMORY USAGE key SAMPLES 0", ":14"),
            ("MEMORY USAGE key SAMPLES -1", "-ERR syntax error"),
            ("MEMORY USAGE key SAMPLES x", "-ERR value is not an integer or out of range"),
            ("MEMORY USAGE key SAMPLES", "-ERR syntax error"),
            ("DEBUG OBJECT missing", "-ERR no such key"),
        ],
    );
}

#[test]
fn command_describes_rows_as_redis_does() {
    let get = "*10 $3 get :2 *2 +readonly +fast :1 :1 :1 *3 +@read +@string +@fast *0 \
               *1 *6 $5 flags *2 +RO +access $12 begin_search *4 $4 type $5 index $4 spec *2 $5 index :1 \
               $9 find_keys *4 $4 type $5 range $4 spec *6 $7 lastkey :0 $7 keystep :1 $5 limit :0 *0";
    check(
        Settings::default(),
        &[
            ("COMMAND INFO get odd config|odd", &format!("*3 {get} $-1 $-1")),
            (
                "COMMAND INFO config|get",
                "*1 *10 $10 config|get :-3 *4 +admin +noscript +loading +stale :0 :0 :0 *3 +@admin +@slow +@dangerous *0 *0 *0",
            ),
            ("COMMAND DOCS odd", "*0"),
            ("COMMAND DOCS echo", "*2 $4 echo *6 $7 summary $25 Returns the given string. $5 since $5 1.0.0 $5 group $10 connection"),
            ("COMMAND GETKEYS GET a", "*1 $1 a"),
            ("COMMAND GETKEYS MEMORY USAGE a", "*1 $1 a"),
            ("COMMAND GETKEYSANDFLAGS GET a", "*1 *2 $1 a *2 +RO +access"),
            ("COMMAND GETKEYS GET a b", "-ERR Invalid number of arguments specified for command"),
            ("COMMAND GETKEYS PING", "-ERR The command has no key arguments"),
            ("COMMAND GETKEYS ZINTERSTORE z1 -10 k", "-ERR Invalid arguments specified for command"),
            ("COMMAND GETKEYS ZINTERSTORE z1 0 k", "-ERR Invalid arguments specified for command"),
            ("COMMAND GETKEYS ODD", "-ERR Invalid command specified"),
            ("COMMAND LIST FILTERBY ACLCAT transaction", "*5 $7 discard $4 exec $5 multi $7 unwatch $5 watch"),
            ("COMMAND LIST FILTERBY ACLCAT odd", "*0"),
            ("COMMAND LIST FILTERBY PATTERN CONFIG|RE*", "*2 $16 config|resetstat $14 config|rewrite"),
            ("COMMAND LIST FILTERBY ODD x", "-ERR syntax error"),
            ("ACL CAT transaction", "*5 $7 discard $4 exec $5 multi $7 unwatch $5 watch"),
            ("ACL CAT odd", "-ERR Unknown category 'odd'"),
            ("ACL WHOAMI", "$7 default"),
        ],
    );
}

#[test]
fn every_container_lists_its_subcommands() {
    let mut engine = engine(Settings::default());
    engine.connect(FIRST, "127.0.0.1:5", None);
    for command in table::all().iter().filter(|command| !command.subcommands.is_empty()) {
        let name = command.name.to_ascii_uppercase();
        let help = run(&mut engine, FIRST, &format!("{name} HELP"));
        let lines = 1 + 2 * command.subcommands.len();
        assert!(help.starts_with(&format!("*{lines} +{name} <subcommand> [<arg> [value] [opt] ...]. Subcommands are: +")), "{help}");
    }
}

#[test]
fn session_commands_within_multi_run_at_exec() {
    check(
        Settings::default(),
        &[
            ("MULTI", "+OK"),
            ("SELECT 3", "+QUEUED"),
            ("SET k v", "+QUEUED"),
            ("CLIENT SETNAME me", "+QUEUED"),
            ("CLIENT GETNAME", "+QUEUED"),
            ("SELECT 99", "+QUEUED"),
            ("EXEC", "*5 +OK +OK +OK $2 me -ERR DB index is out of range"),
            ("GET k", "$1 v"),
            ("MULTI", "+OK"),
            ("CLIENT SETNAME you", "+QUEUED"),
            ("SHUTDOWN", "-ERR Command not allowed inside a transaction"),
            ("EXEC", "-EXECABORT Transaction discarded because of previous errors."),
            ("CLIENT GETNAME", "$2 me"),
            ("MULTI", "+OK"),
            ("RESET", "+RESET"),
            ("EXEC", "-ERR EXEC without MULTI"),
        ],
    );
}

#[test]
fn a_watched_key_that_changed_keeps_the_transaction_from_running() {
    let mut engine = engine(Settings::default());
    engine.connect(FIRST, "127.0.0.1:5", None);
    engine.connect(SECOND, "127.0.0.1:6", None);
    run(&mut engine, FIRST, "WATCH k\r\nMULTI\r\nCLIENT SETNAME me\r\nSET k mine");
    run(&mut engine, SECOND, "SET k other");
    assert_eq!(run(&mut engine, FIRST, "EXEC"), "*-1");
    assert_eq!(run(&mut engine, FIRST, "GET k\r\nCLIENT GETNAME"), "$5 other $-1");
}

#[test]
fn time_is_told_in_seconds_and_microseconds() {
    let mut environment = HeldEnvironment::new(0, 1);
    environment.now_us = 1_700_000_000_000_042;
    let mut engine = Engine::open(Box::new(MemoryStore::new()), Box::new(environment), Settings::default()).unwrap();
    engine.connect(FIRST, "127.0.0.1:5", None);
    assert_eq!(run(&mut engine, FIRST, "TIME"), "*2 $10 1700000000 $2 42");
}

#[test]
fn shutdown_tells_the_host_and_has_no_reply() {
    let mut engine = engine(Settings::default());
    engine.connect(FIRST, "127.0.0.1:5", None);
    for (line, error) in [
        ("SHUTDOWN ODD", "-ERR syntax error"),
        ("SHUTDOWN SAVE NOSAVE", "-ERR syntax error"),
        ("SHUTDOWN ABORT NOW", "-ERR syntax error"),
        ("SHUTDOWN ABORT", "-ERR No shutdown in progress."),
    ] {
        let outcome = exchange(&mut engine, FIRST, line);
        assert_eq!(outcome.answers[0].output, format!("{error}\r\n").as_bytes(), "{line}");
        assert!(!outcome.shutdown, "{line}");
    }
    let outcome = exchange(&mut engine, FIRST, "SHUTDOWN NOSAVE NOW");
    assert!(outcome.shutdown);
    assert!(outcome.answers[0].output.is_empty());
}

#[test]
#[should_panic(expected = "DEBUG PANIC")]
fn debug_panic_panics_where_the_host_allows_it() {
    check(Settings { allow_debug_panic: true, ..Settings::default() }, &[("DEBUG PANIC", "")]);
}

#[test]
fn the_page_of_commands_is_that_of_the_table() {
    let page = include_str!("../../../docs/commands.md");
    assert!(page == reference::markdown(), "docs/commands.md is old: cargo run -p orbweaver-engine --example generate_docs");
}
