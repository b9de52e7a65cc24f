//! A GCS server: the JSON interface over HTTP/1.1 and the gRPC interface over plain HTTP/2, on one port.
//!
//! It does what the official client asks of it: `Storage` uploads and reads over HTTP, `StorageControl`
//! looks, lists, deletes and copies over gRPC.

mod failure;
mod json;
mod operations;
mod request;
mod resource;
mod rpc;
mod upload;

use std::fmt;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use bytes::Bytes;
use http::request::Parts;

use crate::body::{BoxError, Response};
use crate::front::{Front, Service};
use crate::host::Host;
use crate::log::{LoggedRequest, RequestLog};
use crate::switches::Orders;
use crate::world::World;
use crate::{Answer, Switches, Verb};
use failure::Failure;
use operations::Operations;
use request::{Ask, RequestKind};
use rpc::Call;
use upload::Sessions;

/// How a [`GcsServer`] is set up.
#[derive(Clone, Debug)]
pub struct GcsOptions {
    /// The objects; share one world between servers to see the same objects from both.
    pub world: Arc<World>,
    /// The bucket that is there from the start.
    pub bucket: String,
    /// The bearer tokens that are accepted. If there are none, every client may do everything.
    pub tokens: Vec<String>,
}

impl Default for GcsOptions {
    fn default() -> Self {
        Self {
            world: World::new(),
            bucket: "bucket".to_owned(),
            tokens: Vec::new(),
        }
    }
}

/// A running GCS server. It stops when it is dropped.
pub struct GcsServer {
    host: Host,
    front: Arc<Front<Protocol>>,
    bucket: String,
}

impl GcsServer {
    /// Starts a server on a free port of loopback. It needs no runtime around it.
    pub fn start(options: GcsOptions) -> Self {
        options.world.create_bucket(&options.bucket);
        let switches = Switches::default();
        let front = Arc::new(Front {
            service: Protocol {
                operations: Operations {
                    world: Arc::clone(&options.world),
                    switches: switches.clone(),
                },
                sessions: Sessions::default(),
                tokens: options.tokens,
                endpoint: OnceLock::new(),
            },
            world: options.world,
            switches,
            log: RequestLog::default(),
        });
        let serve = {
            let front = Arc::clone(&front);
            move |address| {
                let endpoint = &front.service.endpoint;
                endpoint.get_or_init(|| format!("http://{address}"));
                move |wire| Arc::clone(&front).connection(wire)
            }
        };
        Self {
            host: Host::start(serve),
            front,
            bucket: options.bucket,
        }
    }

    /// Returns the URL that both kinds of client are given.
    pub fn endpoint(&self) -> String {
        self.host.endpoint()
    }

    /// Returns the bucket that was there from the start.
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// Returns that bucket as the official client names it.
    pub fn bucket_resource(&self) -> String {
        format!("projects/_/buckets/{}", self.bucket)
    }

    /// Returns the objects.
    pub fn world(&self) -> &Arc<World> {
        &self.front.world
    }

    /// Returns what can be made to go wrong.
    pub fn switches(&self) -> &Switches {
        &self.front.switches
    }

    /// Returns the requests so far, in the order of their arrival.
    pub fn requests(&self) -> Vec<LoggedRequest> {
        self.front.log.entries()
    }

    /// Returns how many resumable uploads are neither complete nor cancelled.
    pub fn open_uploads(&self) -> usize {
        self.front.service.sessions.open()
    }
}

impl fmt::Debug for GcsServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GcsServer")
            .field("endpoint", &self.endpoint())
            .field("world", &self.front.world)
            .finish_non_exhaustive()
    }
}

/// Both interfaces.
struct Protocol {
    operations: Operations,
    sessions: Sessions,
    tokens: Vec<String>,
    /// Where clients find the server: their `Host` header need not have a port.
    endpoint: OnceLock<String>,
}

impl Protocol {
    fn may(&self, head: &Parts, verb: Verb) -> bool {
        let shown = head.headers.get("authorization");
        let shown = shown.and_then(|value| value.to_str().ok());
        let shown = shown.and_then(|value| value.strip_prefix("Bearer "));
        match shown {
            _ if self.tokens.is_empty() => true,
            Some(token) => self.tokens.iter().any(|known| known == token),
            None => {
                let reads = [Verb::Read, Verb::Head, Verb::List].contains(&verb);
                reads && self.operations.switches.behaviour().anonymous_read
            }
        }
    }
}

#[async_trait]
impl Service for Protocol {
    fn aim(&self, head: &Parts, body: &Bytes) -> (Verb, String) {
        if head.uri.path().starts_with(rpc::SERVICE) {
            return Call::of(head.uri.path(), body).aim();
        }
        let mut ask = Ask::of(head);
        if let RequestKind::Session(id) = &ask.kind {
            ask.key = self.sessions.key(id).unwrap_or_default();
        } else if ask.kind == RequestKind::Upload
            && let Some((said, _)) = upload::related(head, body)
            && let Some(name) = said["name"].as_str()
        {
            ask.key = name.to_owned();
        }
        (ask.verb(head), ask.key)
    }

    async fn serve(&self, head: Parts, body: Bytes, orders: Orders) -> Result<Response, BoxError> {
        let (verb, _) = self.aim(&head, &body);
        if !self.may(&head, verb) {
            let answer = Answer::new(401, "required");
            return Ok(self.refuse(&head, &answer));
        }
        if head.uri.path().starts_with(rpc::SERVICE) {
            let call = Call::of(head.uri.path(), &body);
            return Ok(call.run(&self.operations, &orders).await);
        }
        let done = self.http(&head, body, &orders).await;
        Ok(done.unwrap_or_else(|failure| failure.response()))
    }

    fn refuse(&self, head: &Parts, answer: &Answer) -> Response {
        let failure = Failure::from(answer);
        if head.uri.path().starts_with(rpc::SERVICE) {
            return rpc::refuse(&failure);
        }
        failure.response()
    }
}
