//! Zarr hierarchies on any storage, of format 2 or 3.
//!
//! One list of the objects tells of every chunk: its key, its size and its state. Each is a file of its own, all of it
//! a chunk; none is asked for. Only the documents are read.

pub(crate) mod format3;

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use icefield_format::encoded_key;
use icefield_nczarr::ReadOptions;
use icefield_storage::{ListOptions, ObjectMeta, Prefix, Storage};
use serde_json::Value;

use crate::SourceError;
use crate::archive::{Archive, ArchiveFile, KeyedNodes, explained};
use crate::zarr2;

/// Documents read at a time.
const AT_ONCE: usize = 16;
/// Longest document that is read, in bytes.
pub(crate) const MAX_DOCUMENT: u64 = 64 << 20;
/// The name of a document of format 3.
pub(crate) const FORMAT_3: &str = "zarr.json";

/// Reads what a Zarr hierarchy holds. `url` is what messages and virtual references call its root; the objects have
/// URLs below it.
///
/// Where there is a `zarr.json` the hierarchy is read as one of format 3, else of format 2, and then from
/// `.zmetadata` alone if that is there. Objects that belong to no array are left out.
///
/// # Errors
/// [`SourceError::Damaged`] and [`SourceError::Metadata`] for a document that is none or if there is none at all,
/// [`SourceError::Variable`] for an array that format 3 cannot describe, [`SourceError::NotAChunk`] and
/// [`SourceError::EmptyChunk`] for what lies among chunks, what the store says.
pub async fn read_zarr(
    storage: Arc<dyn Storage>,
    prefix: &Prefix,
    url: &str,
    options: ReadOptions,
) -> Result<Archive, SourceError> {
    let url = url.trim_end_matches('/');
    let tree = Tree {
        storage,
        prefix: prefix.clone(),
        url,
        options,
    };
    let (documents, objects) = tree.list().await?;
    let nodes = tree.nodes(documents).await?;
    if nodes.is_empty() {
        let problem = "it holds no zarr.json and no .zgroup or .zarray";
        return Err(SourceError::damaged(url, problem));
    }
    tree.archive(nodes, objects)
}

struct Tree<'a> {
    storage: Arc<dyn Storage>,
    prefix: Prefix,
    url: &'a str,
    options: ReadOptions,
}

impl Tree<'_> {
    /// Lists all objects: documents, and others.
    async fn list(&self) -> Result<(Vec<ObjectMeta>, Vec<ObjectMeta>), SourceError> {
        let (mut documents, mut others) = (Vec::new(), Vec::new());
        let mut list = self.storage.list(ListOptions::prefix(self.prefix.clone()));
        while let Some(object) = list
            .try_next()
            .await
            .map_err(|error| explained(self.url, error))?
        {
            let key = self.relative(&object);
            match is_document(key) {
                true => documents.push(object),
                false => others.push(object),
            }
        }
        Ok((documents, others))
    }

    fn relative<'k>(&self, object: &'k ObjectMeta) -> &'k str {
        object.key.below(&self.prefix).unwrap_or_default()
    }

    fn url_of(&self, object: &ObjectMeta) -> String {
        format!("{}/{}", self.url, encoded_key(self.relative(object)))
    }

    /// Reads documents: keys, and what they hold.
    async fn read(&self, objects: Vec<ObjectMeta>) -> Result<Vec<(String, Value)>, SourceError> {
        let reads = objects.into_iter().map(|object| async move {
            let (key, name) = (self.relative(&object).to_owned(), self.url_of(&object));
            if object.size > MAX_DOCUMENT {
                let problem = "it is longer than 64 MiB, the most that is read of a document";
                return Err(SourceError::damaged(&name, problem));
            }
            let size = object.size;
            let file = ArchiveFile::of_object(Arc::clone(&self.storage), object, name.as_str());
            let bytes = file.read(0..size).await?;
            match zarr2::parse_json(&bytes) {
                Ok(document) => Ok((key, document)),
                Err(error) => Err(SourceError::damaged(
                    &name,
                    format!("it is not JSON: {error}"),
                )),
            }
        });
        stream::iter(reads).buffered(AT_ONCE).try_collect().await
    }

    async fn nodes(&self, objects: Vec<ObjectMeta>) -> Result<KeyedNodes, SourceError> {
        let is = |object: &ObjectMeta, name: &str| {
            let key = self.relative(object);
            key.rsplit('/').next() == Some(name)
        };
        if objects.iter().any(|object| is(object, FORMAT_3)) {
            let objects = objects.into_iter().filter(|object| is(object, FORMAT_3));
            return format3::nodes(self.read(objects.collect()).await?, self.url);
        }
        let all = objects
            .iter()
            .find(|object| self.relative(object) == zarr2::CONSOLIDATED);
        let found = match all {
            Some(all) => self.consolidated(all.clone()).await?,
            None => {
                let nodes = |object: &ObjectMeta| zarr2::is_document(self.relative(object));
                self.read(objects.into_iter().filter(nodes).collect())
                    .await?
            }
        };
        zarr2::nodes(found, self.url, self.options)
    }

    async fn consolidated(&self, object: ObjectMeta) -> Result<Vec<(String, Value)>, SourceError> {
        let name = self.url_of(&object);
        let found = self.read(vec![object]).await?;
        for (_, document) in found {
            if let Value::Object(mut fields) = document
                && let Some(Value::Object(documents)) = fields.remove("metadata")
            {
                let keys = documents.into_iter();
                return Ok(keys.filter(|(key, _)| zarr2::is_document(key)).collect());
            }
        }
        Err(SourceError::damaged(&name, "it has no object \"metadata\""))
    }

    /// Makes chunks of the objects that are some.
    fn archive(
        &self,
        mut nodes: KeyedNodes,
        objects: Vec<ObjectMeta>,
    ) -> Result<Archive, SourceError> {
        let mut files = Vec::new();
        for object in objects {
            let Some(place) = nodes.place(self.relative(&object), || self.url_of(&object))? else {
                continue;
            };
            let url = self.url_of(&object);
            let Ok(file) = u32::try_from(files.len()) else {
                let problem = "it has more than 4294967295 chunks, the most that are read";
                return Err(SourceError::damaged(self.url, problem));
            };
            if object.size == 0 {
                return Err(SourceError::EmptyChunk { name: url });
            }
            nodes.add_extent(&place, file, 0, object.size);
            files.push(ArchiveFile::of_object(
                Arc::clone(&self.storage),
                object,
                url,
            ));
        }
        files.shrink_to_fit();
        Ok(nodes.into_archive(files))
    }
}

fn is_document(key: &str) -> bool {
    zarr2::is_document(key)
        || key == zarr2::CONSOLIDATED
        || key.rsplit('/').next() == Some(FORMAT_3)
}
