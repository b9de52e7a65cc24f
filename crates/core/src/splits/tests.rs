use std::collections::BTreeSet;
use std::ops::Range;

use icefield_format::RepositoryConfig;

use super::{Cells, Held, Known, SplitRules, regions};
use crate::conditions::ArrayName;

fn rules(yaml: &str) -> SplitRules {
    let text = format!("manifest:\n  splitting:\n    split_sizes:\n{yaml}");
    let config = RepositoryConfig::decode(text.as_bytes()).expect("a configuration");
    SplitRules::of(&config)
}

fn cells_of(rules: &SplitRules, path: &str, names: &[&str]) -> Option<Vec<u32>> {
    let names: Vec<Option<String>> = names.iter().map(|name| Some((*name).to_owned())).collect();
    let array = ArrayName {
        path,
        dimensions: Some(&names),
    };
    let cells = rules.cells(&array, names.len())?;
    Some(cells.lengths().to_vec())
}

const ALL: u32 = u32::MAX;

#[test]
fn the_first_rule_about_an_axis_decides_it() {
    let rules = rules(
        "
    - - !name_matches {regex: ^t2m$}
      - - {condition: !DimensionName time, num_chunks: 3}
        - {condition: !Axis 1, num_chunks: 2}
    - - !path_matches {regex: /deep/.*}
      - - {condition: Any, num_chunks: 1}
    - - any_array
      - - {condition: !DimensionName ^x$, num_chunks: 7}
",
    );
    assert_eq!(cells_of(&rules, "/t2m", &["time", "y"]), Some(vec![3, 2]));
    assert_eq!(
        cells_of(&rules, "/a/t2m", &["time", "y", "x"]),
        Some(vec![3, 2, 7])
    );
    assert_eq!(
        cells_of(&rules, "/deep/t2m", &["time", "y", "x"]),
        Some(vec![3, 2, 1])
    );
    assert_eq!(
        cells_of(&rules, "/other", &["a", "xx"]),
        Some(vec![ALL, ALL])
    );
}

#[test]
fn conditions_combine() {
    let rules = rules(
        "
    - - !and [!path_matches {regex: ^/a}, !or [!name_matches {regex: b}, !name_matches {regex: c}]]
      - - {condition: Any, num_chunks: 4}
",
    );
    assert_eq!(cells_of(&rules, "/a/b", &["x"]), Some(vec![4]));
    assert_eq!(cells_of(&rules, "/a/c", &["x"]), Some(vec![4]));
    assert_eq!(cells_of(&rules, "/a/d", &["x"]), None);
    assert_eq!(cells_of(&rules, "/z/b", &["x"]), None);
}

#[test]
fn a_rule_of_zero_chunks_and_a_broken_expression_split_nothing() {
    let zero = rules("    - [any_array, [{condition: Any, num_chunks: 0}]]\n");
    assert_eq!(cells_of(&zero, "/a", &["x"]), Some(vec![ALL]));
    let broken = rules("    - [!name_matches {regex: '('}, [{condition: Any, num_chunks: 1}]]\n");
    assert_eq!(cells_of(&broken, "/a", &["x"]), None);
}

fn found(
    lengths: &[u32],
    edited: &[&[u32]],
    boxes: &[&[Range<u32>]],
    must: &[usize],
) -> Vec<(Vec<usize>, Vec<Vec<u32>>)> {
    let edited: BTreeSet<Vec<u32>> = edited.iter().map(|cell| cell.to_vec()).collect();
    let boxes: Vec<Vec<Range<u32>>> = boxes.iter().map(|it| it.to_vec()).collect();
    regions(&Cells::of(lengths.to_vec()), edited, &boxes, |at| {
        must.contains(&at)
    })
    .into_iter()
    .map(|region| (region.inputs, region.edited))
    .collect()
}

#[test]
fn edited_cells_take_their_manifests_and_leave_the_others() {
    let boxes: [&[Range<u32>]; 3] = [&[0..10], &[10..20], &[20..25]];
    let found = found(&[10], &[&[2], &[5]], &boxes, &[]);
    assert_eq!(found, [(vec![2], vec![vec![2]]), (vec![], vec![vec![5]])]);
}

#[test]
fn a_manifest_over_several_cells_joins_them_and_what_else_lies_there() {
    // Cells of 10: the second manifest reaches from cell 1 to cell 3, the third lies in cell 3, the fourth in cell 4.
    let boxes: [&[Range<u32>]; 4] = [&[0..10], &[15..35], &[38..39], &[40..45]];
    assert_eq!(
        found(&[10], &[&[1]], &boxes, &[]),
        [(vec![1, 2], vec![vec![1]])]
    );
    assert_eq!(
        found(&[10], &[&[3]], &boxes, &[]),
        [(vec![1, 2], vec![vec![3]])]
    );
    assert_eq!(
        found(&[10], &[&[1], &[2]], &boxes, &[3]),
        [(vec![1, 2], vec![vec![1], vec![2]]), (vec![3], vec![])]
    );
}

#[test]
fn no_kept_manifest_shares_a_cell_with_a_rewritten_one() {
    let mut random = 1_u64;
    let mut below = |bound: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ((random >> 33) % bound) as u32
    };
    for _ in 0..2000 {
        let lengths = vec![1 + below(5), 1 + below(5)];
        let cells = Cells::of(lengths.clone());
        let boxes: Vec<Vec<Range<u32>>> = (0..below(8))
            .map(|_| {
                let mut range = || {
                    let start = below(20);
                    start..start + 1 + below(6)
                };
                vec![range(), range()]
            })
            .collect();
        let edited: BTreeSet<Vec<u32>> = (0..1 + below(4))
            .map(|_| vec![below(5), below(5)])
            .collect();
        let found = regions(&cells, edited.clone(), &boxes, |_| false);
        let mut rewritten: Vec<Vec<Range<u32>>> = edited
            .iter()
            .map(|cell| cell.iter().map(|at| *at..*at + 1).collect())
            .collect();
        let inputs: BTreeSet<usize> = found.iter().flat_map(|it| it.inputs.clone()).collect();
        let span = |at: &usize| cells.span(boxes[*at].iter().cloned());
        rewritten.extend(inputs.iter().map(span));
        for kept in (0..boxes.len()).filter(|at| !inputs.contains(at)) {
            let kept = span(&kept);
            let shares = |other: &Vec<Range<u32>>| super::cells::intersect(&kept, other);
            assert!(
                !rewritten.iter().any(shares),
                "{lengths:?} {boxes:?} {edited:?}"
            );
        }
        // Two regions share no cell either, and every edit is in one.
        let all: Vec<&Vec<u32>> = found.iter().flat_map(|it| &it.edited).collect();
        assert_eq!(all.len(), edited.len());
        for (at, one) in found.iter().enumerate() {
            for other in &found[at + 1..] {
                let spans = |region: &super::regions::Region| -> Vec<Vec<Range<u32>>> {
                    let edited = region
                        .edited
                        .iter()
                        .map(|cell| cell.iter().map(|i| *i..*i + 1).collect());
                    edited.chain(region.inputs.iter().map(span)).collect()
                };
                let (one, other) = (spans(one), spans(other));
                let apart =
                    |a: &Vec<Range<u32>>| other.iter().all(|b| !super::cells::intersect(a, b));
                assert!(one.iter().all(apart), "{lengths:?} {boxes:?} {edited:?}");
            }
        }
    }
}

/// An array whose references take 20 bytes each.
fn chosen(grid: &[u32], before: Option<&[u32]>, held: &[Held], set: &[&[u32]]) -> Vec<u32> {
    let known = Known {
        grid,
        before,
        dimensions: None,
        held,
        set: &set.concat(),
        bytes_per_set: 20.0,
        rewritten: &[],
    };
    known.cells().lengths().to_vec()
}

fn full(ranges: &[Range<u32>]) -> Held {
    let refs = ranges
        .iter()
        .map(|it| u64::from(it.end - it.start))
        .product();
    Held {
        ranges: ranges.to_vec(),
        bytes: refs * 20,
        refs,
    }
}

#[test]
fn what_fits_into_one_manifest_stays_in_one() {
    assert_eq!(chosen(&[100, 100], None, &[], &[&[5, 5]]), [ALL, ALL]);
    let one = [full(&[0..400, 0..100])];
    assert_eq!(
        chosen(&[401, 100], Some(&[400, 100]), &one, &[&[400, 0]]),
        [ALL, ALL]
    );
    assert_eq!(chosen(&[], None, &[], &[]), [] as [u32; 0]);
}

#[test]
fn what_does_not_is_split_along_the_axis_that_grows() {
    // 2 MB of references: 26214 fit into 512 KiB.
    let one = [full(&[0..1000, 0..100])];
    assert_eq!(
        chosen(&[1001, 100], Some(&[1000, 100]), &one, &[&[1000, 0]]),
        [256, ALL]
    );
    assert_eq!(
        chosen(&[1000, 101], Some(&[1000, 100]), &one, &[&[0, 100]]),
        [ALL, 16]
    );
    // A slab that is too large by itself is split further.
    let slab = [full(&[0..1, 0..1000, 0..1000])];
    let grown = chosen(
        &[2, 1000, 1000],
        Some(&[1, 1000, 1000]),
        &slab,
        &[&[1, 0, 0]],
    );
    assert_eq!(grown, [1, 16, ALL]);
}

#[test]
fn appends_go_on_in_the_cells_that_are_there() {
    let mut held: Vec<Held> = (0..8)
        .map(|at| full(&[256 * at..256 * (at + 1), 0..100]))
        .collect();
    held.push(full(&[2048..2060, 0..100]));
    let cells = chosen(&[2061, 100], Some(&[2060, 100]), &held, &[&[2060, 0]]);
    assert_eq!(cells, [256, ALL]);
    // The first slab of a new cell as well.
    held.pop();
    let cells = chosen(&[2049, 100], Some(&[2048, 100]), &held, &[&[2048, 0]]);
    assert_eq!(cells, [256, ALL]);
}

#[test]
fn cells_of_rules_are_found_again() {
    let held: Vec<Held> = (0..9)
        .map(|at| full(&[300 * at..300 * (at + 1), 0..100]))
        .collect();
    let cells = chosen(&[2700, 100], Some(&[2700, 100]), &held, &[&[5, 5]]);
    assert_eq!(cells, [300, ALL]);
}

#[test]
fn cells_become_longer_where_manifests_are_small() {
    // 20 kB each; what is written should have 128 KiB at least.
    let held: Vec<Held> = (0..100)
        .map(|at| full(&[10 * at..10 * (at + 1), 0..100]))
        .collect();
    let cells = chosen(&[1000, 100], None, &held, &[&[5, 5]]);
    assert_eq!(cells, [80, ALL]);
}

#[test]
fn cells_become_shorter_where_manifests_are_large() {
    let held: Vec<Held> = (0..4)
        .map(|at| full(&[1024 * at..1024 * (at + 1), 0..100]))
        .collect();
    let cells = chosen(&[4096, 100], None, &held, &[&[5, 5]]);
    assert_eq!(cells, [512, ALL]);
}

#[test]
fn the_most_axes_are_split_as_few_are() {
    // More places than a float can count, and few references.
    let rank = 256;
    let held = [Held {
        ranges: vec![0..u32::MAX - 1; rank],
        bytes: 3 << 20,
        refs: 100_000,
    }];
    let grid = vec![u32::MAX; rank];
    let cells = chosen(&grid, None, &held, &[&vec![7; rank]]);
    assert_eq!(cells[0], 1 << 29, "eight parts, of which six are used");
    assert!(cells[1..].iter().all(|length| *length == ALL));
}

#[test]
fn one_chunk_far_away_does_not_have_what_is_there_cut_to_pieces() {
    let held = [Held {
        bytes: 3 << 19,
        ..full(&[0..100, 0..100])
    }];
    let far = 4_000_000_000;
    let cells = chosen(&[far + 1, 100], Some(&[100, 100]), &held, &[&[far, 0]]);
    assert!(cells[0] >= 100, "{cells:?}");
}

#[test]
fn what_a_damaged_snapshot_says_of_sizes_does_no_harm() {
    for (bytes, refs) in [(u64::MAX, 1), (u64::MAX, 0), (0, u64::from(u32::MAX))] {
        let held: Vec<Held> = (0..3)
            .map(|at| Held {
                bytes,
                refs,
                ..full(&[at..at + 1, 0..0])
            })
            .collect();
        for held in [&held[..1], &held] {
            let cells = chosen(&[3, 100], Some(&[2, 100]), held, &[&[2, 99]]);
            assert!(cells.iter().all(|length| *length > 0), "{cells:?}");
        }
    }
}

#[test]
fn parts_of_cells_that_a_rule_made_nest() {
    let held: Vec<Held> = (0..4)
        .map(|at| Held {
            bytes: 3 << 19,
            ..full(&[75 * at..75 * (at + 1), 0..100])
        })
        .collect();
    let cells = chosen(&[300, 100], Some(&[300, 100]), &held, &[&[5, 5]]);
    assert_eq!(cells, [25, ALL]);
}

#[test]
fn thousands_of_manifests_are_joined_in_no_time() {
    // All in one cell; each over two of its own; each over two, of which one is the next one's, too.
    let count = 10_000;
    let one = |length: u32, step: u32| -> Vec<Vec<Range<u32>>> {
        let starts = (0..count).map(|at| at * step);
        starts.map(|start| vec![start..start + length]).collect()
    };
    for (cell, boxes, regions_found) in [
        (ALL, one(1, 1), 1),
        (5, one(10, 10), count as usize),
        (10, one(11, 10), 1),
    ] {
        let cells = Cells::of(vec![cell]);
        let found = regions(&cells, BTreeSet::new(), &boxes, |_| true);
        assert_eq!(found.len(), regions_found);
        let inputs: usize = found.iter().map(|region| region.inputs.len()).sum();
        assert_eq!(inputs, boxes.len());
        // An edit in each cell.
        let edited = (0..count).map(|at| vec![at * 10 / cell]).collect();
        let found = regions(&cells, edited, &boxes, |_| false);
        assert!(found.len() <= count as usize);
    }
}
