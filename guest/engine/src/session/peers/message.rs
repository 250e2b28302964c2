//! What instances on one store tell each other, and how it is written down.
//!
//! Messages stand one behind the other, each as `sender u32 | kind u8 | fields`. Integers are big-endian, byte strings and lists have
//! their length before them (u32). The instances are of one version: the bytes are never kept.

use super::super::pubsub::Topic;
use crate::codec::{Flaw, Reader};
use bytes::{BufMut, Bytes};

/// A key, with the number of its db.
pub type DbKey = (usize, Bytes);

/// Something that one instance tells all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerMessage {
    /// The sender has just been made. What is known of the one that it replaces is void, and it knows nothing of the others.
    Hello,
    /// What CONFIG SET has set. It ends the reply to a `Hello`.
    Settings {
        /// Later settings have a higher version.
        version: u64,
        /// `proto-max-bulk-len`.
        max_string_bytes: u64,
        /// `notify-keyspace-events`.
        events: String,
    },
    /// How many connections of the sender have subscribed to a name.
    Subscribers {
        /// What kind of name it is.
        topic: Topic,
        /// The name.
        name: Bytes,
        /// How many; 0: none any more.
        count: u32,
    },
    /// Whether a connection of the sender waits for a key.
    Waits {
        /// The key.
        key: DbKey,
        /// Whether one does.
        waits: bool,
    },
    /// A message for subscribers, or an event.
    Published {
        /// A channel, or a channel of a shard.
        topic: Topic,
        /// Its name.
        channel: Bytes,
        /// The message.
        message: Bytes,
    },
    /// A key that was waited for may be there.
    Appeared(DbKey),
    /// Dbs have been exchanged: any key that was waited for may be there.
    DbsExchanged,
    /// The counters begin anew (CONFIG RESETSTAT).
    StatisticsReset,
    /// A command concerns the connections of all instances.
    Question {
        /// The sender's connection that it came on.
        connection: u64,
        /// Tells the connection's questions apart.
        number: u64,
        /// The command.
        args: Vec<Bytes>,
    },
    /// What the sender has to say to a question.
    Answer {
        /// The instance that has asked.
        to: u32,
        /// As in the question.
        connection: u64,
        /// As in the question.
        number: u64,
        /// The answer, in a form of the command's.
        answer: Bytes,
    },
}

impl PeerMessage {
    /// Appends the message to `out`.
    pub fn encode(&self, sender: u32, out: &mut Vec<u8>) {
        out.put_u32(sender);
        match self {
            Self::Hello => out.put_u8(0),
            Self::Settings { version, max_string_bytes, events } => {
                out.put_u8(1);
                out.put_u64(*version);
                out.put_u64(*max_string_bytes);
                put_bytes(out, events.as_bytes());
            }
            Self::Subscribers { topic, name, count } => {
                out.put_u8(2);
                put_topic(out, *topic);
                put_bytes(out, name);
                out.put_u32(*count);
            }
            Self::Waits { key, waits } => {
                out.put_u8(3);
                put_key(out, key);
                out.put_u8(u8::from(*waits));
            }
            Self::Published { topic, channel, message } => {
                out.put_u8(4);
                put_topic(out, *topic);
                put_bytes(out, channel);
                put_bytes(out, message);
            }
            Self::Appeared(key) => {
                out.put_u8(5);
                put_key(out, key);
            }
            Self::DbsExchanged => out.put_u8(6),
            Self::StatisticsReset => out.put_u8(7),
            Self::Question { connection, number, args } => {
                out.put_u8(8);
                out.put_u64(*connection);
                out.put_u64(*number);
                out.put_u32(u32::try_from(args.len()).unwrap_or(u32::MAX));
                args.iter().for_each(|arg| put_bytes(out, arg));
            }
            Self::Answer { to, connection, number, answer } => {
                out.put_u8(9);
                out.put_u32(*to);
                out.put_u64(*connection);
                out.put_u64(*number);
                put_bytes(out, answer);
            }
        }
    }

    /// Reads one message and who has sent it.
    ///
    /// # Errors
    /// Where the bytes are none that [`PeerMessage::encode`] has written.
    pub fn decode(reader: &mut Reader<'_>) -> Result<(u32, Self), Flaw> {
        let sender = reader.u32("a sender is missing")?;
        let message = match reader.u8("a kind is missing")? {
            0 => Self::Hello,
            1 => Self::Settings {
                version: reader.u64("a version is missing")?,
                max_string_bytes: reader.u64("a length is missing")?,
                events: reader.text("events are missing")?,
            },
            2 => Self::Subscribers { topic: topic(reader)?, name: owned(reader)?, count: reader.u32("a count is missing")? },
            3 => Self::Waits { key: key(reader)?, waits: reader.u8("a flag is missing")? != 0 },
            4 => Self::Published {
                topic: topic(reader)?,
                channel: reader.bytes("a channel is missing")?,
                message: reader.bytes("a message is missing")?,
            },
            5 => Self::Appeared(key(reader)?),
            6 => Self::DbsExchanged,
            7 => Self::StatisticsReset,
            8 => {
                let (connection, number) = (reader.u64("a connection is missing")?, reader.u64("a number is missing")?);
                let count = reader.u32("a number of arguments is missing")?;
                let args = (0..count).map(|_| reader.bytes("an argument is missing")).collect::<Result<_, _>>()?;
                Self::Question { connection, number, args }
            }
            9 => Self::Answer {
                to: reader.u32("an instance is missing")?,
                connection: reader.u64("a connection is missing")?,
                number: reader.u64("a number is missing")?,
                answer: reader.bytes("an answer is missing")?,
            },
            _ => return Err(reader.flaw("no such kind of message")),
        };
        Ok((sender, message))
    }
}

/// Bytes with their length before them.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.put_u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    out.put_slice(bytes);
}

fn put_key(out: &mut Vec<u8>, (db, key): &DbKey) {
    out.put_u32(u32::try_from(*db).unwrap_or(u32::MAX));
    put_bytes(out, key);
}

fn put_topic(out: &mut Vec<u8>, topic: Topic) {
    out.put_u8(match topic {
        Topic::Channel => 0,
        Topic::Pattern => 1,
        Topic::ShardChannel => 2,
    });
}

fn topic(reader: &mut Reader<'_>) -> Result<Topic, Flaw> {
    match reader.u8("a topic is missing")? {
        0 => Ok(Topic::Channel),
        1 => Ok(Topic::Pattern),
        2 => Ok(Topic::ShardChannel),
        _ => Err(reader.flaw("no such topic")),
    }
}

fn key(reader: &mut Reader<'_>) -> Result<DbKey, Flaw> {
    let db = usize::try_from(reader.u32("a db is missing")?).unwrap_or(usize::MAX);
    Ok((db, owned(reader)?))
}

/// A copy, for what is kept: a slice would keep all messages that came with it.
fn owned(reader: &mut Reader<'_>) -> Result<Bytes, Flaw> {
    Ok(Bytes::copy_from_slice(&reader.bytes("a name is missing")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_read_as_it_was_written() {
        let text = Bytes::from_static(b"text");
        let messages = [
            PeerMessage::Hello,
            PeerMessage::Settings { version: 7, max_string_bytes: 1 << 40, events: "KEA".into() },
            PeerMessage::Subscribers { topic: Topic::Pattern, name: text.clone(), count: 3 },
            PeerMessage::Waits { key: (15, text.clone()), waits: true },
            PeerMessage::Published { topic: Topic::ShardChannel, channel: text.clone(), message: Bytes::new() },
            PeerMessage::Appeared((0, text.clone())),
            PeerMessage::DbsExchanged,
            PeerMessage::StatisticsReset,
            PeerMessage::Question { connection: 5, number: 9, args: vec![text.clone(), Bytes::new()] },
            PeerMessage::Answer { to: 2, connection: 5, number: 9, answer: text },
        ];
        let mut bytes = Vec::new();
        messages.iter().for_each(|message| message.encode(3, &mut bytes));
        let bytes = Bytes::from(bytes);
        let mut reader = Reader::new(&bytes);
        for message in messages {
            assert_eq!(PeerMessage::decode(&mut reader), Ok((3, message)));
        }
        assert_eq!(reader.end(), Ok(()));
    }

    #[test]
    fn bytes_that_are_no_message_are_refused() {
        for bytes in [&b""[..], b"\0\0\0\0", b"\0\0\0\0\x63", b"\0\0\0\0\x02\x05", b"\0\0\0\0\x05\0\0\0\0\0\0\0\x09k"] {
            let bytes = Bytes::from_static(bytes);
            assert!(PeerMessage::decode(&mut Reader::new(&bytes)).is_err(), "{bytes:?}");
        }
    }
}
