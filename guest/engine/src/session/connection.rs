//! Connections: what the engine remembers of a client between two requests.

use super::plan::{Queue, Watched};
use super::pubsub::Subscriptions;
use crate::codec::{Flaw, Reader};
use crate::resp::reply::Protocol;
use bytes::{BufMut, Bytes};
use std::collections::BTreeSet;

/// Which replies a client wants (CLIENT REPLY).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplyMode {
    /// All of them.
    #[default]
    On,
    /// None.
    Off,
    /// Not the one to the next command.
    SkipNext,
    /// Not the one to this command.
    Skip,
}

/// A client's connection.
#[derive(Debug)]
pub struct Connection {
    /// Its number.
    pub id: u64,
    /// The client's address.
    pub address: String,
    /// The selected db.
    pub db: usize,
    /// The protocol of its replies.
    pub protocol: Protocol,
    /// Whether it has said the password, or need not.
    pub authenticated: bool,
    /// CLIENT SETNAME.
    pub name: String,
    /// CLIENT SETINFO LIB-NAME.
    pub library_name: String,
    /// CLIENT SETINFO LIB-VER.
    pub library_version: String,
    /// CLIENT REPLY.
    pub reply_mode: ReplyMode,
    /// CLIENT NO-EVICT.
    pub no_evict: bool,
    /// CLIENT NO-TOUCH.
    pub no_touch: bool,
    /// The commands queued since MULTI.
    pub queue: Option<Queue>,
    /// The keys of WATCH.
    pub watched: Vec<Watched>,
    /// What it has subscribed to.
    pub subscriptions: Subscriptions,
    /// To be closed once its replies are sent; set by `Connections::close`.
    pub closing: bool,
    /// To be closed without them.
    pub mute: bool,
    /// When it was announced: Unix time in milliseconds.
    pub connected_ms: u64,
    /// When it last sent a request: Unix time in milliseconds.
    pub active_ms: u64,
    /// Its last command, with the subcommand: `client|list`.
    pub last_command: &'static str,
    /// The state that [`Connection::take_changed_state`] last returned.
    known_state: Vec<u8>,
    /// Something has run that may have changed the state since.
    pub(super) may_have_changed: bool,
}

impl Connection {
    fn new(id: u64, address: &str, authenticated: bool, now_ms: u64) -> Self {
        let mut connection = Self {
            id,
            address: address.to_owned(),
            db: 0,
            protocol: Protocol::Resp2,
            authenticated,
            name: String::new(),
            library_name: String::new(),
            library_version: String::new(),
            reply_mode: ReplyMode::On,
            no_evict: false,
            no_touch: false,
            queue: None,
            watched: Vec::new(),
            subscriptions: Subscriptions::default(),
            closing: false,
            mute: false,
            connected_ms: now_ms,
            active_ms: now_ms,
            last_command: "NULL",
            known_state: Vec::new(),
            may_have_changed: false,
        };
        connection.known_state = connection.encode_state();
        connection
    }

    /// Back to what it was when it was new, but for its number and age (RESET).
    pub fn reset(&mut self, authenticated: bool) {
        let fresh = Self::new(self.id, &self.address, authenticated, self.connected_ms);
        let (library_name, library_version) = (std::mem::take(&mut self.library_name), std::mem::take(&mut self.library_version));
        let known_state = std::mem::take(&mut self.known_state);
        *self = Self { active_ms: self.active_ms, known_state, may_have_changed: true, library_name, library_version, ..fresh };
    }

    /// The connection's state where it has changed since the last call: what lets a new instance go on with the connection.
    /// A transaction under way is not part of it, only that there was one: its EXEC will be refused.
    pub(super) fn take_changed_state(&mut self) -> Option<Vec<u8>> {
        if !std::mem::take(&mut self.may_have_changed) {
            return None;
        }
        let state = self.encode_state();
        if state == self.known_state {
            return None;
        }
        self.known_state.clone_from(&state);
        Some(state)
    }

    /// Whether a command on data is run and answered, whatever it is: nothing is to be said before, nothing is queued, and replies are wanted.
    pub(super) fn is_plain(&self) -> bool {
        self.authenticated && self.queue.is_none() && self.reply_mode == ReplyMode::On && !self.awaits_only_messages()
    }

    /// Whether it gets messages, and replies look like messages to it: subscribed, in RESP2. It may hardly say anything then.
    #[must_use]
    pub fn awaits_only_messages(&self) -> bool {
        self.protocol == Protocol::Resp2 && !self.subscriptions.is_empty()
    }

    /// `connected_ms u64 | db u32 | flags | (length u32 | text)*3 | subscriptions`.
    fn encode_state(&self) -> Vec<u8> {
        let flags = [
            self.protocol == Protocol::Resp3,
            self.authenticated,
            self.queue.is_some(),
            !self.watched.is_empty(),
            self.reply_mode == ReplyMode::Off,
            self.no_evict,
            self.no_touch,
        ];
        let texts = [&self.name, &self.library_name, &self.library_version];
        let mut state = Vec::new();
        state.put_u64(self.connected_ms);
        state.put_u32(u32::try_from(self.db).unwrap_or(0));
        state.put_u8(flags.iter().rev().fold(0, |bits, &flag| bits << 1 | u8::from(flag)));
        for text in texts {
            state.put_u32(u32::try_from(text.len()).unwrap_or(0));
            state.put_slice(text.as_bytes());
        }
        self.subscriptions.encode(&mut state);
        state
    }

    fn decode_state(id: u64, state: &[u8], address: &str, now_ms: u64) -> Result<Self, Flaw> {
        let state = Bytes::copy_from_slice(state);
        let mut reader = Reader::new(&state);
        let connected_ms = reader.u64("a time is missing")?;
        let db = usize::try_from(reader.u32("a db is missing")?).unwrap_or(0);
        let flags = reader.u8("flags are missing")?;
        let has = |bit: u8| flags >> bit & 1 == 1;
        let mut connection = Self::new(id, address, has(1), connected_ms);
        connection.db = db;
        connection.protocol = if has(0) { Protocol::Resp3 } else { Protocol::Resp2 };
        connection.queue = has(2).then(Queue::broken);
        connection.watched = has(3).then(Watched::lost).into_iter().collect();
        connection.reply_mode = if has(4) { ReplyMode::Off } else { ReplyMode::On };
        (connection.no_evict, connection.no_touch) = (has(5), has(6));
        connection.name = reader.text("a name is cut short")?;
        connection.library_name = reader.text("a library's name is cut short")?;
        connection.library_version = reader.text("a library's version is cut short")?;
        connection.subscriptions = Subscriptions::decode(&mut reader)?;
        connection.active_ms = now_ms;
        connection.known_state = state.to_vec();
        Ok(connection)
    }
}

/// The connections of an instance, by number.
#[derive(Debug, Default)]
pub struct Connections {
    /// In their order.
    list: Vec<(u64, Box<Connection>)>,
    /// The place of the one that was asked for last: a request asks for its own again and again, and comes behind others of its connection.
    last: usize,
    /// Those to be closed: nobody has to look for them among all.
    closing: BTreeSet<u64>,
}

impl Connections {
    pub(super) fn add(&mut self, id: u64, address: &str, state: Option<&[u8]>, authenticated: bool, now_ms: u64) {
        let restored = state.and_then(|state| Connection::decode_state(id, state, address, now_ms).ok());
        let connection = Box::new(restored.unwrap_or_else(|| Connection::new(id, address, authenticated, now_ms)));
        self.remove(id);
        let place = self.list.partition_point(|(other, _)| *other < id);
        self.list.insert(place, (id, connection));
    }

    pub(super) fn remove(&mut self, id: u64) -> Option<Connection> {
        self.closing.remove(&id);
        let place = self.place(id)?;
        Some(*self.list.remove(place).1)
    }

    fn place(&self, id: u64) -> Option<usize> {
        self.list.binary_search_by_key(&id, |(id, _)| *id).ok()
    }

    /// The connection with that number.
    pub fn get(&mut self, id: u64) -> Option<&mut Connection> {
        if self.list.get(self.last).is_none_or(|(last, _)| *last != id) {
            self.last = self.place(id)?;
        }
        self.list.get_mut(self.last).map(|(_, connection)| &mut **connection)
    }

    /// Marks a connection to be closed once its replies are sent.
    pub fn close(&mut self, id: u64) {
        if let Some(connection) = self.get(id) {
            connection.closing = true;
            self.closing.insert(id);
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// All connections, by number.
    pub fn iter(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.list.iter_mut().map(|(_, connection)| &mut **connection)
    }

    pub(super) fn closing(&self) -> Vec<u64> {
        self.closing.iter().copied().collect()
    }
}
