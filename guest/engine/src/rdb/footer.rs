//! The last ten bytes of a payload: which RDB version it is of, and a checksum (`verifyDumpPayload` in Redis' `src/cluster.c`).

use super::Refusal;
use bytes::Bytes;
use crc::{CRC_64_REDIS, Crc};

/// CRC-64 by Jones.
static CHECKSUM: Crc<u64> = Crc::<u64>::new(&CRC_64_REDIS);

/// The version that is written: that of Redis 5.0 to 6.2. A Redis takes payloads up to its own version, so that later ones take it too.
pub const WRITTEN: u16 = 9;
/// The newest version that is read: that of Redis 7.4. Hashes with fields that expire are written in it: older ones have none.
pub const NEWEST: u16 = 12;

const VERSION_BYTES: usize = 2;
const CHECKSUM_BYTES: usize = 8;

/// The payload without its footer.
pub fn verify(payload: &Bytes) -> Result<Bytes, Refusal> {
    let (checked, checksum) = payload.split_last_chunk::<CHECKSUM_BYTES>().ok_or(Refusal::Footer)?;
    let (value, version) = checked.split_last_chunk::<VERSION_BYTES>().ok_or(Refusal::Footer)?;
    let is_right = u16::from_le_bytes(*version) <= NEWEST && u64::from_le_bytes(*checksum) == CHECKSUM.checksum(checked);
    if is_right { Ok(payload.slice(..value.len())) } else { Err(Refusal::Footer) }
}

/// The footer of a value, of an RDB version.
pub fn of(value: &[u8], version: u16) -> [u8; VERSION_BYTES + CHECKSUM_BYTES] {
    let version = version.to_le_bytes();
    let mut digest = CHECKSUM.digest();
    digest.update(value);
    digest.update(&version);
    let mut footer = [0; VERSION_BYTES + CHECKSUM_BYTES];
    let bytes = version.into_iter().chain(digest.finalize().to_le_bytes());
    footer.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
    footer
}

#[cfg(test)]
mod tests {
    use super::{CHECKSUM, WRITTEN, of, verify};
    use crate::rdb::Refusal;
    use bytes::Bytes;

    #[test]
    fn the_checksum_is_that_of_redis() {
        // The check value of src/crc64.c.
        assert_eq!(CHECKSUM.checksum(b"123456789"), 0xe9c6_d914_c4b8_d9ca);
    }

    #[test]
    fn a_footer_is_read_back_and_any_change_is_seen() {
        let value = b"\x00\x05hello";
        let payload = [value.as_slice(), &of(value, WRITTEN)].concat();
        assert_eq!(verify(&payload.clone().into()), Ok(Bytes::from_static(value)));
        for position in 0..payload.len() {
            let mut changed = payload.clone();
            changed[position] ^= 1;
            assert_eq!(verify(&changed.into()), Err(Refusal::Footer), "byte {position}");
        }
    }

    #[test]
    fn less_than_a_footer_is_refused() {
        for length in 0..10 {
            assert_eq!(verify(&vec![0; length].into()), Err(Refusal::Footer));
        }
        // Ten zeros are the right footer of nothing: version 0, checksum 0. That nothing is no value is found later.
        assert_eq!(verify(&vec![0; 10].into()), Ok(Bytes::new()));
    }
}
