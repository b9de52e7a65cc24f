//! Documents: the `zarr.json` of a group with those of all nodes below it, built once for each snapshot and kept ready,
//! plain and compressed.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use flate2::{Compression, GzBuilder};
use icefield::{NodeKind, NodePath, Session, SessionError, SnapshotId};
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};

use crate::failure::Failure;
use crate::members::members;
use crate::object::{Object, Packed, Source};

/// The media type of documents.
pub(crate) const JSON: &str = "application/json";
/// Bytes from which a text is compressed.
const PACKED_FROM: usize = 1 << 10;
/// The member that stands for the documents of all nodes below a group.
const CONSOLIDATED: &str = "\"consolidated_metadata\"";

/// A form in which documents are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum DocumentForm {
    /// Zarr v3, groups with consolidated metadata.
    Consolidated,
    /// As they are stored.
    Stored,
    /// A document of Zarr v2, by its name.
    V2(&'static str),
}

/// A document that is ready to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    object: Object,
    /// Why a group has no consolidated metadata, or not those of all nodes.
    pub(crate) unconsolidated: Option<String>,
}

impl Document {
    pub(crate) fn object(&self) -> Object {
        self.object.clone()
    }

    fn length(&self) -> u64 {
        let packed = self.object.packed.as_ref();
        self.object.length + packed.map_or(0, |packed| packed.bytes.len() as u64)
    }
}

type Name = (SnapshotId, DocumentForm, NodePath);

#[derive(Clone, Debug)]
struct ByLength;

impl Weighter<Name, Option<Arc<Document>>> for ByLength {
    fn weight(&self, name: &Name, document: &Option<Arc<Document>>) -> u64 {
        let length = document.as_ref().map_or(0, |document| document.length());
        length + name.2.as_str().len() as u64 + 128
    }
}

/// The documents of a repository that are ready.
#[derive(Debug)]
pub(crate) struct Documents {
    ready: Cache<Name, Option<Arc<Document>>, ByLength>,
    nodes: usize,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl Documents {
    /// Keeps `bytes` bytes of documents; a group with more than `nodes` nodes below it has no consolidated metadata.
    pub(crate) fn new(bytes: u64, nodes: usize) -> Self {
        // One shard: with several, a document larger than its share of the bound would never be kept.
        let options = OptionsBuilder::new()
            .shards(1)
            .estimated_items_capacity(1024)
            .weight_capacity(bytes)
            .build()
            .expect("BUG: all required cache options are given");
        let lifecycle = DefaultLifecycle::default();
        Self {
            ready: Cache::with_options(options, ByLength, Default::default(), lifecycle),
            nodes,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// Returns how many documents were ready when they were asked for, and how many were not.
    pub(crate) fn hits_and_misses(&self) -> (u64, u64) {
        (
            self.hits.load(Ordering::Relaxed),
            self.misses.load(Ordering::Relaxed),
        )
    }

    /// Returns the nodes up to which a hierarchy is spelt as a whole.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes
    }

    /// Returns the document of a node in Zarr v3, `None` if there is no node.
    pub(crate) async fn v3(
        &self,
        session: &Session,
        id: SnapshotId,
        path: &NodePath,
        form: DocumentForm,
    ) -> Result<Option<Arc<Document>>, Failure> {
        let nodes = self.nodes;
        let session = session.clone();
        self.get((id, form, path.clone()), move |path| {
            let found = match form {
                DocumentForm::Consolidated => consolidated(&session, path, nodes),
                _ => session
                    .metadata(path)
                    .map(|it| it.map(|bytes| (bytes, None))),
            };
            found.map_err(Failure::of_read)
        })
        .await
    }

    /// Returns a document, and makes it on a thread that may compute if it is not ready. Concurrent requests for it wait.
    pub(crate) async fn get(
        &self,
        name: Name,
        make: impl FnOnce(&NodePath) -> Result<Option<(Bytes, Option<String>)>, Failure>
        + Send
        + 'static,
    ) -> Result<Option<Arc<Document>>, Failure> {
        if let Some(ready) = self.ready.get(&name) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(ready);
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        let path = name.2.clone();
        let made = async {
            let made = tokio::task::spawn_blocking(move || {
                let made = make(&path)?;
                Ok(made.map(|(bytes, unconsolidated)| {
                    let object = packed(Object::of_bytes(bytes, JSON));
                    Arc::new(Document {
                        object,
                        unconsolidated,
                    })
                }))
            });
            made.await
                .unwrap_or_else(|error| Err(Failure::damage(format!("{error}"))))
        };
        self.ready.get_or_insert_async(&name, made).await
    }
}

/// Compresses a text, if it is long enough to be worth it.
pub(crate) fn packed(mut object: Object) -> Object {
    let Source::Bytes(bytes) = &object.source else {
        return object;
    };
    if bytes.len() > PACKED_FROM {
        let tag = object.tag.as_deref().unwrap_or_default();
        object.packed = gzip(bytes).map(|bytes| Packed {
            // The same bytes of another document, compressed, are another value: the tag is that of the plain text.
            tag: format!("{}-gzip\"", tag.trim_end_matches('"')),
            bytes,
        });
    }
    object
}

/// Compresses bytes, the same to the same always. `None` is a failure of memory, which does not happen.
fn gzip(bytes: &[u8]) -> Option<Bytes> {
    let mut writer = GzBuilder::new()
        .mtime(0)
        .write(Vec::new(), Compression::new(6));
    writer.write_all(bytes).ok()?;
    writer.finish().ok().map(Bytes::from)
}

/// Spells the document of a group with those of all nodes below it.
fn consolidated(
    session: &Session,
    path: &NodePath,
    limit: usize,
) -> Result<Option<(Bytes, Option<String>)>, SessionError> {
    let Some(stored) = session.metadata(path)? else {
        return Ok(None);
    };
    if session.node_kind(path)? != Some(NodeKind::Group) {
        return Ok(Some((stored, None)));
    }
    let Some(own) = own_members(&stored) else {
        return Ok(Some((
            stored,
            Some("no; the document is not JSON".to_owned()),
        )));
    };
    let below: Vec<_> = session
        .nodes(path)?
        .into_iter()
        .filter(|node| node.path != *path)
        .collect();
    if below.len() > limit {
        let why = format!("no; {} nodes are more than {limit}", below.len());
        // The consolidated metadata that it stores may be of another time.
        let document = match is_consolidated(&stored) {
            true => format!("{{{own}}}").into(),
            false => stored,
        };
        return Ok(Some((document, Some(why))));
    }
    let (mut entries, mut lacking) = (Vec::with_capacity(below.len()), 0_usize);
    for node in below {
        let Some(document) = session.metadata(&node.path)? else {
            continue;
        };
        match spelt(&document, node.kind) {
            Some(text) => entries.push((relative(path, &node.path).to_owned(), text)),
            // A document that is none cannot be joined to others.
            None => lacking += 1,
        }
    }
    let length = entries
        .iter()
        .map(|(name, text)| name.len() + text.len() + 8)
        .sum::<usize>();
    let mut text = String::with_capacity(own.len() + length + 128);
    text.push('{');
    text.push_str(&own);
    if !own.is_empty() {
        text.push(',');
    }
    text.push_str(CONSOLIDATED);
    text.push_str(r#":{"kind":"inline","must_understand":false,"metadata":{"#);
    for (at, (name, document)) in entries.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push_str(&serde_json::Value::from(name.as_str()).to_string());
        text.push(':');
        text.push_str(document);
    }
    text.push_str("}}}");
    let why = format!("yes; without {lacking} nodes whose documents are not JSON");
    Ok(Some((text.into(), (lacking > 0).then_some(why))))
}

/// The path of a node from a group that it lies below.
pub(crate) fn relative<'a>(group: &NodePath, node: &'a NodePath) -> &'a str {
    let skip = match group.is_root() {
        true => 0,
        false => group.as_str().len(),
    };
    node.as_str()
        .get(skip..)
        .unwrap_or_default()
        .trim_start_matches('/')
}

/// A document as it stands among others: consolidated metadata of its own would be that of another time.
pub(crate) fn spelt(document: &[u8], kind: NodeKind) -> Option<String> {
    match kind {
        NodeKind::Group => own_members(document).map(|members| format!("{{{members}}}")),
        NodeKind::Array => {
            let text = std::str::from_utf8(document).ok()?.trim();
            members(document).map(|_| text.to_owned())
        }
    }
}

/// Whether a document has consolidated metadata.
fn is_consolidated(document: &[u8]) -> bool {
    let members = members(document).unwrap_or_default();
    members.iter().any(|(name, _)| *name == CONSOLIDATED)
}

/// The members of a document as text, without consolidated metadata.
fn own_members(document: &[u8]) -> Option<String> {
    let mut text = String::with_capacity(document.len());
    for (name, value) in members(document)? {
        if name == CONSOLIDATED {
            continue;
        }
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(name);
        text.push(':');
        text.push_str(value);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::tag_of_bytes;

    #[test]
    fn stale_consolidated_metadata_is_left_out_and_the_rest_stays() {
        let document = br#"{"attributes": {"x": NaN}, "consolidated_metadata": {"metadata": {}}, "zarr_format": 3}"#;
        assert_eq!(
            spelt(document, NodeKind::Group).unwrap(),
            r#"{"attributes":{"x": NaN},"zarr_format":3}"#
        );
        assert_eq!(
            spelt(b" {\"a\": 1} ", NodeKind::Array).unwrap(),
            "{\"a\": 1}"
        );
        assert_eq!(spelt(b"[]", NodeKind::Array), None);
    }

    #[test]
    fn paths_are_relative_to_their_group() {
        let path = |text| NodePath::parse(text).unwrap();
        assert_eq!(relative(&path("/"), &path("/a/b")), "a/b");
        assert_eq!(relative(&path("/a"), &path("/a/b/c")), "b/c");
    }

    #[test]
    fn only_long_texts_are_compressed_and_get_a_tag_of_their_own() {
        let short = packed(Object::of_bytes(vec![b'x'; 1024].into(), JSON));
        assert!(short.packed.is_none());
        let long = packed(Object::of_bytes(vec![b'x'; 1025].into(), JSON));
        let compressed = long.packed.unwrap();
        assert_ne!(compressed.tag, tag_of_bytes(&compressed.bytes));
        assert!(compressed.tag.ends_with("-gzip\""));
        assert_ne!(Some(&compressed.tag), long.tag.as_ref());
        assert!(compressed.bytes.len() < 100);
    }
}
