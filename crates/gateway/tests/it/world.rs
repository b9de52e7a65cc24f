//! A repository behind a server on loopback, and a client that sends what it is told to.

use std::net::SocketAddr;
use std::sync::Arc;

use icefield::storage::wrap::{CountingStorage, Counts};
use icefield::storage::{Storage, SystemClock};
use icefield::{
    BranchName, CommitOutcome, MemoryStorage, NodePath, Repository, Session, SnapshotId,
    VirtualAccess, WriteMode,
};
use icefield_gateway::{Gateway, Served, Server, Settings, StorageMeter};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub(crate) const GROUP: &str = r#"{"zarr_format": 3, "node_type": "group", "attributes": {}}"#;

/// The document of an array of bytes with so many chunks of one element along its one dimension.
pub(crate) fn array(chunks: usize) -> String {
    format!(
        r#"{{
    "zarr_format": 3, "node_type": "array", "shape": [{chunks}], "data_type": "uint8",
    "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [1]}}}},
    "chunk_key_encoding": {{"name": "default"}}, "fill_value": 0, "codecs": [{{"name": "bytes"}}]
}}"#
    )
}

/// A chunk that is too long to be kept inline.
pub(crate) fn bytes(seed: u8, length: usize) -> Vec<u8> {
    (0..length)
        .map(|at| (at as u8).wrapping_mul(31).wrapping_add(seed))
        .collect()
}

/// A repository, and the handle that writes to it.
pub(crate) struct Store {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) writer: Repository,
}

impl Store {
    pub(crate) async fn new() -> Self {
        Self::on(Arc::new(MemoryStorage::new())).await
    }

    pub(crate) async fn on(storage: Arc<dyn Storage>) -> Self {
        let writer = Repository::create(Arc::clone(&storage)).await.unwrap();
        Self { storage, writer }
    }

    /// A repository with a group `/g` and the array `/g/a` of four chunks: two native, one inline, one missing.
    pub(crate) async fn small() -> (Self, SnapshotId) {
        let store = Self::new().await;
        let session = store.session().await;
        put(&session, "/", GROUP).await;
        put(&session, "/g", GROUP).await;
        put(&session, "/g/a", &array(4)).await;
        chunk(&session, "/g/a", &[0], bytes(0, 2000)).await;
        chunk(&session, "/g/a", &[1], bytes(1, 3000)).await;
        chunk(&session, "/g/a", &[2], b"inline".to_vec()).await;
        let id = commit(&session, "small").await;
        (store, id)
    }

    pub(crate) async fn session(&self) -> Session {
        self.writer.write_session(BranchName::main()).await.unwrap()
    }
}

pub(crate) fn path(text: &str) -> NodePath {
    NodePath::parse(text).unwrap()
}

pub(crate) async fn put(session: &Session, at: &str, document: &str) {
    let document = document.to_owned().into();
    session
        .set_metadata(&path(at), document, WriteMode::Overwrite)
        .await
        .unwrap();
}

pub(crate) async fn chunk(session: &Session, at: &str, index: &[u32], bytes: Vec<u8>) {
    let mode = WriteMode::Overwrite;
    session
        .set_chunk(&path(at), index, bytes.into(), mode)
        .await
        .unwrap();
}

pub(crate) async fn commit(session: &Session, message: &str) -> SnapshotId {
    match session.commit(message).await.unwrap() {
        CommitOutcome::Committed(id) => id,
        other => panic!("{other:?}"),
    }
}

/// A server on loopback.
pub(crate) struct World {
    pub(crate) address: SocketAddr,
    pub(crate) counting: CountingStorage,
    pub(crate) gateway: Gateway,
    stop: watch::Sender<bool>,
    running: Option<JoinHandle<()>>,
}

impl World {
    pub(crate) async fn serving(store: &Store) -> Self {
        Self::with(store, Settings::default()).await
    }

    pub(crate) async fn with(store: &Store, settings: Settings) -> Self {
        Self::granting(store, settings, VirtualAccess::none()).await
    }

    pub(crate) async fn granting(store: &Store, settings: Settings, access: VirtualAccess) -> Self {
        let (gateway, counting) = Self::counted(store, settings, access).await;
        Self::run(gateway, counting).await
    }

    /// A server that speaks the protocol of S3.
    pub(crate) async fn s3(store: &Store, settings: Settings) -> Self {
        let (gateway, counting) = Self::counted(store, settings, VirtualAccess::none()).await;
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = Server::bind_s3(address, gateway.clone()).await.unwrap();
        Self::running(server, gateway, counting)
    }

    /// A gateway, and the counts of what it asks of storage.
    async fn counted(
        store: &Store,
        settings: Settings,
        access: VirtualAccess,
    ) -> (Gateway, CountingStorage) {
        let counting = CountingStorage::new(Arc::clone(&store.storage));
        let meter = StorageMeter::default();
        let storage = meter.over(Arc::new(counting.clone()));
        let repository = Repository::builder(storage)
            .virtual_access(access)
            .open()
            .await
            .unwrap();
        let served = Served {
            name: "ocean".to_owned(),
            location: "memory:".to_owned(),
            repository,
        };
        let gateway = Gateway::with(vec![served], settings, &meter, Arc::new(SystemClock));
        (gateway.unwrap(), counting)
    }

    pub(crate) async fn run(gateway: Gateway, counting: CountingStorage) -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = Server::bind(address, gateway.clone()).await.unwrap();
        Self::running(server, gateway, counting)
    }

    pub(crate) fn running(server: Server, gateway: Gateway, counting: CountingStorage) -> Self {
        let address = server.address().unwrap();
        let (stop, mut stopped) = watch::channel(false);
        let running = tokio::spawn(server.run(async move {
            let _ = stopped.wait_for(|stopped| *stopped).await;
        }));
        Self {
            address,
            counting,
            gateway,
            stop,
            running: Some(running),
        }
    }

    /// Asks the server to stop.
    pub(crate) fn stop(&mut self) -> JoinHandle<()> {
        self.stop.send(true).unwrap();
        self.running.take().unwrap()
    }

    pub(crate) async fn get(&self, target: &str) -> Reply {
        self.ask("GET", target, &[]).await
    }

    pub(crate) async fn head(&self, target: &str) -> Reply {
        self.ask("HEAD", target, &[]).await
    }

    pub(crate) async fn with_headers(&self, target: &str, headers: &[(&str, &str)]) -> Reply {
        self.ask("GET", target, headers).await
    }

    pub(crate) async fn ask(&self, method: &str, target: &str, headers: &[(&str, &str)]) -> Reply {
        let mut request = format!("{method} {target} HTTP/1.1\r\nConnection: close\r\n");
        if !headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("host"))
        {
            request.push_str(&format!("Host: {}\r\n", self.address));
        }
        // Without a name, a client may be an old GDAL.
        let is_named = headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("user-agent"));
        if !is_named {
            request.push_str("User-Agent: test/1\r\n");
        }
        for (name, value) in headers {
            // An empty value stands for no header.
            if !value.is_empty() {
                request.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        self.raw(&(request + "\r\n")).await
    }

    /// Sends a request as it is spelt.
    pub(crate) async fn raw(&self, request: &str) -> Reply {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut reply = Vec::new();
        // A server that leaves a part of the request unread may end with a reset.
        drop(stream.read_to_end(&mut reply).await);
        Reply::of(&reply, request.starts_with("HEAD"))
    }

    /// The reads of storage since the last call.
    pub(crate) fn reads(&self) -> Counts {
        self.counting.reset()
    }
}

/// A response, as it came over the wire.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    fn of(reply: &[u8], is_head: bool) -> Self {
        let end = reply.windows(4).position(|part| part == b"\r\n\r\n");
        let end =
            end.unwrap_or_else(|| panic!("no response: {:?}", String::from_utf8_lossy(reply)));
        let head = std::str::from_utf8(&reply[..end]).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines
            .next()
            .unwrap()
            .split(' ')
            .nth(1)
            .unwrap()
            .parse()
            .unwrap();
        let headers: Vec<(String, String)> = lines
            .map(|line| line.split_once(':').unwrap())
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let body = reply[end + 4..].to_vec();
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length: Option<usize> = length.map(|(_, length)| length.parse().unwrap());
        assert!(
            is_head || length.is_none_or(|length| body.len() == length),
            "the body is as long as its header says"
        );
        Self {
            status,
            headers,
            body,
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(found, _)| found == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Whether it is the byte that stands for a failure of this status.
    pub(crate) fn stands_for(&self, failure: u16) -> bool {
        let status = failure.to_string();
        self.status == 200
            && self.body == [0xff]
            && self.header("x-icefield-failure") == Some(&status)
            && self.header("etag").is_none()
            && self.header("cache-control") == Some("no-store")
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}
