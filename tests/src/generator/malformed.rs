//! What makes a sound command a malformed one.

use super::words::Words;
use crate::client::Args;

/// Spoils `command` in one way: too few or too many words, the wrong word, an unknown command.
pub fn spoil(w: &mut Words, command: &mut Args) {
    let at = w.below(command.len());
    match w.below(10) {
        0 | 1 if command.len() > 1 => {
            command.pop();
        }
        2 if at > 0 => {
            command.remove(at);
        }
        3 | 4 => command.push(w.junk()),
        5 if at > 0 => command.insert(at, w.junk()),
        6..=8 if at > 0 => command[at] = w.junk(),
        9 => command[0].push(b'X'),
        _ => command.push(w.key()),
    }
}
