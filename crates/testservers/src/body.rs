//! Bodies of answers, and what can go wrong with them on the wire.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt};
use http::HeaderValue;
use http::header::CONTENT_LENGTH;
use http_body::Frame;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use serde_json::Value;

use crate::switches::BodyFault;
use crate::world::World;

/// The error that a body or a service fails with.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The body of an answer.
pub(crate) type Body = http_body_util::combinators::UnsyncBoxBody<Bytes, BoxError>;

/// The answer to a request.
pub(crate) type Response = http::Response<Body>;

/// Returns a body of these bytes.
pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into())
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// Returns a body without bytes, for which no length is announced by itself.
pub(crate) fn empty() -> Body {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

/// Returns an answer like `response` whose body goes wrong while its headers stay right.
pub(crate) async fn spoil(
    response: Response,
    fault: BodyFault,
    world: &Arc<World>,
) -> Result<Response, BoxError> {
    let (mut head, body) = response.into_parts();
    let collected = body.collect().await?;
    // Calls of gRPC end with their status.
    let trailers = collected.trailers().cloned();
    let end = stream::iter(trailers.map(|trailers| Ok(Frame::trailers(trailers))));
    let bytes = collected.to_bytes();
    head.headers
        .insert(CONTENT_LENGTH, HeaderValue::from(bytes.len()));
    let body = match fault {
        BodyFault::Corrupt(at) => {
            let mut bytes = bytes.to_vec();
            if let Some(byte) = bytes.get_mut(at) {
                *byte = !*byte;
            }
            pieces(stream::iter([Ok(Bytes::from(bytes))]), end)
        }
        BodyFault::Truncate(at) => {
            let start = stream::iter([Ok(upto(&bytes, at))]);
            let cut = stream::once(async {
                // A body that is not ready lets what came before reach the wire.
                tokio::task::yield_now().await;
                let cut = io::Error::new(io::ErrorKind::ConnectionAborted, "truncated as asked");
                Err(BoxError::from(cut))
            });
            pieces(start.chain(cut), end)
        }
        BodyFault::Stall(at) => {
            let start = stream::iter([Ok(upto(&bytes, at))]);
            pieces(start.chain(stream::pending()), end)
        }
        BodyFault::Drip(piece, every) => {
            let world = Arc::clone(world);
            let drops = stream::unfold(bytes, move |mut rest| {
                let world = Arc::clone(&world);
                async move {
                    if rest.is_empty() {
                        return None;
                    }
                    world.sleep(every).await;
                    let piece = rest.split_to(piece.clamp(1, rest.len()));
                    Some((Ok(piece), rest))
                }
            });
            pieces(drops, end)
        }
    };
    Ok(Response::from_parts(head, body))
}

fn upto(bytes: &Bytes, at: usize) -> Bytes {
    bytes.slice(..at.min(bytes.len()))
}

fn pieces(
    pieces: impl Stream<Item = Result<Bytes, BoxError>> + Send + 'static,
    end: impl Stream<Item = Result<Frame<Bytes>, BoxError>> + Send + 'static,
) -> Body {
    let frames = pieces.map(|piece| piece.map(Frame::data)).chain(end);
    StreamBody::new(frames).boxed_unsync()
}

/// Returns a reply of JSON.
pub(crate) fn json(value: &Value) -> Response {
    let mut response = Response::new(full(value.to_string()));
    let json = HeaderValue::from_static("application/json; charset=UTF-8");
    response.headers_mut().insert("content-type", json);
    response
}
