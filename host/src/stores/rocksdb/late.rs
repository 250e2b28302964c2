//! Late commits: where a handle is told that its commits may be late, they are gathered, and once they are many a thread of its own writes
//! them together, while the handle's next transactions run. What is left, whoever waits for it writes.
//!
//! Nobody is told of what is not in the log. The handle is the only one then, and its caller tells nobody anything before
//! [`orbweaver_engine::store::Store::settle`]. Its own transactions have the changes at once, from the cache of records; whoever reads or
//! writes a database waits for what is on its way to it ([`super::database::Database::get`]), but for the handle's own gets of records that
//! are not among it. Many heads are written back even later ([`super::write_back`]). Where a write fails, the store is poisoned as by any
//! other, and the cache forgets what it holds.

use super::Shared;
use super::options::Scanned;
use super::raw_batch::RawBatch;
use super::record_cache::Change;
use parking_lot::{Condvar, Mutex};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle};

/// Fewer operations are written in less time than it takes to wake a thread.
const LEAST_OPERATIONS: u32 = 32;
/// So many operations are worth a write of their own: it costs some 10 us, whatever is in it.
const ENOUGH_OPERATIONS: u32 = 256;
/// And so many bytes.
const ENOUGH_BYTES: usize = 64 << 10;
/// How many batches wait for the one that is being written: one that is ready when it is done.
const MOST_WAITING: usize = 1;

/// The writes that are on their way to a database: they have numbers, and are done in their order.
#[derive(Default)]
pub struct OnTheirWay {
    given: AtomicU64,
    done: AtomicU64,
    /// The last one, as long as it is being gathered.
    gathered: Mutex<Option<Write>>,
    lock: Mutex<()>,
    one_is_done: Condvar,
}

impl OnTheirWay {
    /// Waits for those that are on their way now. Writes the last one where nobody has it yet.
    pub fn wait(&self) {
        self.wait_up_to(u64::MAX);
    }

    /// As [`OnTheirWay::wait`], for those up to a number.
    pub fn wait_up_to(&self, number: u64) {
        let last = self.given().min(number);
        if self.is_done(last) {
            return;
        }
        let gathered = self.gathered.lock().take_if(|write| write.number <= last);
        if let Some(write) = gathered {
            write.run();
        }
        self.wait_for(last);
    }

    /// The number of the last one.
    pub fn given(&self) -> u64 {
        self.given.load(Ordering::SeqCst)
    }

    fn wait_for(&self, number: u64) {
        if self.is_done(number) {
            return;
        }
        let mut guard = self.lock.lock();
        while !self.is_done(number) {
            self.one_is_done.wait(&mut guard);
        }
    }

    fn is_done(&self, number: u64) -> bool {
        self.done.load(Ordering::SeqCst) >= number
    }

    /// The number of one more.
    fn add(&self) -> u64 {
        self.given.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn end_one(&self) {
        self.done.fetch_add(1, Ordering::SeqCst);
        // Whoever has not seen it holds the lock until it waits.
        drop(self.lock.lock());
        self.one_is_done.notify_all();
    }
}

/// Writes that wait for the thread. Unlike the library's channels it does not spin: the processor has better things to do.
#[derive(Default)]
struct Queue {
    state: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    writes: VecDeque<Write>,
    is_closed: bool,
}

impl Queue {
    /// Adds a write as soon as there is room. It is dropped where nobody takes any more.
    fn add(&self, write: Write) {
        let mut state = self.state.lock();
        while state.writes.len() >= MOST_WAITING && !state.is_closed {
            self.changed.wait(&mut state);
        }
        if !state.is_closed {
            state.writes.push_back(write);
            self.changed.notify_all();
        }
    }

    /// The next write; `None` once the queue is closed and empty.
    fn take(&self) -> Option<Write> {
        let mut state = self.state.lock();
        while state.writes.is_empty() && !state.is_closed {
            self.changed.wait(&mut state);
        }
        self.changed.notify_all();
        state.writes.pop_front()
    }

    fn close(&self) {
        self.state.lock().is_closed = true;
        self.changed.notify_all();
    }
}

/// Closes a queue and drops what is in it, when the thread that takes from it ends, however it does.
struct Taker(Arc<Queue>);

impl Drop for Taker {
    fn drop(&mut self) {
        self.0.close();
        let left = std::mem::take(&mut self.0.state.lock().writes);
        drop(left);
    }
}

/// The thread of a handle. Dropping it waits for its writes.
pub struct LateWriter {
    shared: Arc<Shared>,
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
    /// Writes that were on their way lately: their numbers, and the hashes of their records.
    lately: VecDeque<(u64, RefCell<Hashes>)>,
}

/// The hashes of records, brought into order when one is asked for: those who only write never ask.
struct Hashes {
    list: Vec<u64>,
    are_sorted: bool,
}

impl Hashes {
    fn has(&mut self, hash: u64) -> bool {
        if !std::mem::replace(&mut self.are_sorted, true) {
            self.list.sort_unstable();
        }
        self.list.binary_search(&hash).is_ok()
    }
}

impl LateWriter {
    /// A thread that writes to the one database of a store.
    ///
    /// # Errors
    /// Where the system gives no thread.
    pub fn start(shared: &Arc<Shared>) -> io::Result<Self> {
        let queue = Arc::<Queue>::default();
        let taker = Taker(Arc::clone(&queue));
        let thread = Builder::new().name("orbweaver-write".into()).spawn(move || {
            while let Some(write) = taker.0.take() {
                write.run();
            }
        })?;
        Ok(Self { shared: Arc::clone(shared), queue, thread: Some(thread), lately: VecDeque::new() })
    }

    /// Whether nothing is on its way.
    pub fn is_idle(&self) -> bool {
        let Some(database) = self.shared.databases.first() else { return true };
        self.lately.back().is_none_or(|(number, _)| database.on_their_way.is_done(*number))
    }

    /// Whether the record of that hash may be among what is on its way.
    pub fn is_on_its_way(&self, hash: u64) -> bool {
        let Some(database) = self.shared.databases.first() else { return false };
        self.lately.iter().any(|(number, hashes)| !database.on_their_way.is_done(*number) && hashes.borrow_mut().has(hash))
    }

    /// Has a batch, and heads that may be written back later, written behind those before it; its records have these hashes.
    pub fn write(&mut self, batch: &RawBatch, heads: &RawBatch, hashes: Vec<u64>) {
        let Some(database) = self.shared.databases.first() else { return };
        let on_their_way = &database.on_their_way;
        while self.lately.front().is_some_and(|(number, _)| on_their_way.is_done(*number)) {
            self.lately.pop_front();
        }
        let mut gathered = on_their_way.gathered.lock();
        let write = gathered.get_or_insert_with(|| Write::new(&self.shared, on_their_way.add()));
        write.batch.append(batch);
        write.heads.append(heads);
        self.lately.push_back((write.number, RefCell::new(Hashes { list: hashes, are_sorted: false })));
        let enough = gathered.take_if(|write| write.operations() >= ENOUGH_OPERATIONS || write.bytes() >= ENOUGH_BYTES);
        drop(gathered);
        if let Some(write) = enough {
            // Where the thread has gone, the write says so when it is dropped.
            self.queue.add(write);
        }
    }

    /// Has what is gathered written, if waking the thread is worth it. Returns the number of the last write.
    pub fn hand_over(&self) -> u64 {
        let Some(on_their_way) = self.shared.databases.first().map(|database| &database.on_their_way) else { return 0 };
        let gathered = on_their_way.gathered.lock().take_if(|write| write.operations() >= LEAST_OPERATIONS);
        let number = on_their_way.given();
        if let Some(write) = gathered {
            self.queue.add(write);
        }
        number
    }
}

impl Drop for LateWriter {
    fn drop(&mut self) {
        self.queue.close();
        // A panic of the thread has been reported by the thread itself.
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

/// Commits on their way, until this is dropped.
struct Write {
    shared: Arc<Shared>,
    number: u64,
    batch: RawBatch,
    /// Those heads that may be written back later.
    heads: RawBatch,
    /// It was written, or the store knows that it was not.
    is_over: bool,
}

impl Write {
    fn new(shared: &Arc<Shared>, number: u64) -> Self {
        Self { shared: Arc::clone(shared), number, batch: RawBatch::with_room(0), heads: RawBatch::with_room(0), is_over: false }
    }

    const fn operations(&self) -> u32 {
        self.batch.operations().saturating_add(self.heads.operations())
    }

    fn bytes(&self) -> usize {
        self.batch.as_bytes().len() + self.heads.as_bytes().len()
    }

    fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        let Some(database) = shared.databases.first() else { return };
        database.on_their_way.wait_for(self.number - 1);
        let written = match (shared.poison.get(), database.get_at_once()) {
            (Some(text), _) => Err(text.clone()),
            (None, Some(db)) => database.write_back.write(db, &mut self.batch, &self.heads, &shared.write),
            (None, None) => Err("the database is gone".to_owned()),
        };
        if let Err(error) = written {
            shared.fail_late(&error);
        }
        self.is_over = true;
    }
}

impl Drop for Write {
    fn drop(&mut self) {
        if !self.is_over {
            self.shared.fail_late("the thread that writes has ended");
        }
        if let Some(database) = self.shared.databases.first() {
            database.on_their_way.end_one();
        }
    }
}

impl Shared {
    /// Poisons the store, and then forgets what the cache has of commits that were not written.
    fn fail_late(&self, error: &str) {
        self.poison(error);
        self.forget_unwritten();
    }

    /// Forgets what the cache has of commits up to now, if a write has failed. Asked by whoever has put a late commit there: it may have
    /// failed before that.
    pub(super) fn forget_unwritten(&self) {
        if let (Some(cache), Some(_)) = (&self.cache, self.poison.get()) {
            self.revisions.start();
            let everything = Change::Range { space: 0, scanned: Scanned::Apart, start: &[], end: &[] };
            cache.change([everything]).finish(self.revisions.finish(std::iter::empty(), false), false);
        }
    }
}
