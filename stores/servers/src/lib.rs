//! Real servers of distributed stores on loopback, for tests: from the system's packages, on free ports, with their data in a directory
//! that goes with them. They end when they are dropped.

mod etcd;
mod postgres;
mod proxy;

pub use etcd::{EtcdCluster, EtcdTls};
pub use postgres::{PostgresServer, PostgresTls};
pub use proxy::{Cut, Proxy};

use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// Ports of loopback that nobody listens on.
///
/// # Errors
/// Where the system has none.
pub fn free_ports<const N: usize>() -> io::Result<[u16; N]> {
    // All are held until the last one is known, so that none comes twice.
    let mut ports = [0; N];
    let mut held = Vec::with_capacity(N);
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        *port = listener.local_addr()?.port();
        held.push(listener);
    }
    Ok(ports)
}
