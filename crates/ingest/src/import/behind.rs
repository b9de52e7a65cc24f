//! What is known of the sources before, when another one is put behind them.

use std::collections::BTreeSet;

use icefield_core::{NodeKind, NodePath};

use super::join::Joins;
use super::labels::Labels;
use crate::plan::{self, Existing};
use crate::{Hierarchy, PlanError};

#[derive(Debug, Default)]
pub(super) struct Behind {
    pub(super) labels: Labels,
    pub(super) joins: Joins,
    /// Where the arrays of the first one went.
    arrays: Option<BTreeSet<NodePath>>,
}

impl Behind {
    /// Leaves only the arrays that came from these sources: others have nothing to do with the next one, and do not
    /// grow.
    pub(super) fn narrow(
        &mut self,
        existing: &mut Existing,
        hierarchy: &Hierarchy,
        group: &NodePath,
    ) -> Result<(), PlanError> {
        let Some(first) = &self.arrays else {
            let nodes = hierarchy.nodes.iter();
            let arrays = nodes.filter(|(_, node)| node.array().is_some());
            let targets = arrays.map(|(path, _)| plan::target_path(group, path));
            self.arrays = Some(targets.collect::<Result<_, _>>()?);
            return Ok(());
        };
        let kinds = &mut existing.kinds;
        let is_ours = |path: &NodePath, kind: Option<&NodeKind>| {
            kind != Some(&NodeKind::Array) || first.contains(path)
        };
        existing
            .documents
            .retain(|path, _| is_ours(path, kinds.get(path)));
        kinds.retain(|path, kind| is_ours(path, Some(kind)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::SourceNode;

    fn path(text: &str) -> NodePath {
        NodePath::parse(text).expect("a path")
    }

    fn hierarchy(arrays: &[&str]) -> Hierarchy {
        let document = r#"{"zarr_format": 3, "node_type": "array", "shape": [1], "data_type": "int8",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
            "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]}"#;
        let node = |at: &&str| {
            let node = SourceNode::parse(document.into(), 1 << 20).expect("valid");
            (path(at), node)
        };
        Hierarchy {
            nodes: arrays.iter().map(node).collect::<BTreeMap<_, _>>(),
            ..Hierarchy::default()
        }
    }

    #[test]
    fn arrays_of_others_do_not_grow() {
        let (group, mut behind) = (path("/g"), Behind::default());
        let existing = || {
            let mut existing = Existing::default();
            for at in ["/g/a", "/g/old"] {
                existing.kinds.insert(path(at), NodeKind::Array);
                existing.documents.insert(path(at), "{}".into());
            }
            existing.kinds.insert(path("/g/other"), NodeKind::Group);
            existing
        };
        let mut first = existing();
        let narrowed = behind.narrow(&mut first, &hierarchy(&["/a"]), &group);
        narrowed.expect("paths");
        assert_eq!(
            first.kinds.len(),
            3,
            "the first one meets all that is there"
        );
        let mut second = existing();
        let narrowed = behind.narrow(&mut second, &hierarchy(&["/a", "/old"]), &group);
        narrowed.expect("paths");
        let kinds: Vec<&str> = second.kinds.keys().map(NodePath::as_str).collect();
        assert_eq!(kinds, ["/g/a", "/g/other"]);
        assert!(second.documents.keys().eq([&path("/g/a")]));
    }
}
