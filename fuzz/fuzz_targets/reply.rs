//! The reply decoder, and the two ways in which the command line shows a reply. Input: what a server sends.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use orbweaver_engine::resp::{decode_reply, render_human, render_raw};

fuzz_target!(|data: &[u8]| {
    let input = Bytes::copy_from_slice(data);
    let Ok(Some((value, used))) = decode_reply(&input) else { return };
    assert!(0 < used && used <= input.len());
    render_human(&value);
    render_raw(&value);
    // Only the whole of it is a reply, and what follows it does not matter.
    assert!(matches!(decode_reply(&input.slice(..used - 1)), Ok(None)));
    let again = decode_reply(&input.slice(..used)).unwrap().unwrap();
    assert_eq!(format!("{again:?}"), format!("{:?}", (value, used)));
});
