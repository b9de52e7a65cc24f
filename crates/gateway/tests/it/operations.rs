//! Metrics, health, the access log, the end, and several repositories.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use icefield::storage::SystemClock;
use icefield::storage::wrap::CountingStorage;
use icefield_gateway::{Access, Gateway, GatewayError, Served, Server, Settings, StorageMeter};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::gate::GatedStorage;
use crate::world::{Store, World, array, bytes, chunk, commit, put};

fn served(name: &str, store: &Store) -> Served {
    Served {
        name: name.to_owned(),
        location: "memory:".to_owned(),
        repository: store.writer.clone(),
    }
}

#[tokio::test]
async fn metrics_count_requests_and_reads_and_name_no_path() {
    let (store, id) = Store::small().await;
    let world = World::serving(&store).await;
    world.get("/main/g/a/c/0").await;
    world.get("/main/g/a/c/2").await;
    world.get("/main/g/a/c/3").await;
    world.get(&format!("/{id}/zarr.json")).await;
    let page = world.get("/-/metrics").await;
    assert!(
        page.header("content-type")
            .unwrap()
            .starts_with("application/openmetrics-text")
    );
    let text = page.text();
    for line in [
        "icefield_http_requests_total{method=\"GET\",route=\"v3\",status=\"200\"} 3",
        "icefield_http_requests_total{method=\"GET\",route=\"v3\",status=\"404\"} 1",
        "icefield_http_request_duration_seconds_bucket{le=\"0.005\",route=\"v3\"}",
        "icefield_http_response_bytes_total{route=\"v3\"}",
        "icefield_http_in_flight 1",
        "icefield_http_queue_seconds_total",
        "icefield_chunks_total{kind=\"native\"} 1",
        "icefield_storage_operations_total{op=\"get\",outcome=\"ok\"}",
        "icefield_storage_bytes_total",
        "icefield_cache_misses_total{cache=\"documents\"} 1",
        "icefield_build_info{version=",
        "process_resident_memory_bytes",
        "# EOF",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    assert!(!text.contains("g/a") && !text.contains(&id.to_string()) && !text.contains("main"));
    assert!(text.ends_with("# EOF\n"));
}

#[tokio::test]
async fn metrics_have_a_port_of_their_own_without_a_token() {
    let (store, _) = Store::small().await;
    let settings = Settings {
        access: Access::Token("0123456789abcdef".to_owned()),
        ..Settings::default()
    };
    let gateway = Gateway::new(vec![served("ocean", &store)], settings).unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = Server::bind_metrics(address, gateway).await.unwrap();
    let address = server.address().unwrap();
    tokio::spawn(server.run(std::future::pending()));
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = "GET /main/zarr.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.unwrap();
    assert!(
        reply.contains("# EOF") && !reply.contains("zarr_format"),
        "{reply}"
    );
    // A website that gives its name the server's address reads no metrics either.
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = request.replace("localhost", "rebound.example");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.unwrap();
    assert!(
        reply.starts_with("HTTP/1.1 421") && !reply.contains("# EOF"),
        "{reply}"
    );
}

#[tokio::test]
async fn each_request_is_a_line_of_json_in_the_access_log() {
    let (store, id) = Store::small().await;
    let lines = Arc::new(Mutex::new(Vec::<String>::new()));
    let gateway = Gateway::new(vec![served("ocean", &store)], Settings::default()).unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = Server::bind(address, gateway).await.unwrap();
    let address = server.address().unwrap();
    let log = Arc::clone(&lines);
    let server = server.access_log(Arc::new(move |line| {
        log.lock().unwrap().push(line.to_owned())
    }));
    tokio::spawn(server.run(std::future::pending()));
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "GET /{id}/g/a/c/0?x=1 HTTP/1.1\r\nHost: localhost\r\nUser-Agent: test/1\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.read_to_end(&mut Vec::new()).await.unwrap();
    let lines = lines.lock().unwrap();
    let line: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!(lines.len(), 1);
    for (name, value) in [
        ("method", "GET".into()),
        ("path", format!("/{id}/g/a/c/0?x=1").into()),
        ("status", 200.into()),
        ("bytes", 2000.into()),
        ("remote", "127.0.0.1".into()),
        ("agent", "test/1".into()),
        ("snapshot", serde_json::Value::from(id.to_string())),
    ] {
        assert_eq!(line[name], value, "{name}");
    }
    assert!(line["time"].as_str().unwrap().ends_with('Z'));
}

#[tokio::test]
async fn a_server_that_is_told_to_stop_finishes_what_it_does() {
    let (store, _) = Store::small().await;
    let mut settings = Settings::default();
    settings.limits.stop_time = Duration::from_secs(20);
    let mut world = World::with(&store, settings).await;
    // An idle connection, and one in the middle of a request.
    let mut idle = TcpStream::connect(world.address).await.unwrap();
    let request = format!(
        "GET /main/zarr.json HTTP/1.1\r\nHost: {}\r\n\r\n",
        world.address
    );
    idle.write_all(request.as_bytes()).await.unwrap();
    let mut part = [0; 15];
    idle.read_exact(&mut part).await.unwrap();
    let running = world.stop();
    tokio::time::timeout(Duration::from_secs(15), running)
        .await
        .unwrap()
        .unwrap();
    let mut rest = Vec::new();
    idle.read_to_end(&mut rest).await.unwrap();
    assert!(rest.ends_with(b"}"), "the response came whole");
    assert!(
        TcpStream::connect(world.address).await.is_err(),
        "the port is closed"
    );
}

#[tokio::test]
async fn a_server_that_is_told_to_stop_sends_the_bodies_that_it_has_begun() {
    const LENGTH: usize = 4 << 20;
    const PIECE: usize = 1 << 20;
    let store = Store::new().await;
    let session = store.session().await;
    put(&session, "/a", &array(5)).await;
    for at in 0..5_u8 {
        chunk(&session, "/a", &[at.into()], bytes(at, LENGTH)).await;
    }
    commit(&session, "large").await;
    let gate = GatedStorage::new(Arc::clone(&store.storage));
    let store = Store {
        storage: Arc::new(gate.clone()),
        ..store
    };
    let mut settings = Settings::default();
    settings.limits.piece = PIECE as u64;
    settings.limits.stop_time = Duration::from_secs(600);
    let mut world = World::with(&store, settings).await;
    let address = world.address;
    let test = async {
        let mut clients = Vec::new();
        for at in 0..5_u8 {
            let mut client = TcpStream::connect(address).await.unwrap();
            let request = format!("GET /main/a/c/{at} HTTP/1.1\r\nHost: {address}\r\n\r\n");
            client.write_all(request.as_bytes()).await.unwrap();
            clients.push((at, client, Vec::new()));
            gate.under_way(clients.len()).await;
        }
        gate.let_pass(4);
        for (_, client, taken) in &mut clients[..4] {
            taken.resize(PIECE, 0);
            client.read_exact(taken).await.unwrap();
        }
        // Four are in the middle of their bodies, and the last one has not got its head.
        gate.under_way(5).await;
        let running = world.stop();
        while TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
        assert!(!running.is_finished(), "bodies are still to be sent");
        gate.open();
        for (at, mut client, mut taken) in clients {
            client.read_to_end(&mut taken).await.unwrap();
            assert!(taken.starts_with(b"HTTP/1.1 200 OK\r\n"), "{at}");
            let head = taken.windows(4).position(|part| part == b"\r\n\r\n");
            let body = &taken[head.unwrap() + 4..];
            assert_eq!(body.len(), LENGTH, "{at}");
            assert!(body == bytes(at, LENGTH), "{at}");
        }
        running.await.unwrap();
    };
    tokio::time::timeout(Duration::from_secs(60), test)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_request_that_takes_too_long_does_not_keep_a_server_from_stopping() {
    let (store, _) = Store::small().await;
    let mut settings = Settings::default();
    settings.limits.stop_time = Duration::from_millis(100);
    let mut world = World::with(&store, settings).await;
    let mut stuck = TcpStream::connect(world.address).await.unwrap();
    stuck
        .write_all(b"GET /main/zarr.json HTTP/1.1\r\nHost:")
        .await
        .unwrap();
    tokio::time::timeout(Duration::from_secs(15), world.stop())
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn a_port_that_is_taken_is_an_error() {
    let (store, _) = Store::small().await;
    let world = World::serving(&store).await;
    let taken = Server::bind(world.address, world.gateway.clone()).await;
    assert_eq!(taken.unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
}

#[tokio::test]
async fn several_repositories_lie_below_their_names() {
    let ((ocean, first), (sky, _)) = (Store::small().await, Store::small().await);
    let both = vec![served("ocean", &ocean), served("my sky", &sky)];
    let gateway = Gateway::new(both, Settings::default()).unwrap();
    let bases = gateway.bases();
    assert_eq!(bases[1], ("my sky".to_owned(), "/my%20sky/".to_owned()));
    let world = World::run(gateway, CountingStorage::new(Arc::clone(&ocean.storage))).await;
    assert_eq!(
        world.get(&format!("/ocean/{first}/g/a/c/2")).await.text(),
        "inline"
    );
    assert_eq!(
        world
            .get(&format!("/my%20sky/{first}/g/a/c/2"))
            .await
            .status,
        410
    );
    assert_eq!(world.get("/my%20sky/main/g/a/c/2").await.text(), "inline");
    assert_eq!(
        world.get("/my%20sky/-/v2/main/g/a/2").await.text(),
        "inline"
    );
    assert_eq!(world.get("/land/main/zarr.json").await.status, 404);
    assert_eq!(world.get("/land/main/").await.status, 404);
    // A server that was started again without the repository has no absent chunks of it.
    assert_eq!(world.get("/land/main/g/a/c/0").await.status, 410);
    let gdal = [("User-Agent", "GDAL/3.12.2")];
    let reply = world.with_headers("/land/main/g/a/c/0", &gdal).await;
    assert!(reply.stands_for(410), "{reply:?}");
    let page = world.get("/").await;
    assert!(page.text().contains("href=\"ocean/\"") && page.text().contains("href=\"my%20sky/\""));
    assert_eq!(world.get("/-/health").await.text(), "ok\n");
}

#[tokio::test]
async fn names_that_cannot_be_told_apart_are_refused() {
    let (store, _) = Store::small().await;
    let gateway = |names: &[&str]| {
        let served = names.iter().map(|name| served(name, &store)).collect();
        let meter = StorageMeter::default();
        Gateway::with(served, Settings::default(), &meter, Arc::new(SystemClock)).map(drop)
    };
    assert!(matches!(gateway(&[]), Err(GatewayError::Empty)));
    assert!(matches!(
        gateway(&["a", "a"]),
        Err(GatewayError::NameTaken(_))
    ));
    // The bucket `a-v2` is the Zarr v2 of `a`.
    assert!(matches!(
        gateway(&["a-v2", "a"]),
        Err(GatewayError::NameTaken(_))
    ));
    assert!(gateway(&["b-v2", "a"]).is_ok());
    for name in ["-", "", "a/b"] {
        assert!(
            matches!(gateway(&[name]), Err(GatewayError::Name(_))),
            "{name}"
        );
    }
}

#[tokio::test]
async fn storage_is_not_asked_for_each_question_whether_it_answers() {
    let (store, _) = Store::small().await;
    let settings = Settings {
        recency: Duration::from_secs(600),
        ..Settings::default()
    };
    let world = World::with(&store, settings).await;
    world.reads();
    for _ in 0..20 {
        assert_eq!(world.get("/-/ready").await.status, 200);
    }
    let reads = world.reads().total.requests();
    assert!((1..=4).contains(&reads), "{reads} reads");
}
