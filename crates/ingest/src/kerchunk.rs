//! References by kerchunk: files that say of every chunk of a Zarr hierarchy which bytes of which other file it is.
//!
//! A set of references is one JSON file, or a directory of Parquet files (feature `kerchunk-parquet`). Both have the
//! documents of Zarr format 2, or 3, and for each key of a chunk a URL with a range, a URL alone, or the bytes
//! themselves.

mod directory;
mod expression;
mod generate;
mod nodes;
#[cfg(feature = "kerchunk-parquet")]
mod parquet;
mod references;
mod targets;
mod template;

use std::borrow::Cow;
use std::cell::OnceCell;

use bytes::Bytes;

use crate::SourceError;
use crate::archive::values::base64_bytes;
use crate::archive::{Archive, ArchiveFile, ArchiveOptions, ChunkPlace, KeyedNodes, OpenUrl};
use crate::formats::{is_format_2, is_format_3};
use crate::lossy;
use crate::names::MAX_DOCUMENT;
use crate::zarr_tree::has_below;

pub use directory::is_kerchunk_parquet;
#[cfg(not(feature = "kerchunk-parquet"))]
pub use directory::read_kerchunk_parquet;
#[cfg(feature = "kerchunk-parquet")]
pub use parquet::read_kerchunk_parquet;
#[cfg(feature = "dmrpp")]
pub(crate) use targets::{open_all, resolve};

use nodes::nodes_of;
use references::{Outline, Reference};
use targets::Targets;
use template::Templates;

/// Longest file of references that is read, in bytes: all of it is in memory until it is understood.
const MAX_FILE: u64 = 4 << 30;

/// Reads references from a JSON file: version 0, a flat map, or version 1, with templates and generated references.
/// Relative URLs begin at the file itself. Chunks whose bytes are in the file become [`ArchiveChunks::Mixed`].
///
/// Every file that is referred to is opened once, to know its size.
///
/// # Errors
/// [`SourceError::Damaged`] for a file that is none or has a reference beyond the end of another;
/// [`SourceError::Variable`] and [`SourceError::NotAChunk`] as of a Zarr tree; what `files` says.
///
/// [`ArchiveChunks::Mixed`]: crate::ArchiveChunks::Mixed
pub async fn read_kerchunk(file: ArchiveFile, files: &dyn OpenUrl) -> Result<Archive, SourceError> {
    read_kerchunk_with(file, files, ArchiveOptions::default()).await
}

/// As [`read_kerchunk`], with options.
pub(crate) async fn read_kerchunk_with(
    file: ArchiveFile,
    files: &dyn OpenUrl,
    options: ArchiveOptions,
) -> Result<Archive, SourceError> {
    let name = file.url();
    if file.size() > MAX_FILE {
        return Err(SourceError::damaged(
            name,
            "it is longer than 4 GiB, the most that is read",
        ));
    }
    let bytes = file.read(0..file.size()).await?;
    let (bytes, is_quoted) = references::plain(bytes, name)?;
    let outline = Outline::read(&bytes, name)?;
    let nodes = read_nodes(&outline, is_quoted, &file, files).await?;
    nodes.check_unsupported(options.lists_unsupported)?;
    let mut references = References {
        nodes,
        targets: Targets::new(name),
        templates: Templates::new(outline.templates, name)?,
        name,
    };
    outline.for_each(|key, reference| match is_document(&key) {
        true => Ok(()),
        false => references.add(&key, reference),
    })?;
    let mut left = generate::MOST;
    for one in &outline.generators {
        let templates = references.templates.clone();
        generate::for_each(one, &templates, name, &mut left, |key, reference| {
            if is_document(&key) {
                let problem = format!(
                    "a rule in its \"gen\" makes the document {key}: only chunks are read from rules"
                );
                return Err(SourceError::damaged(name, problem));
            }
            references.add_resolved(&key, reference)
        })?;
    }
    references.finish(files).await
}

fn is_document(key: &str) -> bool {
    is_format_2(key) || is_format_3(key)
}

/// Reads the documents among the references. `is_quoted` tells whether the file has numbers that JSON lacks.
async fn read_nodes(
    outline: &Outline<'_>,
    is_quoted: bool,
    file: &ArchiveFile,
    files: &dyn OpenUrl,
) -> Result<KeyedNodes, SourceError> {
    let name = file.url();
    let mut found = Vec::new();
    outline.for_each(|key, reference| {
        if is_document(&key) {
            found.push((key.into_owned(), reference.into_owned()));
        }
        Ok(())
    })?;
    let templates = Templates::new(outline.templates, name)?;
    let (mut documents, mut lossy) = (Vec::new(), Vec::new());
    let mut is_rounded = None;
    for (key, reference) in found {
        let called = format!("{key} in {name}");
        let bytes = match reference {
            Reference::Document(document) => {
                // Only the whole file shows what its text was.
                let is_rounded = *is_rounded.get_or_insert_with(|| outline.has_large_integers());
                lossy.extend(lossy::of_parsed(&key, &document, is_quoted, is_rounded));
                documents.push((key, document));
                continue;
            }
            Reference::Inline(text) => inline(&text, &called)?,
            Reference::InFile { url, range } => {
                let url = targets::resolve(name, &templates.render_url(&url)?);
                let file = files.open(&url).await?;
                let range = range.unwrap_or((0, file.size()));
                if range.1 > MAX_DOCUMENT {
                    let problem = "it is longer than 64 MiB, the most that is read of a document";
                    return Err(SourceError::damaged(&called, problem));
                }
                file.read(range.0..range.0.saturating_add(range.1)).await?
            }
        };
        let (document, found) = lossy::parse(&key, &bytes)
            .map_err(|error| SourceError::damaged(&called, format!("it is not JSON: {error}")))?;
        lossy.extend(found);
        documents.push((key, document));
    }
    let keys = OnceCell::new();
    let has_keys = |node: &str| {
        let keys = keys.get_or_init(|| all_keys(outline, &templates, name));
        has_below(keys, |key| &**key, node)
    };
    nodes_of(documents, lossy, name, has_keys)
}

/// Returns what shows of a node whether anything lies below it, sorted: the keys of the map, and of those that rules make
/// the directories, with a final slash.
fn all_keys<'a>(outline: &Outline<'a>, templates: &Templates, name: &str) -> Vec<Cow<'a, str>> {
    let mut keys = outline.keys();
    let mut left = generate::MOST;
    for rule in &outline.generators {
        // The errors of a rule are reported when its chunks are read.
        let _looked = generate::for_each(rule, templates, name, &mut left, |mut key, _| {
            key.truncate(key.rfind('/').map_or(0, |slash| slash + 1));
            if keys.last().is_none_or(|last| *last != key) {
                keys.push(key.into());
            }
            Ok(())
        });
    }
    keys.sort_unstable();
    keys
}

/// The bytes of a value that is a text.
fn inline(text: &str, name: &str) -> Result<Bytes, SourceError> {
    match text.strip_prefix("base64:") {
        None => Ok(Bytes::copy_from_slice(text.as_bytes())),
        Some(encoded) => base64_bytes(encoded)
            .map(Bytes::from)
            .ok_or_else(|| SourceError::damaged(name, "what follows \"base64:\" is not base64")),
    }
}

/// References on their way to their arrays.
struct References<'a> {
    nodes: KeyedNodes,
    targets: Targets<'a>,
    templates: Templates,
    name: &'a str,
}

impl References<'_> {
    fn add(&mut self, key: &str, reference: Reference<'_>) -> Result<(), SourceError> {
        match reference {
            Reference::InFile { url, range } => {
                let Some(place) = self.place(key)? else {
                    return Ok(());
                };
                let templates = &self.templates;
                let file = self.targets.number(&url, |url| templates.render_url(url))?;
                self.targets.add(&mut self.nodes, place, file, range);
                Ok(())
            }
            other => self.add_resolved(key, other),
        }
    }

    /// Adds a reference in which no templates are left.
    fn add_resolved(&mut self, key: &str, reference: Reference<'_>) -> Result<(), SourceError> {
        let Some(place) = self.place(key)? else {
            return Ok(());
        };
        let called = || format!("{key} in {}", self.name);
        match reference {
            Reference::InFile { url, range } => {
                let file = self.targets.number(&url, |url| Ok(url.to_owned()))?;
                self.targets.add(&mut self.nodes, place, file, range);
            }
            Reference::Inline(text) => {
                let bytes = inline(&text, &called())?;
                if bytes.is_empty() {
                    return Err(SourceError::EmptyChunk { name: called() });
                }
                self.nodes.add_made(place, bytes);
            }
            Reference::Document(_) => {
                let problem = "it is an object, and belongs to a chunk";
                return Err(SourceError::damaged(&called(), problem));
            }
        }
        Ok(())
    }

    fn place(&mut self, key: &str) -> Result<Option<ChunkPlace>, SourceError> {
        self.nodes.place(key, || format!("{key} in {}", self.name))
    }

    async fn finish(self, files: &dyn OpenUrl) -> Result<Archive, SourceError> {
        let mut nodes = self.nodes;
        let opened = self.targets.open(files, &mut nodes).await?;
        nodes.check(&opened, self.name)?;
        Ok(nodes.into_archive(opened))
    }
}
