//! Stores of Zarr format 2 that move a window by an attribute `_offset`: brought in, rolled, and written again.

use serde_json::{Value, json};

use crate::world::World;

/// Hours that a chunk holds.
const STEPS: usize = 2;

/// Writes a store with a window of `slabs` chunks from stored chunk `first` on, each element of `/x` and each label its
/// hour, and the chunks of which programs said at another time that they belong to the window.
fn store(world: &World, name: &str, first: i64, slabs: u64, others: &[i64]) {
    let steps = slabs * STEPS as u64;
    let array = |shape: Value, chunks: Value, dtype: &str| {
        json!({"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": dtype, "order": "C",
            "fill_value": null, "filters": null, "compressor": null})
    };
    world.json(&format!("{name}/.zgroup"), &json!({"zarr_format": 2}));
    world.json(
        &format!("{name}/x/.zarray"),
        &array(json!([steps, 3]), json!([STEPS, 3]), "|i1"),
    );
    world.json(
        &format!("{name}/x/.zattrs"),
        &json!({"_ARRAY_DIMENSIONS": ["time", "y"], "_offset": [first, 0]}),
    );
    world.json(
        &format!("{name}/time/.zarray"),
        &array(json!([steps]), json!([64]), "<f8"),
    );
    world.json(
        &format!("{name}/time/.zattrs"),
        &json!({"_ARRAY_DIMENSIONS": ["time"], "units": "hours since 1970-01-01"}),
    );
    let hour = |step: i64| first * STEPS as i64 + step;
    let mut labels: Vec<f64> = (0..steps as i64).map(|step| hour(step) as f64).collect();
    labels.resize(64, 0.0);
    let labels: Vec<u8> = labels.iter().flat_map(|it| it.to_le_bytes()).collect();
    world.file(&format!("{name}/time/0"), labels);
    for slab in (first..first + slabs as i64).chain(others.iter().copied()) {
        world.file(&format!("{name}/x/{slab}.0"), chunk(slab));
    }
}

/// A chunk of `/x`, by its absolute number.
fn chunk(slab: i64) -> Vec<u8> {
    let first = slab * STEPS as i64;
    (0..3 * STEPS as i64)
        .map(|at| (first + at / 3) as i8 as u8)
        .collect()
}

/// The hours that `/x` shows, and its labels.
fn hours(world: &World, repository: &str) -> (Vec<i8>, Vec<f64>) {
    let x: Value = serde_json::from_str(&world.ok(&["cat", repository, "x/zarr.json"])).unwrap();
    let steps = x["shape"][0].as_u64().unwrap() as usize;
    let cat = |key: &str| {
        let grant = format!("file://{}/", world.path("store").display());
        let mut command = world.command(&["cat", repository, key, "--grant", &grant]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{key}: {output:?}");
        output.stdout
    };
    let all: Vec<u8> = (0..steps / STEPS)
        .flat_map(|chunk| cat(&format!("x/c/{chunk}/0")))
        .collect();
    let labels = cat("time/c/0");
    let (labels, _) = labels.as_chunks::<8>();
    let labels = labels.iter().take(steps);
    (
        all.chunks(3).map(|row| row[0] as i8).collect(),
        labels.map(|it| f64::from_le_bytes(*it)).collect(),
    )
}

/// Returns the contents of a window from one hour to another.
fn shown(from: i8, to: i8) -> (Vec<i8>, Vec<f64>) {
    ((from..to).collect(), (from..to).map(f64::from).collect())
}

#[test]
fn a_store_with_an_offset_comes_in_rolls_and_goes_out() {
    let world = World::new();
    // -3 is to be deleted, 2 has been written for the next window.
    store(&world, "store", -2, 4, &[-3, 2]);
    world.ok(&["init", "r"]);
    let facts = world.facts(&["import", "store", "r"]);
    let warnings = facts["warnings"].to_string();
    assert!(
        warnings.contains("2 chunks of /x were left out") && facts["chunks"] == 5,
        "{facts}"
    );
    assert_eq!(hours(&world, "r"), shown(-4, 4));
    // The next window, of which the source is another such store.
    store(&world, "next", 2, 1, &[]);
    let facts = world.facts(&["roll", "r", "--from", "next", "-d", "time"]);
    assert_eq!(facts["window"]["origin"], -2);
    assert_eq!(hours(&world, "r"), shown(-2, 6));
    // Out again: chunks keep the numbers that they had.
    world.ok(&["export", "r", "out", "--format", "zarr2-offset"]);
    let attributes = std::fs::read(world.path("out/x/.zattrs")).unwrap();
    let attributes: Value = serde_json::from_slice(&attributes).unwrap();
    assert_eq!(attributes["_offset"], json!([-1, 0]));
    assert_eq!(attributes.get("origin"), None);
    for slab in -1..3 {
        let key = format!("out/x/{slab}.0");
        assert_eq!(
            std::fs::read(world.path(&key)).unwrap(),
            chunk(slab),
            "{key}"
        );
    }
    let chunks = std::fs::read_dir(world.path("out/x")).unwrap();
    assert_eq!(chunks.count(), 4 + 2, "chunks and documents");
    world.ok(&["init", "again"]);
    world.ok(&["import", "out", "again"]);
    assert_eq!(hours(&world, "again"), shown(-2, 6));
    // For everybody else, it begins at zero.
    world.ok(&["export", "r", "plain", "--format", "zarr2"]);
    let first = std::fs::read(world.path("plain/x/0.0")).unwrap();
    assert_eq!(first, chunk(-1));
}

#[test]
fn a_store_with_an_offset_is_referred_to() {
    let world = World::new();
    store(&world, "store", -2, 4, &[]);
    world.ok(&["init", "r"]);
    let facts = world.facts(&["import", "store", "r", "--virtual"]);
    assert_eq!(facts["virtual_chunks"], 4, "{facts}");
    assert_eq!(hours(&world, "r"), shown(-4, 4));
    // References move like chunks.
    store(&world, "next", 2, 1, &[]);
    world.ok(&["roll", "r", "--from", "next", "-d", "time"]);
    assert_eq!(hours(&world, "r"), shown(-2, 6));
}

#[test]
fn what_an_offset_cannot_say() {
    let world = World::new();
    store(&world, "store", 1, 2, &[]);
    world.ok(&["init", "r"]);
    world.ok(&["import", "store", "r"]);
    // A small array is rewritten, and begins inside of what was a chunk: no whole number of chunks says where.
    world.ok(&["trim", "r", "-d", "time", "--start", "1"]);
    world.ok(&["export", "r", "trimmed", "--format", "zarr2-offset"]);
    let attributes = std::fs::read(world.path("trimmed/x/.zattrs")).unwrap();
    let attributes: Value = serde_json::from_slice(&attributes).unwrap();
    assert_eq!(
        (&attributes["origin"], attributes.get("_offset")),
        (&json!([3, 0]), None)
    );
    assert!(world.path("trimmed/x/0.0").exists());
    // Where a window begins inside of a chunk, chunks are numbered from zero, and the attribute says where that is.
    store(&world, "odd", 0, 2, &[]);
    let attributes = json!({"_ARRAY_DIMENSIONS": ["time", "y"], "origin": [1, 0]});
    world.json("odd/x/.zattrs", &attributes);
    world.ok(&["init", "s"]);
    world.ok(&["import", "odd", "s"]);
    world.ok(&["export", "s", "out", "--format", "zarr2-offset"]);
    let kept = std::fs::read(world.path("out/x/.zattrs")).unwrap();
    let kept: Value = serde_json::from_slice(&kept).unwrap();
    assert_eq!(kept, attributes);
    assert!(world.path("out/x/0.0").exists());
    // A store whose arrays were moved one after the other, seen in between.
    store(&world, "torn", 1, 2, &[]);
    let array = std::fs::read(world.path("torn/x/.zarray")).unwrap();
    world.file("torn/y/.zarray", array);
    world.json(
        "torn/y/.zattrs",
        &json!({"_ARRAY_DIMENSIONS": ["time", "y"], "_offset": [0, 0]}),
    );
    let error = world.fails(1, &["import", "torn", "s", "--group", "/torn"]);
    assert!(error.contains("one of them has been moved"), "{error}");
}
