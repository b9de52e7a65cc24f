//! Carries a plan out: labels first, then whatever else moves or is rewritten.

use std::collections::BTreeSet;

use icefield_core::{NodePath, Session};

use super::plan::{Plan, Way};
use super::sizes::bounds_path;
use super::{Method, Staged};
use crate::blocks::{Block, Blocks, Rewrite, Written};
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
        self.check_given(&axes, change)?;
        let mut named = BTreeSet::new();
        for (number, axis) in axes.iter().enumerate() {
            let Some(Way::Rewrite(blocks)) = self.way(axis.member) else {
                // Too large to be rewritten: the caller writes so many labels itself.
                continue;
            };
            let given = change.labels.as_deref().filter(|_| number == 0);
            // Bounds that moved with another coordinate are done.
            let bounds = bounds_path(self.dimension, &axis.member.path);
            let bounds = bounds.filter(|path| !named.contains(*path)).cloned();
            self.rewrite_labels(session, axis, blocks, given, bounds.as_ref(), number == 0)
                .await?;
            named.insert(axis.member.path.clone());
            named.extend(bounds);
        }
        for (member, way) in &self.ways {
            match way {
                Way::Move(chunks) => {
                    staged.rewritten_chunks += self.move_chunks(session, member, *chunks).await?;
                    staged.arrays.push(member.path.clone());
                }
                Way::Rewrite(blocks) => {
                    if !named.contains(&member.path) {
                        let before = blocks.read_written(session, &member.array).await?;
                        let block = self.moved_block(member, blocks, &before.all);
                        self.rewrite(session, member, blocks, &block, &before, false)
                            .await?;
                    }
                    staged.rewritten.push(member.path.clone());
                }
            }
        }
        Ok(staged)
    }

    /// Labels that are given are taken by a coordinate.
    fn check_given(&self, axes: &[Axis<'_>], change: &Change) -> Result<(), RollingError> {
        if change.labels.is_none() {
            return Ok(());
        }
        match axes.first().map(|axis| self.way(axis.member)) {
            Some(Some(Way::Rewrite(_))) => Ok(()),
            _ => Err(RollingError::LabelsNotTaken {
                dimension: self.dimension.name.clone(),
            }),
        }
    }

    fn way(&self, member: &Member) -> Option<&Way> {
        let found = self
            .ways
            .iter()
            .find(|(other, _)| other.path == member.path);
        found.map(|(_, way)| way)
    }

    fn moved_block(&self, member: &Member, blocks: &Blocks, all: &Block) -> Block {
        let masked = match self.method {
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
        bounds: Option<&NodePath>,
        is_first: bool,
    ) -> Result<(), RollingError> {
        let member = axis.member;
        let new = self.elements(&self.new);
        let written = blocks.read_written(session, &member.array).await?;
        let all = &written.all;
        let old = axis.numbers(all);
        let before = axis.shown(all, self.dimension.window.hidden());
        let mut block = self.moved_block(member, blocks, all);
        if self.method == Method::Shift {
            axis.mask(&mut block, self.window.hidden())?;
        }
        if !new.is_empty() {
            let at_start = self.new.end == self.dimension.window.first();
            let gone_on = axis.go_on(&mut block, &before, new.clone(), at_start, given);
            // Another coordinate than the one that names the elements need not be regular: the reference time of a forecast
            // is one for all its steps. The caller's code that fills the window writes its values; until then they are unwritten.
            match gone_on {
                Err(RollingError::LabelsNeeded { .. }) if !is_first => {}
                gone_on => gone_on?,
            }
        }
        let labels = axis.numbers(&block);
        if is_first {
            axis.check(&labels, self.window.hidden())?;
        }
        self.rewrite(session, member, blocks, &block, &written, true)
            .await?;
        let bounds = self
            .ways
            .iter()
            .find(|(other, _)| Some(&other.path) == bounds);
        let Some((bounds, Way::Rewrite(blocks))) = bounds else {
            return Ok(());
        };
        let written = blocks.read_written(session, &bounds.array).await?;
        let all = &written.all;
        let mut block = self.moved_block(bounds, blocks, all);
        // Where they are of no one width, the caller's code that fills the window writes them.
        let cells = labels::Cells::of(
            bounds,
            all,
            &old.as_floats(),
            self.dimension.window.hidden(),
        );
        if let Some(cells) = cells {
            let _ = cells.put(&mut block, &labels.as_floats(), new);
        }
        self.rewrite(session, bounds, blocks, &block, &written, true)
            .await
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
        before: &Written,
        whole: bool,
    ) -> Result<(), RollingError> {
        let array = self.set_document(session, member).await?;
        let change = Rewrite {
            axis: member.axis,
            moved: self.moved,
            whole,
        };
        blocks
            .write_all(session, &array, block, before, change)
            .await
    }
}
