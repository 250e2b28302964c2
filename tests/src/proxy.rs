//! A proxy before a server that cuts connections in the middle of commits.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

/// A proxy on a port of its own, until the process ends.
pub struct CuttingProxy {
    address: SocketAddr,
    state: Arc<State>,
}

struct State {
    target: SocketAddr,
    /// What is looked for in what clients send.
    word: &'static [u8],
    /// Every so many times; 0 never.
    period: AtomicU64,
    seen: AtomicU64,
    cuts: AtomicUsize,
}

impl CuttingProxy {
    /// Passes on what goes to and from `target`. Once [`CuttingProxy::cut_every`] says so, it passes a part on in which `word` occurs,
    /// and closes the connection before the answer is passed back.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn start(target: SocketAddr, word: &'static [u8]) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let state = Arc::new(State { target, word, period: AtomicU64::new(0), seen: AtomicU64::new(0), cuts: AtomicUsize::new(0) });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // A target that does not listen closes the connection.
                let _ = serve(client, &shared);
            }
        });
        Ok(Self { address, state })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Cuts at each so manieth occurrence; 0: at none.
    pub fn cut_every(&self, period: u64) {
        self.state.period.store(period, Ordering::Relaxed);
    }

    /// How many connections it has cut.
    #[must_use]
    pub fn cuts(&self) -> usize {
        self.state.cuts.load(Ordering::Relaxed)
    }
}

fn serve(client: TcpStream, state: &Arc<State>) -> io::Result<()> {
    let server = TcpStream::connect(state.target)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from_server, mut to_client) = (server.try_clone()?, client.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut from_server, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Both);
    });
    let state = Arc::clone(state);
    thread::spawn(move || {
        let _ = pass_on(client, server, &state);
    });
    Ok(())
}

fn pass_on(mut client: TcpStream, mut server: TcpStream, state: &State) -> io::Result<()> {
    let mut part = vec![0; 64 << 10];
    loop {
        let length = client.read(&mut part)?;
        if length == 0 {
            return server.shutdown(Shutdown::Write);
        }
        let cuts = state.cuts_at(&part[..length]);
        if cuts {
            // The answer has nowhere to go before the request is on its way.
            client.shutdown(Shutdown::Both)?;
        }
        server.write_all(&part[..length])?;
        if cuts {
            state.cuts.fetch_add(1, Ordering::Relaxed);
            return server.shutdown(Shutdown::Write);
        }
    }
}

impl State {
    fn cuts_at(&self, part: &[u8]) -> bool {
        let period = self.period.load(Ordering::Relaxed);
        let occurs = part.windows(self.word.len()).any(|window| window == self.word);
        occurs && period > 0 && self.seen.fetch_add(1, Ordering::Relaxed) % period == 0
    }
}
