//! Signed little-endian integers, which stand for the texts that they are written as.

use super::TRUNCATED;
use crate::codec::{Flaw, Reader};

/// An integer of `N` bytes, at most 8.
pub fn signed<const N: usize>(reader: &mut Reader) -> Result<i64, Flaw> {
    let bytes = reader.take::<N>(TRUNCATED)?;
    let is_negative = bytes.last().is_some_and(|last| *last >= 0x80);
    let mut wide = [if is_negative { 0xff } else { 0 }; 8];
    wide.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
    Ok(i64::from_le_bytes(wide))
}

/// An unsigned 32-bit length or offset.
pub fn size(reader: &mut Reader) -> Result<usize, Flaw> {
    let number = u32::from_le_bytes(reader.take(TRUNCATED)?);
    usize::try_from(number).map_err(|_| reader.flaw("a size within the address space"))
}

#[cfg(test)]
mod tests {
    use super::signed;
    use crate::codec::Reader;
    use bytes::Bytes;

    #[test]
    fn integers_of_any_width_keep_their_sign() {
        let bytes = Bytes::from_static(&[0xff, 0x00, 0x80, 0xff, 0xff, 0x7f]);
        let mut reader = Reader::new(&bytes);
        assert_eq!(signed::<1>(&mut reader), Ok(-1));
        assert_eq!(signed::<2>(&mut reader), Ok(-32_768));
        assert_eq!(signed::<3>(&mut reader), Ok(8_388_607));
        assert!(signed::<8>(&mut reader).is_err());
    }
}
