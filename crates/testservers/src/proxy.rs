//! A proxy on loopback that lets requests and answers go wrong on their way, in front of any server that
//! speaks HTTP/1.1.
//!
//! It forwards messages byte for byte and understands only where they end: chunks, trailers and signatures
//! arrive as they were sent. The answers of an upstream that give its own address, such as the place of a
//! resumable upload, lead past the proxy. Connections that begin as HTTP/2 are passed through whole.

mod message;
mod rule;

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use icefield_storage::{Clock, SystemClock};
use tokio::io::{AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;

use crate::Answer;
use crate::host::{Host, Wire};
use message::{Framing, Message, MessageKind};
use rule::Rules;
pub use rule::{ProxyFault, ProxyRule};

/// A running proxy. It stops when it is dropped.
pub struct FaultProxy {
    host: Host,
    shared: Arc<Shared>,
}

/// The outcome of one request.
#[derive(Clone, Debug)]
pub struct ProxiedRequest {
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The fault that it met.
    pub fault: Option<String>,
    /// The statuses that upstream answered, once per delivery.
    pub upstream: Vec<u16>,
    /// The status that the client was answered, `None` if the connection was reset or the request still waits.
    pub answered: Option<u16>,
}

struct Shared {
    upstream: String,
    rules: Rules,
    log: Mutex<Vec<ProxiedRequest>>,
    clock: Arc<dyn Clock>,
}

impl FaultProxy {
    /// Starts a proxy in front of an endpoint such as `http://127.0.0.1:9000`.
    pub fn start(upstream: &str) -> Self {
        Self::with_clock(upstream, Arc::new(SystemClock))
    }

    /// Starts a proxy that waits by this clock.
    pub fn with_clock(upstream: &str, clock: Arc<dyn Clock>) -> Self {
        let upstream = upstream.trim_start_matches("http://").trim_end_matches('/');
        let shared = Arc::new(Shared {
            upstream: upstream.to_owned(),
            rules: Rules::new(),
            log: Mutex::default(),
            clock,
        });
        let serve = {
            let shared = Arc::clone(&shared);
            move |_| {
                move |wire| {
                    let shared = Arc::clone(&shared);
                    async move {
                        // Whichever side went away, there is no peer left to tell.
                        let _ended = shared.connection(wire).await;
                    }
                }
            }
        };
        let host = Host::start(serve);
        Self { host, shared }
    }

    /// Returns the URL that clients are given.
    pub fn endpoint(&self) -> String {
        self.host.endpoint()
    }

    /// Adds a rule.
    pub fn inject(&self, rule: ProxyRule) {
        self.shared.rules.inject(rule);
    }

    /// Takes all rules away.
    pub fn clear(&self) {
        self.shared.rules.clear();
    }

    /// Begins to draw shares from this seed.
    pub fn seed(&self, seed: u64) {
        self.shared.rules.seed(seed);
    }

    /// Returns the requests so far, in the order of their arrival.
    pub fn requests(&self) -> Vec<ProxiedRequest> {
        let log = self.shared.log.lock();
        log.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for FaultProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultProxy")
            .field("endpoint", &self.endpoint())
            .field("upstream", &self.shared.upstream)
            .finish_non_exhaustive()
    }
}

/// Whether a connection can carry another request.
#[derive(PartialEq, Eq)]
enum Next {
    Request,
    Close,
}

impl Shared {
    async fn connection(&self, mut wire: Wire) -> io::Result<()> {
        let mut buffer = BytesMut::new();
        while let Some(head) = message::read_head(&mut wire, &mut buffer).await? {
            if head.starts_with(b"PRI ") {
                return self.tunnel(wire, &head, &buffer).await;
            }
            let text = String::from_utf8_lossy(&head).to_lowercase();
            if text.contains("expect: 100-continue") {
                wire.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
            }
            let request =
                message::read_body(&mut wire, &mut buffer, MessageKind::Request, head).await?;
            if self.handle(&mut wire, &request).await? == Next::Close {
                return Ok(());
            }
        }
        Ok(())
    }

    async fn handle(&self, wire: &mut Wire, request: &Message) -> io::Result<Next> {
        let fault = self.rules.draw(request);
        let number = self.begin(request, fault.as_ref());
        match &fault {
            Some(ProxyFault::ResetBefore) => {
                wire.cut().now();
                return Ok(Next::Close);
            }
            Some(ProxyFault::Refuse(answer)) => {
                let answer = refusal(request, answer, "");
                return self.answer(wire, number, &answer).await;
            }
            Some(ProxyFault::Redirect(status, place)) => {
                let answer = Answer::new(*status, "Redirect");
                let answer = refusal(request, &answer, &format!("location: {place}\r\n"));
                return self.answer(wire, number, &answer).await;
            }
            Some(ProxyFault::Hold(gate)) => gate.pass().await,
            Some(ProxyFault::Twice) => drop(self.forward(number, request).await?),
            _ => {}
        }
        let answer = self.forward(number, request).await?;
        match fault {
            Some(ProxyFault::DropAnswer) => {
                wire.cut().now();
                Ok(Next::Close)
            }
            Some(ProxyFault::HalfBody) => {
                let half = answer.body.slice(..answer.body.len() / 2);
                self.part(wire, number, &answer, &half).await?;
                wire.cut().now();
                Ok(Next::Close)
            }
            Some(ProxyFault::Stall(at)) => {
                let part = answer.body.slice(..at.min(answer.body.len()));
                self.part(wire, number, &answer, &part).await?;
                std::future::pending().await
            }
            Some(ProxyFault::Drip(piece, every)) => {
                self.part(wire, number, &answer, &Bytes::new()).await?;
                for piece in answer.body.chunks(piece.max(1)) {
                    self.clock.sleep(every).await;
                    wire.write_all(piece).await?;
                }
                Ok(next(&answer))
            }
            Some(ProxyFault::FlipByte(at)) => {
                let mut body = answer.body.to_vec();
                if let Some(place) = answer.place(at) {
                    body[place] = !body[place];
                }
                let body = body.into();
                self.answer(wire, number, &Message { body, ..answer }).await
            }
            Some(ProxyFault::WrongLength(by)) => {
                let length = answer.header("content-length");
                let length: i64 = length.and_then(|it| it.parse().ok()).unwrap_or_default();
                let wrong = (length + by).max(0).to_string();
                let answer = answer.with_header("content-length", &wrong);
                self.answer(wire, number, &answer).await?;
                Ok(Next::Close)
            }
            _ => self.answer(wire, number, &answer).await,
        }
    }

    /// Delivers a request over a connection of its own and returns the final answer.
    async fn forward(&self, number: usize, request: &Message) -> io::Result<Message> {
        let mut upstream = TcpStream::connect(&self.upstream).await?;
        upstream.set_nodelay(true)?;
        upstream.write_all(&request.head).await?;
        upstream.write_all(&request.body).await?;
        let to_head = request.head.starts_with(b"HEAD ");
        let kind = if to_head {
            MessageKind::AnswerToHead
        } else {
            MessageKind::Answer
        };
        let mut buffer = BytesMut::new();
        loop {
            let answer = message::read(&mut upstream, &mut buffer, kind).await?;
            let answer = answer.ok_or(io::ErrorKind::UnexpectedEof)?;
            // Such as `100 Continue`.
            if answer.status() >= 200 {
                self.note(number, |entry| entry.upstream.push(answer.status()));
                return Ok(answer);
            }
        }
    }

    async fn answer(&self, wire: &mut Wire, number: usize, answer: &Message) -> io::Result<Next> {
        self.part(wire, number, answer, &answer.body).await?;
        Ok(next(answer))
    }

    /// Sends the head of an answer, and this as the beginning of its body.
    async fn part(
        &self,
        wire: &mut Wire,
        number: usize,
        answer: &Message,
        body: &Bytes,
    ) -> io::Result<()> {
        self.note(number, |entry| entry.answered = Some(answer.status()));
        wire.write_all(&answer.head).await?;
        wire.write_all(body).await?;
        wire.flush().await
    }

    /// Passes a connection through whole.
    async fn tunnel(&self, mut wire: Wire, head: &[u8], rest: &[u8]) -> io::Result<()> {
        let mut upstream = TcpStream::connect(&self.upstream).await?;
        upstream.set_nodelay(true)?;
        upstream.write_all(head).await?;
        upstream.write_all(rest).await?;
        copy_bidirectional(&mut wire, &mut upstream).await?;
        Ok(())
    }

    fn begin(&self, request: &Message, fault: Option<&ProxyFault>) -> usize {
        let mut words = request.start().into_iter();
        let entry = ProxiedRequest {
            method: words.next().unwrap_or_default(),
            target: words.next().unwrap_or_default(),
            fault: fault.map(|fault| format!("{fault:?}")),
            upstream: Vec::new(),
            answered: None,
        };
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.push(entry);
        log.len() - 1
    }

    fn note(&self, number: usize, change: impl FnOnce(&mut ProxiedRequest)) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = log.get_mut(number) {
            change(entry);
        }
    }
}

fn next(answer: &Message) -> Next {
    let closes = answer
        .header("connection")
        .is_some_and(|it| it.eq_ignore_ascii_case("close"));
    if closes || answer.framing == Framing::UntilClose {
        Next::Close
    } else {
        Next::Request
    }
}

/// Words an answer of the proxy's own, in the manner of S3, and ends the connection with it.
fn refusal(request: &Message, answer: &Answer, headers: &str) -> Message {
    let Answer { status, code } = answer;
    let body = format!("<Error><Code>{code}</Code><Message>from the proxy</Message></Error>");
    let head = format!(
        "HTTP/1.1 {status} {code}\r\ncontent-type: application/xml\r\n{headers}\
         content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let to_head = request.head.starts_with(b"HEAD ");
    Message {
        head: head.into(),
        framing: Framing::Length(body.len()),
        body: if to_head { Bytes::new() } else { body.into() },
    }
}
