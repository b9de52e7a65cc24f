//! Names of dimensions that have no scale, as netCDF-C gives them.
//!
//! ```text
//! /b    (3, 2)    phony_dim_2, phony_dim_3    numbers go on from the dimensions with scales, groups inside come first
//! /c    (3, 3)    phony_dim_2, phony_dim_4    equal lengths in one group are one dimension, one array has it once
//! /g/a  (3, 4)    phony_dim_0, phony_dim_1    no group shares the dimensions of another
//! ```
//!
//! A dimension that may grow is none that may not. One with a scale, in the same group and of this length, is taken, too.

use std::collections::{BTreeMap, HashMap};

use icefield_core::NodePath;

/// A dimension of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    pub(crate) length: u64,
    pub(crate) is_unlimited: bool,
    /// Its name, if a scale gives it one.
    pub(crate) name: Option<String>,
}

/// An array, and where it comes among the members of its group.
#[derive(Clone, Debug)]
pub(crate) struct Along {
    pub(crate) path: NodePath,
    pub(crate) axes: Vec<Axis>,
}

/// Names all dimensions that have none. `arrays` are in order of their groups' members; `scales` are the dimensions with
/// scales, by group.
pub(crate) fn name(arrays: &mut [Along], scales: &[(NodePath, Axis)]) {
    if arrays
        .iter()
        .flat_map(|it| &it.axes)
        .all(|axis| axis.name.is_some())
    {
        return;
    }
    let group_of = |path: &NodePath| path.parent().unwrap_or_else(NodePath::root);
    // In order of the first member of each: a group follows the groups that it lies in.
    let mut groups: Vec<NodePath> = Vec::new();
    let mut members: HashMap<NodePath, Vec<usize>> = HashMap::new();
    for (number, array) in arrays.iter().enumerate() {
        let group = group_of(&array.path);
        let members = members.entry(group.clone()).or_default();
        if members.is_empty() {
            groups.push(group);
        }
        members.push(number);
    }
    let mut known: BTreeMap<NodePath, Vec<Axis>> = BTreeMap::new();
    for (group, axis) in scales {
        known.entry(group.clone()).or_default().push(axis.clone());
    }
    let mut next = scales.len();
    for group in inner_first(groups) {
        let known = known.entry(group.clone()).or_default();
        for number in members.remove(&group).unwrap_or_default() {
            if let Some(array) = arrays.get_mut(number) {
                name_axes(&mut array.axes, known, &mut next);
            }
        }
    }
}

/// Puts each group behind all that lie in it, and leaves the order of others.
fn inner_first(groups: Vec<NodePath>) -> Vec<NodePath> {
    let mut ordered: Vec<NodePath> = Vec::with_capacity(groups.len());
    let mut open: Vec<NodePath> = Vec::new();
    for group in groups {
        while let Some(last) = open.pop_if(|last| !last.is_ancestor_of(&group)) {
            ordered.push(last);
        }
        open.push(group);
    }
    ordered.extend(open.into_iter().rev());
    ordered
}

fn name_axes(axes: &mut [Axis], known: &mut Vec<Axis>, next: &mut usize) {
    for at in 0..axes.len() {
        let Some((axis, others)) = axes.get(at).filter(|it| it.name.is_none()).map(|it| {
            let others: Vec<Option<&String>> = axes.iter().map(|it| it.name.as_ref()).collect();
            (it, others)
        }) else {
            continue;
        };
        let same = known.iter().find(|it| {
            let is_same = it.length == axis.length && it.is_unlimited == axis.is_unlimited;
            is_same && !others.contains(&it.name.as_ref())
        });
        let name = match same {
            Some(same) => same.name.clone(),
            None => {
                let name = Some(format!("phony_dim_{next}"));
                *next += 1;
                known.push(Axis {
                    name: name.clone(),
                    ..axis.clone()
                });
                name
            }
        };
        if let Some(axis) = axes.get_mut(at) {
            axis.name = name;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> NodePath {
        NodePath::parse(text).expect("a path")
    }

    fn axis(length: u64, name: Option<&str>) -> Axis {
        Axis {
            length,
            is_unlimited: false,
            name: name.map(str::to_owned),
        }
    }

    fn named(arrays: &[(&str, &[u64])], scales: &[(&str, u64, &str)]) -> Vec<Vec<String>> {
        let mut arrays: Vec<Along> = arrays
            .iter()
            .map(|(at, shape)| Along {
                path: path(at),
                axes: shape.iter().map(|length| axis(*length, None)).collect(),
            })
            .collect();
        let scales: Vec<_> = scales
            .iter()
            .map(|(group, length, name)| (path(group), axis(*length, Some(name))))
            .collect();
        name(&mut arrays, &scales);
        let names = |array: &Along| {
            let names = array.axes.iter().filter_map(|axis| axis.name.clone());
            names
                .map(|name| name.replace("phony_dim_", ""))
                .collect::<Vec<_>>()
        };
        arrays.iter().map(names).collect()
    }

    // As netCDF4 1.7 (netCDF-C 4.9) shows files of h5py.
    #[test]
    fn names_are_those_of_netcdf() {
        assert_eq!(
            named(&[("/a", &[3, 4]), ("/b", &[4, 5]), ("/s", &[])], &[]),
            [vec!["0", "1"], vec!["1", "2"], vec![]]
        );
        assert_eq!(
            named(&[("/a", &[3, 3]), ("/b", &[3])], &[]),
            [vec!["0", "1"], vec!["0"]]
        );
        let groups: [(&str, &[u64]); 5] = [
            ("/b", &[3, 2]),
            ("/g/a", &[3, 4]),
            ("/g/z", &[7]),
            ("/h/i/q", &[7, 3]),
            ("/zz", &[9]),
        ];
        assert_eq!(
            named(&groups, &[]),
            [
                vec!["5", "6"],
                vec!["0", "1"],
                vec!["2"],
                vec!["3", "4"],
                vec!["7"]
            ]
        );
        assert_eq!(
            named(
                &[("/u", &[3, 5]), ("/v", &[3]), ("/w", &[6, 3])],
                &[("/", 3, "x")]
            ),
            [vec!["x", "1"], vec!["x"], vec!["2", "x"]]
        );
    }

    #[test]
    fn what_may_grow_is_no_dimension_that_may_not() {
        let mut arrays = vec![
            Along {
                path: path("/a"),
                axes: vec![axis(4, None)],
            },
            Along {
                path: path("/b"),
                axes: vec![Axis {
                    is_unlimited: true,
                    ..axis(4, None)
                }],
            },
        ];
        name(&mut arrays, &[]);
        assert_eq!(arrays[0].axes[0].name.as_deref(), Some("phony_dim_0"));
        assert_eq!(arrays[1].axes[0].name.as_deref(), Some("phony_dim_1"));
    }
}
