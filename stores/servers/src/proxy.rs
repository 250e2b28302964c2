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

#[derive(Default)]
struct State {
    cuts_at_answer: AtomicBool,
    holds: Mutex<bool>,
    released: Condvar,
    ended: AtomicBool,
}

impl State {
    fn holds(&self) -> MutexGuard<'_, bool> {
        self.holds.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.state.cuts_at_answer.store(true, Ordering::SeqCst);
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
        pass(from_client, to_server, || {
            let mut holds = requests.holds();
            while *holds {
                holds = requests.released.wait(holds).unwrap_or_else(PoisonError::into_inner);
            }
            true
        })
    });
    let answers = Arc::clone(state);
    thread::spawn(move || pass(server, client, || !answers.cuts_at_answer.swap(false, Ordering::SeqCst)));
    Ok(())
}

/// Passes bytes on while `may_pass` says so; then both connections end.
fn pass(mut from: TcpStream, mut to: TcpStream, may_pass: impl Fn() -> bool) {
    let mut piece = vec![0; PIECE_BYTES];
    while let Ok(length @ 1..) = from.read(&mut piece) {
        let whole = piece.get(..length).unwrap_or_default();
        if !may_pass() || to.write_all(whole).is_err() {
            break;
        }
    }
    // An end that has ended needs no end.
    for end in [from, to] {
        end.shutdown(Shutdown::Both).unwrap_or(());
    }
}
