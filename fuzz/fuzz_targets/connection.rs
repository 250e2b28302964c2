//! What is restored of a connection when its instance was lost. Input: the state.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use orbweaver_engine::session::Delivery;
use orbweaver_fuzz::fresh;

fuzz_target!(|data: &[u8]| {
    let mut engine = fresh();
    engine.connect(7, "fuzz", Some(data));
    let input = Bytes::from_static(b"CLIENT INFO\r\nGET key\r\nRESET\r\nSET key value\r\nGET key\r\n");
    let answer = engine.exchange(&[Delivery { connection: 7, input: input.clone() }]).answers.remove(0);
    assert!(answer.close || answer.consumed == input.len());
});
