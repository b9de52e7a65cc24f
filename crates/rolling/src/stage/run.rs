//! Carries a plan out: labels first, then whatever else moves or is rewritten.

use std::collections::BTreeSet;

use icefield_core::Session;

use super::plan::{Plan, Way};
use super::sizes::bounds_path;
use super::{Method, Staged};
use crate::blocks::{Block, Blocks};
use crate::dimension::Member;
use crate::labels::{self, Axis};
use crate::{Change, RollingError};

impl Plan<'_> {
    pub(super) async fn run(
        &self,
        session: &Session,
        change: &Change,
    ) -> Result<Staged, RollingError> {
        let mut staged = Staged {
            before: self.dimension.window.clone(),
            window: self.window.clone(),
            new: self.new.clone(),
            arrays: Vec::new(),
            rewritten: Vec::new(),
            rewritten_chunks: 0,
        };
        // Labels first: they are what may be refused.
        let axes = labels::axes(self.dimension);
        let mut named = BTreeSet::new();
        for (number, axis) in axes.iter().enumerate() {
            let Some(Way::Rewrite(blocks)) = self.way(axis.member) else {
                // Too large to be rewritten: whoever has so many labels writes them.
                continue;
            };
            let given = change.labels.as_deref().filter(|_| number == 0);
            self.rewrite_labels(session, axis, blocks, given).await?;
            named.insert(axis.member.path.clone());
            if let Some(path) = bounds_path(self.dimension, &axis.member.path) {
                named.insert(path.clone());
            }
        }
        for (member, way) in &self.ways {
            match way {
                Way::Move(chunks) => {
                    staged.rewritten_chunks += self.move_chunks(session, member, *chunks).await?;
                    staged.arrays.push(member.path.clone());
                }
                Way::Rewrite(blocks) => {
                    if !named.contains(&member.path) {
                        let all = blocks.read_all(session, &member.array).await?;
                        self.rewrite(
                            session,
                            member,
                            blocks,
                            &self.moved_block(member, blocks, &all),
                        )
                        .await?;
                    }
                    staged.rewritten.push(member.path.clone());
                }
            }
        }
        Ok(staged)
    }

    fn way(&self, member: &Member) -> Option<&Way> {
        let found = self
            .ways
            .iter()
            .find(|(other, _)| other.path == member.path);
        found.map(|(_, way)| way)
    }

    fn moved_block(&self, member: &Member, blocks: &Blocks, all: &Block) -> Block {
        let masked = match self.options.method {
            Method::Shift => self.window.hidden(),
            // Labels of what went stay right, and readers need one for each element.
            Method::Absolute => 0,
        };
        blocks.moved(all, member.axis, self.moved, self.window.length(), masked)
    }

    /// Puts the labels of what came in behind or before the others, and the bounds of their cells with them.
    async fn rewrite_labels(
        &self,
        session: &Session,
        axis: &Axis<'_>,
        blocks: &Blocks,
        given: Option<&[f64]>,
    ) -> Result<(), RollingError> {
        let member = axis.member;
        let new = self.elements(&self.new);
        if let Some(given) = given
            && given.len() as u64 != new.end - new.start
        {
            return Err(RollingError::LabelCount {
                dimension: self.dimension.name.clone(),
                expected: new.end - new.start,
                found: given.len(),
            });
        }
        let all = blocks.read_all(session, &member.array).await?;
        let old = axis.numbers(&all);
        let before = axis.shown(&all, self.dimension.window.hidden());
        let mut block = self.moved_block(member, blocks, &all);
        if !new.is_empty() {
            let at_start = self.new.end == self.dimension.window.first();
            axis.go_on(&mut block, &before, new.clone(), at_start, given)?;
        }
        let labels = axis.numbers(&block);
        axis.check(&labels, self.window.hidden())?;
        self.rewrite(session, member, blocks, &block).await?;
        let bounds = bounds_path(self.dimension, &member.path);
        let bounds = self
            .ways
            .iter()
            .find(|(other, _)| Some(&other.path) == bounds);
        let Some((bounds, Way::Rewrite(blocks))) = bounds else {
            return Ok(());
        };
        let all = blocks.read_all(session, &bounds.array).await?;
        let mut block = self.moved_block(bounds, blocks, &all);
        // Where they are of no one width, they are whoever fills the window's to write.
        let cells = labels::Cells::of(
            bounds,
            &all,
            &old.as_floats(),
            self.dimension.window.hidden(),
        );
        if let Some(cells) = cells {
            let _ = cells.put(&mut block, &labels.as_floats(), new);
        }
        self.rewrite(session, bounds, blocks, &block).await
    }

    /// Where the arrays have elements, given by their absolute indices.
    fn elements(&self, absolute: &std::ops::Range<i64>) -> std::ops::Range<u64> {
        let at = |index: i64| {
            u64::try_from(i128::from(index) - i128::from(self.window.origin())).unwrap_or(0)
        };
        at(absolute.start)..at(absolute.end)
    }

    async fn rewrite(
        &self,
        session: &Session,
        member: &Member,
        blocks: &Blocks,
        block: &Block,
    ) -> Result<(), RollingError> {
        let array = self.set_document(session, member).await?;
        blocks.write_all(session, &array, block).await
    }
}
