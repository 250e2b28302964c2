//! LZF, the compression of strings in RDB: runs of literal bytes, and copies of what came up to 8 KiB before
//! (<http://oldhome.schmorp.de/marc/liblzf.html>). Only read: what is written stays uncompressed.

/// Shortest copy. A copy of that length has nothing in its length bits but 1.
const MIN_COPY: usize = 3;
/// The length bits that say that one more byte of length follows.
const LONG_COPY: u8 = 7;

/// What `packed` unpacks to; `None` unless that is exactly `length` bytes. Memory grows with what is unpacked, not with `length`.
pub fn decompress(packed: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut out: Vec<u8> = Vec::new();
    let mut packed = packed;
    while let [control, rest @ ..] = packed {
        let (high, low) = (control >> 5, control & 0x1f);
        if high == 0 {
            let (literals, behind) = rest.split_at_checked(usize::from(low) + 1)?;
            out.extend_from_slice(literals);
            packed = behind;
        } else {
            let (extra, rest) = if high == LONG_COPY { rest.split_first()? } else { (&0, rest) };
            let (low_distance, behind) = rest.split_first()?;
            let distance = usize::from(low) << 8 | usize::from(*low_distance);
            copy(&mut out, distance + 1, usize::from(high - 1) + usize::from(*extra) + MIN_COPY)?;
            packed = behind;
        }
        if out.len() > length {
            return None;
        }
    }
    (out.len() == length).then_some(out)
}

/// Appends `count` bytes from `distance` before the end on: the copy may reach into itself.
fn copy(out: &mut Vec<u8>, distance: usize, count: usize) -> Option<()> {
    let start = out.len().checked_sub(distance)?;
    for position in start..start + count {
        out.push(*out.get(position)?);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::decompress;

    #[test]
    fn literals_and_copies_are_unpacked() {
        assert_eq!(decompress(b"\x02abc", 3).unwrap(), b"abc");
        // One byte, then a copy of it that reaches into itself: 3, and 9 + 255 as the longest.
        assert_eq!(decompress(b"\x00a\x20\x00", 4).unwrap(), b"aaaa");
        assert_eq!(decompress(b"\x00a\xe0\xff\x00", 265).unwrap(), [b'a'; 265]);
        assert_eq!(decompress(b"\x02abc\x40\x02", 7).unwrap(), b"abcabca");
        assert_eq!(decompress(b"", 0).unwrap(), b"");
    }

    #[test]
    fn what_is_cut_off_or_has_another_length_is_refused() {
        for packed in [b"\x03abc".as_slice(), b"\x00a\x20", b"\x00a\xe0\xff", b"\x00a\xe0"] {
            assert_eq!(decompress(packed, 4), None, "{packed:?}");
        }
        assert_eq!(decompress(b"\x02abc", 2), None);
        assert_eq!(decompress(b"\x02abc", usize::MAX), None);
        // A copy from before the beginning.
        assert_eq!(decompress(b"\x00a\x20\x01", 4), None);
    }
}
