//! Datasets of netCDF: NCZarr in and out, and their text.

use std::fs;
use std::path::{Path, PathBuf};

use crate::world::World;

pub(crate) fn fixtures() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/nczarr");
    root.canonicalize().unwrap()
}

/// The datasets of one feature each: directories with `data` and `ncdump.cdl`.
pub(crate) fn features() -> Vec<PathBuf> {
    let entries = fs::read_dir(fixtures().join("features")).unwrap();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("ncdump.cdl").exists())
        .collect();
    found.sort();
    assert!(found.len() >= 30, "{}", found.len());
    found
}

/// The name behind `netcdf`.
pub(crate) fn name_of(text: &str) -> &str {
    let line = text.lines().next().unwrap();
    let name = line.strip_prefix("netcdf ").unwrap();
    name.strip_suffix(" {").unwrap()
}

#[test]
fn every_feature_is_printed_as_ncdump_prints_it_and_made_again_of_that_text() {
    let world = World::new();
    for feature in features() {
        let name = feature.file_name().unwrap().to_str().unwrap().to_owned();
        let data = feature.join("data");
        let expected = fs::read_to_string(feature.join("ncdump.cdl")).unwrap();
        let title = name_of(&expected);
        let (imported, made) = (format!("{name}-in"), format!("{name}-made"));
        world.ok(&["init", &imported]);
        world.ok(&["import", data.to_str().unwrap(), &imported]);
        let printed = world.ok(&["ncdump", "-n", title, &imported]);
        assert_eq!(printed, expected, "{name}");
        let text = feature.join("ncdump.cdl");
        world.ok(&["ncgen", text.to_str().unwrap(), &made]);
        let again = world.ok(&["ncdump", "-n", title, &made]);
        assert_eq!(again, expected, "{name}, of its text");
    }
}

#[test]
fn exports_hold_the_same_dataset() {
    let world = World::new();
    let feature = fixtures().join("features");
    let groups = features()
        .into_iter()
        .find(|path| path.ends_with("groups_nested"));
    let groups = groups.unwrap_or_else(|| feature.join("groups"));
    let data = groups.join("data");
    let expected = fs::read_to_string(groups.join("ncdump.cdl")).unwrap();
    world.ok(&["init", "repo"]);
    world.ok(&["import", data.to_str().unwrap(), "repo"]);
    for (at, args) in [["out", "--format=nczarr"], ["out.zip", "--format=nczarr"]]
        .iter()
        .enumerate()
    {
        world.ok(&["export", "repo", args[0], args[1]]);
        let again = format!("again{at}");
        world.ok(&["init", &again]);
        world.ok(&["import", args[0], &again]);
        let printed = world.ok(&["ncdump", "-n", name_of(&expected), &again]);
        assert_eq!(printed, expected, "{args:?}");
    }
    // Where netCDF-C looks for the dataset in a zip file.
    let bytes = fs::read(world.path("out.zip")).unwrap();
    assert!(
        bytes
            .windows(12)
            .any(|it| it == b"out/.zgroup\x7b" || it.starts_with(b"out/.zgroup"))
    );
    world.ok(&["export", "repo", "plain", "--format=zarr2"]);
    let files = world.files("plain");
    assert!(files.contains_key(".zmetadata") && files.contains_key(".zgroup"));
    assert!(!files.keys().any(|key| key.ends_with("zarr.json")));
}

#[test]
fn urls_of_netcdf_say_how_a_tree_is_read() {
    let world = World::new();
    let data = fixtures().join("vectors/netcdf-c-4.10.1-nczarr/groups/data");
    let url = format!("file://{}", data.display());
    for (repository, fragment) in [
        ("records", "#mode=nczarr,file"),
        ("pure", "#mode=zarr,file"),
    ] {
        world.ok(&["init", repository]);
        world.ok(&["import", &format!("{url}{fragment}"), repository]);
    }
    let records = world.ok(&["ncdump", "-h", "records"]);
    let pure = world.ok(&["ncdump", "-h", "pure"]);
    // The type of the attribute, and the order of definition, are among the records.
    assert!(
        records.contains("v:q = 1b ;") && pure.contains("v:q = 1 ;"),
        "{records}\n{pure}"
    );
    let message = world.fails(
        2,
        &["import", &format!("{url}#mode=nczarr,nothing"), "pure"],
    );
    assert!(message.contains("nothing"), "{message}");
}

#[test]
fn numbers_whose_order_is_in_doubt_are_told_of() {
    let world = World::new();
    let data = fixtures().join("vectors/netcdf-c-4.9.1-nczarr/endian/data");
    let data = data.to_str().unwrap();
    world.ok(&["init", "told"]);
    let told = world.ok(&["import", data, "told"]);
    assert!(told.contains("--legacy-endian"), "{told}");
    world.ok(&["init", "asked"]);
    let asked = world.ok(&["import", data, "asked", "--legacy-endian"]);
    assert!(!asked.contains("--legacy-endian"), "{asked}");
    let (told, asked) = (
        world.ok(&["ncdump", "told"]),
        world.ok(&["ncdump", "asked"]),
    );
    assert_ne!(told.replace("told", "asked"), asked);
    // As plain Zarr, the numbers are the same ones.
    let url = format!("file://{data}#mode=zarr,file");
    world.ok(&["init", "plain"]);
    let told = world.ok(&["import", &url, "plain"]);
    assert!(told.contains("--legacy-endian"), "{told}");
    world.ok(&["init", "plain-asked"]);
    world.ok(&["import", &url, "plain-asked", "--legacy-endian"]);
    let data = |text: &str| {
        let mut lines: Vec<&str> = text.split_once("data:").unwrap().1.lines().collect();
        lines.sort_unstable();
        lines.join("\n")
    };
    let plain = world.ok(&["ncdump", "plain-asked"]);
    assert_eq!(data(&plain), data(&asked));
    assert_ne!(data(&world.ok(&["ncdump", "plain"])), data(&asked));
}

#[test]
fn damaged_datasets_are_named_and_nothing_is_imported() {
    let world = World::new();
    let source = fixtures().join("vectors/netcdf-c-4.10.1-nczarr/groups/data");
    let damages: [(&str, &str, &str, &str); 6] = [
        ("g/v/.zattrs", "\"/x\"", "\"/nowhere\"", "/nowhere"),
        ("g/v/.zattrs", "\"/g/z\"", "\"z\"", "absolute"),
        ("g/v/.zarray", "<i4", "<c8", "<c8"),
        ("g/v/.zarray", "[2,4]", "[2,5]", "/x"),
        (".zattrs", "\"x\": 4", "\"x\": \"four\"", "four"),
        (".zattrs", "\"top\"", "\"lost\"", "lost"),
    ];
    for (at, (file, from, to, told)) in damages.into_iter().enumerate() {
        let tree = format!("tree{at}");
        world.copy(&source, &tree);
        let path = world.path(&tree).join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text} lacks {from}");
        world.file(&format!("{tree}/{file}"), text.replacen(from, to, 1));
        let repository = format!("repo{at}");
        world.ok(&["init", &repository]);
        let before = world.history(&repository);
        let message = world.fails(1, &["import", &tree, &repository]);
        assert!(message.contains(told), "{file}: {message}");
        assert_eq!(world.history(&repository), before);
    }
}

#[test]
fn wrong_input_is_told_where_it_is() {
    let world = World::new();
    world.file(
        "range.cdl",
        "netcdf a {\nvariables:\n  byte v ;\ndata:\n  v = 300 ;\n}\n",
    );
    let message = world.fails(1, &["ncgen", "range.cdl", "repo"]);
    assert!(
        message.contains("line 5") && message.contains('v'),
        "{message}"
    );
    assert!(!world.path("repo").exists(), "nothing is made of it");
    world.file(
        "types.cdl",
        "netcdf a {\ntypes:\n  compound c { int x ; } ;\n}\n",
    );
    world.fails(1, &["ncgen", "types.cdl", "repo"]);
    world.fails(4, &["ncgen", "none.cdl", "repo"]);
    world.file(
        "a.cdl",
        "netcdf a {\ndimensions:\n  x = 2 ;\nvariables:\n  int v(x) ;\ndata:\n  v = 1, 2 ;\n}\n",
    );
    world.ok(&["ncgen", "a.cdl", "repo"]);
    let text = world.ok(&["ncdump", "-v", "v", "repo"]);
    assert!(text.ends_with(" v = 1, 2 ;\n}\n"), "{text}");
    let message = world.fails(4, &["ncdump", "-v", "w", "repo"]);
    assert!(message.contains('w'), "{message}");
    world.fails(4, &["ncdump", "nowhere"]);
    // The array is there already.
    world.fails(3, &["ncgen", "a.cdl", "repo"]);
}

#[test]
fn what_netcdf_has_no_type_for_is_named() {
    let world = World::new();
    let source = fixtures().join("vectors/zarr-python-v2-dir/data");
    world.ok(&["init", "repo"]);
    world.ok(&["import", source.to_str().unwrap(), "repo"]);
    let message = world.fails(1, &["export", "repo", "out", "--format", "nczarr"]);
    assert!(
        message.contains("/c16") && message.contains("complex128"),
        "{message}"
    );
    assert!(!world.path("out").exists());
    world.ok(&["export", "repo", "out", "--format", "zarr2"]);
}
