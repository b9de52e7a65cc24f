//! Three months of real data, as the README's tour takes them.

use std::path::Path;

use serde_json::json;

use crate::world::{World, files};

#[test]
fn months_become_versions() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/nemo");
    if !fixtures.join("nemo-2015-01.zarr").is_dir() {
        eprintln!("skipped: fixtures/nemo is not part of this package");
        return;
    }
    let month = |month: u32| {
        fixtures
            .join(format!("nemo-2015-0{month}.zarr"))
            .to_str()
            .unwrap()
            .to_owned()
    };
    let world = World::new();
    world.ok(&["init", "ocean"]);
    world.ok(&["import", &month(1), "ocean", "-m", "January"]);
    world.ok(&["tag", "create", "ocean", "january"]);
    for (number, name) in [(2, "February"), (3, "March")] {
        let facts = world.facts(&[
            "import",
            &month(number),
            "ocean",
            "--append",
            "time_counter",
            "-m",
            name,
        ]);
        assert_eq!(
            facts["extended_arrays"],
            json!([
                "/time_centered",
                "/time_centered_bounds",
                "/time_counter",
                "/tos"
            ])
        );
    }
    for (reference, steps) in [("january", 1), ("main~1", 2), ("main", 3)] {
        let nodes = world.facts(&["ls", "ocean", "tos", "-l", "--ref", reference]);
        assert_eq!(nodes["nodes"][0]["shape"], json!([steps, 330, 360]));
        assert_eq!(nodes["nodes"][0]["chunks"]["native"]["count"], steps * 9);
    }
    // The first version is the first month, byte for byte; the last holds the chunks of all three.
    world.ok(&["export", "ocean", "january.zarr", "--ref", "january"]);
    assert_eq!(
        files(&world.path("january.zarr")),
        files(Path::new(&month(1)))
    );
    world.ok(&["export", "ocean", "all.zarr"]);
    let all = files(&world.path("all.zarr"));
    for number in [1, 2, 3] {
        let source = files(Path::new(&month(number)));
        for (name, bytes) in source {
            if let Some(rest) = name.strip_prefix("tos/c/0/") {
                assert_eq!(
                    all[&format!("tos/c/{}/{rest}", number - 1)],
                    bytes,
                    "{name}"
                );
            }
        }
    }
    let diff = world.facts(&["diff", "ocean", "january", "main"]);
    assert_eq!(diff["updated_chunks"].as_array().unwrap().len(), 4);
}
