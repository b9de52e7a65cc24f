//! Archive files: imported by copy and by reference, read only where access is granted, and never silently wrong.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::world::World;

const MONTHS: [&str; 3] = [
    "nemo_1m_20150101-20150201_grid-T.nc",
    "nemo_1m_20150201-20150301_grid-T.nc",
    "nemo_1m_20150301-20150401_grid-T.nc",
];

/// A world with archive files in the folder `a`, and an empty repository `r`.
fn world() -> World {
    let world = World::new();
    let ocean = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/ocean");
    for name in MONTHS.iter().chain(&["ostia_monthly.nc"]) {
        let bytes = fs::read(Path::new(ocean).join(name)).unwrap();
        world.file(&format!("a/{name}"), bytes);
    }
    world.ok(&["init", "r"]);
    world
}

fn month(at: usize) -> String {
    format!("a/{}", MONTHS[at])
}

fn grant(world: &World) -> String {
    let folder = world.path("a").canonicalize().unwrap();
    format!("file://{}", folder.display())
}

fn snapshots(world: &World) -> usize {
    world.facts(&["log", "r"])["snapshots"]
        .as_array()
        .unwrap()
        .len()
}

#[test]
fn months_are_referred_to_in_one_commit() {
    let world = world();
    let months = [month(0), month(1), month(2)];
    let args = [
        "import",
        &months[0],
        &months[1],
        &months[2],
        "r",
        "--concat",
        "time_counter",
        "--virtual",
    ];
    let facts = world.facts(&args);
    assert_eq!(
        (&facts["virtual_chunks"], &facts["chunks"]),
        (&json!(13), &json!(3))
    );
    assert_eq!(snapshots(&world), 2);
    let nodes = world.facts(&["ls", "-l", "r"]);
    let tos = nodes["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["name"] == "tos")
        .unwrap();
    assert_eq!(tos["shape"], json!([3, 330, 360]));
    assert_eq!(tos["chunks"]["virtual"]["count"], json!(3));

    let container = json!({ format!("{}/", grant(&world)): tos["chunks"]["virtual"] });
    assert_eq!(tos["chunks"]["containers"], container);
    let all = world.facts(&["info", "r", "-l"])["chunks"].clone();
    assert_eq!(
        all["virtual"],
        json!({ "count": 13, "bytes": facts["virtual_bytes"] })
    );
    assert_eq!(
        all["containers"][&format!("{}/", grant(&world))],
        all["virtual"]
    );
    assert_eq!(
        (&all["native"]["count"], &all["inline"]["count"]),
        (&json!(0), &json!(3))
    );
    let text = world.ok(&["info", "r", "--long"]);
    assert!(
        text.contains("13 chunks") && text.contains(&grant(&world)),
        "{text}"
    );
    assert!(!world.ok(&["info", "r"]).contains("13 chunks"));

    // Who reads must say so.
    let error = world.fails(1, &["cat", "r", "tos/c/1/0/0"]);
    assert!(error.contains("access to that was not granted"), "{error}");
    let granted = grant(&world);
    let read = world.run(&["cat", "r", "tos/c/1/0/0", "--grant", &granted, "--json"]);
    assert_eq!(read.code, 2, "bytes are no facts: {read:?}");
    let bytes = world
        .command(&["cat", "r", "tos/c/1/0/0", "--grant", &granted])
        .output()
        .unwrap();
    assert!(bytes.status.success() && bytes.stdout.len() > 100_000);
    let by_path = world
        .command(&["cat", "r", "tos/c/1/0/0", "--grant", "a"])
        .output()
        .unwrap();
    assert_eq!(by_path.stdout, bytes.stdout);
    for narrow in [
        format!("{granted}x"),
        format!("{granted}/other"),
        "file:///tmp/nowhere".to_owned(),
    ] {
        world.fails(1, &["cat", "r", "tos/c/1/0/0", "--grant", &narrow]);
    }

    // Copied, they are the same bytes, and no file is needed.
    let report = world.facts(&["materialize", "r", "--grant", &granted]);
    assert_eq!(report["chunks"], json!(13));
    fs::remove_dir_all(world.path("a")).unwrap();
    let copied = world
        .command(&["cat", "r", "tos/c/1/0/0"])
        .output()
        .unwrap();
    assert_eq!(copied.stdout, bytes.stdout);
    let again = world.facts(&["materialize", "r"]);
    assert_eq!(
        (&again["chunks"], &again["snapshot_id"]),
        (&json!(0), &json!(null))
    );
}

#[test]
fn a_file_that_changed_is_an_error_and_so_is_one_that_is_gone() {
    let world = world();
    world.ok(&["import", &month(0), "r", "--virtual"]);
    let granted = grant(&world);
    let read = ["cat", "r", "tos/c/0/0/0", "--grant", &granted];
    let file = fs::File::options()
        .write(true)
        .open(world.path(&month(0)))
        .unwrap();
    let later = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(4_000_000_000);
    file.set_modified(later).unwrap();
    let error = world.fails(3, &read);
    assert!(
        error.contains("has changed since the reference was made"),
        "{error}"
    );
    fs::remove_file(world.path(&month(0))).unwrap();
    let error = world.fails(5, &read);
    assert!(error.contains("there is no such object"), "{error}");
}

#[test]
fn what_does_not_fit_is_named_and_nothing_is_committed() {
    let world = world();
    let whole = fs::read(world.path("a/ostia_monthly.nc")).unwrap();
    world.file("a/cut.nc", &whole[..40_000]);
    world.file("a/noise.nc", [7; 5000]);
    world.file("a/empty.nc", "");
    let (first, second) = (month(0), month(1));
    for (args, said) in [
        (vec!["a/noise.nc"], "begins like none of HDF5"),
        (vec!["a/empty.nc"], "begins like none of HDF5"),
        (vec!["a/cut.nc"], "cut.nc"),
        (vec!["a/missing.nc"], "does not exist"),
        (
            vec![
                first.as_str(),
                "a/ostia_monthly.nc",
                "--concat",
                "time_counter",
            ],
            "time_counter",
        ),
        (
            vec![first.as_str(), second.as_str(), "--concat", "nowhere"],
            "nowhere",
        ),
        (
            vec![first.as_str(), "--append", "time_counter"],
            "does not exist yet",
        ),
    ] {
        for options in [&["--virtual"][..], &[]] {
            let mut all = vec!["import"];
            all.extend(args.iter().take_while(|it| !it.starts_with("--")));
            all.push("r");
            all.extend(args.iter().skip_while(|it| !it.starts_with("--")));
            all.extend(options);
            let run = world.run(&all);
            assert!(run.code != 0, "{all:?}");
            assert!(run.stderr.contains(said), "{all:?}: {}", run.stderr);
            assert_eq!(snapshots(&world), 1, "{all:?}");
        }
    }
    let error = world.fails(2, &["import", &first, &second, "r"]);
    assert!(error.contains("--concat DIM"), "{error}");
    world.fails(2, &["import", &first, "r", "--copy", "/tos"]);
}

#[test]
fn one_array_can_be_copied_all_the_same() {
    let world = world();
    world.ok(&["import", &month(0), "r", "--virtual", "--copy", "/tos"]);
    fs::remove_dir_all(world.path("a")).unwrap();
    let read = world
        .command(&["cat", "r", "tos/c/0/0/0"])
        .output()
        .unwrap();
    assert!(read.status.success());
    world.fails(1, &["cat", "r", "nav_lat/c/0/0"]);
}

/// More files than the program has threads that may wait for a disk.
#[test]
fn many_files_are_opened_at_once() {
    let world = world();
    let bytes = fs::read(world.path(&month(0))).unwrap();
    let names: Vec<String> = (0..40).map(|at| format!("a/{at:02}.nc")).collect();
    for name in &names {
        world.file(name, &bytes);
    }
    let mut args = vec!["import"];
    args.extend(names.iter().map(String::as_str));
    args.extend(["r", "--concat", "time_counter", "--virtual"]);
    // A place holder of the times is told from the times themselves.
    let error = world.fails(1, &args);
    assert!(
        error.contains("/time_centered") && error.contains("01.nc"),
        "{error}"
    );
    args.push("--unordered");
    assert_eq!(world.facts(&args)["chunks"], json!(40));
    assert_eq!(snapshots(&world), 2);
}

#[test]
fn coordinates_that_overlap_are_refused() {
    let world = world();
    let ostia = "a/ostia_monthly.nc";
    for options in [&["--virtual"][..], &[]] {
        let args = [&["import", ostia, ostia, "r", "--concat", "time"], options].concat();
        let error = world.fails(1, &args);
        assert!(
            error.contains("/time ends") && error.contains("ostia_monthly.nc"),
            "{error}"
        );
        assert!(error.contains("--unordered"), "{error}");
    }
    assert_eq!(snapshots(&world), 1);
    world.ok(&[
        "import",
        ostia,
        ostia,
        "r",
        "--concat",
        "time",
        "--unordered",
    ]);
    assert_eq!(snapshots(&world), 2);
}

/// Of several files, the one at fault is named, and nothing is committed.
#[test]
fn a_file_that_does_not_fit_is_named() {
    let world = world();
    for options in [&["--virtual"][..], &[]] {
        let (first, second) = (month(0), month(1));
        let sources = ["import", &first, &second, "a/ostia_monthly.nc", "r"];
        let args = [&sources[..], &["--concat", "time_counter"], options].concat();
        let error = world.fails(1, &args);
        assert!(error.contains("ostia_monthly.nc"), "{error}");
    }
    assert_eq!(snapshots(&world), 1);
}

#[test]
fn references_of_kerchunk_in_parquet() {
    let fixtures = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../ingest/tests/fixtures/kerchunk"
    );
    for kind in ["pyarrow", "fastparquet"] {
        let world = World::new();
        world.copy(Path::new(fixtures), "k");
        for (name, options) in [("virtual", &["--virtual"][..]), ("copied", &[])] {
            world.ok(&["init", name]);
            let source = format!("k/{kind}.parquet");
            world.ok(&[&["import", &source, name][..], options].concat());
        }
        let folder = world.path("k").canonicalize().unwrap();
        let granted = format!("file://{}", folder.display());
        for key in ["a/c/0/0", "b/c/1"] {
            let read = |args: &[&str]| world.command(args).output().unwrap();
            let copied = read(&["cat", "copied", key]);
            assert!(
                copied.status.success() && !copied.stdout.is_empty(),
                "{copied:?}"
            );
            let far = read(&["cat", "virtual", key, "--grant", &granted]);
            assert_eq!(far.stdout, copied.stdout, "{far:?}");
        }
    }
}

#[test]
fn a_zarr_directory_is_referred_to() {
    let world = World::new();
    let nemo = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/nemo/nemo-2015-01.zarr"
    );
    world.copy(Path::new(nemo), "z");
    world.ok(&["init", "r"]);
    let facts = world.facts(&["import", "z", "r", "--virtual"]);
    assert!(facts["virtual_chunks"].as_u64() > Some(0), "{facts}");
    let folder = world.path("z").canonicalize().unwrap();
    let granted = format!("file://{}", folder.display());
    world.ok(&["export", "r", "out", "--grant", &granted]);
    let written = fs::read(world.path("out/tos/c/0/0/0")).unwrap();
    assert_eq!(written, fs::read(world.path("z/tos/c/0/0/0")).unwrap());
}

#[test]
fn records_that_lag_are_fill_values_in_the_text_of_netcdf() {
    let world = World::new();
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../ingest/tests/fixtures/hdf5");
    for name in ["fixture-lagging-0.nc", "fixture-lagging-1.nc"] {
        let bytes = fs::read(Path::new(fixtures).join(name)).unwrap();
        world.file(&format!("a/{name}"), bytes);
    }
    for (repository, way) in [("copied", &[][..]), ("referred", &["--virtual"])] {
        world.ok(&["init", repository]);
        let mut args = vec!["import", "a/fixture-lagging-0.nc", "a/fixture-lagging-1.nc"];
        args.extend([repository, "--concat", "time"]);
        args.extend(way);
        world.ok(&args);
        let mut args = vec!["ncdump", repository, "-V", "v"];
        let granted = grant(&world);
        if !way.is_empty() {
            world.ok(&["materialize", repository, "--grant", &granted]);
        }
        args.extend(["-n", "records"]);
        let text = world.ok(&args);
        let values = " v = 0, 1, 2, _, _, 5, 6, 7, 8, 9 ;";
        assert!(text.contains(values), "{text}");
    }
}

#[test]
fn unsupported_nodes_block_an_import_until_they_are_left_out() {
    fn import<'a>(more: &[&'a str]) -> Vec<&'a str> {
        [&["import", "a/m.h5", "r"], more].concat()
    }
    let world = World::new();
    let fixture = "/../ingest/tests/fixtures/hdf5/fixture-mask.h5";
    let bytes = fs::read(format!("{}{fixture}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    world.file("a/m.h5", bytes);
    world.ok(&["init", "r"]);
    let error = world.fails(1, &import(&[]));
    assert!(
        error.contains("/g/") && error.contains("--skip-unsupported"),
        "{error}"
    );
    assert_eq!(snapshots(&world), 1);

    let plan = world.facts(&import(&["--skip-unsupported", "--dry-run"]));
    let paths = |facts: &serde_json::Value| -> Vec<String> {
        let omitted = facts["omitted"].as_array().unwrap().iter();
        let mut paths: Vec<_> = omitted
            .map(|it| it["path"].as_str().unwrap().to_owned())
            .collect();
        paths.sort_unstable();
        paths
    };
    assert_eq!(paths(&plan), ["/g/outside", "/g/pair", "/g/v"]);
    assert!(
        plan["omitted"][0]["source"]
            .as_str()
            .unwrap()
            .ends_with("m.h5"),
        "{plan}"
    );

    // Nodes that were left out by name, or not selected, are no omissions.
    let dropped = ["--drop", "g/outside,g/pair,g/v", "--group", "dropped"];
    assert_eq!(paths(&world.facts(&import(&dropped))), [""; 0]);
    let selected = ["--variables", "fine", "--group", "selected"];
    assert_eq!(paths(&world.facts(&import(&selected))), [""; 0]);
    let error = world.fails(1, &import(&["--drop", "g/v,g/pair", "--group", "some"]));
    assert!(error.contains("/g/outside"), "{error}");

    let said = world.ok(&import(&["--skip-unsupported"]));
    assert!(
        said.contains("left out 3 nodes") && said.contains("/g/pair of file://"),
        "{said}"
    );
    world.ok(&["ls", "r", "fine"]);
    world.fails(4, &["ls", "r", "g/v"]);
}

// As trees are that were written by hand, or by tools that write arrays alone.
#[test]
fn a_tree_of_format_2_needs_no_document_at_its_root() {
    let world = World::new();
    let document = json!({
        "zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "|u1", "order": "C",
        "fill_value": 0, "filters": null, "compressor": null,
    });
    world.file("a/t/g/x/.zarray", document.to_string());
    world.file("a/t/g/x/1", [3, 4]);
    world.ok(&["init", "r"]);
    world.ok(&["import", "a/t", "r"]);
    world.ok(&["cat", "r", "g/x/c/1"]);
}
