//! The settings of a gateway: plain values, without objects that do work.

use std::time::Duration;

/// The clients that may read.
#[derive(Clone, Default)]
pub enum Access {
    /// Every client that reaches the server.
    #[default]
    Open,
    /// Those who send this token, as `Authorization: Bearer TOKEN` or as the password of `Basic`.
    Token(String),
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The token is in no message and in no log.
        f.write_str(match self {
            Self::Open => "Open",
            Self::Token(_) => "Token(…)",
        })
    }
}

/// The websites whose scripts may read: the header `Origin` of their requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origins {
    /// None but the server's own pages.
    #[default]
    None,
    /// These, such as `https://viewer.example.org`.
    Only(Vec<String>),
    /// All.
    Any,
}

/// The settings of a gateway.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The clients that may read. Default: all that reach the server.
    pub access: Access,
    /// The websites whose scripts may read. Default: none.
    pub origins: Origins,
    /// Names of this server that `Host` may have beside those of loopback and the address of the connection. Without
    /// that check, a website that gives its own name the address of this server reads as if it were the server's page.
    pub hosts: Vec<String>,
    /// Whether the repository's own files are served below `/-/repo/`, for programs that read the format. Default: no.
    pub repository_files: bool,
    /// Whether readers see the names of repositories in the places of their locations, which may be paths of this computer.
    /// Default: no.
    pub hides_locations: bool,
    /// How long reads of chunks take a branch for unmoved after it was read; documents read it anew. Default: 1 s.
    pub recency: Duration,
    /// Nodes below a group up to which its document has consolidated metadata. Default: 50,000.
    pub consolidated_nodes: usize,
    /// Bytes of documents that each repository keeps ready. Default: 64 MiB.
    pub document_cache_bytes: u64,
    /// The bounds.
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            access: Access::default(),
            origins: Origins::default(),
            hosts: Vec::new(),
            repository_files: false,
            hides_locations: false,
            recency: Duration::from_secs(1),
            consolidated_nodes: 50_000,
            document_cache_bytes: 64 << 20,
            limits: Limits::default(),
        }
    }
}

/// The bounds of a gateway and its server.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections at once; more wait to be accepted. Default: 1,024.
    pub connections: usize,
    /// Connections at once from one address, or from one network of 64 bits of IPv6; more wait. Default: 768.
    pub connections_per_address: usize,
    /// How long a connection waits, unread, while its address has as many as it may have, before it is closed. Default: 60 s.
    pub connection_wait: Duration,
    /// Reads of storage at once; more wait. Default: 64.
    pub reads: usize,
    /// Reads of storage at once for one address. Default: 48.
    pub reads_per_address: usize,
    /// Bytes of chunks in memory at once; more wait. Default: 256 MiB.
    pub bytes: u64,
    /// Bytes of chunks in memory at once for one address. Default: 192 MiB.
    pub bytes_per_address: u64,
    /// Bytes of a chunk that are read at once; of longer ones, the rest is read while the first is sent. Default: 8 MiB.
    pub piece: u64,
    /// Bytes of all headers of a request. Default: 16 KiB.
    pub header_bytes: usize,
    /// Bytes of the target of a request. Default: 8 KiB.
    pub target_bytes: usize,
    /// How long a client may take to send the headers of a request, and how long a connection may be idle. Default: 30 s.
    pub header_time: Duration,
    /// How long a client may take too few bytes of a response. Default: 30 s.
    pub write_time: Duration,
    /// Bytes per second that a client has to take of a response that waits for it, on average over that time. Default:
    /// 16 KiB.
    pub write_rate: u64,
    /// How long requests may go on after the server was asked to stop. Default: 10 s.
    pub stop_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            connections_per_address: 768,
            connection_wait: Duration::from_secs(60),
            reads: 64,
            reads_per_address: 48,
            bytes: 256 << 20,
            bytes_per_address: 192 << 20,
            piece: 8 << 20,
            header_bytes: 16 << 10,
            target_bytes: 8 << 10,
            header_time: Duration::from_secs(30),
            write_time: Duration::from_secs(30),
            write_rate: 16 << 10,
            stop_time: Duration::from_secs(10),
        }
    }
}
