//! The layer that every server has in front: it reads the whole request, lets the switches decide, calls the
//! service, and breaks the answer if it is to break.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::request::Parts;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;

use crate::body::{BoxError, Response, spoil};
use crate::host::{Cut, Wire};
use crate::log::RequestLog;
use crate::switches::{Ending, Orders};
use crate::world::World;
use crate::{Answer, Switches, Verb};

/// A protocol, without faults and without a network.
#[async_trait]
pub(crate) trait Service: Send + Sync + 'static {
    /// Tells what a request is for, and of which key.
    fn aim(&self, head: &Parts, body: &Bytes) -> (Verb, String);
    /// Deals with a request.
    async fn serve(&self, head: Parts, body: Bytes, orders: Orders) -> Result<Response, BoxError>;
    /// Words a refusal as this protocol does.
    fn refuse(&self, head: &Parts, answer: &Answer) -> Response;
}

/// A service with all that surrounds it.
pub(crate) struct Front<S> {
    pub(crate) service: S,
    pub(crate) world: Arc<World>,
    pub(crate) switches: Switches,
    pub(crate) log: RequestLog,
}

impl<S: Service> Front<S> {
    /// Serves one connection until it ends or is cut.
    pub(crate) async fn connection(self: Arc<Self>, wire: Wire) {
        let cut = wire.cut();
        let handler = {
            let cut = cut.clone();
            service_fn(move |request| Arc::clone(&self).call(request, cut.clone()))
        };
        let builder = auto::Builder::new(TokioExecutor::new());
        let connection = builder.serve_connection(TokioIo::new(wire), handler);
        tokio::select! {
            // A client that goes away in the middle is nothing to report.
            _ended = connection => {}
            () = cut.happens() => {}
        }
    }

    async fn call(
        self: Arc<Self>,
        request: http::Request<Incoming>,
        cut: Cut,
    ) -> Result<Response, BoxError> {
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        // In a task of its own: what has arrived is dealt with even if the client goes away.
        tokio::spawn(async move { self.handle(head, body, cut).await }).await?
    }

    async fn handle(&self, head: Parts, body: Bytes, cut: Cut) -> Result<Response, BoxError> {
        let (verb, key) = self.service.aim(&head, &body);
        let plan = self.switches.draw(verb, &key);
        let number = self.log.begin(&head, verb, &key, plan.trace);
        let finish = |response: Response| {
            self.log.end(number, response.status().as_u16());
            Ok(response)
        };
        if let Some(gate) = &plan.hold {
            gate.pass().await;
        }
        if let Some(time) = plan.delay {
            self.world.sleep(time).await;
        }
        match plan.before {
            Some(Ending::Answer(answer)) => return finish(self.service.refuse(&head, &answer)),
            Some(Ending::Reset) => return reset(&cut).await,
            None => {}
        }
        let behaviour = self.switches.behaviour();
        if behaviour.expired(&head.headers, self.world.now()) {
            let answer = Answer::expired_token();
            return finish(self.service.refuse(&head, &answer));
        }
        let mut response = self.service.serve(head.clone(), body, plan.orders).await?;
        behaviour.date(&mut response, self.world.now());
        if let Some(gate) = &plan.hold_answer {
            gate.pass().await;
        }
        match plan.after {
            Some(Ending::Answer(answer)) => finish(self.service.refuse(&head, &answer)),
            Some(Ending::Reset) => reset(&cut).await,
            None => match plan.body {
                Some(fault) if head.method != http::Method::HEAD => {
                    finish(spoil(response, fault, &self.world).await?)
                }
                _ => finish(response),
            },
        }
    }
}

/// Resets the connection.
async fn reset(cut: &Cut) -> Result<Response, BoxError> {
    cut.now();
    Err("reset as asked".into())
}
