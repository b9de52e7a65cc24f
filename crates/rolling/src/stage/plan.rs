//! How each array that has the dimension changes, decided before anything is touched.

use icefield_core::Session;

use super::ends::ends;
use super::options::{Method, Options};
use super::sizes::{MOST_REWRITTEN, by_size, lcm};
use crate::blocks::Blocks;
use crate::dimension::{Dimension, Member, Window};
use crate::{Change, RollingError};

/// How one array changes.
pub(super) enum Way {
    /// Its chunks move by so many places.
    Move(i64),
    /// All of it is written anew.
    Rewrite(Blocks),
}

pub(super) struct Plan<'a> {
    pub(super) dimension: &'a Dimension,
    pub(super) method: Method,
    pub(super) window: Window,
    /// Elements by which element 0 moves.
    pub(super) moved: i64,
    pub(super) new: std::ops::Range<i64>,
    pub(super) ways: Vec<(&'a Member, Way)>,
}

impl<'a> Plan<'a> {
    pub(super) async fn new(
        session: &Session,
        dimension: &'a Dimension,
        change: &Change,
        options: Options,
    ) -> Result<Self, RollingError> {
        let window = &dimension.window;
        let ends = ends(session, dimension, change, options).await?;
        let too_long = |rule| RollingError::TooLong {
            path: dimension.members[0].path.clone(),
            dimension: dimension.name.clone(),
            rule,
        };
        let overflow = || too_long("absolute indices have 64 bits");
        let first = window
            .first()
            .checked_add(ends.start)
            .ok_or_else(overflow)?;
        let end = window.end().checked_add(ends.end).ok_or_else(overflow)?;
        if first > window.end() || end < window.first() {
            return Err(RollingError::Contradiction {
                problem: "what comes in cannot go in the same change: trim less, or keep more",
            });
        }
        if first >= end {
            return Err(RollingError::NothingLeft {
                dimension: dimension.name.clone(),
            });
        }
        let new = match (change.append, change.prepend) {
            (0, 0) => first..first,
            (0, _) => first..window.first(),
            _ => window.end()..end,
        };
        let (large, small) = by_size(dimension, options);
        let wanted = i128::from(first) - i128::from(window.origin());
        let unit = large
            .iter()
            .try_fold(1_u64, |unit, member| lcm(unit, member.chunk()));
        let unit = unit.ok_or_else(|| too_long("its chunks have no common multiple"))?;
        let goes = wanted != i128::from(window.hidden());
        let method = match options.method {
            // Where the start stays, so does how it is said where it is.
            Method::Shift if !goes && dimension.is_absolute() => Method::Absolute,
            method => method,
        };
        let is_moved = method == Method::Shift && goes;
        let within = wanted.rem_euclid(i128::from(unit)) as u64;
        let masked = match method {
            Method::Absolute => 0,
            Method::Shift if !goes => window.hidden(),
            Method::Shift => within,
        };
        if goes && within > 0 && !options.mask {
            let below = ends.start.saturating_sub_unsigned(within);
            return Err(RollingError::NotAligned {
                dimension: dimension.name.clone(),
                elements: ends.start,
                below,
                above: below.saturating_add_unsigned(unit),
                arrays: large
                    .iter()
                    .map(|it| (it.path.clone(), it.chunk()))
                    .collect(),
            });
        }
        let moved = match is_moved {
            true => i64::try_from(wanted - i128::from(masked)).map_err(|_| overflow())?,
            false => 0,
        };
        let origin = window.origin().checked_add(moved).ok_or_else(overflow)?;
        let hidden = match method {
            Method::Shift => masked,
            Method::Absolute => u64::try_from(wanted).map_err(|_| overflow())?,
        };
        let length = u64::try_from(i128::from(end) - i128::from(origin)).map_err(|_| overflow())?;
        let mut ways: Vec<(&Member, Way)> = Vec::new();
        for member in large {
            ways.push((member, Way::Move(moved / member.chunk() as i64)));
        }
        for (member, blocks, is_label) in small {
            let is_aligned = moved.unsigned_abs() % member.chunk() == 0;
            let way = match is_aligned && !is_label {
                true => Way::Move(moved / member.chunk() as i64),
                false => Way::Rewrite(blocks),
            };
            ways.push((member, way));
        }
        ways.sort_by(|a, b| a.0.path.cmp(&b.0.path));
        for (member, way) in &ways {
            let mut shape = member.array.shape.clone();
            shape[member.axis] = length;
            if let Way::Rewrite(blocks) = way
                && blocks.bytes(&shape) > MOST_REWRITTEN
            {
                return Err(RollingError::TooLong {
                    path: member.path.clone(),
                    dimension: dimension.name.clone(),
                    rule: "arrays that are rewritten have at most 256 MiB",
                });
            }
            if length.div_ceil(member.chunk()) > u64::from(u32::MAX) {
                return Err(RollingError::TooLong {
                    path: member.path.clone(),
                    dimension: dimension.name.clone(),
                    rule: "a dimension has fewer than 2^32 chunks",
                });
            }
        }
        Ok(Self {
            dimension,
            method,
            window: Window::new(origin, length, hidden),
            moved,
            new,
            ways,
        })
    }
}
