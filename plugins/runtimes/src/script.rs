//! What the runtimes are given to do.

use anyhow::{Context as _, Result, anyhow};
use orbweaver_tests::client::Args;
use orbweaver_tests::generator;
use orbweaver_tests::script::parse;
use std::fs;
use std::path::{Path, PathBuf};

/// Commands that are fed to redis-cli elsewhere, in the repository.
const CLIENTS: &str = "tests/clients/commands.redis";
/// The folder of the scripts that each once showed a fault.
const REGRESSIONS: &str = "tests/tests/regressions";
/// Seeds of generated ones, and how many commands each has at least.
const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];
const COMMANDS: usize = 1150;

/// Commands of which the tools that run a script one command after the other, on one connection, cannot make sense: they wait for
/// somebody, or end the conversation.
const UNFIT: [&str; 11] =
    ["BLPOP", "BRPOP", "BLMPOP", "BLMOVE", "BRPOPLPUSH", "BZPOPMIN", "BZPOPMAX", "BZMPOP", "WAIT", "QUIT", "SHUTDOWN"];

/// Commands for one connection, on an empty database.
pub struct Script {
    /// What the table calls it.
    pub name: String,
    /// The commands in turn.
    pub commands: Vec<Args>,
}

/// All scripts.
///
/// # Errors
/// Where a kept one cannot be read.
pub fn all(repository: &Path) -> Result<Vec<Script>> {
    let mut regressions = fs::read_dir(repository.join(REGRESSIONS))?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    regressions.sort_unstable();
    let mut scripts = vec![kept("clients", &[repository.join(CLIENTS)])?, kept("regressions", &regressions)?];
    scripts.extend(SEEDS.map(generated));
    Ok(scripts)
}

/// The commands of these files on their first connection.
fn kept(name: &str, files: &[PathBuf]) -> Result<Script> {
    let mut script = Script { name: name.to_owned(), commands: Vec::new() };
    for file in files {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let lines = parse(&text).map_err(|problem| anyhow!("{}, {problem}", file.display()))?;
        script.commands.extend(lines.into_iter().filter(|line| line.connection == 0).map(|line| line.command));
    }
    script.commands.retain(is_fit);
    Ok(script)
}

fn generated(seed: u64) -> Script {
    let steps = generator::sequence(seed, COMMANDS).into_iter().flatten();
    let commands = steps.filter(|step| step.connection == 0).map(|step| step.command);
    Script { name: format!("random {seed}"), commands: commands.filter(is_fit).collect() }
}

fn is_fit(words: &Args) -> bool {
    words.first().is_some_and(|name| !UNFIT.iter().any(|unfit| name.eq_ignore_ascii_case(unfit.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_left_out_in_any_spelling() {
        let fit = |line: &str| is_fit(&line.split(' ').map(|word| word.as_bytes().to_vec()).collect());
        assert!(fit("LPOP l"));
        assert!(!fit("blpop l 0"));
        assert!(!is_fit(&Vec::new()));
    }
}
