//! The plan of an import, for people to read.

use futures::TryStreamExt;
use icefield_core::{ArrayMetadata, BranchName, NodeMetadata, NodePath, Repository, Session};

use super::builder::Import;
use super::choices::{DifferingAttribute, Lacking};
use super::layout::Grown;
use super::prepared::Prepared;
use crate::assemble::Assembly;
use crate::chunk_layout::Described;
use crate::plan::{Action, Transfer};
use crate::{ChunkEntry, Gap, ImportError, Source, Unsupported};

/// Reasons that are told of one array.
const REASONS: usize = 4;

/// The plan of an import: what [`Import::run`] would do. Nothing was written to make it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ImportPlan {
    /// The dimension along which the sources lie behind one another, if they do.
    pub dimension: Option<String>,
    /// The sources, in order.
    pub sources: Vec<PlannedSource>,
    /// The arrays, by their paths in the repository.
    pub arrays: Vec<PlannedArray>,
    /// The number of groups that would be created.
    pub new_groups: u64,
    /// The groups that would stay as they are although a source has other metadata for them.
    pub kept_groups: Vec<NodePath>,
    /// The steps between sources that are longer than usual.
    pub gaps: Vec<Gap>,
    /// The arrays that sources lack; see [`Import::missing`].
    pub lacking: Vec<Lacking>,
    /// The attributes that differ from source to source; see [`Import::attributes`].
    pub attributes: Vec<DifferingAttribute>,
    /// The names of sources that are in the repository already, and would be left out.
    pub skipped: Vec<String>,
    /// Warnings of the sources.
    pub warnings: Vec<String>,
    /// The nodes that would be left out because Zarr cannot express them.
    pub omitted: Vec<Unsupported>,
}

/// The part of a source that an import would take.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct PlannedSource {
    /// The name of the source in messages.
    pub name: String,
    /// The number of elements along the dimension; `None` if no array of the source has the dimension.
    pub elements: Option<u64>,
    /// The number of elements that would be left out because they overlap others.
    pub left_out: u64,
    /// The arrays whose times would be converted to the units of the result.
    pub converted: Vec<NodePath>,
    /// The arrays whose numbers the source stores otherwise than the result would.
    pub reencoded: Vec<NodePath>,
}

/// The plan for the chunks of an array.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlannedArray {
    /// The path in the repository.
    pub path: NodePath,
    /// Whether the array would be created.
    pub is_new: bool,
    /// The number of elements of each dimension after the import.
    pub shape: Vec<u64>,
    /// The number of elements of a chunk along each dimension; inside of shards, if there are any.
    pub chunk_shape: Vec<u64>,
    /// The number of elements of a shard along each dimension. Where there are shards, the counts below are of shards,
    /// not of the chunks in them.
    pub shard_shape: Option<Vec<u64>>,
    /// Names of the codecs, in the order of encoding; that of shards first.
    pub codecs: Vec<String>,
    /// The number of chunks that would be copied as they are, and their bytes.
    pub copied: (u64, u64),
    /// The number of chunks that would be referred to where they lie, and their bytes.
    pub referred: (u64, u64),
    /// The number of chunks that would be compared with present ones, and their bytes.
    pub compared: (u64, u64),
    /// The number of chunks that would be put together of decoded elements and encoded, and the bytes of their elements
    /// before that.
    pub assembled: (u64, u64),
    /// The number of chunks of sources that would be decoded for that, if all existed; one counts as often as it is
    /// decoded.
    pub decodes: u64,
    /// The reasons for that, for some sources.
    pub reasons: Vec<String>,
    /// The number of sources for which there is a reason.
    pub reasons_in_all: u64,
}

impl Import {
    /// Returns what [`Import::run`] would do. Coordinates are read, and no other chunks. Nothing is written.
    ///
    /// # Errors
    /// As [`Import::run`], for faults that can be found without reading chunks.
    pub async fn plan(
        &self,
        repository: &Repository,
        branch: BranchName,
    ) -> Result<ImportPlan, ImportError> {
        let session = repository.write_session(branch).await?;
        self.plan_in(&session).await
    }

    /// Returns what [`Import::stage`] would do. The sources may be those of a [survey of
    /// chunks](Import::survey_chunks).
    ///
    /// # Errors
    /// As [`Import::plan`].
    pub async fn plan_in(&self, session: &Session) -> Result<ImportPlan, ImportError> {
        self.interrupt.check()?;
        let outlined = async {
            let adapted = self.adapted(session)?;
            let this = adapted.as_ref().unwrap_or(self);
            let prepared = this.prepare(session).await?;
            let seams = prepared.seams(session, prepared.dimension(), self.limits)?;
            self.outline(&prepared, seams, |path| session.array(path).is_err())
                .await
        };
        self.interrupt.unless(outlined).await?
    }

    async fn outline(
        &self,
        prepared: &Prepared,
        (written, compared): (Vec<Assembly>, Vec<Assembly>),
        is_new: impl Fn(&NodePath) -> bool,
    ) -> Result<ImportPlan, ImportError> {
        let mut arrays: std::collections::BTreeMap<NodePath, PlannedArray> = prepared
            .documents
            .iter()
            .filter_map(|(path, document)| {
                let metadata = NodeMetadata::parse(document).ok()?;
                let planned = planned(path, metadata.array()?, document, is_new(path));
                Some((path.clone(), planned))
            })
            .collect();
        for (one, moved) in prepared.opened.iter().zip(prepared.moved()) {
            for transfer in prepared.transfers(&moved) {
                let amount = amount(&*one.source, &transfer).await?;
                let compared = || {
                    let document = &transfer.document;
                    planned(&transfer.to, &transfer.array, document, false)
                };
                let array = arrays.entry(transfer.to.clone()).or_insert_with(compared);
                let refers = self.refers_to(&transfer.from, &transfer.array, &*one.source);
                let into = match &transfer.action {
                    Action::Compare | Action::CompareElements(_) => &mut array.compared,
                    _ if refers => &mut array.referred,
                    _ => &mut array.copied,
                };
                into.0 += amount.0;
                into.1 += amount.1;
            }
        }
        for assembly in &written {
            if let Some(array) = arrays.get_mut(assembly.path()) {
                let chunks = assembly.chunks();
                array.assembled = (chunks, chunks.saturating_mul(assembly.chunk_bytes()));
                array.decodes = assembly.blocks(self.limits).decodes;
            }
        }
        for (_, transfer) in &prepared.transfers {
            if let Action::CompareElements(_) = &transfer.action {
                let compared = || {
                    let document = &transfer.document;
                    planned(&transfer.to, &transfer.array, document, false)
                };
                arrays.entry(transfer.to.clone()).or_insert_with(compared);
            }
        }
        for assembly in &compared {
            if let Some(array) = arrays.get_mut(assembly.path()) {
                let chunks = assembly.chunks();
                array.compared.0 += chunks;
                array.compared.1 += chunks.saturating_mul(assembly.chunk_bytes());
            }
        }
        for (grown, layout) in &prepared.grown {
            if let Some(array) = arrays.get_mut(&grown.path)
                && !layout.assembled.is_empty()
            {
                explain(array, grown, prepared);
            }
        }
        let sources = prepared.opened.iter().map(|one| PlannedSource {
            name: one.source.to_string(),
            elements: elements(one, prepared.dimension()),
            left_out: one
                .kept
                .as_ref()
                .map_or(0, |(kept, of)| of - (kept.end - kept.start)),
            converted: one.converted.clone(),
            reencoded: one.reencoded.keys().cloned().collect(),
        });
        Ok(ImportPlan {
            dimension: prepared.dimension.clone(),
            sources: sources.collect(),
            arrays: arrays.into_values().collect(),
            new_groups: prepared.report.new_groups,
            kept_groups: prepared.report.kept_groups.clone(),
            gaps: prepared.places.gaps.clone(),
            lacking: prepared.completed.lacking.clone(),
            attributes: prepared.combined.differing.clone(),
            skipped: prepared.report.skipped.clone(),
            warnings: prepared.report.warnings.clone(),
            omitted: prepared.report.omitted.clone(),
        })
    }
}

fn planned(path: &NodePath, array: &ArrayMetadata, document: &[u8], is_new: bool) -> PlannedArray {
    let document: serde_json::Value = serde_json::from_slice(document).unwrap_or_default();
    let (chunk_shape, shard_shape, codecs) = match Described::of(&document) {
        Ok(described) => {
            let codecs = described.codec_names();
            (described.chunks, described.shards, codecs)
        }
        Err(_) => {
            let codecs = document["codecs"].as_array().into_iter().flatten();
            let names = codecs.filter_map(|it| it.as_str().or_else(|| it["name"].as_str()));
            let names = names.map(str::to_owned).collect();
            (array.chunk_shape.clone(), None, names)
        }
    };
    PlannedArray {
        path: path.clone(),
        is_new,
        shape: array.shape.clone(),
        chunk_shape,
        shard_shape,
        codecs,
        copied: (0, 0),
        referred: (0, 0),
        compared: (0, 0),
        assembled: (0, 0),
        decodes: 0,
        reasons: Vec::new(),
        reasons_in_all: 0,
    }
}

/// The chunks of a transfer that exist, and their bytes.
async fn amount(source: &dyn Source, transfer: &Transfer) -> Result<(u64, u64), ImportError> {
    let mut found = (0, 0);
    let mut chunks = source.chunks(&transfer.from, &transfer.array);
    while let Some(entry) = chunks.try_next().await? {
        let ChunkEntry::Chunk { index, length } = entry else {
            continue;
        };
        let is_of_it = match &transfer.action {
            Action::Move(shift) => shift.target(&index).is_some(),
            Action::Copy | Action::Compare | Action::CompareElements(_) => true,
        };
        if is_of_it {
            found = (found.0 + 1, found.1 + length);
        }
    }
    Ok(found)
}

/// The elements of a source along the dimension: those of the first array that has it.
fn elements(one: &super::opened::Opened, dimension: &str) -> Option<u64> {
    one.hierarchy.nodes.values().find_map(|node| {
        let array = node.array()?;
        let mut names = array.dimension_names.as_deref()?.iter();
        let axis = names.position(|name| name.as_deref() == Some(dimension))?;
        array.shape.get(axis).copied()
    })
}

/// Says why chunks of an array are put together.
fn explain(array: &mut PlannedArray, grown: &Grown, prepared: &Prepared) {
    let chunk = grown.chunk();
    for part in &grown.parts {
        let growth = &part.growth;
        if growth.length() == 0 {
            continue;
        }
        let name = &prepared.opened[part.source].source;
        let end = growth.at + growth.length();
        let reason = match &growth.recoded {
            Some(difference) => format!("{name}: {difference}"),
            None if !grown.is_aligned(part) => {
                let at = growth.at;
                format!("{name}: begins at {at}, within a chunk of {chunk}")
            }
            None if end % chunk != 0 && end < grown.array.shape[grown.axis] => {
                format!("{name}: ends at {end}, within a chunk of {chunk}")
            }
            None => continue,
        };
        array.reasons_in_all += 1;
        if array.reasons.len() < REASONS {
            array.reasons.push(reason);
        }
    }
}
