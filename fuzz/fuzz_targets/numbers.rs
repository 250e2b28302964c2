//! Numbers in arguments. What is read must be read again from its own text. Input: the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use orbweaver_engine::number::{LongDouble, format_double, parse_double, parse_i64, parse_u64};

fuzz_target!(|data: &[u8]| {
    if let Some(number) = parse_i64(data) {
        assert_eq!(number.to_string().as_bytes(), data, "an integer has one text");
    }
    if let Some(number) = parse_u64(data) {
        assert_eq!(parse_u64(number.to_string().as_bytes()), Some(number));
    }
    if let Some(number) = parse_double(data) {
        assert!(!number.is_nan());
        let text = format_double(number);
        assert_eq!(parse_double(text.as_bytes()).map(f64::to_bits), Some(number.to_bits()), "{text}");
        // The standard library rounds as exactly, where it knows the form.
        let theirs = std::str::from_utf8(data).ok().and_then(|text| text.parse::<f64>().ok());
        if let Some(theirs) = theirs.filter(|theirs| !theirs.is_nan()) {
            assert_eq!(theirs.to_bits(), number.to_bits());
        }
    }
    if let Some(number) = LongDouble::parse(data) {
        let text = number.format_human();
        assert!(number.is_nan() || LongDouble::parse(text.as_bytes()).is_some(), "{text}");
    }
});
