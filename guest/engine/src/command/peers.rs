//! Commands that concern the connections of all instances on a store: what each of the others contributes.

use super::{Command, client, server, table};
use crate::session::{Server, Session};
use bytes::Bytes;

type Contribution = fn(&mut Session, &[Bytes]) -> Vec<u8>;

/// What an instance does and says where another one runs this command; `None` where the others have nothing to do with it.
fn contribution(command: &Command) -> Option<Contribution> {
    match command.name {
        "client|kill" => Some(client::kill_here),
        "client|list" => Some(client::list_here),
        "client|unblock" => Some(client::unblock_here),
        "info" => Some(server::totals_here),
        _ => None,
    }
}

/// Whether the command needs what the other instances contribute.
pub fn concerns_peers(command: &Command) -> bool {
    contribution(command).is_some()
}

/// This instance's contribution to a command that another one runs.
pub fn answer(session: &mut Session, args: &[Bytes]) -> Vec<u8> {
    let command = table::resolve(args).and_then(contribution);
    command.map(|contribute| contribute(session, args)).unwrap_or_default()
}

/// A number as a contribution.
pub fn count_answer(count: usize) -> Vec<u8> {
    u64::try_from(count).unwrap_or(u64::MAX).to_be_bytes().to_vec()
}

/// The sum of the numbers that the peers have contributed.
pub fn sum_of_answers(server: &Server) -> usize {
    let numbers = server.peers.answers.iter().filter_map(|answer| answer.first_chunk::<8>());
    numbers.map(|bytes| usize::try_from(u64::from_be_bytes(*bytes)).unwrap_or(0)).sum()
}
