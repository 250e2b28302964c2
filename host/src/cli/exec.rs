//! `orbweaver exec`.

use super::options::{ClockArgs, DirArgs, EngineArgs, ReadOnlyArgs};
use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use orbweaver::runtime::{BLOCKED, Delivery, Orbweaver};
use orbweaver_engine::resp::{Value, decode_replies, encode_request, render_human, render_raw, script_words};
use std::ffi::OsString;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::process::ExitCode;

/// The number of the only connection.
const CONNECTION: u64 = 1;

/// Runs one command, or without one a script on standard input: a command on each line, with the quotes of redis-cli; blank lines
/// and lines that begin with # are passed over. Prints replies as redis-cli does.
#[derive(Args, Debug)]
#[command(after_help = "Exit code: 1 if any reply was an error.

Examples:
  orbweaver exec --dir data SET greeting 'hello world'
  orbweaver exec --dir data --human HGETALL user:1
  orbweaver exec --dir data < script.txt
  orbweaver exec --store postgres://ada@db.example/app DBSIZE
  orbweaver exec --dir /var/pika/db --read-only --now 1700000000000 TTL user:1")]
pub struct ExecArgs {
    #[command(flatten)]
    dir: DirArgs,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    access: ReadOnlyArgs,
    #[command(flatten)]
    clock: ClockArgs,
    /// Print types and quotes, as on a terminal
    #[arg(long, conflicts_with = "raw")]
    human: bool,
    /// Print bare values, as to a file
    #[arg(long)]
    raw: bool,
    /// Speak RESP3, in which maps, sets and doubles are types of their own
    #[arg(long)]
    resp3: bool,
    /// Print replies as they are on the wire, for tests
    #[arg(long, hide = true, conflicts_with_all = ["human", "raw"])]
    wire: bool,
    /// The command and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub fn exec(args: ExecArgs) -> anyhow::Result<ExitCode> {
    let database = args.dir.open_or_create(args.access)?;
    let mut orbweaver = args.engine.open(&database, args.clock)?;
    orbweaver.connect(CONNECTION, "exec")?;
    let form = match args {
        ExecArgs { wire: true, .. } => Form::Wire,
        ExecArgs { human: true, .. } => Form::Human,
        ExecArgs { raw: false, .. } if io::stdout().is_terminal() => Form::Human,
        _ => Form::Raw,
    };
    let mut session = Session { orbweaver, form, failed: false, closed: false };
    if args.resp3 {
        session.call(&[b"HELLO".to_vec(), b"3".to_vec()])?;
    }
    if args.command.is_empty() {
        session.run_script()?;
    } else {
        let words: Vec<Vec<u8>> = args.command.into_iter().map(OsString::into_encoded_bytes).collect();
        session.run(&words)?;
    }
    Ok(if session.failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// How replies are printed.
enum Form {
    Human,
    Raw,
    Wire,
}

/// A conversation with the engine.
struct Session {
    orbweaver: Orbweaver,
    form: Form,
    /// A reply was an error.
    failed: bool,
    /// The engine has ended the conversation.
    closed: bool,
}

impl Session {
    fn run_script(&mut self) -> anyhow::Result<()> {
        let mut input = io::stdin().lock();
        let mut line = Vec::new();
        let mut number: u64 = 0;
        while !self.closed && input.read_until(b'\n', &mut line).context("cannot read the script")? > 0 {
            number += 1;
            let words = script_words(&line).map_err(|problem| anyhow!("line {number} of the script: {problem}"))?;
            if !words.is_empty() {
                self.run(&words)?;
            }
            line.clear();
        }
        Ok(())
    }

    /// Runs a command and prints what it says: most have one reply; after CLIENT REPLY OFF there is none.
    fn run(&mut self, words: &[Vec<u8>]) -> anyhow::Result<()> {
        let output = self.call(words)?;
        let replies = decode_replies(output.clone())?;
        self.failed |= replies.iter().any(|reply| matches!(reply, Value::Error(_)));
        let printed = match self.form {
            Form::Human => replies.iter().map(render_human).collect::<String>().into_bytes(),
            Form::Raw => replies.iter().flat_map(render_raw).collect(),
            Form::Wire => output,
        };
        let mut out = io::stdout().lock();
        out.write_all(&printed)?;
        Ok(out.flush()?)
    }

    /// Runs a command, and returns what the engine writes to the connection.
    fn call(&mut self, words: &[Vec<u8>]) -> anyhow::Result<Vec<u8>> {
        let outcome = self.orbweaver.exchange(&[Delivery { connection: CONNECTION, input: &encode_request(words) }])?;
        if outcome.answers.iter().any(|answer| answer.needed == BLOCKED) {
            let name = words.first().map(|name| String::from_utf8_lossy(name)).unwrap_or_default();
            bail!("{name} finds nothing to take, and there is nobody to wait for");
        }
        self.closed |= outcome.shutdown || outcome.answers.iter().any(|answer| answer.close);
        Ok(outcome.output)
    }
}
