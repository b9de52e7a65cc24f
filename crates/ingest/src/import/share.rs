//! A share of an import, in bytes that can be sent, and doing it.
//!
//! It says where in the arrays of the repository the elements of its sources go, and nothing of single chunks. What the sources
//! hold is read from them again, and what the arrays are from the session.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use bytes::Bytes;
use icefield_core::{ArrayMetadata, NodeMetadata, NodePath, Session, SessionError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::builder::Import;
use super::choices::Encoding;
use super::layout::{Grown, Layout, Part};
use super::opened::Opened;
use super::origin::Origin;
use super::prepared::Prepared;
use super::report::ImportReport;
use super::times;
use crate::plan::{Action, Growth, Shift, Transfer};
use crate::{Difference, ImportError, SourceError, SourceNode};

/// The form that this version writes and reads.
const VERSION: u32 = 2;

/// A share of an import, from [`Import::shares`].
#[derive(Clone, Debug, PartialEq)]
pub struct Share(ShareDocument);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ShareDocument {
    pub(super) version: u32,
    pub(super) sources: Vec<ShareSource>,
    /// Documents that stand in for arrays that sources lack, each once.
    pub(super) documents: Vec<String>,
    /// Along which the sources lie behind one another, if they do.
    pub(super) dimension: Option<String>,
    /// The documents of times in whose units coordinates were compared, by the paths of the sources.
    pub(super) first: BTreeMap<String, Value>,
    /// The documents of times that the sources' are converted to, by the paths of the sources.
    pub(super) targets: BTreeMap<String, Value>,
    pub(super) transfers: Vec<ShareTransfer>,
    pub(super) arrays: Vec<ShareArray>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ShareSource {
    origin: Origin,
    /// Of its documents when the import was planned.
    digest: u32,
    /// Paths of arrays that it lacks, with the numbers of documents that stand in for them.
    stand_ins: Vec<(String, usize)>,
}

/// The chunks of an array that does not grow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ShareTransfer {
    /// Which of the sources of the share.
    pub(super) source: usize,
    from: String,
    to: String,
    action: Action,
}

/// A part of an array that grows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ShareArray {
    pub(super) path: String,
    pub(super) axis: usize,
    pub(super) existing: u64,
    pub(super) parts: Vec<SharePart>,
    pub(super) taken: Vec<(usize, Shift)>,
    pub(super) assembled: Vec<Range<u64>>,
}

/// The part that one source has of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SharePart {
    /// Which of the sources of the share.
    pub(super) source: usize,
    from: String,
    at: u64,
    kept: Range<u64>,
    recoded: Option<Difference>,
    is_borrowed: bool,
}

impl ShareSource {
    /// Documents that stand in for its arrays are added to those of the share.
    pub(super) fn of(one: &Opened, documents: &mut Vec<String>) -> Self {
        let stand_ins = one.stand_ins.iter().map(|(path, document)| {
            let document = String::from_utf8_lossy(document);
            let known = documents.iter().position(|it| *it == document);
            let number = known.unwrap_or_else(|| {
                documents.push(document.into_owned());
                documents.len() - 1
            });
            (path.to_string(), number)
        });
        Self {
            stand_ins: stand_ins.collect(),
            origin: one.origin.clone(),
            digest: one.digest,
        }
    }
}

impl ShareTransfer {
    pub(super) fn of(source: usize, transfer: &Transfer) -> Self {
        let Transfer {
            from,
            to,
            action,
            array: _,
            document: _,
        } = transfer;
        Self {
            source,
            from: from.to_string(),
            to: to.to_string(),
            action: action.clone(),
        }
    }
}

impl SharePart {
    /// `is_borrowed`: another share has the other chunks of the source.
    pub(super) fn of(part: &Part, is_borrowed: bool) -> Self {
        let Growth {
            from,
            at,
            kept,
            recoded,
            array: _,
            document: _,
            to: _,
            axis: _,
        } = &part.growth;
        Self {
            source: part.source,
            from: from.to_string(),
            at: *at,
            kept: kept.clone(),
            recoded: recoded.clone(),
            is_borrowed,
        }
    }
}

impl Share {
    pub(super) fn new(document: ShareDocument) -> Self {
        Self(ShareDocument {
            version: VERSION,
            ..document
        })
    }

    /// Returns the numbers of the sources, of those given to the import, that the share reads. An import of these
    /// sources, in this order and with the same settings, can do the share.
    pub fn sources(&self) -> impl Iterator<Item = usize> {
        self.0
            .sources
            .iter()
            .flat_map(|source| source.origin.given())
    }

    /// Encodes the share as JSON, with a version number, without credentials.
    ///
    /// # Errors
    /// None that is known.
    pub fn to_bytes(&self) -> Result<Bytes, ImportError> {
        let bytes = serde_json::to_vec(&self.0);
        Ok(bytes.map_err(|error| unreadable(error.to_string()))?.into())
    }

    /// Decodes a share.
    ///
    /// # Errors
    /// [`ImportError::Sent`] if the bytes are damaged or of another version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ImportError> {
        let read: ShareDocument =
            serde_json::from_slice(bytes).map_err(|error| unreadable(error.to_string()))?;
        match read.version {
            VERSION => Ok(Self(read)),
            other => Err(unreadable(format!("it has the form {other}"))),
        }
    }
}

impl Import {
    /// Does a share of an import, in a fork of the session that [`Import::shares`] staged the documents in. This import has the
    /// sources of the share, and is described as the whole one was. Done again, in another fork, it comes to the same.
    ///
    /// # Errors
    /// [`ImportError::OtherSources`]; [`SourceError::Changed`] if a source has other nodes than when the import was planned;
    /// otherwise as [`Import::run`]. The fork then holds part of the share: do not merge it.
    pub async fn run_share(
        &self,
        share: &Share,
        session: &Session,
    ) -> Result<ImportReport, ImportError> {
        let done = async {
            let prepared = self.prepare_share(&share.0, session).await?;
            let seams = prepared.seams(session, prepared.dimension(), self.limits)?;
            self.move_chunks(session, &prepared, seams, None).await
        };
        let done = self.interrupt.unless(done).await?;
        done.map_err(|error| self.of_share(error))
    }

    /// Of a share of one source an error names that, as there are others elsewhere.
    fn of_share(&self, error: ImportError) -> ImportError {
        match (&self.sources[..], error) {
            (
                [source],
                error @ (ImportError::Plan(_)
                | ImportError::ChunkDiffers { .. }
                | ImportError::ChunkCountDiffers { .. }),
            ) => ImportError::OneSource {
                name: source.to_string(),
                source: Box::new(error),
            },
            (_, error) => error,
        }
    }

    async fn prepare_share(
        &self,
        share: &ShareDocument,
        session: &Session,
    ) -> Result<Prepared, ImportError> {
        let planned = share.sources.iter().map(|source| source.origin.given());
        let expected = planned.flatten().count();
        if expected != self.sources.len() {
            return Err(ImportError::OtherSources {
                expected,
                given: self.sources.len(),
            });
        }
        let (first, targets) = (documents(&share.first)?, documents(&share.targets)?);
        let mut prepared = Prepared {
            dimension: share.dimension.clone(),
            ..Prepared::default()
        };
        let mut opened = VecDeque::new();
        for source in &self.sources {
            let hierarchy = self.chosen(source.hierarchy().await?)?;
            opened.push_back(self.opened(source, hierarchy)?);
        }
        for planned in &share.sources {
            let made = self.made_again(session, &planned.origin, &mut opened, &first);
            let mut one = made.await?;
            one.stand_in(stand_ins(planned, share)?);
            if share.dimension.is_some() {
                one.convert(&targets).await?;
            }
            if one.digest != planned.digest {
                let name = one.source.to_string();
                return Err(SourceError::Changed { name }.into());
            }
            prepared.opened.push(one);
        }
        if let Some(dimension) = &share.dimension {
            // Elements that are not taken of a source are not converted.
            for part in share.arrays.iter().flat_map(|array| &array.parts) {
                if let Some(one) = prepared.opened.get(part.source) {
                    let _ = one.taken.set((dimension.clone(), part.kept.clone()));
                }
            }
        }
        if share.dimension.is_some() || self.encoding == Encoding::Unpacked {
            let targets = self.targets(session, &prepared.opened)?;
            let rounding = self.encode_as(&mut prepared.opened, &targets);
            prepared.encoded.rounding = rounding.await?;
        }
        for transfer in &share.transfers {
            let read = of_transfer(transfer, session, &prepared.opened)?;
            prepared.transfers.push((transfer.source, read));
        }
        for array in &share.arrays {
            let path = parsed(&array.path)?;
            let not_found = || SessionError::NodeNotFound { path: path.clone() };
            let document = session.metadata(&path)?.ok_or_else(not_found)?;
            let grown = of_array(array, (path, document), &prepared.opened)?;
            prepared.grown.push(grown);
        }
        Ok(prepared)
    }
}

/// Documents of times, by the paths of sources.
fn documents(sent: &BTreeMap<String, Value>) -> Result<times::Documents, ImportError> {
    let read = sent.iter();
    read.map(|(path, document)| Ok((parsed(path)?, document.clone())))
        .collect()
}

/// The arrays that stand in for those that a source lacks.
fn stand_ins(
    source: &ShareSource,
    share: &ShareDocument,
) -> Result<BTreeMap<NodePath, SourceNode>, ImportError> {
    let added = source.stand_ins.iter().map(|(path, number)| {
        let document = share.documents.get(*number);
        let document =
            document.ok_or_else(|| unreadable(format!("{path} has no document {number}")))?;
        let node = SourceNode::parse_made(document.clone().into());
        let node = node.map_err(|error| unreadable(format!("{path}: {error}")))?;
        Ok((parsed(path)?, node))
    });
    added.collect()
}

/// The array of a source that a share names, and its document.
fn node(
    opened: &[Opened],
    source: usize,
    path: &str,
) -> Result<(NodePath, ArrayMetadata, Bytes), ImportError> {
    let path = parsed(path)?;
    let node = opened
        .get(source)
        .and_then(|one| one.hierarchy.nodes.get(&path));
    match node.and_then(|node| Some((node.array()?, node.document()))) {
        Some((array, document)) => Ok((path, array.clone(), document.clone())),
        None => Err(unreadable(format!(
            "its source {source} has no array {path}"
        ))),
    }
}

fn of_transfer(
    transfer: &ShareTransfer,
    session: &Session,
    opened: &[Opened],
) -> Result<Transfer, ImportError> {
    let (from, array, document) = node(opened, transfer.source, &transfer.from)?;
    let to = parsed(&transfer.to)?;
    let there = session.array(&to)?;
    let is_laid_out_anew = matches!(transfer.action, Action::CompareElements(_));
    let fits = there.shape == array.shape && !(is_laid_out_anew && array.shape.is_empty());
    if !fits || matches!(transfer.action, Action::Move(_)) {
        return Err(unreadable(format!(
            "{to}: what a source has of it does not fit"
        )));
    }
    Ok(Transfer {
        from,
        array,
        document,
        to,
        action: transfer.action.clone(),
    })
}

fn of_array(
    given: &ShareArray,
    (path, document): (NodePath, Bytes),
    opened: &[Opened],
) -> Result<(Grown, Layout), ImportError> {
    let wrong = |problem: &str| unreadable(format!("{path}: {problem}"));
    let metadata = NodeMetadata::parse(&document).ok();
    let array = metadata.as_ref().and_then(NodeMetadata::array).cloned();
    let array = array.ok_or_else(|| SessionError::NotAnArray { path: path.clone() })?;
    let axis = given.axis;
    let (Some(length), Some(count)) = (array.shape.get(axis), array.chunk_counts.get(axis)) else {
        return Err(wrong("it has no such axis"));
    };
    let (length, count) = (*length, u64::from(*count));
    let mut parts = Vec::new();
    for part in &given.parts {
        let (from, of_source, document) = node(opened, part.source, &part.from)?;
        let is_as_wide =
            |(at, length): (usize, &u64)| at == axis || array.shape.get(at) == Some(length);
        let mut lengths = of_source.shape.iter().enumerate();
        let fits = of_source.shape.len() == array.shape.len() && lengths.all(is_as_wide);
        let kept = part.kept.clone();
        let has_them = of_source.shape.get(axis).is_some_and(|it| kept.end <= *it);
        let end = kept.end.checked_sub(kept.start);
        let end = end.and_then(|kept| kept.checked_add(part.at));
        if !fits || !has_them || end.is_none_or(|end| end > length) {
            return Err(wrong("what a source has of it does not fit"));
        }
        let growth = Growth {
            from,
            array: of_source,
            document,
            to: path.clone(),
            axis,
            at: part.at,
            kept,
            recoded: part.recoded.clone(),
        };
        parts.push(Part {
            source: part.source,
            growth,
            is_borrowed: part.is_borrowed,
        });
    }
    let is_moved = |(part, shift): &(usize, Shift)| {
        let counts = parts.get(*part).map(|it| &it.growth.array.chunk_counts);
        let of_part = counts.and_then(|it| it.get(axis)).copied().map(u64::from);
        let moved = shift.chunks.end.checked_sub(shift.chunks.start);
        let end = moved.and_then(|moved| moved.checked_add(shift.to));
        shift.axis == axis
            && of_part.is_some_and(|count| shift.chunks.end <= count)
            && end.is_some_and(|end| end <= count)
    };
    let is_made = |chunks: &Range<u64>| chunks.start <= chunks.end && chunks.end <= count;
    if given.existing > length
        || !given.taken.iter().all(is_moved)
        || !given.assembled.iter().all(is_made)
    {
        return Err(wrong("its chunks do not lie in the grid"));
    }
    let layout = Layout {
        taken: given.taken.clone(),
        assembled: given.assembled.clone(),
    };
    let grown = Grown {
        path,
        axis,
        existing: given.existing,
        array,
        document,
        parts,
    };
    Ok((grown, layout))
}

fn parsed(path: &str) -> Result<NodePath, ImportError> {
    NodePath::parse(path).map_err(|error| unreadable(format!("{path:?}: {error}")))
}

fn unreadable(problem: String) -> ImportError {
    ImportError::Sent {
        what: "share",
        problem,
    }
}
