//! MEMORY: what keys take, and what the host tells of its memory.

use crate::command::Context;
use crate::command::options::{integer, is_word};
use crate::error::{Result, texts};
use crate::layout::{Collection, KeyAt, Kind};
use crate::resp::reply::Reply;
use crate::session::Session;
use crate::store::Direction;
use bytes::Bytes;

/// How many elements MEMORY USAGE looks at where SAMPLES does not say.
const DEFAULT_SAMPLES: usize = 5;

/// `MEMORY USAGE key [SAMPLES count]`: bytes of the key's records in the store, before compression. Collections are estimated from
/// the first `count` elements (0: from all). Null for absent keys.
pub fn usage(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let samples = parse_samples(context.args.get(3..).unwrap_or_default())?;
    let at = context.db.at(context.arg(2))?;
    let Some(meta) = context.db.look_at(&at)? else {
        reply.null();
        return Ok(());
    };
    let meta_bytes = context.db.meta_bytes(&at, meta.kind())?;
    let element_bytes = match meta.collection() {
        Some(collection) if !collection.is_packed => elements_usage(context, &at, collection, samples)?,
        Some(_) | None => 0,
    };
    let bytes = element_bytes.saturating_add(meta_bytes);
    reply.integer(i64::try_from(bytes).unwrap_or(i64::MAX));
    Ok(())
}

fn parse_samples(options: &[Bytes]) -> Result<usize> {
    let mut samples = DEFAULT_SAMPLES;
    for option in options.chunks(2) {
        let [name, count] = option else { return Err(texts::SYNTAX) };
        if !is_word(name, "samples") {
            return Err(texts::SYNTAX);
        }
        samples = match u64::try_from(integer(count)?) {
            Ok(0) => usize::MAX,
            Ok(count) => usize::try_from(count).unwrap_or(usize::MAX),
            Err(_) => return Err(texts::SYNTAX),
        };
    }
    Ok(samples)
}

/// Mean size of the first `samples` records of each kind that the collection has, times the number of its elements.
fn elements_usage(context: &mut Context, at: &KeyAt, collection: Collection, samples: usize) -> Result<u64> {
    let db = &mut context.db;
    let count = db.count(at, &collection)?;
    if collection.kind == Kind::List {
        let sampled = count.min(u64::try_from(samples).unwrap_or(u64::MAX));
        let mut walk = db.layout.lists().walk(at, &collection, 0..sampled, Direction::Forward, sampled)?;
        let (mut bytes, mut seen) = (0_u64, 0_u64);
        while let Some((_, element)) = walk.next(db.transaction)? {
            // A list's records have an index of eight bytes each beside the version.
            bytes = bytes.saturating_add(u64::try_from(element.len()).unwrap_or(u64::MAX)).saturating_add(16);
            seen += 1;
        }
        return Ok(bytes.saturating_mul(count).checked_div(seen).unwrap_or(0));
    }
    let mut total = 0_u64;
    for records in db.parts(at, &collection) {
        let mut walk = records.walk(Direction::Forward, samples);
        let (mut bytes, mut seen) = (0_u64, 0_u64);
        for _ in 0..samples {
            let Some(record) = walk.next(db.transaction)? else { break };
            bytes = bytes.saturating_add(u64::try_from(record.key.len() + record.value.len()).unwrap_or(u64::MAX));
            seen += 1;
        }
        total = total.saturating_add(bytes.saturating_mul(count).checked_div(seen).unwrap_or(0));
    }
    Ok(total)
}

/// `MEMORY STATS`: what the host tells of its memory; the engine knows nothing of it.
pub fn statistics(session: &mut Session, _: &[Bytes], reply: &mut Reply) -> Result<()> {
    let names = [("peak.allocated", "memory.used_memory_peak"), ("total.allocated", "memory.used_memory")];
    let fact = |name: &str| session.server.facts.get(name)?.parse::<i64>().ok();
    let known: Vec<(&str, i64)> = names.iter().filter_map(|(name, key)| Some((*name, fact(key)?))).collect();
    reply.map(known.len());
    for (name, bytes) in known {
        reply.text(name);
        reply.integer(bytes);
    }
    Ok(())
}

/// `MEMORY DOCTOR`.
pub fn doctor(_: &mut Session, _: &[Bytes], reply: &mut Reply) -> Result<()> {
    reply.verbatim("txt", "Data lives in the store, not in memory: there is nothing to diagnose here.\n");
    Ok(())
}

/// `MEMORY MALLOC-STATS`: Redis' answer for allocators without statistics.
pub fn allocator_statistics(_: &mut Session, _: &[Bytes], reply: &mut Reply) -> Result<()> {
    reply.text("Stats not supported for the current allocator");
    Ok(())
}

/// `MEMORY PURGE`: nothing is held back that could be given away.
pub fn purge(_: &mut Session, _: &[Bytes], reply: &mut Reply) -> Result<()> {
    reply.ok();
    Ok(())
}
