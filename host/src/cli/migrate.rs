//! `orbweaver migrate`: a dump of one database goes into a load of another, with nothing between them but a piece of it.

mod adapter;
mod digest;
mod instance;
mod line;
mod lines;
mod loss;
mod place;
mod state;

use super::options::{CamelliaArgs, EngineArgs, LayoutName, Setting, load_component, packing};
use super::output::byte_progress;
use super::refused::Refused;
use super::store::DEADLINE;
use adapter::Adapter;
use anyhow::{anyhow, bail};
use clap::Args;
use digest::{Digest, Hashes};
use indicatif::ProgressBar;
use instance::Instance;
use lines::{Lines, Position};
use loss::{Loss, Survey};
use orbweaver::runtime::typed::keys::Kind;
use orbweaver::runtime::{CallError, Component, Orbweaver};
use orbweaver::stores::rocksdb::Layout;
use orbweaver_engine::environment::HeldEnvironment;
use orbweaver_engine::store::{Limits, MemoryStore, Store};
use place::Place;
use state::{Phase, State, Task};
use std::path::PathBuf;
use std::process::ExitCode;

/// Bytes of the dump that are asked of the source at a time: what is written before the state is.
const STEP_BYTES: u32 = 1 << 20;

/// Copies every live key of a database into a new one, which may be of another layout, and compares both at the end.
///
/// The source is not changed; stop its server first. What the target's layout cannot hold is listed before anything is written, and
/// has to be named with --lossy. A migration that was interrupted goes on when it is run again; how far it is, is noted in a
/// file as long as it is not finished: beside the target's directory, or in the working directory where the target is a URL.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  orbweaver migrate --from pika/db --to data
  orbweaver migrate --from data --to old --to-layout blackwidow
  orbweaver migrate --from data --to postgres://ada@db.example/app
  orbweaver migrate --from data --to old --to-layout blackwidow --lossy milliseconds,field-expiries

docs/migration.md describes what each kind of loss means.")]
pub struct MigrateArgs {
    /// Directory of the database to copy, or the URL of a store, as for --store of other subcommands
    #[arg(long, value_name = "DIR|URL")]
    from: Place,
    /// Directory of the database to make, or the URL of a store; one that exists has to be empty
    #[arg(long, value_name = "DIR|URL")]
    to: Place,
    /// Layout of the database to make [default: orbweaver]
    #[arg(long, value_enum, value_name = "LAYOUT", hide_possible_values = true)]
    to_layout: Option<LayoutName>,
    #[command(flatten)]
    camellia: CamelliaArgs,
    /// What may be lost where the layout cannot hold it
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_enum)]
    lossy: Vec<Loss>,
    #[command(flatten)]
    engine: EngineArgs,
}

pub fn migrate(args: &MigrateArgs) -> anyhow::Result<ExitCode> {
    let (task, state_path) = (args.task()?, args.to.state_path()?);
    let begun = State::read(&state_path)?;
    match &begun {
        Some(state) if state.task != task => bail!(
            "a migration of {} with other options is not finished: run it again as it was begun, or remove {} and {} to start over",
            state.task.from,
            state_path.display(),
            args.to
        ),
        None if !args.to.is_empty()? => bail!("{} is not empty: a migration makes a new database", args.to),
        _ => {}
    }
    let now_ms = begun.as_ref().map_or_else(|| args.engine.environment(None).now_us() / 1000, |state| state.now_ms);
    let opener = Opener { args, component: load_component()?, now_ms };
    let (source_store, source_layout) = args.from.open_source()?;
    let limits = match &args.to {
        Place::Directory(_) => Limits { read_only: false, ..source_store.handle().limits() },
        Place::Remote(_) => args.to.open_target(args.target_layout())?.handle().limits(),
    };
    let mut source = opener.source(source_store.handle(), source_layout)?;
    let make_target = || opener.target(Box::new(MemoryStore::with_limits(limits)));
    let mut adapter = Adapter::new(make_target, &mut opener.source(Box::new(MemoryStore::new()), source_layout)?)?;

    let state = match begun {
        // Somebody has removed what was written.
        Some(state) if args.to.is_empty()? => State::new(task, now_ms, state.total, state.is_lossy),
        Some(state) => state,
        None => {
            let (survey, total) = take_survey(&mut source, &mut adapter)?;
            args.check(&survey)?;
            State::new(task, now_ms, total, !survey.is_empty())
        }
    };
    state.write(&state_path)?;
    let target_store = args.to.open_target(args.target_layout())?;
    let target = opener.target(target_store.handle())?;
    let mut migration = Migration { source, target, adapter, state, state_path };
    migration.copy()?;
    let keys = migration.compare()?;
    State::remove(&migration.state_path)?;
    println!("{keys} keys migrated to {}, and compared with {}", args.to, args.from);
    Ok(ExitCode::SUCCESS)
}

impl MigrateArgs {
    fn target_layout(&self) -> Layout {
        self.to_layout.map_or(Layout::Orbweaver, Layout::from)
    }

    fn task(&self) -> anyhow::Result<Task> {
        let from = self.from.settled()?;
        if self.to.settled().is_ok_and(|to| to == from) {
            bail!("{} cannot be migrated into itself", self.from);
        }
        let mut lossy = self.lossy.clone();
        lossy.sort_unstable();
        lossy.dedup();
        Ok(Task {
            from: from.to_string(),
            to: self.to.to_string(),
            to_layout: self.target_layout().name().to_owned(),
            databases: self.engine.databases(),
            lossy,
        })
    }

    /// Lists the losses, and refuses those that are not allowed.
    fn check(&self, survey: &Survey) -> anyhow::Result<()> {
        if survey.is_empty() {
            return Ok(());
        }
        eprintln!("The target's layout cannot hold all:\n{survey}");
        let beyond: Vec<String> = survey.beyond(&self.lossy).iter().map(ToString::to_string).collect();
        if beyond.is_empty() {
            return Ok(());
        }
        bail!("nothing is written: allow the losses with --lossy {}", beyond.join(","))
    }
}

/// Opens instances with one clock, which stands still: a key that the source has when the migration begins is there at its end.
struct Opener<'a> {
    args: &'a MigrateArgs,
    component: Component,
    now_ms: u64,
}

impl Opener<'_> {
    fn source(&self, store: Box<dyn Store + Send>, layout: Layout) -> anyhow::Result<Orbweaver> {
        self.open(store, &self.args.camellia.settings(layout))
    }

    fn target(&self, store: Box<dyn Store + Send>) -> anyhow::Result<Orbweaver> {
        let layout = self.args.target_layout();
        let settings: Vec<Setting> = self.args.camellia.settings(layout).into_iter().chain(packing(layout, None)).collect();
        self.open(store, &settings)
    }

    fn open(&self, store: Box<dyn Store + Send>, settings: &[Setting]) -> anyhow::Result<Orbweaver> {
        let environment = Box::new(HeldEnvironment::new(self.now_ms, 0));
        self.args.engine.open_in(&self.component, environment, store, settings, DEADLINE)
    }
}

impl Instance for Orbweaver {
    fn first_type(&mut self, db: u32, key: &[u8]) -> anyhow::Result<Option<&'static str>> {
        let name = |kind| match kind {
            Kind::String => "string",
            Kind::Hash => "hash",
            Kind::List => "list",
            Kind::Set => "set",
            Kind::SortedSet => "zset",
        };
        Ok(self.keys().kind_of(db, key)?.map(name))
    }

    fn dump(&mut self, start: Option<&[u8]>, max_bytes: u32) -> anyhow::Result<(Vec<u8>, Option<Vec<u8>>)> {
        Ok(Self::dump(self, start, max_bytes)?)
    }

    fn load(&mut self, lines: &[u8]) -> anyhow::Result<Result<(), Refused>> {
        match Self::load(self, lines) {
            Ok(_) => Ok(Ok(())),
            Err(CallError::Refused(text)) => Refused::parse(&text).map(Err).ok_or_else(|| anyhow!(text)),
            Err(trap) => Err(trap.into()),
        }
    }
}

fn size(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// What is to be done, shown with its progress on terminals.
fn begin(what: &str, total: Option<u64>) -> ProgressBar {
    let progress = byte_progress(total);
    progress.println(what);
    progress
}

/// What the target's layout cannot hold, and how many bytes the dump of the source has.
fn take_survey<I: Instance>(
    source: &mut Orbweaver,
    adapter: &mut Adapter<impl FnMut() -> anyhow::Result<I>>,
) -> anyhow::Result<(Survey, u64)> {
    let progress = begin("Surveying the source", None);
    let (mut survey, mut total) = (Survey::default(), 0);
    let mut lines = Lines::from(Position::default());
    while let Some(some) = lines.next(source, STEP_BYTES)? {
        adapter.adapt(&some, source)?.losses.into_iter().for_each(|lost| survey.add(lost));
        total += size(some.len());
        progress.inc(size(some.len()));
    }
    progress.finish_and_clear();
    Ok((survey, total))
}

/// A migration under way.
struct Migration<F> {
    source: Orbweaver,
    target: Orbweaver,
    adapter: Adapter<F>,
    state: State,
    state_path: PathBuf,
}

impl<I: Instance, F: FnMut() -> anyhow::Result<I>> Migration<F> {
    /// Writes what is not written yet. The store has each piece on the disk before the state says so.
    fn copy(&mut self) -> anyhow::Result<()> {
        let Self { source, target, adapter, state, state_path } = self;
        if state.phase != Phase::Copy {
            return Ok(());
        }
        let progress = begin("Copying", Some(state.total)).with_position(state.done);
        let mut lines = Lines::from(state.position.clone());
        while let Some(some) = lines.next(source, STEP_BYTES)? {
            let length = size(some.len());
            let held = if state.is_lossy { adapter.adapt(&some, source)?.lines } else { some };
            Instance::load(target, &held)?.map_err(|refused| anyhow!("the target refuses a key: {}", refused.reason))?;
            state.done += length;
            state.position = lines.position().clone();
            state.write(state_path)?;
            progress.set_position(state.done);
        }
        state.phase = Phase::Compare;
        state.write(state_path)?;
        progress.finish_and_clear();
        Ok(())
    }

    /// Compares the target with what was to be written, and returns how many keys there are.
    fn compare(&mut self) -> anyhow::Result<u64> {
        let hashes = Hashes::default();
        let (mut given, mut read) = (Digest::new(hashes.clone()), Digest::new(hashes));
        self.walk_both(&mut |lines, is_given| if is_given { given.add(lines) } else { read.add(lines) })?;
        let Some(mut bucket) = given.difference(&read) else { return Ok(given.lines()) };
        self.walk_both(&mut |lines, is_given| bucket.add(lines, is_given))?;
        let (names, state) = (bucket.names().join(", "), self.state_path.display());
        bail!("the target is not as the source: it differs in {names}. Remove it and {state} to start over");
    }

    /// Walks over what was to be written, and over what the target holds: whole lines at a time, and whether they were to be written.
    fn walk_both(&mut self, visit: &mut dyn FnMut(&[u8], bool) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let Self { source, target, adapter, state, .. } = self;
        let progress = begin("Comparing", Some(state.total.saturating_mul(2)));
        let mut lines = Lines::from(Position::default());
        while let Some(some) = lines.next(source, STEP_BYTES)? {
            progress.inc(size(some.len()));
            visit(&if state.is_lossy { adapter.adapt(&some, source)?.lines } else { some }, true)?;
        }
        let mut lines = Lines::from(Position::default());
        while let Some(some) = lines.next(target, STEP_BYTES)? {
            progress.inc(size(some.len()));
            visit(&some, false)?;
        }
        progress.finish_and_clear();
        Ok(())
    }
}
