//! What a server is, as far as it matters: the three engines share their SQL, but not their limits and settings.

use orbweaver_engine::store::Limits;

/// The engine behind the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    PostgreSql,
    CockroachDb,
    YugabyteDb,
}

/// A server, as it describes itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    pub product: Product,
    /// Its name and version, for people.
    pub name: String,
    /// It refuses to write: a standby, or a database that is set to read-only.
    pub is_read_only: bool,
}

/// The longest key: PostgreSQL's B-tree takes index rows of 2,704 bytes on its pages of 8 KiB, of which 8 are the row's header, 4 the
/// keyspace, and 4 the length of the key. The other two engines take longer ones.
const MAX_KEY_BYTES: u64 = 2688;

impl Server {
    /// From what `version()` returns.
    pub fn new(version: &str, is_read_only: bool) -> Self {
        let product = match version {
            text if text.starts_with("CockroachDB") => Product::CockroachDb,
            text if text.contains("-YB-") => Product::YugabyteDb,
            _ => Product::PostgreSql,
        };
        let end = [" (", " on "].iter().filter_map(|end| version.find(end)).min().unwrap_or(version.len());
        let name = version.get(..end).unwrap_or_default().to_owned();
        Self { product, name, is_read_only }
    }

    /// What one transaction really takes, by the product.
    pub fn limits(&self) -> Limits {
        let (max_value_bytes, max_batch_bytes) = match self.product {
            // A field of PostgreSQL takes 1 GiB; the limits keep the memory of a server with many connections in bounds.
            Product::PostgreSql => (64 << 20, 256 << 20),
            // CockroachDB refuses messages above 16 MiB (sql.conn.max_read_buffer_message_size), and wants rows of a few MiB at most.
            Product::CockroachDb | Product::YugabyteDb => (8 << 20, 64 << 20),
        };
        Limits { max_key_bytes: MAX_KEY_BYTES, max_value_bytes, max_batch_ops: 1_000_000, max_batch_bytes, read_only: self.is_read_only }
    }

    /// How a key column of a primary key is written. YugabyteDB spreads rows by a hash of the first column unless it is told to sort;
    /// PostgreSQL sorts always, and does not take the word.
    pub fn ascending(&self) -> &'static str {
        if self.product == Product::YugabyteDb { " ASC" } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_its_version() {
        for (version, product, name) in [
            ("PostgreSQL 15.14 (Debian 15.14-0+deb12u1) on x86_64-pc-linux-gnu", Product::PostgreSql, "PostgreSQL 15.14"),
            ("PostgreSQL 11.2-YB-2.20.1.0-b0 on x86_64-pc-linux-gnu", Product::YugabyteDb, "PostgreSQL 11.2-YB-2.20.1.0-b0"),
            ("CockroachDB CCL v23.2.1 (x86_64-pc-linux-gnu, built 2024)", Product::CockroachDb, "CockroachDB CCL v23.2.1"),
            ("", Product::PostgreSql, ""),
        ] {
            let server = Server::new(version, false);
            assert_eq!((server.product, server.name.as_str()), (product, name));
        }
    }
}
