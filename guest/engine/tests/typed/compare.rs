//! What a typed outcome and a reply of the protocol (version 2) say alike.

use orbweaver_engine::number::parse_double;
use orbweaver_engine::resp::decode::Value;
use orbweaver_engine::typed::{Blobs, Failure, KeyExpiry, OperationError, Outcome};

/// Whether the outcome of one operation says what the reply says.
pub fn agrees(outcomes: &Result<Vec<Outcome>, OperationError>, reply: &Value) -> bool {
    match (outcomes, reply) {
        (Ok(outcomes), reply) => matches!(&outcomes[..], [outcome] if says(outcome, reply)),
        (Err(OperationError { position: Some(0), failure }), Value::Error(text)) => is_text_of(failure, std::str::from_utf8(text).unwrap()),
        _ => false,
    }
}

fn is_text_of(failure: &Failure, text: &str) -> bool {
    match failure {
        Failure::WrongType => text.starts_with("WRONGTYPE "),
        Failure::NotAnInteger => text.contains("not an integer"),
        Failure::NotAFloat => text.contains("not a valid float") || text.contains("not a float"),
        Failure::Overflow => text.contains("overflow") || text.contains("NaN"),
        Failure::NoSuchKey => text == "ERR no such key",
        Failure::OutOfRange => text.contains("out of range"),
        Failure::Invalid(own) => text == format!("ERR {own}"),
        _ => false,
    }
}

fn says(outcome: &Outcome, reply: &Value) -> bool {
    match (outcome, reply) {
        (Outcome::Done(()) | Outcome::Flag(true), Value::Simple(text)) => text == "OK",
        (Outcome::Flag(false), Value::Null) => true,
        (Outcome::Flag(flag), Value::Integer(number)) => *number == i64::from(*flag),
        (Outcome::Flags(flags), Value::Array(values)) => {
            *values == flags.iter().map(|flag| Value::Integer(i64::from(*flag))).collect::<Vec<_>>()
        }
        (Outcome::Count(count), Value::Integer(number)) => u64::try_from(*number) == Ok(*count),
        (Outcome::Integer(sum), Value::Integer(number)) => sum == number,
        (Outcome::Float(sum), Value::Bulk(text)) => parse_double(text) == Some(*sum),
        (Outcome::Position(None), Value::Null | Value::Integer(-1 | 0)) => true,
        (Outcome::Position(Some(position)), Value::Integer(number)) => u64::try_from(*number) == Ok(*position),
        (Outcome::Positions(positions), Value::Array(values)) => {
            *values == positions.iter().map(|position| Value::Integer(i64::try_from(*position).unwrap())).collect::<Vec<_>>()
        }
        (Outcome::Value(None), Value::Null) => true,
        // An absent string has no bytes in a range.
        (Outcome::Value(value), Value::Bulk(bulk)) => value.as_ref().unwrap_or(&bytes::Bytes::new()) == bulk,
        (Outcome::Values(values), Value::Array(replies)) => {
            let strings = values.blobs.iter().enumerate();
            let own: Vec<Value> =
                strings.map(|(position, string)| if values.absent.contains(&position) { Value::Null } else { bulk(string) }).collect();
            own == *replies
        }
        (Outcome::List(list), reply) => strings(list) == *elements(reply),
        (Outcome::Score(None), Value::Null) => true,
        (Outcome::Score(Some(score)), Value::Bulk(text)) => parse_double(text) == Some(*score),
        (Outcome::Scores(scores), Value::Array(values)) => {
            let pairs = scores.iter().zip(values);
            scores.len() == values.len() && pairs.clone().all(|(score, value)| says(&Outcome::Score(*score), value))
        }
        (Outcome::Members(members), Value::Array(values)) => {
            let pairs = members.members.iter().zip(&members.scores).zip(values.chunks(2));
            let mut pairs = pairs.map(|((member, score), pair)| pair[0] == bulk(member) && says(&Outcome::Score(Some(*score)), &pair[1]));
            members.scores.len() * 2 == values.len() && pairs.all(|same| same)
        }
        (Outcome::Added(done), Value::Integer(number)) => u64::try_from(*number) == Ok(done.added + done.updated),
        (Outcome::Page(page), Value::Array(step)) => {
            step[0] == bulk(page.cursor.to_string().as_bytes()) && strings(&page.elements) == *elements(&step[1])
        }
        (Outcome::ScoredPage(page), Value::Array(step)) => {
            step[0] == bulk(page.cursor.to_string().as_bytes()) && says(&Outcome::Members(page.members.clone()), &step[1])
        }
        (Outcome::Kind(kind), Value::Simple(name)) => kind.map_or("none", |kind| kind.name()) == name,
        (Outcome::Expiry(expiry), Value::Integer(number)) => match expiry {
            KeyExpiry::Absent => *number == -2,
            KeyExpiry::Never => *number == -1,
            KeyExpiry::At(at_ms) => u64::try_from(*number) == Ok(*at_ms),
        },
        _ => false,
    }
}

fn bulk(string: &[u8]) -> Value {
    Value::Bulk(bytes::Bytes::copy_from_slice(string))
}

fn strings(list: &Blobs) -> Vec<Value> {
    list.iter().map(bulk).collect()
}

/// The elements of an array; none of an absent one.
fn elements(reply: &Value) -> &[Value] {
    match reply {
        Value::Array(values) => values,
        _ => &[],
    }
}
