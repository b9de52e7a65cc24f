//! The gRPC interface: unary calls, framed by hand.

use bytes::{BufMut, Bytes, BytesMut};
use futures::stream;
use googleapis_tonic_google_storage_v2::google::storage::v2;
use http::{HeaderMap, HeaderValue};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use prost::Message;

use super::failure::Failure;
use super::operations::{Copy, Operations};
use crate::Verb;
use crate::body::{BoxError, Response, empty};
use crate::switches::Orders;
use crate::world::{Condition, Cursor, ListQuery};

/// Where the methods are.
pub(super) const SERVICE: &str = "/google.storage.v2.Storage/";

/// One call, decoded.
pub(super) enum Call {
    Get(v2::GetObjectRequest),
    List(v2::ListObjectsRequest),
    Delete(v2::DeleteObjectRequest),
    Rewrite(Box<v2::RewriteObjectRequest>),
    Other,
}

impl Call {
    /// Decodes the request of the method at `path`.
    pub(super) fn of(path: &str, body: &Bytes) -> Self {
        // One byte that says whether it is compressed, four of length, the message.
        let message = body.get(5..).unwrap_or_default();
        let decoded = match path.strip_prefix(SERVICE) {
            Some("GetObject") => Message::decode(message).map(Self::Get),
            Some("ListObjects") => Message::decode(message).map(Self::List),
            Some("DeleteObject") => Message::decode(message).map(Self::Delete),
            Some("RewriteObject") => Message::decode(message).map(|it| Self::Rewrite(Box::new(it))),
            _ => Ok(Self::Other),
        };
        decoded.unwrap_or(Self::Other)
    }

    pub(super) fn aim(&self) -> (Verb, String) {
        match self {
            Self::Get(it) => (Verb::Head, it.object.clone()),
            Self::List(it) => (Verb::List, it.prefix.clone()),
            Self::Delete(it) => (Verb::Delete, it.object.clone()),
            Self::Rewrite(it) => (Verb::Copy, it.destination_name.clone()),
            Self::Other => (Verb::Other, String::new()),
        }
    }

    pub(super) async fn run(self, on: &Operations, orders: &Orders) -> Response {
        let done = match self {
            Self::Get(it) => get(on, orders, it).map(|it| it.encode_to_vec()),
            Self::List(it) => list(on, orders, it).map(|it| it.encode_to_vec()),
            Self::Delete(it) => delete(on, orders, it).await.map(|()| Vec::new()),
            Self::Rewrite(it) => {
                let done = rewrite(on, orders, *it).await;
                done.map(|it| it.encode_to_vec())
            }
            Self::Other => Err(Failure::new(501, "unimplemented")),
        };
        match done {
            Ok(message) => reply(&message),
            Err(failure) => refuse(&failure),
        }
    }
}

fn get(on: &Operations, orders: &Orders, it: v2::GetObjectRequest) -> Result<v2::Object, Failure> {
    let condition = Condition {
        if_generation: unsigned(it.if_generation_match),
        if_generation_not: unsigned(it.if_generation_not_match),
        if_metageneration: unsigned(it.if_metageneration_match),
        if_metageneration_not: unsigned(it.if_metageneration_not_match),
        ..Condition::default()
    };
    let bucket = bucket(&it.bucket);
    let generation = unsigned(Some(it.generation)).filter(|it| *it != 0);
    let object = on.get(bucket, &it.object, generation, &condition, orders)?;
    Ok(super::resource::message(bucket, &it.object, &object))
}

fn list(
    on: &Operations,
    orders: &Orders,
    it: v2::ListObjectsRequest,
) -> Result<v2::ListObjectsResponse, Failure> {
    let text = |text: String| (!text.is_empty()).then_some(text);
    let query = ListQuery {
        prefix: it.prefix,
        delimiter: text(it.delimiter),
        start: text(it.lexicographic_start).map(Cursor::At),
        end: text(it.lexicographic_end),
        limit: usize::try_from(it.page_size).unwrap_or_default(),
    };
    let bucket = bucket(&it.parent);
    let listing = on.list(bucket, query, text(it.page_token).as_deref(), orders)?;
    let objects = listing.objects.iter();
    Ok(v2::ListObjectsResponse {
        objects: objects
            .map(|(key, object)| super::resource::message(bucket, key, object))
            .collect(),
        next_page_token: listing.next.as_ref().map(Cursor::token).unwrap_or_default(),
        prefixes: listing.prefixes,
    })
}

async fn delete(
    on: &Operations,
    orders: &Orders,
    it: v2::DeleteObjectRequest,
) -> Result<(), Failure> {
    let condition = Condition {
        if_generation: unsigned(it.if_generation_match),
        if_generation_not: unsigned(it.if_generation_not_match),
        if_metageneration: unsigned(it.if_metageneration_match),
        if_metageneration_not: unsigned(it.if_metageneration_not_match),
        ..Condition::default()
    };
    on.delete(bucket(&it.bucket), &it.object, &condition, orders)
        .await
}

async fn rewrite(
    on: &Operations,
    orders: &Orders,
    it: v2::RewriteObjectRequest,
) -> Result<v2::RewriteResponse, Failure> {
    let to = bucket(&it.destination_bucket);
    let copy = Copy {
        from: (bucket(&it.source_bucket), &it.source_object),
        from_generation: unsigned(Some(it.source_generation)).filter(|it| *it != 0),
        from_condition: Condition {
            if_generation: unsigned(it.if_source_generation_match),
            if_generation_not: unsigned(it.if_source_generation_not_match),
            if_metageneration: unsigned(it.if_source_metageneration_match),
            if_metageneration_not: unsigned(it.if_source_metageneration_not_match),
            ..Condition::default()
        },
        to: (to, &it.destination_name),
        to_condition: Condition {
            if_generation: unsigned(it.if_generation_match),
            if_generation_not: unsigned(it.if_generation_not_match),
            if_metageneration: unsigned(it.if_metageneration_match),
            if_metageneration_not: unsigned(it.if_metageneration_not_match),
            ..Condition::default()
        },
        metadata: it.destination.map(|it| it.metadata.into_iter().collect()),
    };
    let object = on.copy(copy, orders).await?;
    let size = object.bytes.len() as i64;
    Ok(v2::RewriteResponse {
        total_bytes_rewritten: size,
        object_size: size,
        done: true,
        rewrite_token: String::new(),
        resource: Some(super::resource::message(to, &it.destination_name, &object)),
    })
}

fn bucket(name: &str) -> &str {
    name.strip_prefix("projects/_/buckets/").unwrap_or(name)
}

/// No generation is negative; one that is asked for matches nothing.
fn unsigned(number: Option<i64>) -> Option<u64> {
    number.map(|number| u64::try_from(number).unwrap_or(u64::MAX))
}

fn reply(message: &[u8]) -> Response {
    let mut framed = BytesMut::with_capacity(message.len() + 5);
    framed.put_u8(0);
    framed.put_u32(message.len() as u32);
    framed.put_slice(message);
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    let frames = [
        Ok::<_, BoxError>(Frame::data(framed.freeze())),
        Ok(Frame::trailers(trailers)),
    ];
    let mut response = Response::new(StreamBody::new(stream::iter(frames)).boxed_unsync());
    set_type(&mut response);
    response
}

/// Returns a failure as a reply that has nothing but trailers, which then stand with the headers.
pub(super) fn refuse(failure: &Failure) -> Response {
    let mut response = Response::new(empty());
    set_type(&mut response);
    let headers = response.headers_mut();
    headers.insert("grpc-status", HeaderValue::from(failure.grpc_code()));
    if let Ok(message) = HeaderValue::from_str(&failure.reason) {
        headers.insert("grpc-message", message);
    }
    response
}

fn set_type(response: &mut Response) {
    let grpc = HeaderValue::from_static("application/grpc");
    response.headers_mut().insert("content-type", grpc);
}
