//! Properties of the whole module: no input makes it panic, and what is encoded decodes to the same.

use super::{Parsed, Protocol, Reply, RequestLimits, Value, decode_reply, parse_request, render_human, render_raw, split_inline};
use crate::number::format_double;
use bytes::Bytes;
use proptest::prelude::*;

const LIMITS: RequestLimits = RequestLimits { max_bulk_bytes: 1000, max_args: 100, max_inline_bytes: 100, authenticated: true };

fn encode(reply: &mut Reply, value: &Value) {
    let text = |bytes: &Bytes| String::from_utf8(bytes.to_vec()).unwrap();
    match value {
        Value::Simple(line) => reply.simple(&text(line)),
        Value::Error(line) => reply.error(&text(line)),
        Value::Integer(number) => reply.integer(*number),
        Value::Bulk(data) => reply.bulk(data),
        Value::Null => reply.null(),
        Value::NullArray => reply.null_array(),
        Value::Array(values) => {
            let array = reply.deferred();
            values.iter().for_each(|value| encode(reply, value));
            reply.end_array(array, values.len());
        }
        Value::Map(pairs) => {
            reply.map(pairs.len());
            for (key, value) in pairs {
                encode(reply, key);
                encode(reply, value);
            }
        }
        Value::Set(values) => {
            let set = reply.deferred();
            values.iter().for_each(|value| encode(reply, value));
            reply.end_set(set, values.len());
        }
        Value::Push(values) => {
            reply.push(values.len());
            values.iter().for_each(|value| encode(reply, value));
        }
        Value::Double(number, _) => reply.double(*number),
        Value::Boolean(truth) => reply.boolean(*truth),
        Value::BigNumber(digits) => reply.big_number(&text(digits)),
        Value::Verbatim { format, text: data } => reply.verbatim(std::str::from_utf8(format).unwrap(), &text(data)),
    }
}

/// What is left of a value after RESP2, which has fewer types.
fn as_resp2(value: Value) -> Value {
    let all = |values: Vec<Value>| Value::Array(values.into_iter().map(as_resp2).collect());
    match value {
        Value::Array(values) | Value::Set(values) | Value::Push(values) => all(values),
        Value::Map(pairs) => all(pairs.into_iter().flat_map(|(key, value)| [key, value]).collect()),
        Value::Double(_, text) | Value::BigNumber(text) | Value::Verbatim { text, .. } => Value::Bulk(text),
        Value::Boolean(truth) => Value::Integer(i64::from(truth)),
        other => other,
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        "[^\r\n]{0,9}".prop_map(|text| Value::Simple(text.into())),
        "ERR [^\r\n]{0,9}".prop_map(|text| Value::Error(text.into())),
        any::<i64>().prop_map(Value::Integer),
        any::<Vec<u8>>().prop_map(|data| Value::Bulk(data.into())),
        Just(Value::Null),
        any::<f64>().prop_filter("equal to itself", |number| !number.is_nan()).prop_map(|n| Value::Double(n, format_double(n).into())),
        any::<bool>().prop_map(Value::Boolean),
        "-?[0-9]{1,30}".prop_map(|digits| Value::BigNumber(digits.into())),
        any::<String>().prop_map(|text| Value::Verbatim { format: *b"txt", text: text.into() }),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let several = prop::collection::vec(inner.clone(), 0..6);
        prop_oneof![
            several.clone().prop_map(Value::Array),
            several.clone().prop_map(Value::Set),
            several.prop_map(Value::Push),
            prop::collection::vec((inner.clone(), inner), 0..4).prop_map(Value::Map),
        ]
    })
}

/// Bytes that get past the first checks more often than random ones.
fn nearly_resp() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<&[u8]> = vec![
        b"*", b"$", b"%", b"~", b">", b"=", b"!", b",", b"#t", b"_", b"-1", b"0", b"1", b"2", b"3", b"\r", b"\r\n", b"\n", b"\"", b"\0",
        b"a",
    ];
    prop::collection::vec(prop::sample::select(pieces), 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_input_makes_a_reader_panic(input in prop_oneof![any::<Vec<u8>>(), nearly_resp()]) {
        split_inline(&input);
        let input = Bytes::from(input);
        match parse_request(&input, &LIMITS) {
            Parsed::Request { used, .. } => prop_assert!(0 < used && used <= input.len()),
            Parsed::Incomplete { needed } => prop_assert!(needed > input.len()),
            Parsed::Broken { message } => prop_assert!(message.starts_with("Protocol error: ")),
        }
        if let Ok(Some((value, used))) = decode_reply(&input) {
            prop_assert!(0 < used && used <= input.len());
            render_human(&value);
            render_raw(&value);
        }
    }

    #[test]
    fn a_request_is_read_back(args in prop::collection::vec(any::<Vec<u8>>(), 1..10), rest in any::<Vec<u8>>()) {
        let mut request = Reply::new(Protocol::Resp2);
        request.array(args.len());
        args.iter().for_each(|arg| request.bulk(arg));
        let used = request.len();
        request.raw(&rest);
        let parsed = parse_request(&request.into_bytes().into(), &LIMITS);
        prop_assert_eq!(parsed, Parsed::Request { args: args.into_iter().map(Bytes::from).collect(), used });
    }

    #[test]
    fn a_reply_is_read_back(value in values(), rest in any::<Vec<u8>>()) {
        for (protocol, expected) in [(Protocol::Resp3, value.clone()), (Protocol::Resp2, as_resp2(value.clone()))] {
            let mut reply = Reply::new(protocol);
            encode(&mut reply, &value);
            let used = reply.len();
            reply.raw(&rest);
            prop_assert_eq!(decode_reply(&reply.into_bytes().into()), Ok(Some((expected, used))));
        }
    }

    #[test]
    fn a_cut_reply_is_incomplete(value in values(), cut in any::<prop::sample::Index>()) {
        let mut reply = Reply::new(Protocol::Resp3);
        encode(&mut reply, &value);
        let encoded = Bytes::from(reply.into_bytes());
        prop_assert_eq!(decode_reply(&encoded.slice(..cut.index(encoded.len()))), Ok(None));
    }
}
