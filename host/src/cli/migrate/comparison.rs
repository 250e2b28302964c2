//! The comparison of two dumps, line by line in bounded memory.

use super::line::{are_equal, name, owner};
use anyhow::bail;

/// A dump that comes in pieces of whole lines.
pub struct Side<F> {
    next: F,
    lines: Vec<u8>,
    /// Where the line under way begins in `lines`.
    at: usize,
}

impl<F: FnMut() -> anyhow::Result<Option<Vec<u8>>>> Side<F> {
    /// The lines that `next` returns, a piece at a time.
    pub const fn new(next: F) -> Self {
        Self { next, lines: Vec::new(), at: 0 }
    }

    /// The line under way; `None` at the end.
    fn line(&mut self) -> anyhow::Result<Option<&[u8]>> {
        while self.at == self.lines.len() {
            let Some(lines) = (self.next)()? else { return Ok(None) };
            (self.lines, self.at) = (lines, 0);
        }
        let rest = self.lines.get(self.at..).unwrap_or_default();
        Ok(rest.split_inclusive(|byte| *byte == b'\n').next())
    }

    fn pass(&mut self, length: usize) {
        self.at += length;
    }
}

/// Compares two dumps to their ends; `on_line` is told the length of each line of `given`.
///
/// # Errors
/// The first difference, by the name of its key.
pub fn compare<G, R>(given: &mut Side<G>, read: &mut Side<R>, mut on_line: impl FnMut(usize)) -> anyhow::Result<()>
where
    G: FnMut() -> anyhow::Result<Option<Vec<u8>>>,
    R: FnMut() -> anyhow::Result<Option<Vec<u8>>>,
{
    loop {
        let (given_length, read_length) = match (given.line()?, read.line()?) {
            (None, None) => return Ok(()),
            (Some(given), None) => bail!("the key {} is missing in the target", name(given)?),
            (None, Some(read)) => bail!("the target holds the key {}, which the source does not", name(read)?),
            (Some(given), Some(read)) if are_equal(given, read) => (given.len(), read.len()),
            (Some(given), Some(read)) if owner(given) == owner(read) => bail!("the key {} is another in the target", name(given)?),
            (Some(given), Some(read)) => bail!("the target holds the key {} where {} is to be", name(read)?, name(given)?),
        };
        given.pass(given_length);
        read.pass(read_length);
        on_line(given_length);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn line(key: &str, value: &str) -> String {
        format!("{{\"db\":0,\"key\":\"{key}\",\"type\":\"string\",\"expire_at_ms\":null,\"value\":\"{value}\"}}\n")
    }

    /// The lines in pieces of so many.
    fn side(lines: &[String], at_once: usize) -> Side<impl FnMut() -> anyhow::Result<Option<Vec<u8>>>> {
        let pieces: Vec<Vec<u8>> = lines.chunks(at_once).map(|some| some.concat().into_bytes()).collect();
        let mut pieces = pieces.into_iter();
        // An empty piece is not the end.
        let mut is_first = true;
        Side::new(move || if std::mem::take(&mut is_first) { Ok(Some(Vec::new())) } else { Ok(pieces.next()) })
    }

    fn compared(given: &[String], read: &[String]) -> String {
        let mut bytes = 0;
        let outcome = compare(&mut side(given, 2), &mut side(read, 3), |length| bytes += length);
        outcome.map_or_else(|error| error.to_string(), |()| format!("{bytes} bytes"))
    }

    #[test]
    fn dumps_are_equal_or_differ_in_a_key_that_is_named() {
        let [a, b, c, other] = [line("YQ==", "MQ=="), line("Yg==", "MQ=="), line("Yw==", "MQ=="), line("Yg==", "Mg==")];
        let whole = [a.clone(), b.clone(), c.clone()];
        assert_eq!(compared(&whole, &whole), format!("{} bytes", whole.concat().len()));
        assert_eq!(compared(&[], &[]), "0 bytes");
        assert_eq!(compared(&whole, &[a.clone(), b]), "the key \"c\" in db 0 is missing in the target");
        assert_eq!(compared(&[a.clone()], &whole), "the target holds the key \"b\" in db 0, which the source does not");
        assert_eq!(compared(&whole, &[a.clone(), other, c.clone()]), "the key \"b\" in db 0 is another in the target");
        assert_eq!(compared(&whole, &[a, c]), "the target holds the key \"c\" in db 0 where \"b\" in db 0 is to be");
    }
}
