//! Commits: all statements and COMMIT in one round trip, and what became of one whose answer is missing.

use crate::changes::{Change, changes};
use crate::error::{Failure, judge};
use crate::handle::Open;
use crate::link::Link;
use crate::schema::STRIPES;
use crate::statements::{BEGIN_EXCLUSIVE, COMMIT, TOKENS_BYTES};
use crate::store::{Shared, corrupt};
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, MaybeDone, maybe_done, poll_fn};
use orbweaver_engine::store::{BatchOp, Scope, StoreError};
use orbweaver_remote::{Meter, Stripes};
use std::pin::Pin;
use std::task::Poll;
use tokio_postgres::{Error, Row};

/// A token is written by one commit, and by no other: by it the commit is recognised.
type Token = [u8; 8];

/// How often the outcome of a commit is asked for.
const RECALLS: u32 = 5;

/// A transaction that is about to be committed.
pub struct Commit<'s> {
    shared: &'s Shared,
    meter: &'s Meter,
    open: Open,
    /// The stripes that it changes.
    stripes: Vec<i32>,
    token: Token,
}

/// What the store says of a commit whose answer is missing.
enum Recalled {
    Committed,
    /// It is not, and never will be.
    NotCommitted,
    /// So many others have committed since that nothing tells any more.
    Forgotten,
}

impl<'s> Commit<'s> {
    /// `changed` holds positions within the scope's keys.
    pub fn new(shared: &'s Shared, meter: &'s Meter, open: Open, changed: &[u32]) -> Self {
        let stripes = match Stripes::new(&open.declared.scope, changed, STRIPES) {
            Some(stripes) => stripes.changed.into_iter().map(i32::from).collect(),
            None => open.locked.keys().copied().collect(),
        };
        Self { shared, meter, open, stripes, token: fastrand::u64(..).to_be_bytes() }
    }

    /// Writes the operations, and ends the transaction.
    pub async fn write(self, ops: &[BatchOp<'_>]) -> Result<(), StoreError> {
        let link = &self.open.lease.link;
        let mut requests: Vec<LocalBoxFuture<'_, Result<(), Error>>> = vec![self.mark(link).boxed_local()];
        requests.extend(changes(ops).into_iter().map(|change| apply(link, change).boxed_local()));
        requests.push(link.client.batch_execute(COMMIT).boxed_local());
        let last = requests.len() - 1;
        self.meter.count_commit();
        let statements = u32::try_from(requests.len()).unwrap_or(u32::MAX);
        let answers = self.shared.wait_for(statements, in_order(requests)).await;
        let place = &self.shared.pool.options().place;
        let failed = match &answers {
            Ok(answers) => answers.iter().zip(0..).find_map(|(answer, at)| Some((judge(place, answer.as_ref().err()?), at))),
            Err(Failure::Lost(what)) => Some((Failure::Lost(what.clone()), last)),
            Err(_) => None,
        };
        match failed {
            None => {
                if self.open.declared.scope == Scope::Exclusive {
                    self.shared.note_epoch(self.open.declared.epoch.saturating_add(1));
                }
                self.shared.pool.give(self.open.lease);
                Ok(())
            }
            // COMMIT has rolled back what was refused, and the transaction is over.
            Some((Failure::Collision, _)) => {
                self.shared.pool.give(self.open.lease);
                Err(StoreError::Conflict)
            }
            Some((Failure::Refused(error), at)) if at < last => {
                self.shared.pool.give(self.open.lease);
                Err(error)
            }
            Some((Failure::Lost(what), _)) => self.recall(what).await,
            Some((Failure::Refused(error), _)) => self.recall(error.to_string()).await,
        }
    }

    /// Counts the change of the stripes, and leaves the token there.
    async fn mark(&self, link: &Link) -> Result<(), Error> {
        let token: &[u8] = &self.token;
        match self.open.declared.scope {
            Scope::Exclusive => link.client.execute(&link.statements.mark_all, &[&token]).await,
            Scope::Read | Scope::Keys(_) => link.client.execute(&link.statements.mark, &[&token, &self.stripes]).await,
        }
        .map(drop)
    }

    /// Finds out what became of the commit after the answer was lost.
    async fn recall(self, what: String) -> Result<(), StoreError> {
        let Self { shared, meter, open, stripes, token } = self;
        let Open { lease, declared, locked } = open;
        // The server learns that nobody listens any more, and rolls back what it has not committed.
        lease.abandon();
        let unknown = |why: &str| Err(StoreError::UnknownOutcome(format!("{what}{why}")));
        let Some((stripe, revision)) = stripes.first().and_then(|stripe| locked.get_key_value(stripe)) else { return unknown("") };
        for _ in 0..RECALLS {
            let lease = match shared.pool.take().await {
                Ok(lease) => lease,
                Err(error) => return unknown(&format!("; {error}")),
            };
            meter.count_read();
            match shared.wait(look_for(&lease.link, token, *stripe, (*revision, declared.epoch))).await {
                Ok(recalled) => {
                    shared.pool.give(lease);
                    return match recalled {
                        Ok(Recalled::Committed) => Ok(()),
                        Ok(Recalled::NotCommitted) => Err(StoreError::Conflict),
                        Ok(Recalled::Forgotten) => unknown("; others have written the same keys since"),
                        Err(error) => Err(error),
                    };
                }
                Err(failure) => shared.give_up(lease, &failure),
            }
        }
        unknown("; its outcome could not be read")
    }
}

/// Looks for a token in a stripe that had this revision and epoch before. The lock waits until the transaction in question has ended,
/// if it is still there; a change of the row then keeps it from ever committing, also where locks do not outlive their server.
async fn look_for(link: &Link, token: Token, stripe: i32, before: (i64, i64)) -> Result<Result<Recalled, StoreError>, Error> {
    let client = &link.client;
    client.batch_execute(BEGIN_EXCLUSIVE).await?;
    let row = client.query_one(&link.statements.recall, &[&stripe]).await?;
    match recalled(&row, token, before) {
        Ok(Recalled::NotCommitted) => {}
        other => {
            link.send_rollback();
            return Ok(other.map_err(|error| corrupt(&error)));
        }
    }
    let fence: &[u8] = &fastrand::u64(..).to_be_bytes();
    client.execute(&link.statements.mark, &[&fence, &vec![stripe]]).await?;
    client.batch_execute(COMMIT).await?;
    Ok(Ok(Recalled::NotCommitted))
}

fn recalled(row: &Row, token: Token, (revision, epoch): (i64, i64)) -> Result<Recalled, Error> {
    let (now, epoch_now, tokens): (i64, i64, &[u8]) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    if tokens.chunks_exact(token.len()).any(|other| other == token) {
        return Ok(Recalled::Committed);
    }
    // Each commit since has left a token, of which the row keeps the last ones.
    let commits = now.saturating_sub(revision).saturating_add(epoch_now.saturating_sub(epoch));
    let kept = usize::try_from(commits).is_ok_and(|commits| commits <= TOKENS_BYTES / token.len());
    Ok(if kept { Recalled::NotCommitted } else { Recalled::Forgotten })
}

async fn apply(link: &Link, change: Change<'_>) -> Result<(), Error> {
    let (client, statements) = (&link.client, &link.statements);
    match change {
        Change::Put { keyspaces, keys, values } => client.execute(&statements.put, &[&keyspaces, &keys, &values]).await,
        Change::Delete { keyspace, keys } => client.execute(&statements.delete, &[&keyspace, &keys]).await,
        Change::DeleteRange { keyspace, start, end: Some(end) } => {
            client.execute(&statements.delete_range, &[&keyspace, &start, &end]).await
        }
        Change::DeleteRange { keyspace, start, end: None } => client.execute(&statements.delete_from, &[&keyspace, &start]).await,
    }
    .map(drop)
}

/// Sends requests in their order, each without waiting for the answers to those before, and returns all answers.
async fn in_order<T>(requests: Vec<LocalBoxFuture<'_, T>>) -> Vec<T> {
    let mut requests: Vec<MaybeDone<_>> = requests.into_iter().map(maybe_done).collect();
    poll_fn(|context| {
        // The first look at a request sends it.
        let waiting = requests.iter_mut().filter_map(|request| request.poll_unpin(context).is_pending().then_some(())).count();
        if waiting == 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    requests.iter_mut().filter_map(|request| Pin::new(request).take_output()).collect()
}
