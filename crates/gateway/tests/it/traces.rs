//! Traces: what a collector receives of requests, and that one which does not answer changes nothing.

mod collector;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use collector::{Collector, texts};
use icefield_gateway::{Access, Server, Settings, TraceReport, Traces, TracesError};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;

use crate::damage::delete_below;
use crate::world::{Store, World};

const TOKEN: &str = "0123456789abcdef-s3cret";

/// How long a collector that answers may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// What was reported.
#[derive(Clone, Default)]
struct Reports(Arc<Mutex<Vec<String>>>);

impl Reports {
    fn report(&self) -> TraceReport {
        let reports = Arc::clone(&self.0);
        Arc::new(move |text| reports.lock().unwrap().push(text.to_owned()))
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// A server with traces for a collector.
async fn traced(store: &Store, settings: Settings, traces: &Traces) -> World {
    let plain = World::with(store, settings).await;
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = Server::bind(address, plain.gateway.clone()).await.unwrap();
    let server = server.traces(traces.clone());
    World::running(server, plain.gateway.clone(), plain.counting.clone())
}

/// The spans of requests, by name and status, and what lies below each.
fn of_requests(spans: &[Span]) -> Vec<(&Span, Vec<&Span>)> {
    let is_request = |span: &&Span| span.kind() == SpanKind::Server;
    let below = |span: &Span| {
        let within =
            |other: &&Span| other.trace_id == span.trace_id && other.span_id != span.span_id;
        spans.iter().filter(within).collect()
    };
    spans
        .iter()
        .filter(is_request)
        .map(|span| (span, below(span)))
        .collect()
}

fn names(spans: &[&Span]) -> Vec<String> {
    let mut names: Vec<String> = spans.iter().map(|span| span.name.clone()).collect();
    names.sort();
    names
}

fn assert_has(found: &BTreeMap<String, String>, expected: &[(&str, &str)]) {
    for (name, value) in expected {
        assert_eq!(
            found.get(*name).map(String::as_str),
            Some(*value),
            "{name} of {found:?}"
        );
    }
}

#[tokio::test]
async fn each_request_is_a_span_with_its_steps_below_it() {
    let (store, id) = Store::small().await;
    let (collector, reports) = (Collector::answering(200).await, Reports::default());
    let traces = Traces::to(&collector.url(), reports.report()).unwrap();
    let world = traced(&store, Settings::default(), &traces).await;
    let chunk = world.get("/main/g/a/c/0").await;
    assert_eq!(chunk.status, 200);
    let tag = chunk.header("etag").unwrap().to_owned();
    let unchanged = world
        .with_headers("/main/g/a/c/0", &[("If-None-Match", &tag)])
        .await;
    assert_eq!(unchanged.status, 304);
    assert_eq!(world.get("/main/g/a/c/3").await.status, 404);
    delete_below(&store.storage, "chunks/").await;
    assert_eq!(world.get(&format!("/{id}/g/a/c/1")).await.status, 500);
    assert_eq!(world.get("/-/health").await.status, 200);
    traces.finish(PATIENCE).await;

    let (process, spans) = collector.spans();
    assert_has(
        &process,
        &[
            ("service.name", "icefield"),
            ("telemetry.sdk.language", "rust"),
        ],
    );
    let requests = of_requests(&spans);
    let statuses: Vec<String> = requests
        .iter()
        .map(|(span, _)| texts(&span.attributes)["http.response.status_code"].clone())
        .collect();
    assert_eq!(statuses, ["200", "304", "404", "500", "200"]);

    let (span, below) = &requests[0];
    let id = id.to_string();
    assert_eq!(span.name, "GET /{ref}/{path}");
    assert!(span.parent_span_id.is_empty());
    assert_has(
        &texts(&span.attributes),
        &[
            ("http.request.method", "GET"),
            ("http.route", "/{ref}/{path}"),
            ("http.response.body.size", "2000"),
            ("url.scheme", "http"),
            ("client.address", "127.0.0.1"),
            ("user_agent.original", "test/1"),
            ("icefield.repository", "ocean"),
            ("icefield.ref", "main"),
            ("icefield.snapshot", &id),
        ],
    );
    assert!(span.start_time_unix_nano <= span.end_time_unix_nano);
    let is_of_chunk = |span: &&&Span| {
        let key = texts(&span.attributes).remove("icefield.storage.key");
        span.name == "storage get" && key.is_some_and(|key| key.starts_with("chunks/"))
    };
    // The reading of the chunk is below the step that reads it, and that below the request.
    let get = below.iter().find(is_of_chunk).unwrap();
    let read = below.iter().find(|span| span.name == "read").unwrap();
    assert_eq!(get.parent_span_id, read.span_id);
    assert_eq!(read.parent_span_id, span.span_id);
    assert_has(
        &texts(&get.attributes),
        &[("icefield.storage.outcome", "ok")],
    );

    // Nothing is read for an unchanged chunk and for one that is not there.
    assert_eq!(names(&requests[1].1), ["locate", "resolve"]);
    assert_eq!(names(&requests[2].1), ["locate", "resolve"]);

    let (span, below) = &requests[3];
    assert_has(
        &texts(&span.attributes),
        &[("error.type", "500"), ("icefield.ref", &id)],
    );
    assert_eq!(span.status.as_ref().unwrap().code(), StatusCode::Error);
    let get = below.iter().find(is_of_chunk).unwrap();
    assert_has(
        &texts(&get.attributes),
        &[("icefield.storage.outcome", "not_found")],
    );

    assert_eq!(requests[4].0.name, "GET /-/health");
    assert!(requests[4].1.is_empty());
    assert_eq!(reports.all(), [""; 0]);
}

#[tokio::test]
async fn the_span_of_a_client_is_the_parent() {
    let (store, _) = Store::small().await;
    let collector = Collector::answering(200).await;
    let traces = Traces::to(&collector.url(), Reports::default().report()).unwrap();
    let world = traced(&store, Settings::default(), &traces).await;
    let (trace, parent) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
    for (target, traceparent) in [
        ("/main/g/a/c/0", format!("00-{trace}-{parent}-01")),
        // The client does not record this one.
        ("/main/g/a/c/1", format!("00-{trace}-{parent}-00")),
        ("/main/g/a/c/2", "nonsense".to_owned()),
    ] {
        let reply = world
            .with_headers(target, &[("traceparent", &traceparent)])
            .await;
        assert_eq!(reply.status, 200, "{target}");
    }
    traces.finish(PATIENCE).await;
    let (_, spans) = collector.spans();
    let requests = of_requests(&spans);
    assert_eq!(requests.len(), 2);
    let hex = |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
    assert_eq!(hex(&requests[0].0.trace_id), trace);
    assert_eq!(hex(&requests[0].0.parent_span_id), parent);
    assert_ne!(hex(&requests[1].0.trace_id), trace);
    assert!(requests[1].0.parent_span_id.is_empty());
}

#[tokio::test]
async fn no_token_is_in_a_trace() {
    let (store, _) = Store::small().await;
    let collector = Collector::answering(200).await;
    let traces = Traces::to(&collector.url(), Reports::default().report()).unwrap();
    let settings = Settings {
        access: Access::Token(TOKEN.to_owned()),
        ..Settings::default()
    };
    let world = traced(&store, settings, &traces).await;
    let bearer = format!("Bearer {TOKEN}");
    let reply = world
        .with_headers("/main/g/a/c/0", &[("Authorization", &bearer)])
        .await;
    assert_eq!(reply.status, 200);
    let refused = world.get(&format!("/main/g/a/c/0?token={TOKEN}")).await;
    assert_eq!(refused.status, 401);
    traces.finish(PATIENCE).await;
    let (_, spans) = collector.spans();
    let requests = of_requests(&spans);
    assert_eq!(requests.len(), 2);
    // It was refused before its path was looked at.
    assert_eq!(requests[1].0.name, "GET");
    for (_, body) in collector.requests() {
        let text = String::from_utf8_lossy(&body);
        assert!(text.contains("GET /{ref}/{path}"), "{text}");
        assert!(!text.contains("s3cret"), "{text}");
    }
}

#[tokio::test]
async fn a_collector_that_is_not_reached_is_reported_once() {
    let (store, _) = Store::small().await;
    let reports = Reports::default();
    // Nothing listens there, and the report must not have the password.
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let url = format!("http://user:{TOKEN}@{address}/v1/traces");
    let traces = Traces::to(&url, reports.report()).unwrap();
    let world = traced(&store, Settings::default(), &traces).await;
    // More requests than one message to the collector has room for.
    for _ in 0..300 {
        assert_eq!(world.get("/main/g/a/c/0").await.status, 200);
    }
    traces.finish(PATIENCE).await;
    let told = reports.all();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with("traces do not reach their collector"),
        "{told:?}"
    );
    assert!(!told[0].contains("s3cret"), "{told:?}");
    // The server goes on.
    assert_eq!(world.get("/main/g/a/c/0").await.status, 200);
}

#[tokio::test]
async fn a_collector_that_refuses_is_told_with_its_status() {
    let (store, _) = Store::small().await;
    let (collector, reports) = (Collector::answering(503).await, Reports::default());
    let traces = Traces::to(&collector.url(), reports.report()).unwrap();
    let world = traced(&store, Settings::default(), &traces).await;
    for _ in 0..300 {
        assert_eq!(world.get("/main/g/a/c/0").await.status, 200);
    }
    traces.finish(PATIENCE).await;
    assert!(collector.requests().len() > 1);
    let told = reports.all();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].ends_with("it answers 503 Service Unavailable"),
        "{told:?}"
    );
}

#[tokio::test]
async fn the_end_does_not_wait_for_a_collector_that_says_nothing() {
    let (store, _) = Store::small().await;
    let reports = Reports::default();
    // It takes connections and never reads from them.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/traces", silent.local_addr().unwrap());
    let traces = Traces::to(&url, reports.report()).unwrap();
    let world = traced(&store, Settings::default(), &traces).await;
    for _ in 0..300 {
        assert_eq!(world.get("/main/g/a/c/0").await.status, 200);
    }
    traces.finish(Duration::from_millis(1)).await;
    // The client of the collector has not given up, which it would have reported.
    assert_eq!(reports.all(), [""; 0]);
}

#[tokio::test]
async fn text_that_is_no_url_is_no_collector() {
    let refused = Traces::to("not a url", Reports::default().report());
    assert!(
        matches!(refused, Err(TracesError::Settings(_))),
        "{refused:?}"
    );
}
