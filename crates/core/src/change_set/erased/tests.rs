use super::*;

fn erased(boxes: &[&[Range<u32>]]) -> ErasedBoxes {
    let mut erased = ErasedBoxes::default();
    boxes.iter().for_each(|it| erased.add(it.to_vec()));
    erased
}

fn indices(at: &[[u32; 2]]) -> BTreeSet<ChunkIndex> {
    at.iter().map(|index| ChunkIndex::from(*index)).collect()
}

#[test]
fn slabs_that_follow_on_one_another_are_one_box() {
    let mut window = ErasedBoxes::default();
    for slab in [0..1, 3..4, 1..2, 2..3, 2..4] {
        window.add(vec![slab, 0..9]);
    }
    assert_eq!(window.boxes(), [[0..4, 0..9]]);
    assert_eq!(erased(&[&[0..2, 0..2], &[1..3, 1..3]]).boxes().len(), 2);
    assert_eq!(erased(&[&[1..2, 1..2], &[0..9, 0..9]]).boxes().len(), 1);
}

#[test]
fn the_cells_of_a_large_box_are_not_named() {
    let most = MOST_NAMED as u32;
    let cells = |width: u32| erased(&[&[0..1, 0..width]]).cells();
    assert_eq!(cells(most).map(|it| it.len()), Some(most as usize));
    assert_eq!(cells(most + 1), None);
    assert_eq!(erased(&[&[0..u32::MAX, 0..u32::MAX]]).cells(), None);
    let large = erased(&[&[3..u32::MAX, 4..u32::MAX]]);
    assert_eq!(large.corners(), indices(&[[3, 4]]));
}

#[test]
fn what_is_spared_moves_along_and_is_erased_with_the_next_box() {
    let mut boxes = erased(&[&[0..4, 0..4]]);
    boxes.spare(&indices(&[[1, 1], [3, 3], [9, 9]]));
    assert_eq!(*boxes.spared(), indices(&[[1, 1], [3, 3]]));
    boxes.shift(&[-1, 1], &[4, 4]);
    assert_eq!(boxes.boxes(), [[0..3, 1..4]]);
    assert_eq!(*boxes.spared(), indices(&[[0, 2]]));
    assert!(!boxes.contains(&[0, 2]) && boxes.contains(&[0, 1]));
    boxes.add(vec![0..1, 0..4]);
    assert!(boxes.contains(&[0, 2]));
    boxes.clip(&[1, 2]);
    assert!(boxes.lie_within(&[1, 2]) && boxes.contains(&[0, 1]));
    boxes.clip(&[1]);
    assert!(boxes.is_empty());
}

/// Every cell is erased or not as in a plain set of cells, whatever was added, spared, moved and cut off.
#[test]
fn a_set_of_cells_says_the_same() {
    let mut state = 7_u64;
    let mut draw = |below: u32| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ((state >> 33) % u64::from(below)) as u32
    };
    let all: Vec<[u32; 2]> = (0..36).map(|at| [at / 6, at % 6]).collect();
    for _ in 0..1000 {
        let mut pair = [(); 2].map(|()| (ErasedBoxes::default(), BTreeSet::<[u32; 2]>::new()));
        for _ in 0..8 {
            let (boxes, cells) = &mut pair[draw(2) as usize];
            match draw(6) {
                0..=2 => {
                    let (y, x) = (draw(6), draw(6));
                    let within = vec![y..y + 1 + draw(6 - y), x..x + 1 + draw(6 - x)];
                    cells.extend(all.iter().filter(|at| is_in(&within, &at[..])));
                    boxes.add(within);
                }
                3 => {
                    let gone: Vec<[u32; 2]> = (0..3).map(|_| [draw(6), draw(6)]).collect();
                    cells.retain(|at| !gone.contains(at));
                    boxes.spare(&indices(&gone));
                }
                4 => {
                    let by = [i64::from(draw(5)) - 2, i64::from(draw(5)) - 2];
                    let moved = cells
                        .iter()
                        .map(|at| [0, 1].map(|it| i64::from(at[it]) + by[it]));
                    let inside = moved.filter(|at| at.iter().all(|it| (0..6).contains(it)));
                    *cells = inside.map(|at| at.map(|it| it as u32)).collect();
                    boxes.shift(&by, &[6, 6]);
                }
                _ => {
                    let grid = [1 + draw(6), 1 + draw(6)];
                    cells.retain(|at| at[0] < grid[0] && at[1] < grid[1]);
                    boxes.clip(&grid);
                }
            }
        }
        let [(mut one, mut cells), (other, more)] = pair;
        for (boxes, cells) in [(&one, &cells), (&other, &more)] {
            let named = boxes.cells().expect("few");
            assert_eq!(named, indices(&cells.iter().copied().collect::<Vec<_>>()));
        }
        one.add_all(&other);
        cells.extend(more);
        for at in &all {
            assert_eq!(one.contains(at), cells.contains(at), "{at:?} of {one:?}");
        }
    }
}
