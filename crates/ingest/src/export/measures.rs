//! Facts about whole arrays that a format needs before the first chunk is written.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::dialect::ExportNode;

/// The facts about an array that listing or reading all of it shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Measures {
    pub(super) longest: Option<usize>,
    pub(super) is_whole: Option<bool>,
}

/// Of arrays that were measured, by their paths.
pub(super) type Measured = BTreeMap<String, Measures>;

/// Returns what is known of nodes.
pub(super) fn measured(nodes: &[ExportNode]) -> Measured {
    let measured = nodes.iter().filter_map(|node| {
        let measures = Measures {
            longest: node.longest,
            is_whole: node.is_whole,
        };
        let is_measured = measures != Measures::default();
        is_measured.then(|| (node.path.to_string(), measures))
    });
    measured.collect()
}
