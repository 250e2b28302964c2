//! The files of a store's folder: `orbweaver-NUMBER.claim`, `orbweaver-NUMBER.redb`, and copies in the making.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

/// The part of a database file that every commit rewrites, and with it the whole of redb's header.
const HEADER_BYTES: usize = 4096;

/// How often a copy is begun anew because the source has changed.
const COPIES: u32 = 3;

/// What a file is, by the end of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Says who may write.
    Claim,
    /// A whole database.
    Database,
    /// A database that is not whole yet.
    Part,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Claim, Self::Database, Self::Part];

    const fn extension(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Database => "redb",
            Self::Part => "part",
        }
    }
}

/// Where the file of that number is.
pub fn path(folder: &Path, kind: Kind, number: u64) -> PathBuf {
    folder.join(format!("orbweaver-{number}.{}", kind.extension()))
}

/// The files that were there when the folder was read; other names are passed over.
#[derive(Debug, Default)]
pub struct Files(BTreeSet<(Kind, u64)>);

impl Files {
    pub fn read(folder: &Path) -> io::Result<Self> {
        let mut files = BTreeSet::new();
        for entry in fs::read_dir(folder)? {
            files.extend(entry?.file_name().to_str().and_then(parse));
        }
        Ok(Self(files))
    }

    /// The numbers of one kind, ascending.
    pub fn numbers(&self, kind: Kind) -> impl DoubleEndedIterator<Item = u64> {
        self.0.iter().filter(move |(other, _)| *other == kind).map(|(_, number)| *number)
    }

    /// The highest number of a claim or a whole database; 0 where there is none.
    pub fn highest(&self) -> u64 {
        let numbers = self.numbers(Kind::Claim).chain(self.numbers(Kind::Database));
        numbers.max().unwrap_or(0)
    }

    /// The number of the database that counts.
    pub fn database(&self) -> Option<u64> {
        self.numbers(Kind::Database).next_back()
    }
}

fn parse(name: &str) -> Option<(Kind, u64)> {
    let (number, extension) = name.strip_prefix("orbweaver-")?.split_once('.')?;
    let kind = Kind::ALL.into_iter().find(|kind| kind.extension() == extension)?;
    let number: u64 = number.parse().ok()?;
    (path(Path::new(""), kind, number) == Path::new(name)).then_some((kind, number))
}

/// Removes a file that may be gone already.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Copies a database whose owner may still be about to notice that it is not the owner any more. `progress` is called now and
/// then.
///
/// What is read while nobody completes a commit is a whole database: a commit writes only to pages that the one before does not
/// use, and ends with the header. So the copy counts if the header is the same before and after.
pub fn copy(source: &Path, target: &Path, mut progress: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    let mut chunk = vec![0; 1 << 20];
    for _ in 0..COPIES {
        let mut input = File::open(source)?;
        let header = header(&mut input)?;
        input.rewind()?;
        let mut output = File::create(target)?;
        loop {
            let length = input.read(&mut chunk)?;
            let Some(bytes) = chunk.get(..length).filter(|bytes| !bytes.is_empty()) else { break };
            output.write_all(bytes)?;
            progress()?;
        }
        input.rewind()?;
        if self::header(&mut input)? == header {
            return output.sync_all();
        }
    }
    Err(io::Error::other("another process still writes to the database"))
}

fn header(input: &mut File) -> io::Result<Vec<u8>> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    input.take(HEADER_BYTES.try_into().unwrap_or(u64::MAX)).read_to_end(&mut header)?;
    Ok(header)
}

/// Gives a whole database its name, for good.
pub fn publish(folder: &Path, number: u64) -> io::Result<()> {
    fs::rename(path(folder, Kind::Part, number), path(folder, Kind::Database, number))?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_not_ours_are_passed_over() {
        assert_eq!(parse("orbweaver-12.redb"), Some((Kind::Database, 12)));
        for name in ["orbweaver-012.redb", "orbweaver-+1.redb", "orbweaver-1.redb.bak", "orbweaver-.redb", "other-1.redb", "orbweaver-1"] {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
