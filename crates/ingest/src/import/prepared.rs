//! Everything that an import will do, once it was found out.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use icefield_core::{NodePath, Session};

use super::arrange::Places;
use super::attributes::Combined;
use super::encodings::Encoded;
use super::layout::{Grown, Layout, Part};
use super::missing::Completed;
use super::opened::Opened;
use super::report::ImportReport;
use super::{seams, times};
use crate::assemble::{Assembly, Sink};
use crate::plan::{Action, Growth, Plan, Transfer};
use crate::{Difference, ImportError, Limits, Source};

/// Everything that an import will do.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    /// Along which the sources lie behind one another, if they do.
    pub(super) dimension: Option<String>,
    /// The sources in order.
    pub(super) opened: Vec<Opened>,
    pub(super) places: Places,
    /// The documents of the first file, if the values of coordinates in its units say how the files belong together.
    pub(super) first: times::Documents,
    /// The documents whose units of time the sources have, by the paths of these; none if no dimension grows.
    pub(super) targets: times::Documents,
    /// Documents as they will be, parents before children.
    pub(super) documents: BTreeMap<NodePath, Bytes>,
    /// The chunks of arrays that do not grow, by source.
    pub(super) transfers: Vec<(usize, Transfer)>,
    pub(super) grown: Vec<(Grown, Layout)>,
    pub(super) completed: Completed,
    pub(super) encoded: Encoded,
    pub(super) combined: Combined,
    pub(super) report: ImportReport,
}

/// Chunks of one source and one array, by their place among all that is planned.
#[derive(Clone, Copy, Debug)]
pub(super) enum MovedChunks {
    /// All of an array that does not grow.
    Whole(usize),
    /// Those of a part that are taken as they are.
    Taken {
        /// Among the arrays that grow.
        array: usize,
        /// Among what is taken of it.
        taken: usize,
    },
}

impl Prepared {
    /// The dimension along which arrays grow; nothing if none do.
    pub(super) fn dimension(&self) -> &str {
        self.dimension.as_deref().unwrap_or_default()
    }

    /// Adds what is planned of one source.
    pub(super) fn add(&mut self, plan: Plan) {
        self.documents.extend(plan.documents);
        self.report.new_groups += plan.new_groups;
        self.report.new_arrays += plan.new_arrays;
        for (all, more) in [
            (&mut self.report.extended_arrays, plan.extended_arrays),
            (&mut self.report.kept_groups, plan.kept_groups),
        ] {
            for path in more {
                if !all.contains(&path) {
                    all.push(path);
                }
            }
        }
    }

    /// Has arrays compared by their elements, once they are there, that this import puts together.
    pub(super) fn compare_what_is_put_together(&mut self) {
        let put_together: BTreeMap<&NodePath, &Difference> = self
            .grown
            .iter()
            .filter_map(|(grown, _)| {
                let mut differences = grown.parts.iter().map(|part| part.growth.recoded.as_ref());
                Some((&grown.path, differences.find_map(|it| it)?))
            })
            .collect();
        for (_, transfer) in &mut self.transfers {
            if let (Action::Compare, Some(difference)) =
                (&transfer.action, put_together.get(&transfer.to))
            {
                transfer.action = Action::CompareElements((*difference).clone());
            }
        }
    }

    /// Returns the sources in order.
    pub(super) fn sources(&self) -> Vec<Arc<dyn Source>> {
        self.opened
            .iter()
            .map(|one| Arc::clone(&one.source))
            .collect()
    }

    /// Returns, for each source, the chunks that are copied, referred to or compared one by one.
    pub(super) fn moved(&self) -> Vec<Vec<MovedChunks>> {
        let mut moved: Vec<Vec<MovedChunks>> = vec![Vec::new(); self.opened.len()];
        for (at, (source, transfer)) in self.transfers.iter().enumerate() {
            if !matches!(transfer.action, Action::CompareElements(_)) {
                moved[*source].push(MovedChunks::Whole(at));
            }
        }
        for (array, (grown, layout)) in self.grown.iter().enumerate() {
            for (taken, (part, _)) in layout.taken.iter().enumerate() {
                moved[grown.parts[*part].source].push(MovedChunks::Taken { array, taken });
            }
        }
        moved
    }

    /// Returns those of one source.
    pub(super) fn transfers(&self, moved: &[MovedChunks]) -> Vec<Transfer> {
        let transfers = moved.iter().map(|moved| match moved {
            MovedChunks::Whole(at) => self.transfers[*at].1.clone(),
            MovedChunks::Taken { array, taken } => {
                let (grown, layout) = &self.grown[*array];
                let (part, shift) = &layout.taken[*taken];
                let growth = &grown.parts[*part].growth;
                Transfer {
                    from: growth.from.clone(),
                    array: growth.array.clone(),
                    document: growth.document.clone(),
                    to: grown.path.clone(),
                    action: Action::Move(shift.clone()),
                }
            }
        });
        transfers.collect()
    }

    /// Returns the arrays of which chunks are put together to be written, and those to be compared.
    ///
    /// # Errors
    /// Codecs that are not understood here.
    pub(super) fn seams(
        &self,
        session: &Session,
        dimension: &str,
        limits: Limits,
    ) -> Result<(Vec<Assembly>, Vec<Assembly>), ImportError> {
        let sources = self.sources();
        let with_seams = self.grown.iter().filter(|(_, it)| !it.assembled.is_empty());
        let written = with_seams.map(|(grown, layout)| {
            let along = (dimension, limits);
            seams::assembly(session, (grown, layout), Sink::Write, &sources, along)
        });
        let compared = self.transfers.iter().filter_map(|(source, transfer)| {
            let grown = self.compared(*source, transfer, session)?;
            let along = (dimension, limits);
            let layout = grown.layout();
            let grown = (&grown, &layout);
            Some(seams::assembly(
                session,
                grown,
                Sink::Compare,
                &sources,
                along,
            ))
        });
        Ok((
            written.collect::<Result<_, _>>()?,
            compared.collect::<Result<_, _>>()?,
        ))
    }

    /// An array whose elements are compared, as it would be if it came in; `None` if its chunks are.
    fn compared(&self, source: usize, transfer: &Transfer, session: &Session) -> Option<Grown> {
        let Action::CompareElements(difference) = &transfer.action else {
            return None;
        };
        let document = match self.documents.get(&transfer.to) {
            Some(document) => document.clone(),
            None => session.metadata(&transfer.to).ok()??,
        };
        let part = Part::new(source, Growth::whole(transfer, difference.clone()));
        Grown::new(transfer.to.clone(), 0, document, vec![part])
    }
}
