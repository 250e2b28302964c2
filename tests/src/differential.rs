//! The differential test: the same random sequences on two targets, until replies differ; then the shortest script that shows it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

use orbweaver_engine::resp::{Value, render_human};

use crate::client::Args;
use crate::compare::{Exchange, first_difference, is_queued, same};
use crate::generator;
use crate::known_differences::{KnownDifference, explanation};
use crate::layouts::fit::Fit;
use crate::layouts::{differences, refusals};
use crate::sequence::{Block, Step, run};
use crate::target::Target;

/// Commands between two FLUSHALLs.
const SEQUENCE_LENGTH: usize = 200;
/// A report shows this many characters of a reply.
const SHOWN_CHARACTERS: usize = 2_000;

/// How much to compare.
pub struct Plan {
    /// The first sequence's seed; the next ones have the next numbers.
    pub seed: u64,
    /// At least so many commands.
    pub commands: usize,
    /// Go on until so many different commands have shown a difference.
    pub max_reports: usize,
    /// Leave out what consists of other commands than these, when there are any; in capitals.
    pub only: Vec<String>,
    /// What is compared is this layout, of which not all can be asked.
    pub layout: Option<ForeignLayout>,
}

/// A layout that is held against Redis.
#[derive(Clone, Debug)]
pub struct ForeignLayout {
    /// The layout's name.
    pub name: String,
    /// What is changed in sequences for it.
    pub fit: Fit,
}

impl Plan {
    /// `commands` commands from seed 1 on, until the first difference.
    #[must_use]
    pub fn new(commands: usize) -> Self {
        Self { seed: 1, commands, max_reports: 1, only: Vec::new(), layout: None }
    }

    /// As [`Self::new`], changed by `ORBWEAVER_SEED`, `ORBWEAVER_COMMANDS`, `ORBWEAVER_REPORTS` and `ORBWEAVER_ONLY` (names of commands
    /// between commas).
    ///
    /// # Panics
    /// When a variable is not a number.
    #[must_use]
    pub fn from_environment(commands: usize) -> Self {
        let number = |name: &str, default: u64| {
            std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} must be a number, not '{text}'")))
        };
        let size = |name: &str, default: usize| usize::try_from(number(name, default as u64)).expect("a size of this machine");
        Self {
            seed: number("ORBWEAVER_SEED", 1),
            commands: size("ORBWEAVER_COMMANDS", commands),
            max_reports: size("ORBWEAVER_REPORTS", 1),
            only: std::env::var("ORBWEAVER_ONLY")
                .map_or_else(|_| Vec::new(), |names| names.split(',').map(str::to_ascii_uppercase).collect()),
            layout: None,
        }
    }
}

/// What a comparison has seen.
#[derive(Default)]
pub struct Summary {
    /// How many commands were compared.
    pub commands: usize,
    /// How often each command occurred, and how often Redis answered it with an error.
    pub by_command: BTreeMap<String, Count>,
    /// How often each known difference was met, by its reason.
    pub known: BTreeMap<&'static str, usize>,
    /// How often the layout had no room for something, by command and by what it says: these are not compared.
    pub refusals: BTreeMap<(String, String), usize>,
    /// The differences: a script for each, that shows it and says how to repeat it.
    pub reports: Vec<String>,
}

/// Occurrences of a command.
#[derive(Default)]
pub struct Count {
    /// All of them.
    pub total: usize,
    /// Those that Redis answered with an error.
    pub errors: usize,
}

/// Executes the sequences of `plan` on both targets and compares the replies.
///
/// # Errors
/// When a target is gone.
pub fn compare(redis: &mut dyn Target, other: &mut dyn Target, plan: &Plan) -> io::Result<Summary> {
    let mut summary = Summary::default();
    let mut reported = Vec::new();
    for seed in plan.seed.. {
        if summary.commands >= plan.commands || summary.reports.len() >= plan.max_reports {
            break;
        }
        let mut blocks = generator::sequence(seed, SEQUENCE_LENGTH);
        blocks.retain(|block| plan.only.is_empty() || block.iter().all(|step| plan.only.contains(&name_of(&step.command))));
        if let Some(layout) = &plan.layout {
            layout.fit.apply(seed, &mut blocks);
        }
        let found = Pair { redis, other, layout: plan.layout.as_ref() }.difference(blocks.concat(), &mut summary)?;
        if let Some(difference) = found
            && !reported.contains(&difference.name)
        {
            summary.reports.push(shortest_script(&mut Pair { redis, other, layout: plan.layout.as_ref() }, seed, blocks, &difference)?);
            reported.push(difference.name);
        }
    }
    Ok(summary)
}

/// The first difference in a sequence.
struct Difference {
    /// The steps that it takes to see it.
    steps: Vec<Step>,
    /// The command that answered otherwise: inside of an EXEC, not the EXEC.
    name: String,
    /// Both its replies, as lines of a report.
    replies: String,
}

struct Pair<'a> {
    redis: &'a mut dyn Target,
    other: &'a mut dyn Target,
    layout: Option<&'a ForeignLayout>,
}

impl Pair<'_> {
    fn difference(&mut self, steps: Vec<Step>, summary: &mut Summary) -> io::Result<Option<Difference>> {
        let (steps, other) = refusals::run_without(self.other, steps, &mut |step, text| summary.count_refusal(step, text))?;
        let redis = run(self.redis, &steps)?;
        summary.commands += steps.len();
        let mut last = None;
        let step = first_difference(&steps, &redis, &other, &mut |exchange, before| {
            last = Some(exchange);
            summary.count(&exchange);
            same(&exchange, before.as_ref()) || summary.is_known(self.layout, &exchange)
        });
        Ok(step.zip(last).map(|(step, last)| Difference {
            steps: steps[..=step].to_vec(),
            name: last.name(),
            replies: format!("# Redis:\n{}# the other:\n{}", shown("# ", last.redis), shown("# ", last.other)),
        }))
    }
}

impl Summary {
    fn count(&mut self, exchange: &Exchange<'_>) {
        if is_queued(exchange) {
            return;
        }
        let count = self.by_command.entry(name_of(exchange.command)).or_default();
        count.total += 1;
        count.errors += usize::from(matches!(exchange.redis, Value::Error(_)));
    }

    fn count_refusal(&mut self, step: &Step, text: &str) {
        *self.refusals.entry((name_of(&step.command), text.to_owned())).or_default() += 1;
    }

    fn is_known(&mut self, layout: Option<&ForeignLayout>, exchange: &Exchange<'_>) -> bool {
        let of_layout = || layout.and_then(|layout| differences::explanation(&layout.name, exchange));
        let known: Option<&KnownDifference> = explanation(exchange).or_else(of_layout);
        if let Some(known) = known {
            *self.known.entry(known.reason).or_default() += 1;
        }
        known.is_some()
    }
}

/// A command's name in capitals.
fn name_of(command: &Args) -> String {
    command.first().map(|name| String::from_utf8_lossy(name).to_ascii_uppercase()).unwrap_or_default()
}

/// Takes blocks away, large groups first, as long as `fails` still holds, and returns what cannot be done without.
fn shrink(mut blocks: Vec<Block>, mut fails: impl FnMut(&[Block]) -> io::Result<bool>) -> io::Result<Vec<Block>> {
    let mut size = blocks.len().div_ceil(2);
    while size > 0 {
        let before = blocks.len();
        let mut at = 0;
        while at < blocks.len() {
            let end = (at + size).min(blocks.len());
            let shorter = [&blocks[..at], &blocks[end..]].concat();
            if fails(&shorter)? {
                blocks = shorter;
            } else {
                at = end;
            }
        }
        // Single blocks go again and again until none can go.
        size = if size == 1 && blocks.len() < before { 1 } else { size / 2 };
    }
    Ok(blocks)
}

/// A script that shows the difference, with the replies of Redis.
fn shortest_script(pair: &mut Pair<'_>, seed: u64, blocks: Vec<Block>, found: &Difference) -> io::Result<String> {
    let blocks = shrink(blocks, |blocks| {
        let again = pair.difference(blocks.concat(), &mut Summary::default())?;
        Ok(again.is_some_and(|again| again.name == found.name))
    })?;
    let again = pair.difference(blocks.concat(), &mut Summary::default())?;
    let steps = &again.as_ref().unwrap_or(found).steps;
    let mut out = format!("# repeat with ORBWEAVER_SEED={seed} ORBWEAVER_COMMANDS=1\n");
    for (step, reply) in steps.iter().zip(run(pair.redis, steps)?) {
        let _ = write!(out, "{step}\n{}", shown("> ", &reply));
    }
    out.push_str(if again.is_some() { "" } else { "# it did not happen again\n" });
    out.push_str(&again.as_ref().unwrap_or(found).replies);
    Ok(out)
}

fn shown(prefix: &str, reply: &Value) -> String {
    let text: String = render_human(reply).chars().take(SHOWN_CHARACTERS).collect();
    text.lines().map(|line| format!("{prefix}{line}\n")).collect()
}
