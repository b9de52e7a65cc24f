//! The body of a response: bytes of a known length, which may end early when what they are read from fails.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::stream::{BoxStream, Stream, StreamExt};
use http::StatusCode;
use http_body::{Frame, SizeHint};

use crate::failure::Failure;

/// The reason why a body ends before its length: the connection is cut, so that no client takes the part for the whole.
#[derive(Debug, thiserror::Error)]
#[error("the response is cut: {0}")]
pub struct BodyError(pub(crate) String);

/// The body of a response.
pub struct Body {
    length: u64,
    parts: Parts,
    /// The status of the failure that it stands for.
    failure: Option<StatusCode>,
}

enum Parts {
    Bytes(Option<Bytes>),
    Stream(BoxStream<'static, Result<Bytes, BodyError>>),
}

impl Body {
    pub(crate) fn empty() -> Self {
        Self::from(Bytes::new())
    }

    /// A body whose parts come one after the other and have `length` bytes together.
    pub(crate) fn stream(
        length: u64,
        parts: impl Stream<Item = Result<Bytes, BodyError>> + Send + 'static,
    ) -> Self {
        Self {
            length,
            parts: Parts::Stream(parts.boxed()),
            failure: None,
        }
    }

    /// The body that stands for a failure where a status would be taken for absence: one byte, which no codec decodes. For an
    /// object that has one byte itself it is two.
    pub(crate) fn instead_of(failure: &Failure, length: Option<u64>) -> Self {
        let bytes: &'static [u8] = match length {
            Some(1) => b"\xff\xff",
            _ => b"\xff",
        };
        Self {
            failure: Some(failure.status),
            ..Bytes::from_static(bytes).into()
        }
    }

    /// The status of the failure that the body stands for, if it stands for one.
    pub(crate) fn failure(&self) -> Option<StatusCode> {
        self.failure
    }

    /// The bytes that it promises.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self {
            length: bytes.len() as u64,
            parts: Parts::Bytes(Some(bytes).filter(|bytes| !bytes.is_empty())),
            failure: None,
        }
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Bytes::from(text).into()
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body")
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match &mut self.parts {
            Parts::Bytes(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Parts::Stream(parts) => parts
                .poll_next_unpin(context)
                .map(|part| part.map(|part| part.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.parts, Parts::Bytes(None))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_a_failure_has_another_length_than_the_object() {
        let failure = Failure::damage("the object is missing".to_owned());
        for length in [None, Some(0), Some(2), Some(600)] {
            assert_eq!(Body::instead_of(&failure, length).length(), 1);
        }
        assert_eq!(Body::instead_of(&failure, Some(1)).length(), 2);
    }
}
