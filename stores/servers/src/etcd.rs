//! A cluster of etcd.

use crate::free_ports;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a node may take to listen.
const PATIENCE: Duration = Duration::from_secs(60);
const NAP: Duration = Duration::from_millis(20);

/// Certificates for clients' connections, in files of PEM.
#[derive(Clone, Debug)]
pub struct EtcdTls {
    /// The server's certificate, for 127.0.0.1.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// Who must have signed the clients' certificates; `None`: clients need none.
    pub clients: Option<PathBuf>,
}

/// Some nodes of etcd on loopback.
pub struct EtcdCluster {
    nodes: Vec<Node>,
    directory: TempDir,
    /// What nodes are started with beside their addresses.
    arguments: Vec<String>,
    scheme: &'static str,
}

struct Node {
    client: u16,
    peer: u16,
    process: Option<Child>,
}

impl EtcdCluster {
    /// Starts three nodes with further command line `arguments`, and waits until they serve.
    ///
    /// # Errors
    /// Where etcd is not installed, or does not come up within a minute.
    pub fn start(arguments: &[&str]) -> io::Result<Self> {
        Self::launch(3, arguments.iter().map(|&text| text.to_owned()).collect(), "http")
    }

    /// Starts one node that speaks TLS to its clients.
    ///
    /// # Errors
    /// As [`EtcdCluster::start`].
    pub fn start_with_tls(tls: &EtcdTls) -> io::Result<Self> {
        let path = |path: &Path| path.display().to_string();
        let mut arguments = vec!["--cert-file".to_owned(), path(&tls.certificate), "--key-file".into(), path(&tls.key)];
        if let Some(clients) = &tls.clients {
            arguments.extend(["--client-cert-auth".to_owned(), "--trusted-ca-file".into(), path(clients)]);
        }
        Self::launch(1, arguments, "https")
    }

    fn launch(nodes: usize, arguments: Vec<String>, scheme: &'static str) -> io::Result<Self> {
        let ports = free_ports::<6>()?;
        let nodes = ports.chunks_exact(2).take(nodes).filter_map(|pair| match pair {
            &[client, peer] => Some(Node { client, peer, process: None }),
            _ => None,
        });
        let mut cluster = Self { nodes: nodes.collect(), directory: tempfile::tempdir()?, arguments, scheme };
        for number in 0..cluster.nodes.len() {
            cluster.run(number)?;
        }
        (0..cluster.nodes.len()).try_for_each(|number| cluster.wait_for(number))?;
        Ok(cluster)
    }

    /// Where the clients of a node find it; `None` where there is no such node.
    #[must_use]
    pub fn port(&self, number: usize) -> Option<u16> {
        self.nodes.get(number).map(|node| node.client)
    }

    /// `host:port,host:port`: where clients find the nodes.
    #[must_use]
    pub fn hosts(&self) -> String {
        let hosts: Vec<String> = self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.client)).collect();
        hosts.join(",")
    }

    /// The URL of a store whose keys begin with `prefix`.
    #[must_use]
    pub fn url(&self, prefix: &str) -> String {
        let scheme = if self.scheme == "https" { "etcds" } else { "etcd" };
        format!("{scheme}://{}/{prefix}", self.hosts())
    }

    /// Ends a node as a power failure does (SIGKILL).
    ///
    /// # Errors
    /// Where there is no such node, or the system does not end it.
    pub fn kill(&mut self, number: usize) -> io::Result<()> {
        match self.node(number)?.process.take() {
            Some(mut process) => {
                process.kill()?;
                process.wait().map(drop)
            }
            None => Ok(()),
        }
    }

    /// Starts a node again that was killed, with the data that it has, and waits until it listens.
    ///
    /// # Errors
    /// As [`EtcdCluster::start`].
    pub fn revive(&mut self, number: usize) -> io::Result<()> {
        self.run(number)?;
        self.wait_for(number)
    }

    fn node(&mut self, number: usize) -> io::Result<&mut Node> {
        self.nodes.get_mut(number).ok_or_else(|| io::Error::other(format!("there is no node {number}")))
    }

    fn run(&mut self, number: usize) -> io::Result<()> {
        let url = |scheme: &str, port: u16| format!("{scheme}://127.0.0.1:{port}");
        let members: Vec<String> =
            self.nodes.iter().enumerate().map(|(number, node)| format!("node{number}={}", url("http", node.peer))).collect();
        let home = self.directory.path().join(format!("node{number}"));
        let log = File::options().create(true).append(true).open(self.directory.path().join(format!("node{number}.log")))?;
        let (scheme, arguments) = (self.scheme, self.arguments.clone());
        let node = self.node(number)?;
        let (client, peer) = (url(scheme, node.client), url("http", node.peer));
        let mut command = Command::new("etcd");
        command.args(["--name", &format!("node{number}"), "--initial-cluster", &members.join(","), "--data-dir"]).arg(home);
        command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        command.args(arguments).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        node.process = Some(command.spawn()?);
        Ok(())
    }

    /// etcd listens for clients once the node has joined the others.
    fn wait_for(&mut self, number: usize) -> io::Result<()> {
        let start = Instant::now();
        let node = self.node(number)?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, node.client));
        while TcpStream::connect_timeout(&address, NAP).is_err() {
            let ended = node.process.as_mut().map(Child::try_wait).transpose()?.flatten();
            if ended.is_some() || start.elapsed() > PATIENCE {
                let log = std::fs::read_to_string(self.directory.path().join(format!("node{number}.log"))).unwrap_or_default();
                return Err(io::Error::other(format!("etcd does not come up: {log}")));
            }
            sleep(NAP);
        }
        Ok(())
    }
}

impl Drop for EtcdCluster {
    fn drop(&mut self) {
        for number in 0..self.nodes.len() {
            // A node that cannot be ended has ended.
            self.kill(number).unwrap_or(());
        }
    }
}
