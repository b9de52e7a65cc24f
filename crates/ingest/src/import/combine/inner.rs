//! Sources along an inner dimension, in order.

use std::cmp::Ordering;

use icefield_core::Session;

use crate::import::builder::Import;
use crate::import::opened::Opened;
use crate::import::{arrange, times};
use crate::{ImportError, Order};

/// Compares what coordinates begin with; what has no order is equal.
pub(super) fn by_first(one: Option<i128>, other: Option<i128>) -> Ordering {
    match (one, other) {
        (Some(one), Some(other)) => one.cmp(&other),
        _ => Ordering::Equal,
    }
}

/// Puts the sources along an inner dimension in order, with their times in the units of the first, and says what of each is
/// kept.
pub(super) async fn arranged(
    import: &Import,
    session: &Session,
    dimension: &str,
    parts: &mut Vec<Opened>,
    order: Order,
) -> Result<(), ImportError> {
    arrange::order(parts, dimension, order).await?;
    let targets = match &import.time_units {
        Some(units) if import.concat.as_deref() == Some(dimension) => {
            arrange::with_units(parts, dimension, units).await?
        }
        _ => parts
            .first()
            .map(|first| times::documents(&first.hierarchy))
            .unwrap_or_default(),
    };
    for one in parts.iter_mut() {
        one.convert(&targets).await?;
    }
    if !import.unordered {
        let _places = arrange::places(parts, dimension, import.overlap, session, |_| None).await?;
    }
    Ok(())
}
