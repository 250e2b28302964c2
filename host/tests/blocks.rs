//! Blocks of the component's memory that its host takes and gives back by itself: whatever their sizes, what is in them is nobody else's.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use orbweaver::runtime::{Component, Delivery, Orbweaver, Outcome};
use orbweaver_engine::environment::{Environment, HeldEnvironment, random_below};
use orbweaver_engine::store::MemoryStore;

#[test]
fn requests_values_and_replies_of_all_sizes_stay_apart() {
    let mut random = HeldEnvironment::new(0, 9);
    let mut below = |limit: u64| usize::try_from(random_below(&mut random as &mut dyn Environment, limit)).unwrap();
    // So little memory that it would not do, were blocks lost: 6,000 exchanges of some kilobytes each.
    let mut orbweaver =
        Orbweaver::builder().memory_limit(16 << 20).open(&Component::load().unwrap(), Box::new(MemoryStore::new())).unwrap();
    for connection in [1, 2] {
        orbweaver.connect(connection, "test").unwrap();
    }
    let mut values = vec![Vec::new(); 40];
    for step in 0..6000_u32 {
        let key = below(40);
        let value = values.get_mut(key).unwrap();
        let (request, reply) = match below(5) {
            0 | 1 => {
                // Up to 512 bytes, up to 16 KiB, and beyond, which is the component's own to allocate.
                let most = [512, 2048, 16 << 10, 40 << 10][below(4)];
                *value = (0..below(most)).map(|_| b'a' + u8::try_from(below(26)).unwrap()).collect();
                let text = String::from_utf8(value.clone()).unwrap();
                (format!("*3\r\n$3\r\nSET\r\n$3\r\nk{key:02}\r\n${}\r\n{text}\r\n", text.len()), "+OK\r\n".to_owned())
            }
            // An answer that has a state, and one that is empty.
            2 => (format!("SELECT {}\r\nSELECT 0\r\n", below(8)), "+OK\r\n+OK\r\n".to_owned()),
            3 => ("*1\r\n$4\r\nPI".to_owned(), String::new()),
            _ => {
                // Empty, or not set yet.
                if value.is_empty() {
                    continue;
                }
                let text = String::from_utf8(value.clone()).unwrap();
                (format!("GET k{key:02}\r\n"), format!("${}\r\n{text}\r\n", text.len()))
            }
        };
        let pair = [Delivery { connection: 1, input: request.as_bytes() }, Delivery { connection: 2, input: b"PING\r\n" }];
        let deliveries = if below(3) == 0 { &pair[..] } else { &pair[..1] };
        let expected = [reply.as_bytes(), b"+PONG\r\n"];
        let expected = expected.get(..deliveries.len()).unwrap();
        // Copied, or looked at where they lie.
        if below(2) == 0 {
            let outcome = orbweaver.exchange(deliveries).unwrap();
            assert_eq!(outcome.replies().map(|(_, reply)| reply).collect::<Vec<_>>(), expected, "step {step}");
        } else {
            let is_expected = |outcome: Outcome<&[u8]>| outcome.replies().map(|(_, reply)| reply).eq(expected.iter().copied());
            assert!(orbweaver.exchange_lent(deliveries, is_expected).unwrap(), "step {step}");
        }
    }
    assert_eq!(orbweaver.traps(), 0);
}
