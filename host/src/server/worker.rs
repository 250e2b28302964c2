//! One thread of a server: its connections, its instance, and the loop between them.

use super::clients::Clients;
use super::crew::{Crew, Post};
use super::housekeeping::Housekeeping;
use super::listener::Listener;
use super::options::ServerOptions;
use crate::runtime::{BLOCKED, CallError, Delivery, Orbweaver, Outcome, Unsettled};
use mio::{Events, Poll, Token};
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

pub const LISTENER: Token = Token(usize::MAX);
pub const WAKER: Token = Token(usize::MAX - 1);

/// Most bytes that are read from one connection in one turn, so that none keeps the others waiting.
const TURN_BYTES_PER_CLIENT: usize = 256 << 10;
/// Most bytes that are handed over in one call, unless a single request is larger. A call takes some hundred requests; what it
/// leaves crosses again with the next one.
const TURN_BYTES: usize = 1 << 20;
/// How long replies may take to leave when the server stops.
const LAST_REPLIES: Duration = Duration::from_secs(5);

/// A worker.
pub struct Worker {
    number: usize,
    crew: Arc<Crew>,
    poll: Poll,
    post: Receiver<Post>,
    /// The first worker's.
    listener: Option<Listener>,
    orbweaver: Orbweaver,
    max_request_bytes: usize,
    clients: Clients,
    housekeeping: Housekeeping,
    /// When the first wait of a blocking command ends.
    wake_at: Option<Instant>,
    /// How many instances had been lost when their waits were last made up for.
    known_traps: u64,
    scratch: Vec<u8>,
    /// The last exchange, while it is written.
    under_way: Option<UnderWay>,
}

/// An exchange that may not be written yet: nobody has been told of it.
struct UnderWay {
    /// The connections concerned.
    due: Vec<u64>,
    /// How many of them are there, and have delivered something: the first answers are for them.
    delivered: usize,
    outcome: Result<Outcome, CallError>,
    unsettled: Unsettled,
}

impl UnderWay {
    /// Whether the next exchange, of the connections `due`, depends on what is told of this one: it has answered one of them, whose request is to be
    /// consumed first; or somebody waits from here on who has gone, and is to be given nothing.
    fn must_be_told_before(&self, due: &[u64], clients: &Clients) -> bool {
        let Ok(outcome) = &self.outcome else { return false };
        let mut others = outcome.answers.iter().skip(self.delivered);
        let mut waiting = outcome.answers.iter().filter(|answer| answer.needed == BLOCKED);
        others.any(|answer| due.contains(&answer.connection)) || waiting.any(|answer| clients.has_ended(answer.connection))
    }
}

/// What makes a worker: its number, and what it shares with the others.
pub struct Place {
    pub number: usize,
    pub crew: Arc<Crew>,
    pub poll: Poll,
    pub post: Receiver<Post>,
}

impl Worker {
    pub fn new(
        place: Place,
        listener: Option<Listener>,
        orbweaver: Orbweaver,
        housekeeping: Housekeeping,
        options: &ServerOptions,
    ) -> io::Result<Self> {
        let Place { number, crew, poll, post } = place;
        Ok(Self {
            number,
            clients: Clients::new(number, Arc::clone(&crew), poll.registry().try_clone()?, options),
            crew,
            poll,
            post,
            listener,
            known_traps: orbweaver.traps(),
            orbweaver,
            max_request_bytes: options.max_request_bytes,
            housekeeping,
            wake_at: None,
            scratch: vec![0; TURN_BYTES_PER_CLIENT],
            under_way: None,
        })
    }

    /// Serves until the crew is to stop.
    pub fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        let mut more_to_accept = false;
        self.greet_others();
        while !self.crew.is_stopped() {
            let busy = more_to_accept || self.under_way.is_some() || self.clients.have_work();
            let patience = if busy { Duration::ZERO } else { self.patience() };
            self.wait(&mut events, patience)?;
            more_to_accept = self.listener.as_mut().is_some_and(|listener| listener.accept(&self.crew));
            let served = self.serve();
            let has_expired = self.housekeeping.work(&mut self.orbweaver, &mut self.clients, served);
            // The others are told who has gone.
            if has_expired || self.clients.take_departed() && self.has_others() {
                self.exchange(&[]);
            }
            self.make_up_for_traps();
        }
        self.send_last_replies(&mut events)
    }

    fn has_others(&self) -> bool {
        self.crew.size() > 1
    }

    /// Has the instance say what it has to say before it is asked: that it is there.
    fn greet_others(&mut self) {
        if self.has_others() {
            self.exchange(&[]);
        }
    }

    /// How long there is nothing to do unless a socket or another worker has something to say.
    fn patience(&self) -> Duration {
        let patience = self.housekeeping.patience();
        self.wake_at.map_or(patience, |at| patience.min(at.saturating_duration_since(Instant::now())))
    }

    /// The waits of blocking commands are lost with an instance: their clients wait anew, in the order in which they connected.
    fn make_up_for_traps(&mut self) {
        if self.known_traps != self.orbweaver.traps() {
            // Its answers tell who waits.
            self.finish();
            self.known_traps = self.orbweaver.traps();
            self.clients.deliver_blocked_again(&mut self.orbweaver);
            self.greet_others();
        }
    }

    /// Waits for sockets and for other workers, and notes what sockets say.
    fn wait(&mut self, events: &mut Events, patience: Duration) -> io::Result<()> {
        match self.poll.poll(events, Some(patience)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            outcome => outcome?,
        }
        for event in events.iter() {
            match event.token() {
                LISTENER => self.listener.iter_mut().for_each(Listener::knock),
                WAKER => {}
                Token(id) => self.clients.note(u64::try_from(id).unwrap_or(u64::MAX), event, &mut self.orbweaver),
            }
        }
        Ok(())
    }

    /// One turn: reads what is ready, runs it, sends the replies. Returns whether there was anything to run.
    ///
    /// What a few connections have sent is an exchange of its own. While it is written the next one runs, in this turn or in the one that
    /// follows; so clients are at work on their replies while the engine is on the requests of others.
    fn serve(&mut self) -> bool {
        let due = self.clients.read_ready(&mut self.scratch, TURN_BYTES, &mut self.orbweaver);
        // Behind the reads: whatever made a client send this has been told by now.
        let has_heard = self.take_post();
        let mut rest = due.as_slice();
        while !rest.is_empty() && !self.crew.is_stopped() {
            let (now, later) = rest.split_at(self.clients.count_within(rest, self.orbweaver.turn_bytes().min(TURN_BYTES)));
            self.begin(now, !later.is_empty());
            rest = later;
        }
        if due.is_empty() {
            self.finish();
        }
        let is_time = self.wake_at.is_some_and(|at| at <= Instant::now());
        if is_time || has_heard && due.is_empty() {
            self.exchange(&[]);
        }
        !due.is_empty()
    }

    /// Takes in new clients, and lets the instance hear what the others say. Returns whether it has heard anything.
    fn take_post(&mut self) -> bool {
        self.crew.answer_call(self.number);
        let mut has_heard = false;
        while let Ok(post) = self.post.try_recv() {
            match post {
                Post::Client(stream, address, id) => self.clients.add(stream, address, id, &mut self.orbweaver),
                Post::Words(words) => {
                    self.orbweaver.hear(&words);
                    has_heard = true;
                }
            }
        }
        has_heard
    }

    /// An exchange, with all that follows from it.
    fn exchange(&mut self, due: &[u64]) {
        self.begin(due, false);
        self.finish();
    }

    /// Begins an exchange, and ends the one before it. `more_follow`: so will another one end this one.
    fn begin(&mut self, due: &[u64], more_follow: bool) {
        if self.under_way.as_ref().is_some_and(|before| before.must_be_told_before(due, &self.clients)) {
            self.finish();
        }
        let traps = self.orbweaver.traps();
        let deliveries: Vec<Delivery<'_>> = self.clients.deliveries(due).collect();
        let delivered = deliveries.len();
        let (outcome, unsettled) = self.orbweaver.exchange_ahead(&deliveries, more_follow || self.under_way.is_some());
        if self.orbweaver.traps() != traps {
            tracing::error!("the component trapped, and it was made anew; the connections concerned are told why and closed");
        }
        self.clients.set_under_way(due);
        self.finish();
        let is_settled = unsettled.is_settled();
        self.under_way = Some(UnderWay { due: due.to_vec(), delivered, outcome, unsettled });
        if is_settled {
            self.finish();
        }
    }

    /// Waits until the exchange that is under way is written, and tells everybody what it has come to.
    fn finish(&mut self) {
        let Some(UnderWay { due, delivered, outcome, unsettled }) = self.under_way.take() else { return };
        self.wake_at = None;
        let outcome = match self.orbweaver.settle(unsettled) {
            Ok(None) => outcome,
            Ok(Some(instead)) => {
                tracing::error!("a write failed, and the component was made anew; the connections concerned are told why and closed");
                Ok(instead)
            }
            Err(error) => Err(error),
        };
        self.crew.note(self.number, self.orbweaver.traps(), self.orbweaver.exchanges(), self.orbweaver.commits());
        match outcome {
            Ok(outcome) => {
                // Before the replies: who has seen one finds the others informed.
                self.crew.tell_others(self.number, &outcome.for_peers);
                for (position, (answer, reply)) in outcome.replies().enumerate() {
                    if reply.starts_with(b"-ERR internal: ") {
                        tracing::error!(connection = answer.connection, "{}", String::from_utf8_lossy(reply).trim_end());
                    }
                    // To a connection that did not deliver anything it is the end of a wait, or a message.
                    let is_of_input = position < delivered || answer.consumed > 0;
                    self.clients.change(answer.connection, &mut self.orbweaver, |client| {
                        if is_of_input { client.take_answer(answer, reply) } else { client.take_message(answer, reply) }
                    });
                }
                self.clients.refuse_too_large(&due, self.max_request_bytes, &mut self.orbweaver);
                self.wake_at = outcome.wake_after_ms.and_then(|ms| Instant::now().checked_add(Duration::from_millis(ms)));
                if outcome.shutdown {
                    tracing::info!("a client asked the server to shut down");
                    if let Err(error) = self.crew.stop() {
                        tracing::error!("cannot wake the other workers: {error}");
                    }
                }
            }
            Err(error) => {
                tracing::error!("no instance of the component can be made: {error}");
                for id in due {
                    self.clients.change(id, &mut self.orbweaver, |client| client.refuse(&format!("storage: {error}")));
                }
            }
        }
    }

    fn send_last_replies(mut self, events: &mut Events) -> io::Result<()> {
        self.finish();
        let end = Instant::now() + LAST_REPLIES;
        if self.listener.take().is_some() {
            tracing::info!("stopping");
        }
        self.clients.close_all(&mut self.orbweaver);
        while !self.clients.is_empty() && Instant::now() < end {
            self.wait(events, end.saturating_duration_since(Instant::now()))?;
        }
        Ok(())
    }
}
