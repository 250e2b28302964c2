//! What the server tells of itself for INFO, CONFIG GET and CLIENT LIST.

use super::crew::Crew;
use super::{LiveFacts, ServerOptions};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

/// What is told, once a second.
#[derive(Clone)]
pub struct Facts {
    crew: Arc<Crew>,
    fixed: Vec<(String, String)>,
    live: Option<LiveFacts>,
    started: Instant,
}

impl Facts {
    /// What holds for a server at `address`; [`ServerOptions::facts`] come last, and win.
    pub fn new(address: SocketAddr, crew: Arc<Crew>, options: &ServerOptions) -> Self {
        let executable = std::env::current_exe().map(|path| path.display().to_string()).unwrap_or_default();
        let own = [
            ("server.os", format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)),
            ("server.process_id", std::process::id().to_string()),
            ("server.tcp_port", address.port().to_string()),
            ("server.listen_address", address.to_string()),
            ("server.executable", executable),
            ("server.workers", crew.size().to_string()),
            ("clients.maxclients", options.max_clients.to_string()),
            ("config.bind", address.ip().to_string()),
            ("config.port", address.port().to_string()),
            ("config.maxclients", options.max_clients.to_string()),
            ("config.timeout", options.idle_timeout.map_or(0, |timeout| timeout.as_secs()).to_string()),
        ];
        let own = own.into_iter().map(|(name, text)| (name.to_owned(), text));
        let live = options.live_facts.clone();
        Self { crew, fixed: own.chain(options.facts.iter().cloned()).collect(), live, started: Instant::now() }
    }

    /// All facts as of now.
    pub fn now(&self) -> Vec<(String, String)> {
        let uptime_seconds = self.started.elapsed().as_secs();
        // The engine's own counter begins anew with each instance.
        let mut changing = vec![
            ("server.uptime_in_seconds", uptime_seconds.to_string()),
            ("server.uptime_in_days", (uptime_seconds / 86_400).to_string()),
            ("stats.component_traps", self.crew.total(|counters| &counters.traps).to_string()),
            ("stats.exchange_calls", self.crew.total(|counters| &counters.exchanges).to_string()),
            ("stats.commits", self.crew.total(|counters| &counters.commits).to_string()),
        ];
        if let Some(memory) = memory_stats::memory_stats() {
            let bytes = u64::try_from(memory.physical_mem).unwrap_or(u64::MAX);
            // The component's memory is part of the process.
            changing.push(("memory.used_memory", bytes.to_string()));
            changing.push(("memory.used_memory_rss", bytes.to_string()));
            changing.push(("memory.used_memory_human", bytesize::ByteSize(bytes).to_string()));
        }
        let changing = changing.into_iter().map(|(name, text)| (name.to_owned(), text));
        let live = self.live.iter().flat_map(LiveFacts::now);
        self.fixed.iter().cloned().chain(changing).chain(live).collect()
    }
}
