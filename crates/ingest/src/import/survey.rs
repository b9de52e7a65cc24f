//! Surveys: the part of its sources that the planning of an import reads, in bytes that can be sent: their nodes, and the
//! elements that say where each lies along the dimension. It does not grow with the number of chunks.
//!
//! ```text
//! a worker    Import of some files  -- survey -->  Survey  -- to_bytes -->
//! the planner                  Import of the Survey's sources  -- shares -->  Shares
//! ```

mod source;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use futures::TryStreamExt;
use icefield_core::{ArrayMetadata, NodePath};
use serde::{Deserialize, Serialize};

use self::source::{Entries, Surveyed};
use super::builder::Import;
use super::choices::Combine;
use super::coordinates::coordinates;
use super::labels;
use crate::archive::values::{base64_bytes, base64_text};
use crate::{ChunkEntry, Hierarchy, Ignored, ImportError, Source, SourceNode, Unsupported};

/// The form that this version writes and reads.
const VERSION: u32 = 2;
/// Its name in errors.
const SURVEY: &str = "survey";
/// Elements without a dimension are in it up to this length, in bytes.
const MAX_SCALAR: u64 = 4 << 10;

/// The part of its sources that the planning of an import reads. Made by [`Import::survey`] where the files are; an import of its
/// [`Survey::sources`] can be planned and divided elsewhere, by [`Import::shares`].
#[derive(Clone, Debug)]
pub struct Survey {
    sources: Vec<Arc<Surveyed>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SurveyDocument {
    version: u32,
    /// Documents of nodes, each once: files of one archive have mostly the same.
    documents: Vec<String>,
    sources: Vec<SourceDocument>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SourceDocument {
    name: String,
    /// Paths of nodes, with the numbers of their documents.
    nodes: Vec<(String, usize)>,
    ignored: (u64, Vec<String>),
    warnings: Vec<String>,
    /// Path, name and reason.
    unsupported: Vec<(String, String, String)>,
    urls: Vec<String>,
    at_hand: Vec<String>,
    #[serde(default)]
    may_repeat: bool,
    chunks: Vec<ArrayDocument>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ArrayDocument {
    path: String,
    /// Index, length in bytes, and the bytes in base64 where they are needed.
    entries: Vec<(Vec<u32>, u64, Option<String>)>,
}

/// The part of an array's chunks that is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SurveyNeed {
    Bytes,
    /// Which there are, and how long they are: what a plan says to people.
    Listing,
}

impl Import {
    /// Reads the part of the sources that the planning of this import needs.
    ///
    /// # Errors
    /// The errors of the sources, and [`ImportError::Interrupted`].
    pub async fn survey(&self) -> Result<Survey, ImportError> {
        self.survey_all(false).await
    }

    /// Also reads which chunks exist, so that [`Import::plan_in`] can plan an import of the [`Survey::sources`]. The
    /// survey grows with the number of chunks.
    ///
    /// # Errors
    /// As [`Import::survey`].
    pub async fn survey_chunks(&self) -> Result<Survey, ImportError> {
        self.survey_all(true).await
    }

    /// Whether it only plans: its sources are surveys, whose chunks are read elsewhere.
    pub(super) fn is_of_surveys(&self) -> bool {
        self.sources.iter().any(|source| source.is_survey())
    }

    async fn survey_all(&self, lists_chunks: bool) -> Result<Survey, ImportError> {
        let surveyed = async {
            let mut sources = Vec::new();
            for source in &self.sources {
                sources.push(Arc::new(self.surveyed(source, lists_chunks).await?));
            }
            Ok(Survey { sources })
        };
        self.interrupt.unless(surveyed).await?
    }

    async fn surveyed(
        &self,
        source: &Arc<dyn Source>,
        lists_chunks: bool,
    ) -> Result<Surveyed, ImportError> {
        let hierarchy = source.hierarchy().await?;
        let mut chunks = BTreeMap::new();
        for (path, need) in self.needed(source, &hierarchy, lists_chunks)? {
            let array = hierarchy.nodes.get(&path).and_then(SourceNode::array);
            let Some(array) = array else { continue };
            if let Some(entries) = read(&**source, &path, array, need, lists_chunks).await? {
                chunks.insert(path, entries);
            }
        }
        let arrays = hierarchy.nodes.keys();
        let at_hand = arrays.filter(|path| source.is_at_hand(path));
        Ok(Surveyed {
            name: source.to_string(),
            urls: source.urls(),
            at_hand: at_hand.cloned().collect(),
            may_repeat: source.may_repeat(),
            chunks,
            hierarchy,
        })
    }

    /// The arrays whose chunks planning asks for, by their paths in the source: those that label the dimension, or any one by which
    /// sources are combined, and those without dimensions.
    fn needed(
        &self,
        source: &Arc<dyn Source>,
        hierarchy: &Hierarchy,
        lists_chunks: bool,
    ) -> Result<BTreeMap<NodePath, SurveyNeed>, ImportError> {
        let chosen = self.chosen(hierarchy.clone())?;
        let mut originals = BTreeMap::new();
        for path in chosen.nodes.keys() {
            let named = self.selection.target(path);
            let named = named.map_err(|error| self.about(source, error.into()))?;
            originals.insert(named, path.clone());
        }
        let mut needed = BTreeMap::new();
        for (path, node) in &hierarchy.nodes {
            let is_scalar = node.array().is_some_and(|array| array.shape.is_empty());
            if is_scalar {
                needed.insert(path.clone(), SurveyNeed::Bytes);
            } else if lists_chunks {
                needed.insert(path.clone(), SurveyNeed::Listing);
            }
        }
        let opened = self.opened(source, chosen)?;
        let mut dimensions = vec![self.dimension().to_owned()];
        if self.combine == Combine::ByCoordinates {
            let all = coordinates(&opened.hierarchy).into_iter();
            dimensions.extend(all.map(|(dimension, _)| dimension));
        }
        for dimension in dimensions {
            for label in labels::labels(&opened.hierarchy, &dimension) {
                if let Some(path) = originals.get(&label.path) {
                    needed.insert(path.clone(), SurveyNeed::Bytes);
                }
            }
        }
        Ok(needed)
    }
}

/// Reads what is needed of an array. A long scalar is only listed, or left out where no plan shows it.
async fn read(
    source: &dyn Source,
    path: &NodePath,
    array: &ArrayMetadata,
    need: SurveyNeed,
    lists_chunks: bool,
) -> Result<Option<Entries>, ImportError> {
    let mut entries = Entries::new();
    let mut chunks = source.chunks(path, array);
    while let Some(entry) = chunks.try_next().await? {
        let ChunkEntry::Chunk { index, length } = entry else {
            continue;
        };
        let is_long = array.shape.is_empty() && length > MAX_SCALAR;
        if is_long && !lists_chunks {
            return Ok(None);
        }
        let bytes = match need {
            SurveyNeed::Bytes if is_long => None,
            SurveyNeed::Bytes => Some(source.read_chunk(path, array, &index, length).await?),
            SurveyNeed::Listing => None,
        };
        entries.insert(index, (length, bytes));
    }
    Ok(Some(entries))
}

impl Survey {
    /// Returns the sources as a plan sees them, in order. Their chunks cannot be read.
    pub fn sources(&self) -> impl Iterator<Item = Arc<dyn Source>> {
        let sources = self.sources.iter();
        sources.map(|source| Arc::clone(source) as Arc<dyn Source>)
    }

    /// Encodes the survey as JSON, with a version number, without credentials.
    ///
    /// # Errors
    /// [`ImportError::Sent`] for a document that is no text.
    pub fn to_bytes(&self) -> Result<Bytes, ImportError> {
        let mut known: BTreeMap<&[u8], usize> = BTreeMap::new();
        let mut written = SurveyDocument {
            version: VERSION,
            documents: Vec::new(),
            sources: Vec::new(),
        };
        for source in &self.sources {
            let mut nodes = Vec::new();
            for (path, node) in &source.hierarchy.nodes {
                let next = written.documents.len();
                let number = *known.entry(&node.document()[..]).or_insert(next);
                if number == next {
                    let text = std::str::from_utf8(node.document());
                    let text = text.map_err(|error| unreadable(format!("{path}: {error}")))?;
                    written.documents.push(text.to_owned());
                }
                nodes.push((path.to_string(), number));
            }
            written.sources.push(document_of(source, nodes));
        }
        let bytes = serde_json::to_vec(&written);
        Ok(bytes.map_err(|error| unreadable(error.to_string()))?.into())
    }

    /// Decodes a survey.
    ///
    /// # Errors
    /// [`ImportError::Sent`] if the bytes are damaged or of another version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ImportError> {
        let read: SurveyDocument =
            serde_json::from_slice(bytes).map_err(|error| unreadable(error.to_string()))?;
        if read.version != VERSION {
            return Err(unreadable(format!("it has the form {}", read.version)));
        }
        let parsed = read.documents.into_iter().map(|text| {
            let node = SourceNode::parse_made(text.into_bytes().into());
            node.map_err(|error| unreadable(error.to_string()))
        });
        let documents: Vec<SourceNode> = parsed.collect::<Result<_, _>>()?;
        let sources = read.sources.into_iter();
        let sources = sources.map(|source| Ok(Arc::new(surveyed_of(source, &documents)?)));
        Ok(Self {
            sources: sources.collect::<Result<_, ImportError>>()?,
        })
    }
}

fn document_of(source: &Surveyed, nodes: Vec<(String, usize)>) -> SourceDocument {
    let hierarchy = &source.hierarchy;
    let unsupported = hierarchy.unsupported.iter();
    let unsupported =
        unsupported.map(|it| (it.path.to_string(), it.name.clone(), it.reason.clone()));
    let chunks = source.chunks.iter().map(|(path, entries)| {
        let entries = entries.iter().map(|(index, (length, bytes))| {
            (index.to_vec(), *length, bytes.as_deref().map(base64_text))
        });
        ArrayDocument {
            path: path.to_string(),
            entries: entries.collect(),
        }
    });
    let ignored = &hierarchy.ignored;
    SourceDocument {
        name: source.name.clone(),
        nodes,
        ignored: (ignored.count(), ignored.examples().to_vec()),
        warnings: hierarchy.warnings.clone(),
        unsupported: unsupported.collect(),
        urls: source.urls.clone(),
        at_hand: source.at_hand.iter().map(ToString::to_string).collect(),
        may_repeat: source.may_repeat,
        chunks: chunks.collect(),
    }
}

fn surveyed_of(source: SourceDocument, documents: &[SourceNode]) -> Result<Surveyed, ImportError> {
    let mut hierarchy = Hierarchy {
        ignored: Ignored::of(source.ignored.0, source.ignored.1),
        warnings: source.warnings,
        ..Hierarchy::default()
    };
    for (path, number) in source.nodes {
        let node = documents.get(number);
        let node = node.ok_or_else(|| unreadable(format!("{path} has no document")))?;
        hierarchy.nodes.insert(parsed(&path)?, node.clone());
    }
    for (path, name, reason) in source.unsupported {
        let path = parsed(&path)?;
        hierarchy
            .unsupported
            .push(Unsupported { path, name, reason });
    }
    let mut chunks = BTreeMap::new();
    for array in source.chunks {
        let mut entries = Entries::new();
        for (index, length, text) in array.entries {
            let bytes = text.map(|text| {
                let bytes = base64_bytes(&text);
                bytes.ok_or_else(|| unreadable(format!("a chunk of {} is no base64", array.path)))
            });
            let bytes = bytes.transpose()?.map(Bytes::from);
            entries.insert(index.into(), (length, bytes));
        }
        chunks.insert(parsed(&array.path)?, entries);
    }
    let at_hand = source.at_hand.iter().map(|path| parsed(path));
    Ok(Surveyed {
        name: source.name,
        at_hand: at_hand.collect::<Result<_, _>>()?,
        may_repeat: source.may_repeat,
        urls: source.urls,
        chunks,
        hierarchy,
    })
}

fn parsed(path: &str) -> Result<NodePath, ImportError> {
    NodePath::parse(path).map_err(|error| unreadable(format!("{path:?}: {error}")))
}

fn unreadable(problem: String) -> ImportError {
    ImportError::Sent {
        what: SURVEY,
        problem,
    }
}
