//! The store as the component imports it, `orbweaver:kv/store`.
//!
//! Keys are read where the component has them, and values and pages go from where the store has them into the component's memory.

use super::super::bindings::orbweaver::kv::store::{Error, Excess, Limits};
use super::super::canonical::{Canonical, Flat, Guest, Lower, Shape, aligned, list, piece, size, write};
use super::{Host, State};
use bytes::Bytes;
use orbweaver_engine::store::{self, Batch, Keyspace, Numbered, Order, PageLimit, StoreError, Values};
use wasmtime::{Linker, Result, bail, format_err};

const STORE: &str = "orbweaver:kv/store@0.1.0";

/// The memory of longer keys is given back.
const KEPT_KEY_BYTES: usize = 4096;

/// `pieces`.
type Pieces<'p> = (&'p [u8], &'p [u32]);

/// What the store gives crosses from where it is, as what it looks like to the component.
macro_rules! crosses_as {
    ($given:ty, $looks:ty, $look:expr) => {
        impl Canonical for $given {
            const SHAPE: Shape = <$looks>::SHAPE;
        }

        impl Lower for $given {
            #[inline(always)]
            fn lower(&self, guest: &mut Guest<'_>, image: &mut [u8]) -> Result<()> {
                let look: fn(&Self) -> $looks = $look;
                look(self).lower(guest, image)
            }

            fn flatten(&self, guest: &mut Guest<'_>, flat: &mut Flat) -> Result<()> {
                let look: fn(&Self) -> $looks = $look;
                look(self).flatten(guest, flat)
            }
        }
    };
}

// `page`; one that is known is empty.
crosses_as!(Numbered, (Pieces<'_>, bool), |found| match &found.page {
    Some(page) => ((&page.bytes, &page.ends), page.more),
    None => Default::default(),
});
crosses_as!(Values, (Pieces<'_>, &[u32]), |found| ((&found.bytes, &found.ends), &found.absent));

/// Gives the functions to a linker.
pub(super) fn add_to_linker(linker: &mut Linker<State>) -> Result<()> {
    linker.func_wrap(STORE, "get-limits", |mut host: Host<'_>, answer: u32| {
        let mut guest = super::calling(&mut host)?;
        let store::Limits { max_key_bytes, max_value_bytes, max_batch_ops, max_batch_bytes, read_only } = guest.parts().1.store.limits();
        let limits = Limits { max_key_bytes, max_value_bytes, max_batch_ops, max_batch_bytes, read_only };
        write(&limits, &mut guest, aligned(size(answer), Limits::SHAPE.align)?)
    })?;
    linker.func_wrap(
        STORE,
        "open-keyspace",
        |mut host: Host<'_>, name: u32, name_bytes: u32, order: u32, order_bytes: u32, answer: u32| {
            answered(&mut host, answer, |memory, state| {
                let name = text(memory, name, name_bytes)?;
                let order = text(memory, order, order_bytes)?;
                let Some(order) = Order::from_name(order) else {
                    return Ok(Err(StoreError::UnsupportedOrder(format!("{order} is not known here"))));
                };
                Ok(state.store.open_keyspace(name, order).map(|Keyspace(number)| number))
            })
        },
    )?;
    linker.func_wrap(
        STORE,
        "begin",
        |mut host: Host<'_>, scope: u32, bytes: u32, bytes_length: u32, ends: u32, ends_length: u32, answer: u32| {
            let mut guest = super::calling(&mut host)?;
            let (memory, state) = guest.parts();
            let scope = match scope {
                0 => store::Scope::Read,
                1 => store::Scope::Keys(strings(memory, (bytes, bytes_length), (ends, ends_length))?),
                2 => store::Scope::Exclusive,
                scope => bail!("the component begins a transaction of scope {scope}"),
            };
            let begun = state.begin(&scope);
            if begun.is_ok() {
                guest.tell_changes()?;
            }
            answer_with(&mut guest, answer, begun)
        },
    )?;
    linker.func_wrap(STORE, "get", |mut host: Host<'_>, keyspace: u32, key: u32, key_length: u32, answer: u32| {
        answered(&mut host, answer, |memory, state| Ok(state.store.get(Keyspace(keyspace), bytes(memory, key, key_length)?)))
    })?;
    linker.func_wrap(
        STORE,
        "get-many",
        |mut host: Host<'_>, keyspaces: u32, count: u32, keys: u32, keys_length: u32, ends: u32, ends_length: u32, answer: u32| {
            answered(&mut host, answer, |memory, state| {
                if count != ends_length {
                    bail!("the component asks get-many for {ends_length} keys in {count} keyspaces");
                }
                let strings = lent(bytes(memory, keys, keys_length)?, numbers(memory, ends, ends_length)?);
                let mut keys: Vec<(Keyspace, &[u8])> = Vec::with_capacity(strings.len());
                for (keyspace, key) in numbers(memory, keyspaces, count)?.zip(strings) {
                    keys.push((Keyspace(keyspace), key?));
                }
                Ok(state.store.get_many(&keys))
            })
        },
    )?;
    linker.func_wrap(
        STORE,
        "scan",
        |mut host: Host<'_>,
         keyspace: u32,
         start: u32,
         start_length: u32,
         after_start: u32,
         has_end: u32,
         end: u32,
         end_length: u32,
         direction: u32,
         max_items: u32,
         max_bytes: u32,
         answer: u32| {
            let mut guest = super::calling(&mut host)?;
            let (memory, State { store, range, abi, numbers_pages, spared_pages, .. }) = guest.parts();
            let kept_pages = abi.as_ref().and_then(|abi| abi.kept_pages);
            let known = kept_pages.map_or(Ok(0), |kept_pages| kept_pages.known(memory))?;
            refill(&mut range.start, bytes(memory, start, start_length)?);
            range.after_start = after_start != 0;
            match has_end {
                0 => range.end = None,
                1 => refill(range.end.get_or_insert_default(), bytes(memory, end, end_length)?),
                case => bail!("the component gives case {case} of an option"),
            }
            let direction = match direction {
                0 => store::Direction::Forward,
                1 => store::Direction::Reverse,
                direction => bail!("the component scans in direction {direction}"),
            };
            let found = store.scan_unless_known(Keyspace(keyspace), range, direction, PageLimit { max_items, max_bytes }, known);
            if let Ok(Numbered { page, number }) = &found {
                if page.is_none() && (known == 0 || *number != known) {
                    bail!("the store takes a page for known that the component does not have");
                }
                *spared_pages += u64::from(page.is_none());
                if let Some(kept_pages) = kept_pages {
                    *numbers_pages |= *number > 0;
                    kept_pages.tell_number(&mut guest, *number)?;
                }
            }
            answer_with(&mut guest, answer, found)
        },
    )?;
    linker.func_wrap(
        STORE,
        "revisions",
        |mut host: Host<'_>, bytes: u32, bytes_length: u32, ends: u32, ends_length: u32, answer: u32| {
            answered(&mut host, answer, |memory, state| {
                let keys = strings(memory, (bytes, bytes_length), (ends, ends_length))?;
                Ok(state.store.revisions(&keys))
            })
        },
    )?;
    linker.func_wrap(
        STORE,
        "commit",
        |mut host: Host<'_>, batch: u32, batch_length: u32, changed: u32, changed_length: u32, answer: u32| {
            answered(&mut host, answer, |memory, state| {
                let batch = bytes(memory, batch, batch_length)?.to_vec();
                let changed: Vec<u32> = list(memory, changed, changed_length)?;
                Ok(commit(state, batch, &changed))
            })
        },
    )?;
    linker.func_wrap(STORE, "rollback", |mut host: Host<'_>| super::imported(&mut host).store.rollback())?;
    Ok(())
}

/// Writes what `work` comes to, which has the component's memory and the instance's state, to where the component waits for it.
#[inline]
fn answered<T: Lower>(
    host: &mut Host<'_>,
    answer: u32,
    work: impl FnOnce(&[u8], &mut State) -> Result<Result<T, StoreError>>,
) -> Result<()> {
    let mut guest = super::calling(host)?;
    let (memory, state) = guest.parts();
    let done = work(memory, state)?;
    answer_with(&mut guest, answer, done)
}

#[inline]
fn answer_with<T: Lower>(guest: &mut Guest<'_>, answer: u32, done: Result<T, StoreError>) -> Result<()> {
    let at = aligned(size(answer), Result::<&T, Error>::SHAPE.align)?;
    match done {
        // Lent, for to move it would take as long as to write it.
        Ok(ref done) => write(&Ok::<&T, Error>(done), guest, at),
        Err(failed) => write(&Err::<&T, Error>(error(failed)), guest, at),
    }
}

fn error(error: StoreError) -> Error {
    match error {
        StoreError::Conflict => Error::Conflict,
        StoreError::Expired => Error::Expired,
        StoreError::TooLarge { what, limit } => Error::TooLarge(Excess { what, limit }),
        StoreError::UnknownOutcome(text) => Error::UnknownOutcome(text),
        StoreError::ReadOnly => Error::ReadOnly,
        StoreError::UnsupportedOrder(text) => Error::UnsupportedOrder(text),
        StoreError::Corrupt(text) => Error::Corrupt(text),
        StoreError::Io(text) => Error::Io(text),
    }
}

fn bytes(memory: &[u8], at: u32, length: u32) -> Result<&[u8]> {
    piece(memory, size(at), size(length))
}

/// Puts other bytes into a buffer, which stays as large as most keys need.
fn refill(buffer: &mut Vec<u8>, bytes: &[u8]) {
    buffer.clear();
    buffer.shrink_to(KEPT_KEY_BYTES);
    buffer.extend_from_slice(bytes);
}

fn text(memory: &[u8], at: u32, length: u32) -> Result<&str> {
    std::str::from_utf8(bytes(memory, at, length)?).map_err(|_| format_err!("the component gives a text that is no UTF-8"))
}

/// The numbers of a list, where they lie.
fn numbers(memory: &[u8], at: u32, count: u32) -> Result<impl ExactSizeIterator<Item = u32> + Clone> {
    let at = aligned(size(at), size_of::<u32>())?;
    let (numbers, _) = piece(memory, at, size(count).saturating_mul(size_of::<u32>()))?.as_chunks();
    Ok(numbers.iter().map(|&number| u32::from_le_bytes(number)))
}

/// The strings of flat pieces, where they lie. What a guest gives is not trusted: ends that run backwards or past the bytes are refused.
fn lent(all: &[u8], ends: impl ExactSizeIterator<Item = u32>) -> impl ExactSizeIterator<Item = Result<&[u8]>> {
    let mut start = 0;
    ends.map(move |end| {
        let piece = all.get(start..size(end));
        start = size(end);
        piece.ok_or_else(|| format_err!("the component's pieces end where its bytes do not"))
    })
}

/// Copies of the strings of flat pieces.
fn strings(memory: &[u8], (at, length): (u32, u32), (ends, count): (u32, u32)) -> Result<Vec<Bytes>> {
    let ends = numbers(memory, ends, count)?;
    let all = bytes(memory, at, length)?;
    if ends.clone().eq([length]) {
        // The whole of it: a slice would count its references, in memory of their own.
        return Ok(vec![Bytes::copy_from_slice(all)]);
    }
    let copy = Bytes::copy_from_slice(all);
    lent(&copy, ends).map(|piece| piece.map(|piece| copy.slice_ref(piece))).collect()
}

fn commit(state: &mut State, batch: Vec<u8>, changed: &[u32]) -> Result<(), StoreError> {
    let result = match Batch::from_bytes(batch) {
        Ok(batch) => state.store.commit(&batch, changed),
        Err(error) => {
            // A commit ends the transaction, also where it is refused.
            state.store.rollback();
            Err(error)
        }
    };
    if matches!(result, Ok(()) | Err(StoreError::UnknownOutcome(_))) {
        state.commits += 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_list_are_those_that_lie_there_and_others_are_refused() {
        let memory: Vec<u8> = [7, 8, u32::MAX].iter().flat_map(|number: &u32| number.to_le_bytes()).collect();
        let read = |at, count| numbers(&memory, at, count).map(Iterator::collect::<Vec<_>>).ok();
        assert_eq!((read(0, 3), read(4, 1), read(12, 0)), (Some(vec![7, 8, u32::MAX]), Some(vec![8]), Some(vec![])));
        // Between two numbers, behind the last, and more than any memory has.
        assert_eq!((read(1, 1), read(8, 2), read(0, u32::MAX), read(u32::MAX - 3, 1)), (None, None, None, None));
    }

    #[test]
    fn strings_lie_where_their_ends_say_and_ends_that_are_none_are_refused() {
        let read = |ends: Vec<u32>| lent(b"abc", ends.into_iter()).map(Result::ok).collect::<Vec<_>>();
        assert_eq!(read(vec![1, 1, 3]), [Some(&b"a"[..]), Some(b""), Some(b"bc")]);
        assert_eq!(read(vec![2, 1]), [Some(&b"ab"[..]), None]);
        assert_eq!(read(vec![4, u32::MAX]), [None, None]);
    }
}
