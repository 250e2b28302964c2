//! Who may write to the database of a folder, where the system has no file locks.
//!
//! WASI lets a component create a file that did not exist, read, write, rename and remove, each of them atomic, and nothing that
//! ends with its process. So an owner that was killed looks like one that is idle, and a claim must be able to run out; and
//! an owner whose claim has run out may be about to write. Three rules make that safe whatever the timing:
//!
//! * **A claim is a file** `orbweaver-NUMBER.claim`, created exclusively, with a number above all others of the folder, so that
//!   there is one highest claim. It holds a nonce of the owner, who touches it while it works: a claim is *live* for the length
//!   of a lease after that. Nobody takes over a live claim: a second process is refused.
//! * **Taking over never shares a file.** A process that finds only claims that have run out creates its own, *removes* those,
//!   and then copies the database to a file of its own. The former owner, should it be alive, goes on with a file that does not count
//!   any more. A claim that its owner has marked as released is different: its owner has closed the database and will not write again,
//!   so the next one goes on with the same file.
//! * **A commit counts if the claim is still there after it.** The owner looks before it writes, and again when the commit is on
//!   the disk, before anybody hears of it. If the claim was there, then the copy of whoever takes over begins later, and holds the
//!   commit. If it was not, the outcome is unknown, and the store refuses everything from then on.
//!
//! So no clock, pause or crash corrupts the database or loses a commit that was acknowledged. The length of the lease says only how
//! long a folder is locked after a crash, and how long an owner may be idle before a newcomer can take the folder from it.
//!
//! It relies on the file system for exclusive creation, atomic renames, and that a process sees at once what another one
//! on the same machine has done: any local file system does that, NFS does not.

use crate::files::{self, Files, Kind};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// How long a claim is live after its owner has touched it, unless told otherwise.
pub const LEASE: Duration = Duration::from_secs(10);

/// Content of the claim of an owner that has closed the database.
const RELEASED: &[u8] = b"released........";
/// Content of the claim of a process that gave up while it was taking over.
const ABANDONED: &[u8] = b"abandoned.......";

/// How often a process tries again after it met another one that was claiming the folder at the same moment.
const ATTEMPTS: u32 = 8;

/// The right to write to the database of a folder.
#[derive(Debug)]
pub struct Claim {
    folder: PathBuf,
    number: u64,
    nonce: [u8; 16],
    lease: Duration,
    touched: Mutex<(File, Instant)>,
}

/// What a claim's file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Live,
    RunOut,
    Released,
}

impl Claim {
    /// Claims the folder, which must exist. Where the last owner has not closed its database, makes the copy to go on with.
    ///
    /// # Errors
    /// [`io::ErrorKind::ResourceBusy`] where another process holds a live claim; what the file system reports.
    pub fn take(folder: &Path, lease: Duration) -> io::Result<Self> {
        for _ in 0..ATTEMPTS {
            let files = Files::read(folder)?;
            if let Some(number) = live(&files, folder, lease)? {
                return Err(busy(folder, number, lease));
            }
            let Some(claim) = Self::create(folder, files.highest().saturating_add(1), lease)? else { continue };
            match claim.settle() {
                Ok(true) => return Ok(claim),
                Ok(false) => claim.mark(RELEASED)?,
                Err(error) => {
                    // The claims of others may be removed already: their database must not look closed.
                    claim.mark(ABANDONED)?;
                    return Err(error);
                }
            }
        }
        Err(io::Error::new(io::ErrorKind::ResourceBusy, "other processes are opening the database at the same time"))
    }

    /// Creates the claim of that number; `None` where another process was faster.
    fn create(folder: &Path, number: u64, lease: Duration) -> io::Result<Option<Self>> {
        let path = files::path(folder, Kind::Claim, number);
        let file = match OpenOptions::new().write(true).create_new(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            other => other?,
        };
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce).map_err(io::Error::other)?;
        let claim = Self { folder: folder.to_owned(), number, nonce, lease, touched: Mutex::new((file, Instant::now())) };
        claim.mark(&claim.nonce)?;
        Ok(Some(claim))
    }

    /// Sees who else has claimed the folder in the meantime, and takes over from claims that have run out. False where another
    /// process is in the way; nothing is changed then.
    fn settle(&self) -> io::Result<bool> {
        let (folder, files) = (&self.folder, Files::read(&self.folder)?);
        let others: Vec<u64> = files.numbers(Kind::Claim).filter(|number| *number != self.number).collect();
        let standings = others.iter().map(|number| standing(folder, *number, self.lease)).collect::<io::Result<Vec<_>>>()?;
        if files.highest() > self.number || standings.contains(&Standing::Live) {
            return Ok(false);
        }
        others.iter().try_for_each(|number| files::remove(&files::path(folder, Kind::Claim, *number)))?;
        if standings.iter().any(|standing| *standing != Standing::Released) {
            // Only now, when a former owner can acknowledge nothing more, is it clear what the database is.
            if let Some(source) = Files::read(folder)?.database() {
                let source = files::path(folder, Kind::Database, source);
                files::copy(&source, &files::path(folder, Kind::Part, self.number), || self.touch())?;
                files::publish(folder, self.number)?;
            }
        }
        self.is_held()
    }

    /// The database to open; `None` where there is none yet: one that is made under [`Claim::draft`] counts from [`Claim::publish`] on.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn database(&self) -> io::Result<Option<PathBuf>> {
        Ok(Files::read(&self.folder)?.database().map(|number| files::path(&self.folder, Kind::Database, number)))
    }

    /// Where to make the first database of the folder.
    #[must_use]
    pub fn draft(&self) -> PathBuf {
        files::path(&self.folder, Kind::Part, self.number)
    }

    /// Makes the draft the folder's database.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn publish(&self) -> io::Result<()> {
        files::publish(&self.folder, self.number)
    }

    /// Removes what former owners have left, when the database is known to be well.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn clean(&self) -> io::Result<()> {
        let files = Files::read(&self.folder)?;
        let old_databases = files.numbers(Kind::Database).rev().skip(1).map(|number| (Kind::Database, number));
        let old_parts = files.numbers(Kind::Part).filter(|number| *number < self.number).map(|number| (Kind::Part, number));
        for (kind, number) in old_databases.chain(old_parts) {
            files::remove(&files::path(&self.folder, kind, number))?;
        }
        Ok(())
    }

    /// Whether nobody has taken over.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn is_held(&self) -> io::Result<bool> {
        match fs::read(files::path(&self.folder, Kind::Claim, self.number)) {
            Ok(content) => Ok(content == self.nonce),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Keeps the claim live. Cheap where it was touched a moment ago.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn touch(&self) -> io::Result<()> {
        let touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner).1;
        if touched.elapsed() < self.lease / 4 { Ok(()) } else { self.mark(&self.nonce) }
    }

    /// Tells the next process that this one will not write again: to be called when the database is closed.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn release(&self) -> io::Result<()> {
        self.mark(RELEASED)
    }

    /// Writes to the claim's own file, also where its name belongs to nobody or to another process by now.
    fn mark(&self, content: &[u8]) -> io::Result<()> {
        let mut touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
        touched.0.rewind()?;
        touched.0.write_all(content)?;
        touched.1 = Instant::now();
        Ok(())
    }
}

fn standing(folder: &Path, number: u64, lease: Duration) -> io::Result<Standing> {
    let path = files::path(folder, Kind::Claim, number);
    let read = fs::read(&path).and_then(|content| Ok((content, fs::metadata(&path)?.modified()?)));
    let (content, touched) = match read {
        // Removed by a process that has taken over since: its own claim is another one.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Standing::RunOut),
        other => other?,
    };
    // A time in the future comes from a clock that was wrong once; it must not lock the folder for long.
    let is_recent = SystemTime::now().duration_since(touched).is_ok_and(|age| age < lease);
    Ok(match content.as_slice() {
        RELEASED => Standing::Released,
        ABANDONED => Standing::RunOut,
        _ if is_recent => Standing::Live,
        _ => Standing::RunOut,
    })
}

/// The first claim that is live.
fn live(files: &Files, folder: &Path, lease: Duration) -> io::Result<Option<u64>> {
    for number in files.numbers(Kind::Claim) {
        if standing(folder, number, lease)? == Standing::Live {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

fn busy(folder: &Path, number: u64, lease: Duration) -> io::Error {
    let claim = files::path(folder, Kind::Claim, number);
    let text = format!(
        "another process has the database open: {} was touched less than {} s ago. If that process was killed, try again then",
        claim.display(),
        lease.as_secs(),
    );
    io::Error::new(io::ErrorKind::ResourceBusy, text)
}
