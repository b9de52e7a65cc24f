//! A connection that ends when its client takes nothing for too long, or too little.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use icefield::storage::Clock;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A stream whose writes have to make progress. Reads have a bound of their own, in the server's time for headers.
pub(crate) struct Watched {
    stream: TcpStream,
    clock: Arc<dyn Clock>,
    patience: Duration,
    /// Bytes that the client has to take in that time.
    least: u64,
    /// Runs from the first write that waits until all is written.
    deadline: Option<BoxFuture<'static, ()>>,
    /// Bytes written since the deadline began.
    written: u64,
}

impl Watched {
    /// `rate` is in bytes per second, on average over the time of `patience`.
    pub(crate) fn new(
        stream: TcpStream,
        clock: Arc<dyn Clock>,
        patience: Duration,
        rate: u64,
    ) -> Self {
        let millis = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
        Self {
            stream,
            clock,
            patience,
            least: (rate.saturating_mul(millis) / 1000).max(1),
            deadline: None,
            written: 0,
        }
    }

    /// Counts what was written, and ends a write that waits while the client takes too little.
    fn watched(
        &mut self,
        context: &mut Context<'_>,
        poll: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = poll {
            let bytes = *written.as_ref().unwrap_or(&0);
            self.written = self.written.saturating_add(bytes as u64);
            return Poll::Ready(written);
        }
        loop {
            let (clock, patience) = (&self.clock, self.patience);
            let deadline = self.deadline.get_or_insert_with(|| {
                self.written = 0;
                clock.sleep(patience)
            });
            match deadline.poll_unpin(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(()) if self.written >= self.least => self.deadline = None,
                Poll::Ready(()) => return Poll::Ready(Err(too_slow())),
            }
        }
    }

    /// As [`Watched::watched`], for what writes nothing itself. All is written when it is done.
    fn done(
        &mut self,
        context: &mut Context<'_>,
        poll: Poll<io::Result<()>>,
    ) -> Poll<io::Result<()>> {
        match poll {
            Poll::Ready(done) => {
                self.deadline = None;
                Poll::Ready(done)
            }
            Poll::Pending => self
                .watched(context, Poll::Pending)
                .map(|ended| ended.map(drop)),
        }
    }
}

fn too_slow() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the client takes too little")
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watched(context, poll)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.watched(context, poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.stream).poll_flush(context);
        self.done(context, poll)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.stream).poll_shutdown(context);
        self.done(context, poll)
    }
}
