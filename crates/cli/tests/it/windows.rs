//! Windows that move: `append`, `prepend`, `trim`, `roll` and `slots`.

use serde_json::{Value, json};

use crate::world::{World, array, group};

/// Writes a tree with `/time`, from an hour on, and `/x`, whose every element is its hour.
pub(crate) fn tree(world: &World, name: &str, hours: std::ops::Range<u8>) {
    let steps = hours.len() as u64;
    let mut time = array(&[steps], &[64], &["time"]);
    time["data_type"] = json!("float64");
    time["codecs"] = json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
    time["attributes"] = json!({"units": "hours since 1970-01-01"});
    world.json(&format!("{name}/zarr.json"), &group(json!({})));
    world.json(&format!("{name}/time/zarr.json"), &time);
    let mut labels: Vec<f64> = hours.clone().map(f64::from).collect();
    labels.resize(64, f64::NAN);
    let labels: Vec<u8> = labels.iter().flat_map(|it| it.to_le_bytes()).collect();
    world.file(&format!("{name}/time/c/0"), labels);
    world.json(
        &format!("{name}/x/zarr.json"),
        &array(&[steps, 3], &[2, 3], &["time", "y"]),
    );
    for chunk in 0..steps / 2 {
        let first = hours.start + 2 * chunk as u8;
        let bytes: Vec<u8> = (0..6).map(|i| first + i / 3).collect();
        world.file(&format!("{name}/x/c/{chunk}/0"), bytes);
    }
}

pub(crate) fn world() -> World {
    let world = World::new();
    tree(&world, "old", 0..6);
    world.ok(&["init", "r"]);
    world.ok(&["import", "old", "r"]);
    world
}

/// The hours that `/x` and `/time` show.
pub(crate) fn hours(world: &World) -> (Vec<u8>, Vec<f64>) {
    let x: Value = serde_json::from_str(&world.ok(&["cat", "r", "x/zarr.json"])).unwrap();
    let steps = x["shape"][0].as_u64().unwrap();
    let cat = |key: &str| world.command(&["cat", "r", key]).output().unwrap().stdout;
    let all: Vec<u8> = (0..steps / 2)
        .flat_map(|chunk| cat(&format!("x/c/{chunk}/0")))
        .collect();
    let labels = cat("time/c/0");
    let (labels, _) = labels.as_chunks::<8>();
    let labels = labels
        .iter()
        .take(steps as usize)
        .map(|it| f64::from_le_bytes(*it));
    (all.chunks(3).map(|row| row[0]).collect(), labels.collect())
}

#[test]
fn a_roll_brings_in_a_source_and_drops_as_much() {
    let world = world();
    tree(&world, "new", 6..8);
    let facts = world.facts(&["roll", "r", "--from", "new", "-d", "time", "--key", "06"]);
    assert_eq!(
        facts["window"],
        json!({"origin": 2, "first": 2, "end": 8, "length": 6})
    );
    let expected = (vec![2, 3, 4, 5, 6, 7], vec![2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    assert_eq!(hours(&world), expected);
    // A second time it is there already.
    let again = world.facts(&["roll", "r", "--from", "new", "-d", "time", "--key", "06"]);
    assert_eq!(again["outcome"], "already-there");
    assert_eq!(again["snapshot_id"], facts["snapshot_id"]);
    // Without the key, its labels are.
    let error = world.fails(1, &["roll", "r", "--from", "new", "-d", "time"]);
    assert!(error.contains("overlap it"), "{error}");
    assert_eq!(hours(&world), expected);
    // Four hours back from the newest.
    tree(&world, "newer", 8..10);
    let facts = world.facts(&[
        "roll", "r", "--from", "newer", "-d", "time", "--keep", "4 hours",
    ]);
    assert_eq!(
        (&facts["window"]["first"], &facts["window"]["end"]),
        (&json!(6), &json!(10))
    );
    assert_eq!(hours(&world).0, [6, 7, 8, 9]);
}

#[test]
fn what_comes_in_is_told_until_it_is_written() {
    let world = world();
    let said = world.ok(&["append", "r", "2", "-d", "time"]);
    assert!(said.contains("time shows elements 0 to 8 of all"), "{said}");
    let report = world.facts(&["slots", "r", "-d", "time", "--start", "6"]);
    assert_eq!(
        (&report["missing"], &report["arrays"][0]["path"]),
        (&json!(1), &json!("/x"))
    );
    assert_eq!(report["arrays"][0]["examples"], json!([[3, 0]]));
    let gate = world.run(&["slots", "r", "-d", "time", "--gate"]);
    assert_eq!(gate.code, 1, "{gate:?}");
    assert!(gate.stderr.contains("1 chunk is not written"), "{gate:?}");
    world.ok(&["trim", "r", "-d", "time", "--end", "2"]);
    world.ok(&["slots", "r", "-d", "time", "--gate"]);
    assert_eq!(hours(&world).1, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn windows_grow_and_shrink_at_both_ends() {
    let world = world();
    let facts = world.facts(&["prepend", "r", "2", "-d", "time"]);
    assert_eq!(facts["window"]["origin"], -2);
    assert_eq!(hours(&world).1, [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    world.ok(&["trim", "r", "-d", "time", "--start", "4", "--end", "2"]);
    assert_eq!(hours(&world), (vec![2, 3], vec![2.0, 3.0]));
    world.ok(&["append", "r", "2", "-d", "time", "--labels", "10,20"]);
    assert_eq!(hours(&world).1, [2.0, 3.0, 10.0, 20.0]);
    world.ok(&["roll", "r", "-2", "-d", "time", "--labels=0,1"]);
    assert_eq!(hours(&world).1, [0.0, 1.0, 2.0, 3.0]);
    world.ok(&["roll", "r", "2", "-d", "time", "--absolute"]);
    assert_eq!(hours(&world).1, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let chunk = world.run(&["cat", "r", "x/c/0/0"]);
    assert_eq!(chunk.code, 4, "it went: {chunk:?}");
}

#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let world = world();
    let before = world.history("r");
    for (code, args, words) in [
        (
            4,
            &["append", "r", "2", "-d", "level"][..],
            "no array at or below / has a dimension named \"level\"",
        ),
        (
            2,
            &["trim", "r", "-d", "time"],
            "no option says which elements to remove",
        ),
        (2, &["roll", "r", "-d", "time"], "required"),
        (
            2,
            &["trim", "r", "-d", "time", "--keep", "7 moons"],
            "7 moons",
        ),
        (
            1,
            &["trim", "r", "-d", "time", "--start", "6"],
            "nothing of \"time\" would be left",
        ),
        (
            1,
            &["trim", "r", "-d", "time", "--end", "7"],
            "7 elements cannot be trimmed",
        ),
        (
            1,
            &["append", "r", "2", "-d", "time", "--labels", "9"],
            "1 labels are given for 2",
        ),
        (
            1,
            &["append", "r", "2", "-d", "time", "--labels", "9,7"],
            "not in order",
        ),
        (
            4,
            &["append", "r", "2", "-d", "time", "--branch", "gone"],
            "gone",
        ),
    ] {
        let run = world.run(args);
        assert_eq!(run.code, code, "{args:?}: {run:?}");
        assert!(run.stderr.contains(words), "{args:?}: {run:?}");
        assert_eq!(world.history("r"), before);
    }
}

/// Values behind the end of a coordinate, in its last chunk, do not affect its end.
#[test]
fn an_import_that_overlaps_a_window_is_refused() {
    let world = world();
    tree(&world, "again", 4..6);
    let before = world.history("r");
    let error = world.fails(1, &["import", "again", "r", "--append", "time"]);
    assert!(error.contains("overlap it"), "{error}");
    assert_eq!(world.history("r"), before);
}
