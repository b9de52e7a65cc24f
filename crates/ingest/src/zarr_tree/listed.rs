//! The values of a tree: which are documents, what the nodes of these are, and which of the others are chunks.

use futures::{StreamExt, TryStreamExt, stream};
use icefield_format::encoded_key;
use icefield_nczarr::ReadOptions;
use serde_json::Value;

use super::format3;
use crate::archive::{ArchiveFile, ArchiveOptions, ChunkPlace, KeyedNodes};
use crate::formats::{check_formats, is_format_3};
use crate::lossy::{self, Lossy};
use crate::names::{CONSOLIDATED, MAX_DOCUMENT};
use crate::{SourceError, consolidated, zarr2};

/// Documents, or places of chunks, that are read at a time.
pub(super) const AT_ONCE: usize = 16;

pub(super) fn url_of(url: &str, key: &str) -> String {
    format!("{url}/{}", encoded_key(key))
}

/// A value of a tree: a document, a chunk, or something else.
#[derive(Debug)]
pub(super) struct TreeValue {
    pub(super) key: String,
    pub(super) file: ArchiveFile,
}

/// All values of a tree.
#[derive(Debug, Default)]
pub(super) struct TreeValues {
    documents: Vec<TreeValue>,
    others: Vec<TreeValue>,
}

impl TreeValues {
    pub(super) fn add(&mut self, item: TreeValue) {
        match is_document(&item.key) {
            true => self.documents.push(item),
            false => self.others.push(item),
        }
    }

    /// Reads the nodes, and finds the chunks among the other values.
    pub(super) async fn read(
        self,
        url: &str,
        options: ArchiveOptions,
    ) -> Result<(KeyedNodes, Vec<(ChunkPlace, TreeValue)>), SourceError> {
        let Self { documents, others } = self;
        let keys: Vec<String> = documents.iter().map(|value| value.key.clone()).collect();
        let has_keys = |node: &str| {
            has_below(&keys, String::as_str, node) || has_below(&others, |it| &it.key, node)
        };
        let Documents { all, warnings } = Documents::read(documents, has_keys, url).await?;
        let mut nodes = nodes(all, url, options.format_2)?;
        nodes.check_unsupported(options.lists_unsupported)?;
        if nodes.is_empty() {
            let problem = "it holds no zarr.json and no .zgroup or .zarray";
            return Err(SourceError::damaged(url, problem));
        }
        warnings.into_iter().for_each(|warning| nodes.warn(warning));
        let mut chunks = Vec::new();
        for value in others {
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

/// Returns whether one of several things, in byte order of their keys, lies below a node.
pub(crate) fn has_below<T>(things: &[T], key: impl Fn(&T) -> &str, node: &str) -> bool {
    if node.is_empty() {
        return !things.is_empty();
    }
    let directory = format!("{node}/");
    let at = things.partition_point(|it| key(it) < directory.as_str());
    things
        .get(at)
        .is_some_and(|it| key(it).starts_with(&directory))
}

/// Makes a value a file of its own, all of which is a chunk.
pub(super) fn add_file(
    nodes: &mut KeyedNodes,
    files: &mut Vec<ArchiveFile>,
    place: &ChunkPlace,
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

/// Documents of nodes by key, and the warnings of an import of them.
#[derive(Debug)]
pub(crate) struct Documents {
    pub(crate) all: Vec<(String, Value)>,
    pub(crate) warnings: Vec<String>,
}

impl Documents {
    /// Reads those documents that say what nodes there are: the ones of format 3, or else of format 2. `has_keys` tells
    /// whether anything lies below a node.
    async fn read(
        values: Vec<TreeValue>,
        has_keys: impl Fn(&str) -> bool,
        url: &str,
    ) -> Result<Self, SourceError> {
        let name = |key: &str| url_of(url, key);
        let keys = values.iter().map(|value| value.key.as_str());
        let mut said = check_formats(keys, name)?;
        let of_3 = |value: &TreeValue| is_format_3(&value.key);
        let values = match values.iter().any(of_3) {
            true => values.into_iter().filter(of_3).collect(),
            false => values,
        };
        let (documents, lossy) = parsed(values).await?;
        let mut found = Self::reconciled(documents, lossy, has_keys, name)?;
        found.warnings.append(&mut said);
        Ok(found)
    }

    /// Reconciles documents with the copies of them in the consolidated metadata among them. Those of format 3 count if
    /// there is one. `has_keys` tells whether anything lies below a node; `name` makes of a key what messages call it,
    /// and `lossy` are the attributes that the documents do not hold exactly.
    ///
    /// # Errors
    /// [`SourceError::Damaged`] for consolidated metadata that is none.
    pub(crate) fn reconciled(
        mut documents: Vec<(String, Value)>,
        lossy: Vec<Lossy>,
        has_keys: impl Fn(&str) -> bool,
        name: impl Fn(&str) -> String,
    ) -> Result<Self, SourceError> {
        let own;
        let mut said = if documents.iter().any(|(key, _)| is_format_3(key)) {
            documents.retain(|(key, _)| is_format_3(key));
            own = documents.len();
            consolidated::reconcile_inline(&mut documents, has_keys, name)
        } else {
            let place = documents.iter().position(|(key, _)| key == CONSOLIDATED);
            let copies = place.map(|place| documents.swap_remove(place).1);
            documents.retain(|(key, _)| zarr2::is_document(key));
            own = documents.len();
            match copies {
                Some(copies) => {
                    let name = name(CONSOLIDATED);
                    reconciled(&mut documents, copies, has_keys, &name)?
                }
                None => Vec::new(),
            }
        };
        // Copies that were adopted come behind the documents of the tree.
        let adopted = documents.iter().skip(own).map(|(key, _)| key);
        let mut warnings = lossy::warnings(lossy, adopted);
        warnings.append(&mut said);
        Ok(Self {
            all: documents,
            warnings,
        })
    }
}

/// Reads documents: keys, and what they hold. Returns them, and the attributes that they do not hold exactly.
async fn parsed(values: Vec<TreeValue>) -> Result<(Vec<(String, Value)>, Vec<Lossy>), SourceError> {
    let reads = values
        .into_iter()
        .map(|TreeValue { key, file }| async move {
            if file.size() > MAX_DOCUMENT {
                let problem = "it is longer than 64 MiB, the most that is read of a document";
                return Err(SourceError::damaged(file.url(), problem));
            }
            let bytes = file.read(0..file.size()).await?;
            match lossy::parse(&key, &bytes) {
                Ok((document, lossy)) => Ok((key, document, lossy)),
                Err(error) => {
                    let problem = format!("it is not JSON: {error}");
                    Err(SourceError::damaged(file.url(), problem))
                }
            }
        });
    let (mut documents, mut all) = (Vec::new(), Vec::new());
    let mut reads = stream::iter(reads).buffered(AT_ONCE);
    while let Some((key, document, lossy)) = reads.try_next().await? {
        all.extend(lossy);
        documents.push((key, document));
    }
    Ok((documents, all))
}

/// Reconciles the documents of format 2 with their copies in `.zmetadata`. A tree without any other document is what the
/// copies say.
fn reconciled(
    documents: &mut Vec<(String, Value)>,
    copies: Value,
    has_keys: impl Fn(&str) -> bool,
    name: &str,
) -> Result<Vec<String>, SourceError> {
    let copies = match copies {
        Value::Object(mut fields) => fields.remove("metadata"),
        _ => None,
    };
    let Some(Value::Object(copies)) = copies else {
        return Err(SourceError::damaged(name, "it has no object \"metadata\""));
    };
    let copies = copies
        .into_iter()
        .filter(|(key, _)| zarr2::is_document(key));
    if documents.is_empty() {
        documents.extend(copies);
        return Ok(vec![format!(
            "the tree has no document but {name}, which may be out of date: it was imported as that says"
        )]);
    }
    let (parted, mut added) = consolidated::reconcile(documents, copies.collect(), "", has_keys);
    documents.append(&mut added);
    Ok(parted.warnings(name))
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
    zarr2::is_document(key) || key == CONSOLIDATED || is_format_3(key)
}
