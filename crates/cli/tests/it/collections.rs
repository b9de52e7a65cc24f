//! Collections: one name for many sources.

use std::io::Write as _;
use std::process::Stdio;

use icefield_testkit::classic::Classic;
use icefield_testservers::FileServer;
use serde_json::{Value, json};

use crate::world::{Run, World, facts};

/// A file with two times, from the given one on.
pub(crate) fn times(first: f64) -> Vec<u8> {
    let values = [first, first + 1.0];
    let file = Classic::new().dimension("time", 2).dimension("x", 3);
    let file = file.doubles("time", &["time"], &values);
    let file = file.text("units", "days since 2000-01-01");
    let air: Vec<f64> = (0..6).map(|at| first * 10.0 + f64::from(at)).collect();
    file.doubles("air", &["time", "x"], &air).bytes()
}

/// A folder `data` with a file for each month of two years.
fn archive() -> World {
    let world = World::new();
    for year in 0..2 {
        for month in 1..=3 {
            let name = format!("data/200{year}/air_{month:02}.nc");
            let first = f64::from(year) * 100.0 + f64::from(month) * 10.0;
            world.file(&name, times(first));
        }
    }
    world.file("data/readme.txt", "no file of data");
    world
}

fn planned(world: &World, args: &[&str]) -> Vec<String> {
    world.run(&["init", "r"]);
    let plan = world.facts(&[&["import"], args, &["r", "--concat", "time", "--dry-run"]].concat());
    let sources = plan["sources"].as_array().unwrap().iter();
    let name = |it: &Value| it["name"].as_str().unwrap().to_owned();
    let below = |name: String| match name.rsplit_once("/data/") {
        Some((_, below)) => below.to_owned(),
        None => name,
    };
    sources.map(name).map(below).collect()
}

const ALL: [&str; 6] = [
    "2000/air_01.nc",
    "2000/air_02.nc",
    "2000/air_03.nc",
    "2001/air_01.nc",
    "2001/air_02.nc",
    "2001/air_03.nc",
];

#[test]
fn patterns_stand_for_files_in_the_order_of_their_names() {
    let world = archive();
    assert_eq!(planned(&world, &["data/*/air_*.nc"]), ALL);
    assert_eq!(planned(&world, &["data/**/*.nc"]), ALL);
    assert_eq!(
        planned(&world, &["data/2001/air_0[13].nc"]),
        [ALL[3], ALL[5]]
    );
    assert_eq!(planned(&world, &["data/2000/air_0?.nc"]), &ALL[..3]);
    let absolute = world.path("data/2000/*.nc").display().to_string();
    assert_eq!(planned(&world, &[&absolute]), &ALL[..3]);
    // As a shell would have expanded them.
    assert_eq!(
        planned(&world, &["data/2000/air_01.nc", "data/2000/air_02.nc"]),
        &ALL[..2]
    );
    let imported = world.facts(&["import", "data/**/*.nc", "r", "--concat", "time"]);
    assert_eq!(imported["new_arrays"], json!(2));
    let document: Value = serde_json::from_str(&world.ok(&["cat", "r", "air/zarr.json"])).unwrap();
    assert_eq!(document["shape"], json!([12, 3]));
}

#[test]
fn names_come_from_a_file_and_from_standard_input() {
    let world = archive();
    let list = "# the first year\n\ndata/2000/air_0[12].nc\n  data/2000/air_03.nc \n#data/2001/air_01.nc\n";
    world.file("list.txt", list);
    assert_eq!(planned(&world, &["--files-from", "list.txt"]), &ALL[..3]);
    let both = ["--order=name", "--files-from=list.txt", "data/2001/*"];
    assert_eq!(planned(&world, &both), ALL);
    let mut command = world.command(&[
        "import",
        "-",
        "r",
        "--concat",
        "time",
        "--dry-run",
        "--json",
    ]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(list.as_bytes())
        .unwrap();
    let run = Run::of(child.wait_with_output().unwrap());
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(facts(&run.stdout)["sources"].as_array().unwrap().len(), 3);
    world.file("empty.txt", "# nothing\n");
    let said = world.fails(2, &["import", "--files-from", "empty.txt", "r"]);
    assert!(said.contains("names no source"), "{said}");
    let said = world.fails(4, &["import", "--files-from", "none.txt", "r"]);
    assert!(said.contains("none.txt"), "{said}");
    world.fails(2, &["import", "r"]);
}

#[test]
fn what_matches_nothing_and_what_is_named_twice_is_an_error() {
    let world = archive();
    world.ok(&["init", "r"]);
    for pattern in ["data/*/*.nc4", "none/*", "data/readme.txt/*", "data/????"] {
        let said = world.fails(4, &["import", pattern, "r", "--concat", "time"]);
        assert!(said.contains(&format!("matches {pattern:?}")), "{said}");
    }
    let twice = [
        "import",
        "data/2000/air_01.nc",
        "data/2000/*",
        "r",
        "--concat",
        "time",
    ];
    let said = world.fails(1, &twice);
    for part in ["data/2000/air_01.nc", "twice", "data/2000/*"] {
        assert!(said.contains(part), "{said}");
    }
    // A text without a pattern is a name.
    let said = world.fails(4, &["import", "data/a[.nc", "r"]);
    assert!(said.contains("does not exist"), "{said}");
}

#[test]
fn a_file_wins_over_its_name_as_a_pattern() {
    let world = archive();
    world.file("data/air[0-9].nc", times(0.0));
    world.file("data/air1.nc", times(2.0));
    assert_eq!(planned(&world, &["data/air[0-9].nc"]), ["air%5B0-9%5D.nc"]);
    assert_eq!(planned(&world, &["data/air?.nc"]), ["air1.nc"]);
    assert_eq!(planned(&world, &["data/air[[]*.nc"]), ["air%5B0-9%5D.nc"]);
}

#[test]
fn directories_are_sources_if_they_are_hierarchies() {
    let world = World::new();
    world.tree("data/one", 2, 1);
    world.tree("data/two", 2, 2);
    world.file("data/other/file.bin", [0]);
    world.ok(&["init", "r"]);
    for pattern in ["data/*", "data/**/[ot]*", "d*/*"] {
        let plan = world.facts(&["import", pattern, "r", "--concat", "t", "--dry-run"]);
        assert_eq!(plan["sources"].as_array().unwrap().len(), 2, "{plan}");
    }
}

#[test]
fn web_servers_list_their_directories_on_pages() {
    let world = archive();
    world.file("data/2000/air 0#4.nc", times(0.0));
    let server = FileServer::of_directory(world.path(""));
    let at = |pattern: &str| server.url(&format!("data/{pattern}"));
    let spaced = "2000/air%200%234.nc";
    let all = [&[spaced], &ALL[..]].concat();
    assert_eq!(planned(&world, &[&at("*/air*.nc")]), all);
    assert_eq!(planned(&world, &[&at("**/*.nc")]), all);
    assert_eq!(planned(&world, &[&at("2000/*.nc")]), &all[..4]);
    let said = world.fails(4, &["import", &at("*/*.nc4"), "r", "--concat", "time"]);
    assert!(said.contains("matches"), "{said}");
    let said = world.fails(
        1,
        &["import", &server.url("none/*.nc"), "r", "--concat", "time"],
    );
    assert!(said.contains("404"), "{said}");
    let imported = world.facts(&[
        "import",
        &at("**/*.nc"),
        "r",
        "--concat",
        "time",
        "--order",
        "coordinate",
    ]);
    assert_eq!(imported["new_arrays"], json!(2));
}

/// Each file lies in a folder of its own, so that each needs a store of its own.
#[cfg(target_os = "linux")]
#[test]
fn many_sources_need_few_descriptors() {
    const FILES: u32 = 300;
    let world = World::new();
    for number in 0..FILES {
        world.file(
            &format!("data/{number:03}/air.nc"),
            times(f64::from(number) * 2.0),
        );
        world.tree(&format!("trees/{number:03}"), 2, number as u8);
    }
    for (pattern, dimension, more) in [
        ("data/*/air.nc", "time", &[][..]),
        ("data/*/air.nc", "time", &["--virtual"]),
        ("trees/*", "t", &[]),
    ] {
        let repository = format!("r{dimension}{}", more.len());
        world.ok(&["init", &repository]);
        let program = crate::world::PROGRAM;
        let limited = format!("ulimit -n 96 && exec '{program}' \"$@\"");
        let args = [
            "import",
            pattern,
            &repository,
            "--concat",
            dimension,
            "--json",
        ];
        let command = world.command(&args);
        let command = std::process::Command::new("sh")
            .args(["-c", &limited, "sh"])
            .args(
                command
                    .get_args()
                    .map(ToOwned::to_owned)
                    .collect::<Vec<_>>(),
            )
            .current_dir(command.get_current_dir().unwrap())
            .args(more)
            .stdin(Stdio::null())
            .output();
        let run = Run::of(command.unwrap());
        assert_eq!(run.code, 0, "{pattern} {more:?}: {run:?}");
        assert_eq!(facts(&run.stdout)["outcome"], "committed");
    }
}

/// Of one of them, what it stored is used again; of the other, it is given up.
#[test]
fn an_import_that_was_interrupted_goes_on_or_is_abandoned() {
    let world = World::new();
    world.ok(&["init", "r"]);
    for number in 0..400 {
        let file = Classic::new().dimension("time", 1).dimension("x", 500);
        let file = file.doubles("time", &["time"], &[f64::from(number)]);
        let file = file.doubles("air", &["time", "x"], &[f64::from(number); 500]);
        world.file(&format!("data/{number:03}.nc"), file.bytes());
    }
    let import = [
        "import",
        "data/*.nc",
        "r",
        "--concat",
        "time",
        "--fsync",
        "each",
    ];
    let chunks = || std::fs::read_dir(world.path("r/chunks")).map_or(0, Iterator::count);
    let interrupted = || {
        let already = chunks();
        let mut child = world
            .command(&import)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while chunks() <= already + 50 && child.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let sent = std::process::Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert!(world.path("r/icefield/imports").is_dir());
    };
    interrupted();
    let said = world.ok(&["import", "--abandon", "r"]);
    assert!(
        said.contains("abandoned data/*.nc into / of main"),
        "{said}"
    );
    assert!(
        world
            .ok(&["import", "--abandon", "r"])
            .contains("there is no interrupted import")
    );

    let before = chunks();
    interrupted();
    let facts = world.facts(&import);
    let resumed = facts["resumed_chunks"].as_u64().unwrap();
    assert!(resumed >= 50, "{facts}");
    assert_eq!(facts["chunks"], json!(800));
    // Each chunk lies there once, but for those that were under way.
    assert!(chunks() - before <= 400 + 64, "{} {before}", chunks());
    let left = world.files("r");
    assert!(
        !left.keys().any(|name| name.starts_with("icefield/")),
        "{left:?}"
    );
    let document: Value = serde_json::from_str(&world.ok(&["cat", "r", "air/zarr.json"])).unwrap();
    assert_eq!(document["shape"], json!([400, 500]));
    world.ok(&["fsck", "r"]);
}

#[test]
fn a_nightly_import_is_one_command() {
    let world = archive();
    world.ok(&["init", "r"]);
    let nightly = [
        "import",
        "data/2000/*.nc",
        "r",
        "--append",
        "time",
        "--skip-existing",
    ];
    assert_eq!(world.facts(&nightly)["new_arrays"], json!(2));
    let before = world.history("r");
    let again = world.facts(&nightly);
    assert_eq!(again["outcome"], "unchanged");
    assert_eq!(again["skipped"].as_array().unwrap().len(), 3);
    let said = world.ok(&nightly);
    assert!(said.starts_with("there is nothing to do"), "{said}");
    assert_eq!(world.history("r"), before);
    world.file("data/2000/air_04.nc", times(40.0));
    let said = world.ok(&nightly);
    assert!(
        said.contains("skipped 3 sources that the repository has already"),
        "{said}"
    );
    assert_eq!(world.history("r").len(), before.len() + 1);
    world.fails(
        2,
        &[
            "import",
            "data/2000/*.nc",
            "r",
            "--concat",
            "time",
            "--skip-existing",
        ],
    );
}

#[test]
fn members_and_grids_are_put_together() {
    let world = World::new();
    for (member, start) in [(2, 20.0), (10, 100.0)] {
        for month in 0..2 {
            let first = f64::from(month) * 2.0;
            let file = Classic::new().dimension("time", 2).dimension("x", 3);
            let file = file.doubles("time", &["time"], &[first, first + 1.0]);
            let air = [start + first; 6];
            let file = file.doubles("air", &["time", "x"], &air);
            world.file(&format!("data/m{member}_{month}.nc"), file.bytes());
        }
    }
    let nested = ["--concat", "time", "--concat-new", "member", "--value-from"];
    for (repository, more) in [("copied", &[][..]), ("referred", &["--virtual"])] {
        world.ok(&["init", repository]);
        let from = ["import", "data/m*_?.nc", repository];
        let all = [&from[..], &nested, &["pattern:m{}_?.nc"], more].concat();
        let facts = world.facts(&all);
        assert_eq!(facts["new_arrays"], json!(3), "{facts}");
        let document = world.ok(&["cat", repository, "air/zarr.json"]);
        let document: Value = serde_json::from_str(&document).unwrap();
        assert_eq!(document["shape"], json!([2, 4, 3]));
        assert_eq!(document["dimension_names"], json!(["member", "time", "x"]));
        let folder = format!(
            "file://{}",
            world.path("data").canonicalize().unwrap().display()
        );
        let cat = ["cat", repository, "air/c/1/1/0", "--grant", &folder];
        let output = world.command(&cat).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(
            output.stdout,
            102_f64.to_be_bytes().repeat(6),
            "{repository}"
        );
    }
    std::fs::remove_file(world.path("data/m10_1.nc")).unwrap();
    world.ok(&["init", "none"]);
    let from = ["import", "data/m*_?.nc", "none"];
    let all = [&from[..], &nested, &["pattern:m{}_?.nc"]].concat();
    let said = world.fails(1, &all);
    assert!(
        said.contains("with member = 10 there is no time = 2"),
        "{said}"
    );
    let said = world.fails(2, &["import", "data/*", "none", "--concat-new", "m"]);
    assert!(said.contains("--value-from"), "{said}");
}
