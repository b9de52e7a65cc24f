//! Bounds: sizes, times, and what many clients at once may take.

use std::sync::Arc;
use std::time::Duration;

use icefield::storage::{Clock as _, SystemClock};
use icefield_gateway::{Limits, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::gate::GatedStorage;
use crate::world::{Store, World, array, bytes, chunk, commit, put};

/// Longer than anything here should take.
const LONG: Duration = Duration::from_secs(20);

#[tokio::test]
async fn what_is_too_large_is_refused() {
    let (store, _) = Store::small().await;
    let world = World::serving(&store).await;
    assert_eq!(
        world
            .get(&format!("/main/{}", "a".repeat(9000)))
            .await
            .status,
        414
    );
    let long = "a".repeat(17 << 10);
    assert_eq!(
        world
            .with_headers("/main/zarr.json", &[("X-Long", &long)])
            .await
            .status,
        431
    );
    for headers in [
        [("Content-Length", "5")],
        [("Transfer-Encoding", "chunked")],
    ] {
        let reply = world.with_headers("/main/zarr.json", &headers).await;
        assert_eq!(reply.status, 413, "{headers:?}");
    }
    assert_eq!(
        world
            .with_headers("/main/zarr.json", &[("Content-Length", "0")])
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn headers_that_never_end_are_not_read_for_ever() {
    let (store, _) = Store::small().await;
    let world = World::serving(&store).await;
    let mut stream = TcpStream::connect(world.address).await.unwrap();
    let mut sent = 0_usize;
    // The server closes the connection at some megabyte at the latest.
    let refused = timeout(LONG, async {
        stream.write_all(b"GET / HTTP/1.1\r\n").await?;
        loop {
            stream
                .write_all(b"X-Header: 0123456789012345678901234567890123456789\r\n")
                .await?;
            sent += 52;
            assert!(sent < 64 << 20, "headers are read without a bound");
        }
        #[expect(unreachable_code, reason = "it gives the block its type")]
        Ok::<(), std::io::Error>(())
    });
    assert!(refused.await.unwrap().is_err());
}

#[tokio::test]
async fn a_client_that_sends_its_headers_slowly_is_left() {
    let (store, _) = Store::small().await;
    let mut settings = Settings::default();
    settings.limits.header_time = Duration::from_millis(200);
    let world = World::with(&store, settings).await;
    let mut stream = TcpStream::connect(world.address).await.unwrap();
    stream.write_all(b"GET /main/zarr.json HT").await.unwrap();
    let mut reply = Vec::new();
    let ended = timeout(LONG, stream.read_to_end(&mut reply)).await.unwrap();
    assert!(ended.is_err() || reply.is_empty() || reply.starts_with(b"HTTP/1.1 408"));
    // An idle connection ends as well.
    let mut idle = TcpStream::connect(world.address).await.unwrap();
    let ended = timeout(LONG, idle.read_to_end(&mut reply)).await.unwrap();
    assert!(ended.is_err() || ended.is_ok_and(|read| read == 0));
    assert_eq!(world.get("/main/zarr.json").await.status, 200);
}

#[tokio::test]
async fn a_client_that_takes_nothing_is_left() {
    let store = Store::new().await;
    let session = store.session().await;
    put(&session, "/a", &array(1)).await;
    chunk(&session, "/a", &[0], bytes(0, 32 << 20)).await;
    commit(&session, "large").await;
    let mut settings = Settings::default();
    settings.limits.write_time = Duration::from_millis(300);
    let world = World::with(&store, settings).await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(world.address).await.unwrap();
    let request = format!(
        "GET /main/a/c/0 HTTP/1.1\r\nHost: {}\r\n\r\n",
        world.address
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    // It takes nothing until the server has given it up: the request is no longer running then.
    let given_up = timeout(LONG, async {
        while !is_given_up(&world).await {
            SystemClock.sleep(Duration::from_millis(50)).await;
        }
    });
    given_up.await.unwrap();
    let mut taken = Vec::new();
    let ended = timeout(LONG, stream.read_to_end(&mut taken)).await.unwrap();
    assert!(
        ended.is_err() || taken.len() < 32 << 20,
        "{} bytes came",
        taken.len()
    );
}

/// Whether no connection but the one that asks is open.
async fn is_given_up(world: &World) -> bool {
    gauge(world, "icefield_http_connections").await == 1
}

/// The value of a gauge. The request for it is one of those in flight, and has a connection.
async fn gauge(world: &World, name: &str) -> usize {
    let page = world.get("/-/metrics").await;
    let mut lines = page.text().lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap().parse().unwrap()
}

#[tokio::test]
async fn an_address_has_no_more_connections_than_its_share() {
    let (store, _) = Store::small().await;
    let mut settings = Settings::default();
    settings.limits.connections_per_address = 2;
    settings.limits.connection_wait = Duration::from_millis(300);
    let world = World::with(&store, settings).await;
    let mut kept = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(world.address).await.unwrap();
        let request = format!("GET /-/health HTTP/1.1\r\nHost: {}\r\n\r\n", world.address);
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut part = [0; 12];
        stream.read_exact(&mut part).await.unwrap();
        assert_eq!(&part, b"HTTP/1.1 200");
        kept.push(stream);
    }
    let mut third = TcpStream::connect(world.address).await.unwrap();
    let mut reply = Vec::new();
    let ended = timeout(LONG, third.read_to_end(&mut reply)).await.unwrap();
    assert!(ended.is_err() || reply.is_empty());
    drop(kept);
}

/// A client that is turned away may take what it asked for as missing.
#[tokio::test]
async fn a_connection_over_the_share_waits_for_another_to_end() {
    let (store, _) = Store::small().await;
    let mut settings = Settings::default();
    settings.limits.connections_per_address = 1;
    let world = World::with(&store, settings).await;
    let request = format!("GET /-/health HTTP/1.1\r\nHost: {}\r\n\r\n", world.address);
    let mut part = [0; 12];
    let mut first = TcpStream::connect(world.address).await.unwrap();
    first.write_all(request.as_bytes()).await.unwrap();
    first.read_exact(&mut part).await.unwrap();
    let mut second = TcpStream::connect(world.address).await.unwrap();
    second.write_all(request.as_bytes()).await.unwrap();
    let early = timeout(Duration::from_millis(200), second.read_exact(&mut part)).await;
    assert!(early.is_err(), "it waits: {early:?}");
    drop(first);
    let answered = timeout(LONG, second.read_exact(&mut part)).await;
    answered.unwrap().unwrap();
    assert_eq!(&part, b"HTTP/1.1 200");
}

/// Each of its bytes is progress, and it would keep the room of a chunk for days.
#[tokio::test]
async fn a_client_that_takes_too_little_is_left() {
    let store = Store::new().await;
    let session = store.session().await;
    put(&session, "/a", &array(1)).await;
    chunk(&session, "/a", &[0], bytes(0, 32 << 20)).await;
    commit(&session, "large").await;
    let mut settings = Settings::default();
    settings.limits.write_time = Duration::from_millis(500);
    settings.limits.write_rate = 1 << 30;
    let world = World::with(&store, settings).await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(world.address).await.unwrap();
    let request = format!(
        "GET /main/a/c/0 HTTP/1.1\r\nHost: {}\r\n\r\n",
        world.address
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let given_up = timeout(LONG, async {
        let mut part = [0; 4096];
        while !is_given_up(&world).await {
            let _ = timeout(Duration::from_millis(20), stream.read(&mut part)).await;
            SystemClock.sleep(Duration::from_millis(20)).await;
        }
    });
    given_up.await.unwrap();
}

#[tokio::test]
async fn more_requests_than_may_run_wait_and_all_are_answered() {
    type Bound = fn(&mut Limits);
    const REQUESTS: usize = 40;
    let cases: [(Bound, usize); 5] = [
        (|limits| limits.reads = 2, 2),
        (|limits| limits.reads_per_address = 3, 3),
        // A chunk of 3,000 bytes takes 3 KiB of them.
        (|limits| limits.bytes = 7 << 10, 2),
        (|limits| limits.bytes_per_address = 10 << 10, 3),
        // These bounds are wider than the requests.
        (|_| (), REQUESTS),
    ];
    let store = Store::new().await;
    let session = store.session().await;
    put(&session, "/a", &array(REQUESTS)).await;
    for at in 0..REQUESTS as u32 {
        chunk(&session, "/a", &[at], bytes(at as u8, 3000)).await;
    }
    let id = commit(&session, "many").await;
    for (set, most) in cases {
        let mut settings = Settings::default();
        set(&mut settings.limits);
        let gate = GatedStorage::new(Arc::clone(&store.storage));
        let gated = Store {
            storage: Arc::new(gate.clone()),
            writer: store.writer.clone(),
        };
        let world = World::with(&gated, settings).await;
        // Nothing but the chunks is left to be read.
        assert_eq!(world.head(&format!("/{id}/a/c/0")).await.status, 200);
        let requests = (0..REQUESTS).map(|at| {
            let (world, target) = (&world, format!("/{id}/a/c/{at}"));
            async move { world.get(&target).await }
        });
        let opened = async {
            gate.under_way(most).await;
            // All requests have arrived. Without the bound, their reads are under way, too.
            while gauge(&world, "icefield_http_in_flight").await <= REQUESTS {}
            gate.open();
        };
        let all = async { tokio::join!(futures::future::join_all(requests), opened) };
        let (replies, ()) = timeout(LONG, all).await.unwrap();
        for (at, reply) in replies.into_iter().enumerate() {
            assert_eq!((reply.status, reply.body), (200, bytes(at as u8, 3000)));
        }
        assert_eq!(gate.most(), most);
    }
}
