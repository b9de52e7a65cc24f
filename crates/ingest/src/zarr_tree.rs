//! Zarr hierarchies on any storage, of format 2 or 3: objects below a prefix, or the entries of a zip file.
//!
//! One list tells of every chunk: its key, its size and its state. None of them is asked for: only the documents are
//! read.

pub(crate) mod format3;
mod zip;

use std::collections::HashMap;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use icefield_format::encoded_key;
use icefield_nczarr::ReadOptions;
use icefield_storage::{ListOptions, Prefix, Storage, StorageExt};
use serde_json::Value;

use crate::SourceError;
use crate::archive::{Archive, ArchiveFile, KeyedNodes, Place, explained};
use crate::names::{MAX_DOCUMENT, is_format_3};
use crate::zarr2::{self, offset};

pub use zip::read_zip;

/// Documents read at a time.
const AT_ONCE: usize = 16;

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
    let mut listed = Listed::default();
    // What has a name that is no key may be a chunk, which would be missing.
    let mut list = storage.list_strict(ListOptions::prefix(prefix.clone()));
    while let Some(object) = list
        .try_next()
        .await
        .map_err(|error| explained(url, error))?
    {
        let key = object.key.below(prefix).unwrap_or_default().to_owned();
        let name = url_of(url, &key);
        let file = ArchiveFile::of_object(Arc::clone(&storage), object, name);
        listed.add(Item { key, file });
    }
    let (mut nodes, chunks) = listed.read(url, options).await?;
    let mut files = Vec::with_capacity(chunks.len());
    for (place, value) in chunks {
        add_file(&mut nodes, &mut files, &place, value.file, url)?;
    }
    Ok(nodes.into_archive(files))
}

fn url_of(url: &str, key: &str) -> String {
    format!("{url}/{}", encoded_key(key))
}

/// A value of a tree: a document, a chunk, or something else.
#[derive(Debug)]
struct Item {
    key: String,
    file: ArchiveFile,
}

/// All values of a tree.
#[derive(Debug, Default)]
struct Listed {
    documents: Vec<Item>,
    others: Vec<Item>,
}

impl Listed {
    fn add(&mut self, item: Item) {
        match is_document(&item.key) {
            true => self.documents.push(item),
            false => self.others.push(item),
        }
    }

    /// Reads the nodes, and finds the chunks among the other values.
    async fn read(
        self,
        url: &str,
        options: ReadOptions,
    ) -> Result<(KeyedNodes, Vec<(Place, Item)>), SourceError> {
        let mut nodes = nodes(documents(self.documents).await?, url, options)?;
        if nodes.is_empty() {
            let problem = "it holds no zarr.json and no .zgroup or .zarray";
            return Err(SourceError::damaged(url, problem));
        }
        let mut chunks = Vec::new();
        for value in self.others {
            let name = || value.file.url().to_owned();
            let Some(place) = nodes.place(&value.key, name)? else {
                continue;
            };
            if value.file.size() == 0 {
                return Err(SourceError::EmptyChunk { name: name() });
            }
            chunks.push((place, value));
        }
        Ok((nodes, chunks))
    }
}

/// Makes a value a file of its own, all of which is a chunk.
fn add_file(
    nodes: &mut KeyedNodes,
    files: &mut Vec<ArchiveFile>,
    place: &Place,
    file: ArchiveFile,
    url: &str,
) -> Result<(), SourceError> {
    let Ok(number) = u32::try_from(files.len()) else {
        let problem = "it has more than 4294967295 chunks, the most that are read";
        return Err(SourceError::damaged(url, problem));
    };
    nodes.add_extent(place, number, 0, file.size());
    files.push(file);
    Ok(())
}

/// Reads those documents that say what nodes there are: the ones of format 3, or `.zmetadata`, or the ones of
/// format 2.
async fn documents(values: Vec<Item>) -> Result<Vec<(String, Value)>, SourceError> {
    let of_3 = |value: &Item| is_format_3(&value.key);
    if values.iter().any(of_3) {
        return parsed(values.into_iter().filter(of_3).collect()).await;
    }
    if values.iter().any(|value| value.key == zarr2::CONSOLIDATED) {
        return consolidated(values).await;
    }
    parsed(values).await
}

/// Reads documents: keys, and what they hold.
async fn parsed(values: Vec<Item>) -> Result<Vec<(String, Value)>, SourceError> {
    let reads = values.into_iter().map(|Item { key, file }| async move {
        if file.size() > MAX_DOCUMENT {
            let problem = "it is longer than 64 MiB, the most that is read of a document";
            return Err(SourceError::damaged(file.url(), problem));
        }
        let bytes = file.read(0..file.size()).await?;
        match zarr2::parse_json(&bytes) {
            Ok(document) => Ok((key, document)),
            Err(error) => {
                let problem = format!("it is not JSON: {error}");
                Err(SourceError::damaged(file.url(), problem))
            }
        }
    });
    stream::iter(reads).buffered(AT_ONCE).try_collect().await
}

async fn consolidated(values: Vec<Item>) -> Result<Vec<(String, Value)>, SourceError> {
    let is_all = |value: &Item| value.key == zarr2::CONSOLIDATED;
    let (all, others): (Vec<Item>, Vec<Item>) = values.into_iter().partition(is_all);
    let name = all.first().map(|value| value.file.url().to_owned());
    for (_, document) in parsed(all).await? {
        if let Value::Object(mut fields) = document
            && let Some(Value::Object(documents)) = fields.remove("metadata")
        {
            let keys = documents.into_iter();
            let mut documents = keys.filter(|(key, _)| zarr2::is_document(key)).collect();
            moved(&mut documents, others).await?;
            return Ok(documents);
        }
    }
    let problem = "it has no object \"metadata\"";
    Err(SourceError::damaged(&name.unwrap_or_default(), problem))
}

/// Attributes with an offset are taken from where they are changed: whoever moves a window writes them, and may leave the
/// copies of all documents as they were.
async fn moved(documents: &mut Vec<(String, Value)>, others: Vec<Item>) -> Result<(), SourceError> {
    let has_offset = |(_, document): &&(String, Value)| offset::is_there(document);
    if documents.iter().find(has_offset).is_none() {
        return Ok(());
    }
    let attributes = others
        .into_iter()
        .filter(|it| zarr2::is_attributes(&it.key));
    let mut newest: HashMap<String, Value> =
        parsed(attributes.collect()).await?.into_iter().collect();
    for (key, document) in documents {
        if let Some(newer) = newest.remove(key) {
            *document = newer;
        }
    }
    Ok(())
}

/// Returns the nodes that documents describe, by key, wherever they lie. `url` is what messages call their root.
fn nodes(
    documents: Vec<(String, Value)>,
    url: &str,
    options: ReadOptions,
) -> Result<KeyedNodes, SourceError> {
    if documents.iter().any(|(key, _)| is_format_3(key)) {
        return format3::nodes(documents, url);
    }
    zarr2::nodes(documents, url, options)
}

fn is_document(key: &str) -> bool {
    zarr2::is_document(key) || key == zarr2::CONSOLIDATED || is_format_3(key)
}
