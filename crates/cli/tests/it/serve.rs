//! `icefield serve`: what it prints, what it refuses, and how it ends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::world::World;

/// A running server, which ends with the value.
struct Serving {
    child: Child,
    facts: Value,
}

impl Serving {
    fn start(world: &World, args: &[&str]) -> Self {
        Self::within(world, args, &[])
    }

    /// As [`Serving::start`], with these variables.
    fn within(world: &World, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let args = [&["serve"][..], args, &["--port", "0", "--json"]].concat();
        let mut command = world.command(&args);
        command.envs(variables.iter().copied());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        while !text.ends_with("\n}\n") {
            assert_ne!(lines.read_line(&mut text).unwrap(), 0, "{text}");
        }
        let facts = serde_json::from_str(&text).unwrap();
        Self { child, facts }
    }

    fn get(&self, path: &str, headers: &str) -> String {
        let address = self.facts["address"].as_str().unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n"
        )
        .unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    }

    /// Sends a signal, and returns the exit code and what was logged.
    fn end(mut self, signal: &str) -> (Option<i32>, String) {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-s", signal, &id])
                .status()
                .unwrap()
                .success()
        );
        let status = self.child.wait().unwrap();
        let mut logged = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut logged)
            .unwrap();
        (status.code(), logged)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn every_version_is_served_until_a_signal() {
    let world = World::with_history();
    for signal in ["TERM", "INT"] {
        let serving = Serving::start(&world, &["r", "--access-log"]);
        let facts = &serving.facts;
        let served = &facts["repositories"][0];
        assert_eq!(
            (&served["name"], &facts["needs_token"]),
            (&"r".into(), &false.into())
        );
        let pinned = format!("/{}/zarr.json", served["snapshot_id"].as_str().unwrap());
        for version in [
            pinned.as_str(),
            "/main/zarr.json",
            "/v1/zarr.json",
            "/main~1/zarr.json",
        ] {
            let reply = serving.get(version, "");
            assert!(
                reply.starts_with("HTTP/1.1 200") && reply.contains("a tree"),
                "{reply}"
            );
        }
        let (code, logged) = serving.end(signal);
        assert_eq!(code, Some(0), "{signal}");
        let lines: Vec<Value> = logged
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 4, "{logged}");
        assert_eq!(lines[1]["path"], "/main/zarr.json");
    }
}

#[test]
fn a_token_is_read_from_a_file_or_from_the_environment() {
    let world = World::with_history();
    world.file("token", "0123456789abcdef0123\n");
    let serving = Serving::start(&world, &["r", "--token-file", "token"]);
    assert!(
        serving
            .get("/main/zarr.json", "")
            .starts_with("HTTP/1.1 401")
    );
    let header = "Authorization: Bearer 0123456789abcdef0123\r\n";
    assert!(
        serving
            .get("/main/zarr.json", header)
            .starts_with("HTTP/1.1 200")
    );
    let (_, logged) = serving.end("TERM");
    assert_eq!(logged, "");
}

#[test]
fn several_repositories_have_names() {
    let world = World::with_history();
    let serving = Serving::start(&world, &["r", "again=r"]);
    for path in ["/r/main/zarr.json", "/again/main/zarr.json"] {
        assert!(serving.get(path, "").starts_with("HTTP/1.1 200"), "{path}");
    }
    assert!(
        serving
            .get("/main/zarr.json", "")
            .starts_with("HTTP/1.1 404")
    );
    let error = world.fails(2, &["serve", "r", "r"]);
    assert!(error.contains("NAME=LOCATION"), "{error}");
}

#[test]
fn what_cannot_be_served_is_refused_with_advice() {
    let world = World::with_history();
    let error = world.fails(2, &["serve", "r", "--host", "0.0.0.0"]);
    assert!(
        error.contains("--token-file") && error.contains("--public"),
        "{error}"
    );
    // A proxy on this computer lets others in by the name.
    let error = world.fails(2, &["serve", "r", "--host", "data.example.org"]);
    assert!(
        error.contains("data.example.org") && error.contains("--token-file"),
        "{error}"
    );
    let error = world.fails(2, &["serve", "r", "--certificate", "x.pem"]);
    assert!(error.contains("proxy"), "{error}");
    world.file("short", "abc");
    let error = world.fails(2, &["serve", "r", "--token-file", "short"]);
    assert!(error.contains("openssl rand"), "{error}");
    world.fails(4, &["serve", "nothing"]);
    let error = world.fails(1, &["serve", "r", "--token-file", "nothing"]);
    assert!(error.contains("nothing"), "{error}");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let error = world.fails(1, &["serve", "r", "--port", &port]);
    assert!(
        error.contains("in use") && error.contains("--port 0"),
        "{error}"
    );
}

#[test]
fn metrics_have_a_port_of_their_own() {
    let world = World::with_history();
    world.file("token", "0123456789abcdef0123\n");
    let serving = Serving::start(
        &world,
        &["r", "--token-file", "token", "--metrics-port", "0"],
    );
    let url = serving.facts["metrics"].as_str().unwrap();
    let address = url
        .strip_prefix("http://")
        .unwrap()
        .split('/')
        .next()
        .unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET /-/metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert!(reply.contains("icefield_build_info"), "{reply}");
}

/// A collector of traces on loopback that answers as many requests as it is sent, and the bodies of these.
#[cfg(feature = "otlp")]
fn collector() -> (String, std::sync::mpsc::Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, requests) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                assert_ne!(stream.read_line(&mut head).unwrap(), 0, "{head}");
            }
            let lower = head.to_ascii_lowercase();
            let length = lower
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"));
            let mut body = vec![0; length.unwrap().trim().parse().unwrap()];
            stream.read_exact(&mut body).unwrap();
            // Before the reply, after which the server may end.
            sender.send((head, body)).unwrap();
            let reply = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            stream.get_mut().write_all(reply.as_bytes()).unwrap();
        }
    });
    (url, requests)
}

#[cfg(feature = "otlp")]
#[test]
fn traces_reach_the_collector_of_the_environment_before_the_end() {
    let world = World::with_history();
    let (url, requests) = collector();
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=of-the-collector"),
        ("OTEL_SERVICE_NAME", "ocean-server"),
    ];
    let serving = Serving::within(&world, &["r"], &variables);
    assert!(
        serving
            .get("/main/zarr.json", "")
            .starts_with("HTTP/1.1 200")
    );
    let (code, logged) = serving.end("TERM");
    assert_eq!((code, logged.as_str()), (Some(0), ""));
    // It has ended, so that all is sent.
    let (head, body) = requests.try_recv().unwrap();
    assert!(head.starts_with("POST /v1/traces HTTP/1.1"), "{head}");
    let head = head.to_ascii_lowercase();
    assert!(
        head.contains("content-type: application/x-protobuf")
            && head.contains("x-key: of-the-collector"),
        "{head}"
    );
    let body = String::from_utf8_lossy(&body);
    assert!(
        body.contains("ocean-server") && body.contains("GET /{ref}/{path}"),
        "{body}"
    );
}

#[cfg(feature = "otlp")]
#[test]
fn a_collector_that_is_not_there_is_one_warning() {
    let world = World::with_history();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str())];
    let serving = Serving::within(&world, &["r"], &variables);
    for _ in 0..3 {
        assert!(
            serving
                .get("/main/zarr.json", "")
                .starts_with("HTTP/1.1 200")
        );
    }
    let (code, logged) = serving.end("TERM");
    assert_eq!(code, Some(0));
    assert_eq!(logged.lines().count(), 1, "{logged}");
    assert!(
        logged.starts_with("warning: traces do not reach their collector"),
        "{logged}"
    );
}

#[cfg(feature = "otlp")]
#[test]
fn a_protocol_for_traces_that_is_not_there_is_refused() {
    let world = World::with_history();
    let mut command = world.command(&["serve", "r", "--port", "0"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317");
    command.env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    let done = command.output().unwrap();
    let error = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(2), "{error}");
    assert!(
        error.contains("OTEL_EXPORTER_OTLP_PROTOCOL") && error.contains("http/protobuf"),
        "{error}"
    );
}

#[cfg(not(feature = "otlp"))]
#[test]
fn a_program_without_traces_says_so() {
    let world = World::with_history();
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")];
    let (code, logged) = Serving::within(&world, &["r"], &variables).end("TERM");
    assert_eq!(code, Some(0));
    assert!(
        logged.starts_with("warning: OTEL_EXPORTER_OTLP_ENDPOINT has no effect")
            && logged.contains("`otlp`"),
        "{logged}"
    );
}
