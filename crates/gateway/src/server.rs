//! A server of HTTP/1.1 on one address: connections, their time-outs, and the end.
//!
//! HTTP/2 needs TLS with the clients there are, so that it is the proxy's, as TLS is.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use http::request::Parts;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::admission::Caller;
use crate::body::Body;
use crate::connection::Watched;
use crate::gateway::Gateway;
use crate::observation::Observation;
use crate::settings::Access;
#[cfg(feature = "otlp")]
use crate::traces::Traces;

/// Where lines of the access log go.
pub type AccessLog = Arc<dyn Fn(&str) + Send + Sync>;

/// The time to wait after the system has no descriptor left for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Bytes of headers that are read before a request is refused: more than the bound, so that the refusal can say why.
const HEADER_ROOM: usize = 4;

/// The service behind a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// Everything.
    Gateway,
    /// The protocol of S3.
    S3,
    /// The page of metrics alone, without a token.
    Metrics,
}

/// A server that listens, and answers when it [runs](Server::run).
pub struct Server {
    listener: TcpListener,
    gateway: Gateway,
    purpose: Purpose,
    log: Option<AccessLog>,
    #[cfg(feature = "otlp")]
    traces: Option<Traces>,
}

impl Server {
    /// Listens on an address; on port 0, on a free port.
    ///
    /// # Errors
    /// What the system says, such as that the port is in use.
    pub async fn bind(address: SocketAddr, gateway: Gateway) -> io::Result<Self> {
        Ok(Self {
            listener: TcpListener::bind(address).await?,
            gateway,
            purpose: Purpose::Gateway,
            log: None,
            #[cfg(feature = "otlp")]
            traces: None,
        })
    }

    /// As [`Server::bind`], in the protocol of S3, read-only: a bucket is a repository, a key `REF/path`. It knows no token.
    ///
    /// # Errors
    /// As [`Server::bind`], and [`io::ErrorKind::Unsupported`] if the gateway asks for a token.
    pub async fn bind_s3(address: SocketAddr, gateway: Gateway) -> io::Result<Self> {
        if let Access::Token(_) = gateway.settings().access {
            let problem = "S3 knows no token here";
            return Err(io::Error::new(io::ErrorKind::Unsupported, problem));
        }
        let server = Self::bind(address, gateway).await?;
        Ok(Self {
            purpose: Purpose::S3,
            ..server
        })
    }

    /// As [`Server::bind`], for the metrics alone, which need no token there.
    ///
    /// # Errors
    /// As [`Server::bind`].
    pub async fn bind_metrics(address: SocketAddr, gateway: Gateway) -> io::Result<Self> {
        let server = Self::bind(address, gateway).await?;
        Ok(Self {
            purpose: Purpose::Metrics,
            ..server
        })
    }

    /// Returns the server with an access log: a line of JSON for each request.
    #[must_use]
    pub fn access_log(mut self, log: AccessLog) -> Self {
        self.log = Some(log);
        self
    }

    /// Returns the server with traces: a span for each request.
    #[cfg(feature = "otlp")]
    #[must_use]
    pub fn traces(mut self, traces: Traces) -> Self {
        self.traces = Some(traces);
        self
    }

    /// Returns the address that it listens on.
    ///
    /// # Errors
    /// What the system says.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until `stop` is done; then ends connections that are idle, lets requests go on for the time that the limits
    /// say, and cuts the rest.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let settings = self.gateway.settings();
        let (stop_time, connections) = (settings.limits.stop_time, settings.limits.connections);
        let clock = Arc::clone(&self.gateway.state().clock);
        let room = Arc::new(Semaphore::new(connections.max(1)));
        let waiting = Arc::new(Semaphore::new(connections.max(1)));
        let service = self.service();
        let (stopping, is_stopping) = watch::channel(false);
        let mut running = JoinSet::new();
        let mut stop = pin!(stop.fuse());
        loop {
            let accepted = tokio::select! {
                () = &mut stop => break,
                accepted = self.accept(&room) => accepted,
                Some(_ended) = running.join_next(), if !running.is_empty() => continue,
            };
            let (stream, permit) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!("no connection can be accepted: {error}");
                    clock.sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let Some((remote, local)) = addresses(&stream) else {
                continue;
            };
            let admission = Arc::clone(&self.gateway.state().admission);
            if let Some(caller) = admission.connect(remote, local) {
                let serve = service.serve(stream, caller, is_stopping.clone());
                running.spawn(async move {
                    serve.await;
                    drop(permit);
                });
                continue;
            }
            // A client that is turned away may take what it asked for as missing. It waits, unread, and takes no place of others.
            let Ok(place) = Arc::clone(&waiting).try_acquire_owned() else {
                continue;
            };
            drop(permit);
            let (room, is_stopping) = (Arc::clone(&room), is_stopping.clone());
            let (service, mut stopped) = (service.clone(), is_stopping.clone());
            running.spawn(async move {
                let caller = tokio::select! {
                    caller = admission.connect_later(remote, local) => caller,
                    _told = stopped.wait_for(|stopping| *stopping) => None,
                };
                drop(place);
                let Some(caller) = caller else { return };
                if let Ok(_permit) = room.acquire_owned().await {
                    service.serve(stream, caller, is_stopping).await;
                }
            });
        }
        drop(self.listener);
        let _ = stopping.send(true);
        let ended = async { while running.join_next().await.is_some() {} };
        tokio::select! {
            () = ended => {}
            () = clock.sleep(stop_time) => {}
        }
        running.shutdown().await;
    }

    async fn accept(
        &self,
        room: &Arc<Semaphore>,
    ) -> io::Result<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
        let permit = Arc::clone(room).acquire_owned().await;
        let permit = permit.map_err(io::Error::other)?;
        let (stream, _) = self.listener.accept().await?;
        Ok((stream, permit))
    }

    fn service(&self) -> Service {
        Service {
            gateway: self.gateway.clone(),
            purpose: self.purpose,
            log: self.log.clone(),
            #[cfg(feature = "otlp")]
            traces: self.traces.clone(),
        }
    }
}

/// The part of a server that answers on a connection.
#[derive(Clone)]
struct Service {
    gateway: Gateway,
    purpose: Purpose,
    log: Option<AccessLog>,
    #[cfg(feature = "otlp")]
    traces: Option<Traces>,
}

impl Service {
    fn serve(
        &self,
        stream: TcpStream,
        caller: Caller,
        mut stopping: watch::Receiver<bool>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let limits = &self.gateway.settings().limits;
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(limits.header_time)
            .max_buf_size((limits.header_bytes + limits.target_bytes).max(8 << 10) * HEADER_ROOM);
        let clock = Arc::clone(&self.gateway.state().clock);
        let stream = Watched::new(stream, clock, limits.write_time, limits.write_rate);
        let answering = self.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let (answering, caller) = (answering.clone(), caller.clone());
            async move { Ok::<Response<Body>, Infallible>(answering.answer(request, &caller).await) }
        });
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let connected = self.gateway.state().metrics.connected();
        async move {
            let _connected = connected;
            let mut connection = pin!(connection);
            tokio::select! {
                ended = connection.as_mut() => return log_end(ended),
                _told = stopping.wait_for(|stopping| *stopping) => {}
            }
            connection.as_mut().graceful_shutdown();
            log_end(connection.await);
        }
    }

    async fn answer(&self, request: Request<Incoming>, caller: &Caller) -> Response<Body> {
        let (head, _body) = request.into_parts();
        let (response, observation) = match self.purpose {
            Purpose::Metrics => return self.gateway.metrics_response(&head, caller),
            Purpose::S3 => {
                self.traced(&head, self.gateway.observed_s3(&head, caller))
                    .await
            }
            Purpose::Gateway => {
                self.traced(&head, self.gateway.observed(&head, caller))
                    .await
            }
        };
        if let Some(log) = &self.log {
            log(&observation.line());
        }
        response
    }

    /// Answers a request, with a span if requests are traced.
    async fn traced(
        &self,
        request: &Parts,
        answered: impl Future<Output = (Response<Body>, Observation)>,
    ) -> (Response<Body>, Observation) {
        #[cfg(feature = "otlp")]
        if let Some(traces) = &self.traces {
            let has_many_repositories = self.gateway.state().mounts.len() > 1;
            return traces
                .traced(request, has_many_repositories, answered)
                .await;
        }
        #[cfg(not(feature = "otlp"))]
        let _ = request;
        answered.await
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("listener", &self.listener)
            .field("purpose", &self.purpose)
            .finish_non_exhaustive()
    }
}

/// The addresses of a connection, of the client and of this machine; `None` if the client is gone already.
fn addresses(stream: &TcpStream) -> Option<(IpAddr, IpAddr)> {
    let (remote, local) = (stream.peer_addr().ok()?, stream.local_addr().ok()?);
    stream.set_nodelay(true).ok()?;
    let plain = |address: SocketAddr| -> IpAddr { address.ip().to_canonical() };
    Some((plain(remote), plain(local)))
}

/// Clients go away in the middle, and some are cut on purpose.
fn log_end(ended: Result<(), hyper::Error>) {
    if let Err(error) = ended {
        tracing::debug!("a connection ended: {error}");
    }
}
