//! The JSON interface.

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};

use super::failure::Failure;
use super::operations::Copy;
use super::request::{Ask, RequestKind};
use super::upload::{self, Progress};
use super::{Protocol, resource};
use crate::body::{self, Response, empty, full};
use crate::range::{Asked, asked};
use crate::switches::Orders;
use crate::world::{Cursor, ListQuery};

impl Protocol {
    /// Deals with a request over HTTP/1.1.
    pub(super) async fn http(
        &self,
        head: &Parts,
        body: Bytes,
        orders: &Orders,
    ) -> Result<Response, Failure> {
        let ask = Ask::of(head);
        match ask.kind.clone() {
            RequestKind::Upload => self.upload(ask, head, body, orders).await,
            RequestKind::BeginUpload => self.begin(ask, &body),
            RequestKind::Session(id) => self.chunk(&id, head, &body, orders).await,
            RequestKind::Media => self.media(&ask, head, orders),
            RequestKind::Metadata => {
                let object = self.find(&ask, orders)?;
                Ok(body::json(&resource::json(&ask.bucket, &ask.key, &object)))
            }
            RequestKind::List => self.list(&ask, orders),
            RequestKind::Delete => {
                let condition = ask.condition(false);
                self.operations
                    .delete(&ask.bucket, &ask.key, &condition, orders)
                    .await?;
                let mut response = Response::new(empty());
                *response.status_mut() = StatusCode::NO_CONTENT;
                Ok(response)
            }
            RequestKind::Rewrite(bucket, key) => {
                self.rewrite(&ask, &bucket, &key, &body, orders).await
            }
            RequestKind::Unknown => Err(Failure::new(501, "notImplemented")),
        }
    }

    async fn upload(
        &self,
        ask: Ask,
        head: &Parts,
        body: Bytes,
        orders: &Orders,
    ) -> Result<Response, Failure> {
        let (said, bytes) = if ask.value("uploadType") == Some("multipart") {
            let parts = upload::related(head, &body);
            parts.ok_or_else(|| Failure::new(400, "parseError"))?
        } else {
            let kind = head.headers.get("content-type");
            let kind = kind.and_then(|kind| kind.to_str().ok());
            (json!({ "contentType": kind }), body)
        };
        let key = said["name"].as_str().filter(|name| !name.is_empty());
        let key = key.unwrap_or(&ask.key).to_owned();
        if key.is_empty() {
            return Err(Failure::new(400, "required"));
        }
        let draft = upload::draft(&said, bytes)?;
        let condition = ask.condition(false);
        let object = self
            .operations
            .write(&ask.bucket, &key, draft, &condition, orders)
            .await?;
        Ok(body::json(&resource::json(&ask.bucket, &key, &object)))
    }

    fn begin(&self, ask: Ask, body: &Bytes) -> Result<Response, Failure> {
        if !self.operations.world.has_bucket(&ask.bucket) {
            return Err(Failure::new(404, "notFound"));
        }
        let said: Value = serde_json::from_slice(body).unwrap_or_default();
        let bucket = ask.bucket.clone();
        let id = self.sessions.begin(ask, said);
        let endpoint = self.endpoint.get().map_or("", String::as_str);
        let place = format!(
            "{endpoint}/upload/storage/v1/b/{bucket}/o?uploadType=resumable&upload_id={id}"
        );
        let place = HeaderValue::from_str(&place);
        let place = place.map_err(|_| Failure::new(400, "invalid"))?;
        let mut response = Response::new(empty());
        response.headers_mut().insert("location", place);
        Ok(response)
    }

    async fn chunk(
        &self,
        id: &str,
        head: &Parts,
        body: &Bytes,
        orders: &Orders,
    ) -> Result<Response, Failure> {
        match self.sessions.take(id, head, body)? {
            Progress::Reply(response) => Ok(response),
            Progress::Write(pending) => {
                let upload::Pending {
                    ask,
                    condition,
                    draft,
                } = *pending;
                let object = self
                    .operations
                    .write(&ask.bucket, &ask.key, draft, &condition, orders)
                    .await?;
                let value = resource::json(&ask.bucket, &ask.key, &object);
                self.sessions.done(id, value.clone());
                Ok(body::json(&value))
            }
        }
    }

    fn find(
        &self,
        ask: &Ask,
        orders: &Orders,
    ) -> Result<std::sync::Arc<crate::world::StoredObject>, Failure> {
        let generation = ask.value("generation").and_then(|it| it.parse().ok());
        let condition = ask.condition(false);
        self.operations
            .get(&ask.bucket, &ask.key, generation, &condition, orders)
    }

    fn media(&self, ask: &Ask, head: &Parts, orders: &Orders) -> Result<Response, Failure> {
        let object = self.find(ask, orders)?;
        let header = head.headers.get("range");
        let header = header.and_then(|header| header.to_str().ok());
        let length = object.bytes.len();
        let (bytes, status, shown) = match asked(header, length) {
            Asked::All => (object.bytes.clone(), StatusCode::OK, None),
            Asked::Part(range) => {
                let shown = format!("bytes {}-{}/{length}", range.start, range.end - 1);
                let bytes = object.bytes.slice(range);
                (bytes, StatusCode::PARTIAL_CONTENT, Some(shown))
            }
            Asked::Nothing => return Err(Failure::new(416, "requestedRangeNotSatisfiable")),
        };
        let mut response = Response::new(full(bytes));
        *response.status_mut() = status;
        *response.headers_mut() = resource::headers(&object);
        if let Some(shown) = shown {
            let shown = HeaderValue::from_str(&shown);
            let shown = shown.expect("digits are valid in a header");
            response.headers_mut().insert("content-range", shown);
        }
        Ok(response)
    }

    fn list(&self, ask: &Ask, orders: &Orders) -> Result<Response, Failure> {
        let text = |name: &str| ask.value(name).map(ToOwned::to_owned);
        let limit = ask.value("maxResults").and_then(|it| it.parse().ok());
        let query = ListQuery {
            prefix: ask.key.clone(),
            delimiter: text("delimiter"),
            start: text("startOffset").map(Cursor::At),
            end: text("endOffset"),
            limit: limit.unwrap_or_default(),
        };
        let token = ask.value("pageToken");
        let listing = self.operations.list(&ask.bucket, query, token, orders)?;
        let items = listing.objects.iter();
        let items = items.map(|(key, object)| resource::json(&ask.bucket, key, object));
        let mut value = json!({
            "kind": "storage#objects",
            "items": items.collect::<Vec<_>>(),
            "prefixes": listing.prefixes,
        });
        if let Some(next) = &listing.next {
            value["nextPageToken"] = json!(next.token());
        }
        Ok(body::json(&value))
    }

    async fn rewrite(
        &self,
        ask: &Ask,
        bucket: &str,
        key: &str,
        body: &Bytes,
        orders: &Orders,
    ) -> Result<Response, Failure> {
        let said: Value = serde_json::from_slice(body).unwrap_or_default();
        let generation = ask.value("sourceGeneration");
        let copy = Copy {
            from: (&ask.bucket, &ask.key),
            from_generation: generation.and_then(|it| it.parse().ok()),
            from_condition: ask.condition(true),
            to: (bucket, key),
            to_condition: ask.condition(false),
            metadata: Some(resource::attributes(&said).metadata),
        };
        let object = self.operations.copy(copy, orders).await?;
        let size = object.bytes.len().to_string();
        Ok(body::json(&json!({
            "kind": "storage#rewriteResponse",
            "totalBytesRewritten": size,
            "objectSize": size,
            "done": true,
            "resource": resource::json(bucket, key, &object),
        })))
    }
}
