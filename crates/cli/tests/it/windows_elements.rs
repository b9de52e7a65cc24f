//! Windows whose ends lie within chunks, or are given by a time.

use serde_json::{Value, json};

use crate::windows::{hours, tree};
use crate::world::{World, array};

/// Columns of `/x`: so many that it is not rewritten whole.
const COLUMNS: u64 = 6_000_000;

/// A repository of six hours, of whose data the first columns are written: two hours to a chunk.
fn world() -> World {
    let world = World::new();
    tree(&world, "old", 0..6);
    let time = std::fs::read(world.path("old/time/zarr.json")).unwrap();
    let mut time: Value = serde_json::from_slice(&time).unwrap();
    time["fill_value"] = json!("NaN");
    world.json("old/time/zarr.json", &time);
    let x = array(&[6, COLUMNS], &[2, 1000], &["time", "y"]);
    world.json("old/x/zarr.json", &x);
    for chunk in 0..3_u8 {
        let rows = [2 * chunk + 10, 2 * chunk + 11];
        let bytes: Vec<u8> = rows.iter().flat_map(|row| [*row; 1000]).collect();
        world.file(&format!("old/x/c/{chunk}/0"), bytes);
    }
    world.ok(&["init", "r"]);
    world.ok(&["import", "old", "r"]);
    world
}

/// The first column.
fn column(world: &World) -> Vec<u8> {
    let x: Value = serde_json::from_str(&world.ok(&["cat", "r", "x/zarr.json"])).unwrap();
    let steps = x["shape"][0].as_u64().unwrap();
    let chunks = (0..steps.div_ceil(2)).map(|chunk| {
        let key = format!("x/c/{chunk}/0");
        world.command(&["cat", "r", &key]).output().unwrap().stdout
    });
    let all: Vec<u8> = chunks.flat_map(|bytes| [bytes[0], bytes[1000]]).collect();
    all[..steps as usize].to_vec()
}

#[test]
fn chunks_are_trimmed_without_being_rewritten() {
    let world = world();
    let chunks = |world: &World| {
        let files = world.files("r");
        files
            .into_keys()
            .filter(|key| key.starts_with("chunks/"))
            .count()
    };
    let before = chunks(&world);
    let facts = world.facts(&["trim", "r", "-d", "time", "--start", "2", "--end", "2"]);
    let window = json!({"origin": 2, "first": 2, "end": 4, "length": 2});
    assert_eq!(facts["window"], window);
    assert_eq!(column(&world), [12, 13]);
    // The labels alone are written.
    assert!(chunks(&world) - before <= 1);
}

#[test]
fn elements_are_masked_on_request_and_otherwise_the_nearest_multiple_is_named() {
    let world = world();
    let before = world.history("r");
    let error = world.fails(1, &["trim", "r", "-d", "time", "--start", "3"]);
    for part in [
        "\"time\"",
        "by 3 elements",
        "/x (of 2)",
        "by 2 or by 4",
        "masked",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert_eq!(world.history("r"), before);
    let facts = world.facts(&["trim", "r", "-d", "time", "--start", "3", "--mask"]);
    let window = json!({"origin": 2, "first": 3, "end": 6, "length": 4});
    assert_eq!(facts["window"], window);
    assert_eq!(column(&world), [0, 13, 14, 15]);
    let x: Value = serde_json::from_str(&world.ok(&["cat", "r", "x/zarr.json"])).unwrap();
    assert_eq!(x["attributes"]["masked_elements"], json!([1, 0]));
    let (_, labels) = labels(&world);
    assert!(labels[0].is_nan());
    assert_eq!(labels[1..], [3.0, 4.0, 5.0]);
    // One more, and chunks are whole again.
    world.ok(&["trim", "r", "-d", "time", "--start", "1"]);
    assert_eq!(column(&world), [14, 15]);
    let x: Value = serde_json::from_str(&world.ok(&["cat", "r", "x/zarr.json"])).unwrap();
    assert_eq!(x["attributes"]["masked_elements"], Value::Null);
}

fn labels(world: &World) -> (u64, Vec<f64>) {
    let x: Value = serde_json::from_str(&world.ok(&["cat", "r", "x/zarr.json"])).unwrap();
    let steps = x["shape"][0].as_u64().unwrap();
    let bytes = world
        .command(&["cat", "r", "time/c/0"])
        .output()
        .unwrap()
        .stdout;
    let (labels, _) = bytes.as_chunks::<8>();
    let labels = labels.iter().take(steps as usize);
    (steps, labels.map(|it| f64::from_le_bytes(*it)).collect())
}

#[test]
fn a_window_keeps_so_much_time() {
    // Three hours back from the newest are three steps; where chunks cannot be cut, a step more.
    let world = world();
    world.ok(&["trim", "r", "-d", "time", "--keep", "3 hours"]);
    assert_eq!(column(&world), [12, 13, 14, 15]);
    let facts = world.facts(&["trim", "r", "-d", "time", "--keep", "3 hours", "--mask"]);
    assert_eq!(facts["window"]["first"], 3);
    assert_eq!(column(&world), [0, 13, 14, 15]);
    world.ok(&["append", "r", "2", "-d", "time", "--keep", "0.15 days"]);
    assert_eq!(labels(&world).1, [4.0, 5.0, 6.0, 7.0]);
    // Small arrays can be cut anywhere.
    let world = crate::windows::world();
    world.ok(&["trim", "r", "-d", "time", "--keep", "180 min"]);
    assert_eq!(hours(&world).1, [3.0, 4.0, 5.0]);
}
