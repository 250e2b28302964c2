//! A network that fails on demand: a TCP proxy before a server, which cuts connections and holds requests back.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// How much is passed on at once.
const PIECE_BYTES: usize = 16 << 10;

/// A proxy before one port of loopback.
pub struct Proxy {
    port: u16,
    state: Arc<State>,
}

/// Where a connection ends. What is sent is looked at piece by piece, as it comes; no bytes are in every piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Before the server has got any of the piece in which a client sends these bytes.
    Request(&'static [u8]),
    /// When the server has got half of it.
    HalfOfRequest(&'static [u8]),
    /// Before the client has got any of the piece in which the server sends these bytes.
    Answer(&'static [u8]),
}

#[derive(Default)]
struct State {
    cut: Mutex<Option<Cut>>,
    holds_at_cut: AtomicBool,
    holds: Mutex<bool>,
    released: Condvar,
    ended: AtomicBool,
}

impl State {
    fn holds(&self) -> MutexGuard<'_, bool> {
        self.holds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How much of a piece is passed on; the connection ends where that is not all of it.
    fn passes(&self, piece: &[u8], is_request: bool) -> usize {
        let mut cut = self.cut.lock().unwrap_or_else(PoisonError::into_inner);
        let has = |bytes: &[u8]| bytes.is_empty() || piece.windows(bytes.len()).any(|window| window == bytes);
        let passes = match *cut {
            Some(Cut::Request(bytes)) if is_request && has(bytes) => 0,
            Some(Cut::HalfOfRequest(bytes)) if is_request && has(bytes) => piece.len() / 2,
            Some(Cut::Answer(bytes)) if !is_request && has(bytes) => 0,
            _ => return piece.len(),
        };
        *cut = None;
        if self.holds_at_cut.swap(false, Ordering::SeqCst) {
            *self.holds() = true;
        }
        passes
    }
}

impl Proxy {
    /// A proxy that passes everything on to `target`, until it is told otherwise.
    ///
    /// # Errors
    /// Where the system has no port.
    pub fn start(target: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let (port, state) = (listener.local_addr()?.port(), Arc::new(State::default()));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if shared.ended.load(Ordering::Relaxed) {
                    break;
                }
                // A server that is gone ends the connection.
                let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, target)) else { continue };
                join(client, server, &shared).unwrap_or(());
            }
        });
        Ok(Self { port, state })
    }

    /// Where clients find it, on 127.0.0.1.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Ends the connection on which the server sends something next, before the client has got any of it.
    pub fn cut_at_the_next_answer(&self) {
        self.cut_once(Cut::Answer(b""));
    }

    /// Ends the connection that comes there next. Replaces what was asked for before and has not come about.
    pub fn cut_once(&self, cut: Cut) {
        *self.state.cut.lock().unwrap_or_else(PoisonError::into_inner) = Some(cut);
    }

    /// As [`Proxy::cut_once`], with a [`Proxy::hold`] at that moment.
    pub fn cut_once_and_hold(&self, cut: Cut) {
        self.state.holds_at_cut.store(true, Ordering::SeqCst);
        self.cut_once(cut);
    }

    /// Whether a cut that was asked for has come about.
    #[must_use]
    pub fn has_cut(&self) -> bool {
        self.state.cut.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Keeps what clients send from now on, also of those that give up.
    pub fn hold(&self) {
        *self.state.holds() = true;
    }

    /// Passes on what was kept.
    pub fn release(&self) {
        *self.state.holds() = false;
        self.state.released.notify_all();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.ended.store(true, Ordering::Relaxed);
        self.release();
        // Wakes the listener; where it cannot be reached, it has ended.
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)));
    }
}

/// Passes bytes both ways on threads of their own, until one side ends.
fn join(client: TcpStream, server: TcpStream, state: &Arc<State>) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_server) = (client.try_clone()?, server.try_clone()?);
    let requests = Arc::clone(state);
    thread::spawn(move || {
        pass(from_client, to_server, |piece| {
            let mut holds = requests.holds();
            while *holds {
                holds = requests.released.wait(holds).unwrap_or_else(PoisonError::into_inner);
            }
            drop(holds);
            requests.passes(piece, true)
        })
    });
    let answers = Arc::clone(state);
    thread::spawn(move || pass(server, client, |piece| answers.passes(piece, false)));
    Ok(())
}

/// Passes bytes on, of each piece as many as `passes` says; when that is not all of them, both connections end.
fn pass(mut from: TcpStream, mut to: TcpStream, passes: impl Fn(&[u8]) -> usize) {
    let mut buffer = vec![0; PIECE_BYTES];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let piece = buffer.get(..length).unwrap_or_default();
        let passed = passes(piece);
        if to.write_all(piece.get(..passed).unwrap_or_default()).is_err() || passed < length {
            break;
        }
    }
    // An end that has ended needs no end.
    for end in [from, to] {
        end.shutdown(Shutdown::Both).unwrap_or(());
    }
}
