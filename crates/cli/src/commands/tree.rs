//! `icefield tree`

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use icefield::NodePath;
use serde::Serialize;

use super::Context;
use super::nodes::NodeFacts;
use crate::args::Tree;
use crate::failure::Failure;
use crate::output::escape::printable;
use crate::output::{self, Output};

#[derive(Serialize)]
struct TreeFacts {
    location: String,
    snapshot_id: String,
    nodes: Vec<NodeFacts>,
}

pub(super) async fn run(context: &Context, args: Tree) -> Result<(), Failure> {
    let version = context.version(&args.location, &args.at.revision).await?;
    // Implied groups have a line, too.
    let mut paths = BTreeSet::from([NodePath::root()]);
    for path in version.paths()? {
        paths.extend(path.ancestors());
        paths.insert(path);
    }
    let mut nodes = Vec::with_capacity(paths.len());
    for path in in_tree_order(&paths) {
        nodes.push(NodeFacts::read(&version, &path)?);
    }
    let hierarchy = TreeFacts {
        location: output::location(&args.location),
        snapshot_id: version.id(),
        nodes,
    };
    Output::new(args.output).facts(&hierarchy, |hierarchy, out| draw(&hierarchy.nodes, out))
}

/// Sorts nodes depth first: parents before children, and all descendants of a node before its next sibling.
fn in_tree_order(paths: &BTreeSet<NodePath>) -> Vec<NodePath> {
    let mut ordered: Vec<NodePath> = paths.iter().cloned().collect();
    ordered.sort_by(NodePath::cmp_segments);
    ordered
}

/// Draws nodes that are in tree order.
fn draw(nodes: &[NodeFacts], out: &mut dyn Write) -> io::Result<()> {
    let depths: Vec<usize> = nodes.iter().map(|node| depth(&node.path)).collect();
    let last = last_siblings(&depths);
    // Whether a line continues at each level above a node.
    let mut open: Vec<bool> = Vec::new();
    for (node, (depth, last)) in nodes.iter().zip(depths.iter().zip(last)) {
        if *depth == 0 {
            writeln!(
                out,
                "{}",
                format!("/ {}", printable(&node.summary())).trim_end()
            )?;
            continue;
        }
        open.truncate(depth - 1);
        for goes_on in &open {
            out.write_all(if *goes_on { "│   " } else { "    " }.as_bytes())?;
        }
        let branch = if last { "└── " } else { "├── " };
        let name = printable(&node.name);
        match &node.array {
            Some(_) => writeln!(out, "{branch}{name} {}", printable(&node.summary()))?,
            None => writeln!(out, "{branch}{name}/")?,
        }
        open.push(!last);
    }
    Ok(())
}

fn depth(path: &str) -> usize {
    path.split('/')
        .filter(|segment| !segment.is_empty())
        .count()
}

/// Returns whether each node is the last child of its parent, from depths in tree order.
fn last_siblings(depths: &[usize]) -> Vec<bool> {
    let mut last = vec![true; depths.len()];
    // Going backwards: the latest node at each depth under the same parent.
    let mut later: BTreeMap<usize, ()> = BTreeMap::new();
    for (position, depth) in depths.iter().enumerate().rev() {
        last[position] = !later.contains_key(depth);
        later.retain(|other, ()| other <= depth);
        later.insert(*depth, ());
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_branches_and_ends() {
        let paths = ["/", "/a", "/a/b", "/a/b/x", "/a/c", "/a-b", "/z"];
        let paths: BTreeSet<NodePath> = paths
            .iter()
            .map(|path| NodePath::parse(path).expect("a path"))
            .collect();
        let nodes: Vec<NodeFacts> = in_tree_order(&paths)
            .iter()
            .map(|path| NodeFacts {
                path: path.to_string(),
                name: path.name().to_owned(),
                kind: "group",
                array: None,
            })
            .collect();
        let mut drawn = Vec::new();
        draw(&nodes, &mut drawn).expect("writes");
        let expected = "\
/
├── a/
│   ├── b/
│   │   └── x/
│   └── c/
├── a-b/
└── z/
";
        assert_eq!(String::from_utf8(drawn).expect("UTF-8"), expected);
    }
}
