//! Pages of records from servers.

use orbweaver_engine::store::PageLimit;

/// Records that a scan asks for before it knows how large they are.
const FIRST_RECORDS: u32 = 256;
/// The bounds of what it asks for afterwards.
const FEWEST_RECORDS: u64 = 16;
const MOST_RECORDS: u64 = 4096;

/// How many records a scan asks for next, where servers bound the number of records, but not their bytes.
#[derive(Debug)]
pub struct Appetite {
    limit: PageLimit,
    items: u64,
    bytes: u64,
}

impl Appetite {
    /// Before the first record.
    #[must_use]
    pub const fn new(limit: PageLimit) -> Self {
        Self { limit, items: 0, bytes: 0 }
    }

    /// Notes a record.
    pub fn had(&mut self, bytes: usize) {
        self.items += 1;
        self.bytes = self.bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
    }

    /// How many records to ask for: as many as the page takes by the size of those so far, 1 or more.
    #[must_use]
    pub fn next(&self) -> u32 {
        let items_left = u64::from(self.limit.max_items).saturating_sub(self.items).max(1);
        let bytes_left = u64::from(self.limit.max_bytes).saturating_sub(self.bytes);
        let records = match self.bytes.checked_div(self.items) {
            None => u64::from(FIRST_RECORDS),
            Some(average) => (bytes_left / average.max(1)).clamp(FEWEST_RECORDS, MOST_RECORDS),
        };
        u32::try_from(records.min(items_left)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_asks_for_what_its_page_takes() {
        let mut appetite = Appetite::new(PageLimit { max_items: 10, max_bytes: 1000 });
        assert_eq!(appetite.next(), 10);
        let mut large = Appetite::new(PageLimit { max_items: 5000, max_bytes: 1 << 20 });
        assert_eq!(large.next(), 256);
        (0..256).for_each(|_| large.had(4000));
        assert_eq!(large.next(), 16, "few of the large ones are left");
        let mut small = Appetite::new(PageLimit { max_items: 5000, max_bytes: 1 << 20 });
        (0..256).for_each(|_| small.had(20));
        assert_eq!(small.next(), 4096);
        (0..4096).for_each(|_| small.had(20));
        assert_eq!(small.next(), 648, "what is left of the items");
        (0..10).for_each(|_| appetite.had(0));
        assert_eq!(appetite.next(), 1);
    }
}
