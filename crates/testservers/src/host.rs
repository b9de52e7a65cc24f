//! A listener on loopback with threads of its own, and connections that can be reset.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// A listener and the threads that serve it. Both end when this is dropped.
#[derive(Debug)]
pub(crate) struct Host {
    runtime: Option<Runtime>,
    address: SocketAddr,
}

impl Host {
    /// Listens on a free port of 127.0.0.1; `serve` is called with the address and returns what is done
    /// with each connection.
    ///
    /// The threads are its own, so that a test with one thread, or with paused time, is served like any
    /// other.
    pub(crate) fn start<S, F>(serve: impl FnOnce(SocketAddr) -> S) -> Self
    where
        S: Fn(Wire) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let listener = listener.expect("loopback has a free port");
        listener
            .set_nonblocking(true)
            .expect("a listener can be made non-blocking");
        let address = listener
            .local_addr()
            .expect("a bound listener has an address");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("testserver")
            .enable_all()
            .build()
            .expect("threads can be started");
        let serve = serve(address);
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener);
            let listener = listener.expect("this runtime has a driver");
            loop {
                if let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(serve(Wire::new(stream)));
                }
            }
        });
        Self {
            runtime: Some(runtime),
            address,
        }
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Waiting would panic inside of a test's runtime.
            runtime.shutdown_background();
        }
    }
}

/// Cuts one connection. Clones cut the same.
#[derive(Clone, Debug)]
pub(crate) struct Cut(Arc<watch::Sender<bool>>);

impl Cut {
    /// Resets the connection: what was not read by the other side by now is lost.
    pub(crate) fn now(&self) {
        self.0.send_replace(true);
    }

    pub(crate) async fn happens(&self) {
        let mut cut = self.0.subscribe();
        let _same = cut.wait_for(|cut| *cut).await;
    }
}

/// One accepted connection, which ends with a reset if it was cut.
#[derive(Debug)]
pub(crate) struct Wire {
    stream: TcpStream,
    cut: Cut,
}

impl Wire {
    pub(crate) fn new(stream: TcpStream) -> Self {
        // Small answers must not wait for each other. Only a closed connection refuses this.
        let _closed = stream.set_nodelay(true);
        Self {
            stream,
            cut: Cut(Arc::new(watch::Sender::new(false))),
        }
    }

    pub(crate) fn cut(&self) -> Cut {
        self.cut.clone()
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if *self.cut.0.borrow() {
            let _closed = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
