//! An S3 server: the protocol and its signatures are those of the crate `s3s`, the objects those of a
//! [`World`].

mod access;
mod context;
mod errors;
mod lifecycle;
mod list;
mod objects;
mod reads;
mod service;
mod uploads;
mod verb;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::request::Parts;
use http_body_util::BodyExt;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};

use crate::body::{Body, BoxError, Response};
use crate::front::{Front, Service};
use crate::host::Host;
use crate::log::{LoggedRequest, RequestLog};
use crate::switches::Orders;
use crate::world::World;
use crate::{Answer, Switches, Verb};

/// How an [`S3Server`] is set up.
#[derive(Clone, Debug)]
pub struct S3Options {
    /// The objects; share one world between servers to see the same objects from both.
    pub world: Arc<World>,
    /// The bucket that is there from the start.
    pub bucket: String,
    /// The access key.
    pub access_key: String,
    /// The secret key.
    pub secret_key: String,
    /// More pairs of access key and secret key.
    pub more_keys: Vec<(String, String)>,
}

impl Default for S3Options {
    fn default() -> Self {
        Self {
            world: World::new(),
            bucket: "bucket".to_owned(),
            access_key: "test".to_owned(),
            secret_key: "testtest".to_owned(),
            more_keys: Vec::new(),
        }
    }
}

/// A running S3 server. It stops when it is dropped.
pub struct S3Server {
    host: Host,
    front: Arc<Front<Protocol>>,
    options: S3Options,
}

impl S3Server {
    /// Starts a server on a free port of loopback. It needs no runtime around it.
    pub fn start(options: S3Options) -> Self {
        let world = Arc::clone(&options.world);
        world.create_bucket(&options.bucket);
        let switches = Switches::default();
        let mut auth = SimpleAuth::new();
        let first = [(options.access_key.clone(), options.secret_key.clone())];
        for (access, secret) in first.into_iter().chain(options.more_keys.clone()) {
            auth.register(access, secret.into());
        }
        let mut builder = S3ServiceBuilder::new(service::Bucketeer {
            world: Arc::clone(&world),
            switches: switches.clone(),
        });
        builder.set_auth(auth);
        builder.set_access(access::Policy(switches.clone()));
        let front = Arc::new(Front {
            service: Protocol(builder.build()),
            world,
            switches,
            log: RequestLog::default(),
        });
        let serve = {
            let front = Arc::clone(&front);
            move |_| move |wire| Arc::clone(&front).connection(wire)
        };
        Self {
            host: Host::start(serve),
            front,
            options,
        }
    }

    /// Returns the URL that clients are given; they must use path style.
    pub fn endpoint(&self) -> String {
        self.host.endpoint()
    }

    /// Returns the access key.
    pub fn access_key(&self) -> &str {
        &self.options.access_key
    }

    /// Returns the secret key.
    pub fn secret_key(&self) -> &str {
        &self.options.secret_key
    }

    /// Returns the bucket that was there from the start.
    pub fn bucket(&self) -> &str {
        &self.options.bucket
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

    /// Returns how many uploads in parts are neither complete nor aborted.
    pub fn open_uploads(&self) -> usize {
        self.front.world.uploads().len()
    }
}

impl fmt::Debug for S3Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Server")
            .field("endpoint", &self.endpoint())
            .field("world", &self.front.world)
            .finish_non_exhaustive()
    }
}

/// The protocol as `s3s` speaks it.
struct Protocol(S3Service);

#[async_trait]
impl Service for Protocol {
    fn aim(&self, head: &Parts, body: &Bytes) -> (Verb, String) {
        verb::aim(head, body)
    }

    async fn serve(
        &self,
        mut head: Parts,
        body: Bytes,
        orders: Orders,
    ) -> Result<Response, BoxError> {
        head.extensions.insert(orders);
        let request = http::Request::from_parts(head, s3s::Body::from(body));
        let response = self.0.call(request).await?;
        Ok(response.map(|body| -> Body { body.boxed_unsync() }))
    }

    fn refuse(&self, head: &Parts, refused: &Answer) -> Response {
        errors::answer(refused, head.uri.path())
    }
}
