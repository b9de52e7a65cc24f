//! A collector on loopback: it decodes what it is sent, and keeps the bytes.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The requests that arrived: the head and the body of each.
type Requests = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

#[derive(Clone)]
pub(super) struct Collector {
    pub(super) address: SocketAddr,
    requests: Requests,
}

impl Collector {
    /// A collector that answers every request with this status.
    pub(super) async fn answering(status: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let collector = Self {
            address: listener.local_addr().unwrap(),
            requests: Arc::default(),
        };
        let requests = Arc::clone(&collector.requests);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, status, Arc::clone(&requests)));
            }
        });
        collector
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/v1/traces", self.address)
    }

    pub(super) fn requests(&self) -> Vec<(String, Vec<u8>)> {
        self.requests.lock().unwrap().clone()
    }

    /// The attributes of the process, and all spans in the order in which they ended.
    pub(super) fn spans(&self) -> (BTreeMap<String, String>, Vec<Span>) {
        let (mut process, mut spans) = (BTreeMap::new(), Vec::new());
        for (_, body) in self.requests() {
            let request = ExportTraceServiceRequest::decode(body.as_slice()).unwrap();
            for of_resource in request.resource_spans {
                process = texts(&of_resource.resource.unwrap().attributes);
                for of_scope in of_resource.scope_spans {
                    spans.extend(of_scope.spans);
                }
            }
        }
        (process, spans)
    }
}

/// Attributes as texts.
pub(super) fn texts(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |attribute: &KeyValue| match attribute.value.clone().and_then(|value| value.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        other => panic!("{}: {other:?}", attribute.key),
    };
    attributes
        .iter()
        .map(|attribute| (attribute.key.clone(), text(attribute)))
        .collect()
}

async fn answer(mut stream: TcpStream, status: u16, kept: Requests) {
    let mut bytes = Vec::new();
    loop {
        let end = loop {
            if let Some(at) = bytes.windows(4).position(|part| part == b"\r\n\r\n") {
                break at + 4;
            }
            if stream.read_buf(&mut bytes).await.unwrap() == 0 {
                return;
            }
        };
        let head = String::from_utf8(bytes.drain(..end).collect()).unwrap();
        let lower = head.to_ascii_lowercase();
        let length = lower
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.unwrap().trim().parse().unwrap();
        while bytes.len() < length {
            assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0);
        }
        let body = bytes.drain(..length).collect();
        kept.lock().unwrap().push((head, body));
        let reply = format!("HTTP/1.1 {status} Status\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(reply.as_bytes()).await.unwrap();
    }
}
