//! References to chunks where they lie, in place of copies.

use icefield_core::{NodePath, Session, VirtualRefs, WriteMode};

use crate::plan::{Action, Shift, Transfer};
use crate::source::References;
use crate::{ImportError, Source};

/// The counts of references.
#[derive(Debug, Default)]
pub(super) struct Referred {
    pub(super) chunks: u64,
    pub(super) bytes: u64,
}

/// Sets the references of the arrays that are referred to. Returns the transfers that are left.
pub(super) async fn run(
    source: &dyn Source,
    session: &Session,
    transfers: Vec<Transfer>,
    refers: impl Fn(&Transfer) -> bool,
) -> Result<(Vec<Transfer>, Referred), ImportError> {
    let (mut left, mut referred) = (Vec::new(), Referred::default());
    for transfer in transfers {
        let shift = match &transfer.action {
            Action::Compare | Action::CompareElements(_) => None,
            Action::Copy => Some(None),
            Action::Move(shift) => Some(Some(shift)),
        };
        let Some(shift) = shift.filter(|_| refers(&transfer)) else {
            left.push(transfer);
            continue;
        };
        let from = &transfer.from;
        let references = source
            .references(from)
            .map_err(|reason| ImportError::NotVirtual {
                path: from.clone(),
                name: source.to_string(),
                reason,
            })?;
        referred.add(set(session, &transfer.to, shift, &references).await?);
    }
    Ok((left, referred))
}

impl Referred {
    fn add(&mut self, other: Self) {
        self.chunks += other.chunks;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

async fn set(
    session: &Session,
    path: &NodePath,
    shift: Option<&Shift>,
    references: &References<'_>,
) -> Result<Referred, ImportError> {
    let extents = &*references.extents;
    let mut moved = Moved::default();
    if let Some(shift) = shift {
        for (row, source) in extents.rows().zip(&references.source) {
            if let Some(target) = shift.target(row.index) {
                moved.coordinates.extend(target);
                moved.source.push(*source);
                moved.offsets.push(row.offset);
                moved.lengths.push(row.length);
            }
        }
    }
    let refs = match shift {
        None => VirtualRefs {
            coordinates: extents.coordinates(),
            sources: &references.sources,
            source: &references.source,
            offsets: extents.offsets(),
            lengths: extents.lengths(),
        },
        Some(_) => VirtualRefs {
            coordinates: &moved.coordinates,
            sources: &references.sources,
            source: &moved.source,
            offsets: &moved.offsets,
            lengths: &moved.lengths,
        },
    };
    let bytes = refs
        .lengths
        .iter()
        .fold(0_u64, |all, one| all.saturating_add(*one));
    let referred = Referred {
        chunks: refs.lengths.len() as u64,
        bytes,
    };
    session.set_virtual_refs(path, refs).await?;
    for (index, bytes) in &*references.made {
        let target = match shift {
            None => Some(index.to_vec()),
            Some(shift) => shift.target(index),
        };
        if let Some(target) = target {
            session
                .set_chunk(path, &target, bytes.clone(), WriteMode::Overwrite)
                .await?;
        }
    }
    Ok(referred)
}

/// The rows of extents that go somewhere else.
#[derive(Default)]
struct Moved {
    coordinates: Vec<u32>,
    source: Vec<u32>,
    offsets: Vec<u64>,
    lengths: Vec<u64>,
}
