//! References to chunks where they lie, in place of copies.

use std::collections::BTreeSet;

use icefield_core::{NodePath, Session, VirtualRefs, WriteMode};

use crate::plan::{Action, Transfer, coordinate};
use crate::source::References;
use crate::{ImportError, Source};

/// What was referred to.
#[derive(Debug, Default)]
pub(super) struct Referred {
    pub(super) chunks: u64,
    pub(super) bytes: u64,
}

/// Sets the references of all arrays that are not copied. Returns the transfers that are left.
pub(super) async fn run(
    source: &dyn Source,
    session: &Session,
    transfers: Vec<Transfer>,
    copied: &BTreeSet<NodePath>,
) -> Result<(Vec<Transfer>, Referred), ImportError> {
    let (mut left, mut referred) = (Vec::new(), Referred::default());
    for transfer in transfers {
        let Action::Copy { offset } = &transfer.action else {
            left.push(transfer);
            continue;
        };
        let from = &transfer.from;
        if copied.contains(from)
            || coordinate(from, &transfer.array).is_some()
            || source.is_at_hand(from)
        {
            left.push(transfer);
            continue;
        }
        let references = source
            .references(from)
            .map_err(|reason| ImportError::NotVirtual {
                path: from.clone(),
                name: source.to_string(),
                reason,
            })?;
        set(session, &transfer.to, offset, &references).await?;
        referred.chunks += references.extents.len() as u64;
        referred.bytes = referred.bytes.saturating_add(references.extents.bytes());
    }
    Ok((left, referred))
}

async fn set(
    session: &Session,
    path: &NodePath,
    offset: &[u32],
    references: &References<'_>,
) -> Result<(), ImportError> {
    let extents = references.extents;
    let moved: Vec<u32>;
    let coordinates = match offset.iter().all(|by| *by == 0) {
        true => extents.coordinates(),
        false => {
            let along = extents.coordinates().iter().zip(offset.iter().cycle());
            // What goes beyond the end is outside every grid.
            moved = along.map(|(at, by)| at.saturating_add(*by)).collect();
            &moved
        }
    };
    let refs = VirtualRefs {
        coordinates,
        sources: &references.sources,
        source: &references.source,
        offsets: extents.offsets(),
        lengths: extents.lengths(),
    };
    session.set_virtual_refs(path, refs).await?;
    for (index, bytes) in references.made {
        let index: Vec<u32> = index
            .iter()
            .zip(offset)
            .map(|(at, by)| at.saturating_add(*by))
            .collect();
        session
            .set_chunk(path, &index, bytes.clone(), WriteMode::Overwrite)
            .await?;
    }
    Ok(())
}
