//! How far the two ends of a window go.

use icefield_core::Session;

use super::options::Options;
use super::sizes::{MOST_REWRITTEN, unit};
use crate::blocks::Blocks;
use crate::dimension::Dimension;
use crate::{Change, Keep, RollingError, labels};

/// Where the two ends go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    /// Elements by which the first shown one moves.
    pub(super) start: i64,
    pub(super) end: i64,
}

/// How far the two ends go.
pub(super) async fn ends(
    session: &Session,
    dimension: &Dimension,
    change: &Change,
    options: Options,
) -> Result<Ends, RollingError> {
    let window = &dimension.window;
    let shown = window.length() - window.hidden();
    let signed = |elements: u64| {
        i64::try_from(elements).map_err(|_| RollingError::TooLong {
            path: dimension.members[0].path.clone(),
            dimension: dimension.name.clone(),
            rule: "absolute indices have 64 bits",
        })
    };
    let trim = change.trim_start.saturating_add(change.trim_end);
    let there = shown
        .saturating_add(change.append)
        .saturating_add(change.prepend);
    if trim > there {
        return Err(RollingError::TooShort {
            dimension: dimension.name.clone(),
            elements: trim,
            length: there,
        });
    }
    let (mut start, mut end) = (signed(change.trim_start)?, -signed(change.trim_end)?);
    if let Some(keep) = change.keep {
        let at_start = change.prepend == 0;
        let kept = match keep {
            Keep::Count(0) => {
                return Err(RollingError::NothingLeft {
                    dimension: dimension.name.clone(),
                });
            }
            Keep::Count(count) => count,
            Keep::Span(span) => kept_of_span(session, dimension, change, span).await?,
        };
        let mut gone = there.saturating_sub(kept);
        if at_start {
            let unit = unit(dimension, options);
            if !options.mask {
                // Whole chunks, counted from element 0.
                let first = window.hidden().saturating_add(gone);
                gone = (first - first % unit).saturating_sub(window.hidden());
            }
            start = signed(gone)?;
        } else {
            end = -signed(gone)?;
        }
    }
    let add = |a: i64, b: i64| a.checked_add(b).unwrap_or(i64::MAX);
    Ok(Ends {
        start: add(start, -signed(change.prepend)?),
        end: add(end, signed(change.append)?),
    })
}

/// How many elements lie within a span, those that come in among them.
async fn kept_of_span(
    session: &Session,
    dimension: &Dimension,
    change: &Change,
    span: crate::Duration,
) -> Result<u64, RollingError> {
    let axes = labels::axes(dimension);
    let number = axes.iter().position(|axis| axis.is_time());
    let axis = number.map(|number| &axes[number]);
    let axis = axis.ok_or_else(|| RollingError::NoTime {
        dimension: dimension.name.clone(),
    })?;
    let blocks = Blocks::of(axis.member)?;
    let hidden = dimension.window.hidden();
    let (append, prepend) = (change.append, change.prepend);
    let length = (axis.member.length() - hidden)
        .saturating_add(append)
        .saturating_add(prepend);
    if blocks.bytes(&[length.max(axis.member.length())]) > MOST_REWRITTEN {
        return Err(RollingError::TooLong {
            path: axis.member.path.clone(),
            dimension: dimension.name.clone(),
            rule: "labels that are looked through have at most 256 MiB",
        });
    }
    let all = blocks.read_all(session, &axis.member.array).await?;
    let first = i64::try_from(hidden).unwrap_or(0) - i64::try_from(prepend).unwrap_or(0);
    let mut block = blocks.moved(&all, 0, first, length, 0);
    let before = axis.shown(&all, hidden);
    let new = match prepend {
        0 => length - append..length,
        _ => 0..prepend,
    };
    if !new.is_empty() {
        axis.go_on(
            &mut block,
            &before,
            new,
            prepend > 0,
            change.labels.as_deref().filter(|_| number == Some(0)),
        )?;
    }
    let labels = axis.numbers(&block);
    axis.check(&labels, 0)?;
    axis.count_within(&labels, span, prepend == 0)
        .ok_or_else(|| RollingError::NoTime {
            dimension: dimension.name.clone(),
        })
}
