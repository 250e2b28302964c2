//! The request parser. Input: a byte of limits, then what a client sends.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use orbweaver_engine::resp::{Parsed, RequestLimits, parse_request};

fuzz_target!(|data: &[u8]| {
    let Some((&limits, input)) = data.split_first() else { return };
    let limits = RequestLimits {
        max_bulk_bytes: if limits & 1 == 0 { 512 << 20 } else { 64 },
        max_args: if limits & 2 == 0 { 1 << 20 } else { 16 },
        max_inline_bytes: if limits & 4 == 0 { 64 << 10 } else { 32 },
        authenticated: limits & 8 == 0,
    };
    let mut rest = Bytes::copy_from_slice(input);
    loop {
        match parse_request(&rest, &limits) {
            Parsed::Request { args, used } => {
                assert!(0 < used && used <= rest.len());
                assert!(args.iter().map(Bytes::len).sum::<usize>() <= used);
                no_part_is_whole(&rest.slice(..used), &limits);
                rest = rest.slice(used..);
            }
            Parsed::Incomplete { needed } => return assert!(needed > rest.len()),
            Parsed::Broken { message } => return assert!(message.starts_with("Protocol error: ")),
        }
    }
});

/// What is cut short asks for more, and for no more than there is to come.
fn no_part_is_whole(request: &Bytes, limits: &RequestLimits) {
    for end in [0, request.len() / 2, request.len() - 1] {
        match parse_request(&request.slice(..end), limits) {
            Parsed::Incomplete { needed } => assert!(end < needed && needed <= request.len(), "{needed} of {}", request.len()),
            // As in Redis, a line is only too long while its end is not in sight.
            Parsed::Broken { message } if message.starts_with("Protocol error: too big ") => {}
            other => panic!("{end} of {} bytes: {other:?}", request.len()),
        }
    }
}
