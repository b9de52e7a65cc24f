//! Zip files and buckets: exported to and imported from, and refused by name where they break a rule.

use std::fs;

use icefield_testservers::world::Draft;
use icefield_testservers::{S3Options, S3Server};
use serde_json::json;

use crate::world::{World, array, group};

/// One entry, as its headers have it.
#[derive(Clone)]
struct Raw {
    name: String,
    method: u16,
    mode: u32,
    size: u32,
    crc: u32,
    data: Vec<u8>,
}

fn stored(name: &str, data: impl AsRef<[u8]>) -> Raw {
    let data = data.as_ref().to_vec();
    Raw {
        name: name.to_owned(),
        method: 0,
        mode: 0,
        size: data.len() as u32,
        crc: crc32(&data),
        data,
    }
}

/// Deflated, in a block that holds the bytes as they are.
fn deflated(name: &str, data: &[u8]) -> Raw {
    let length = data.len() as u16;
    let head = [&[1][..], &length.to_le_bytes(), &(!length).to_le_bytes()].concat();
    Raw {
        method: 8,
        data: [&head, data].concat(),
        ..stored(name, data)
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| match crc & 1 {
            0 => crc >> 1,
            _ => crc >> 1 ^ 0xedb8_8320,
        })
    })
}

fn zip(entries: &[Raw]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let offset = file.len() as u32;
        let mut fixed = vec![0; 2];
        fixed.extend(entry.method.to_le_bytes());
        fixed.extend([0; 4]);
        fixed.extend(entry.crc.to_le_bytes());
        fixed.extend((entry.data.len() as u32).to_le_bytes());
        fixed.extend(entry.size.to_le_bytes());
        fixed.extend((entry.name.len() as u16).to_le_bytes());
        fixed.extend([0; 2]);
        file.extend(b"PK\x03\x04\x14\0");
        file.extend(&fixed);
        file.extend(entry.name.as_bytes());
        file.extend(&entry.data);
        directory.extend(b"PK\x01\x02\x14\x03\x14\0");
        directory.extend(&fixed);
        directory.extend([0; 6]);
        directory.extend((entry.mode << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(entry.name.as_bytes());
    }
    let (count, start) = (entries.len() as u16, file.len() as u32);
    file.extend(&directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend(count.to_le_bytes());
    file.extend(count.to_le_bytes());
    file.extend((directory.len() as u32).to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend([0; 2]);
    file
}

/// A group and an array `x` of two chunks, below `top`.
fn hierarchy(top: &str) -> Vec<Raw> {
    let text = |value: serde_json::Value| value.to_string();
    vec![
        stored(&format!("{top}zarr.json"), text(group(json!({})))),
        stored(
            &format!("{top}x/zarr.json"),
            text(array(&[1400], &[700], &["t"])),
        ),
        stored(&format!("{top}x/c/0"), [1; 700]),
        stored(&format!("{top}x/c/1"), [2; 700]),
    ]
}

fn cat(world: &World, args: &[&str]) -> Vec<u8> {
    let output = world.command(&[&["cat"], args].concat()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

fn grant(world: &World) -> String {
    let folder = world.path("z").canonicalize().unwrap();
    format!("file://{}", folder.display())
}

#[test]
fn what_goes_out_as_a_zip_file_comes_in_again() {
    let world = World::with_history();
    world.ok(&["export", "r", "plain"]);
    for args in [
        &["export", "r", "all.zip"][..],
        &["export", "r", "all", "--zip"],
    ] {
        let said = world.ok(args);
        assert!(said.contains("4 chunks"), "{said}");
        assert!(fs::read(world.path(args[2])).unwrap().starts_with(b"PK"));
        world.fails(3, args);
        world.fails(3, &["export", "r", "plain", "--zip"]);
        let repository = format!("of {}", args[2]);
        world.ok(&["init", &repository]);
        world.ok(&["import", args[2], &repository]);
        let again = format!("{repository}, again");
        world.ok(&["export", &repository, &again]);
        let (one, other) = (world.files("plain"), world.files(&again));
        assert!(one.keys().eq(other.keys()));
        for (key, bytes) in one {
            if !key.ends_with(".json") {
                assert_eq!(other[&key], bytes, "{key}");
            }
        }
    }
    world.fails(1, &["export", "r", "r/refs/x.zip"]);
    world.fails(4, &["export", "r", "no/such/x.zip"]);
}

#[test]
fn zip_files_of_both_layouts_are_copied_or_referred_to() {
    let world = World::new();
    for (number, top) in ["", "ocean.zarr/"].iter().enumerate() {
        let path = format!("z/{number}.zip");
        world.file(&path, zip(&hierarchy(top)));
        let (copy, refer) = (format!("copy{number}"), format!("refer{number}"));
        for repository in [&copy, &refer] {
            world.ok(&["init", repository]);
        }
        assert_eq!(world.facts(&["import", &path, &copy])["chunks"], 2);
        let facts = world.facts(&["import", &path, &refer, "--virtual"]);
        assert_eq!(
            (&facts["chunks"], &facts["virtual_chunks"]),
            (&json!(0), &json!(2))
        );
        for (key, byte) in [("x/c/0", 1), ("x/c/1", 2)] {
            assert_eq!(cat(&world, &[&copy, key]), [byte; 700]);
            let granted = grant(&world);
            assert_eq!(
                cat(&world, &[&refer, key, "--grant", &granted]),
                [byte; 700]
            );
        }
    }
}

#[test]
fn deflated_chunks_are_copied_and_not_referred_to() {
    let world = World::new();
    let mut entries = hierarchy("");
    entries[3] = deflated("x/c/1", &[2; 700]);
    world.file("z/d.zip", zip(&entries));
    world.ok(&["init", "r"]);
    let error = world.fails(1, &["import", "z/d.zip", "r", "--virtual"]);
    assert!(
        error.contains("/x of ") && error.contains("d.zip/x/c/1 is deflated"),
        "{error}"
    );
    world.ok(&["import", "z/d.zip", "r", "--virtual", "--copy", "/x"]);
    assert_eq!(cat(&world, &["r", "x/c/1"]), [2; 700]);
    world.ok(&["init", "s"]);
    world.ok(&["import", "z/d.zip", "s"]);
    assert_eq!(cat(&world, &["s", "x/c/1"]), [2; 700]);
}

#[test]
fn a_hierarchy_of_format_2_may_lie_in_a_zip_file() {
    let world = World::new();
    let document = json!({
        "zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "|u1", "order": "C",
        "fill_value": 0, "filters": null, "compressor": null,
    });
    world.file(
        "two.zip",
        zip(&[
            stored(".zgroup", r#"{"zarr_format": 2}"#),
            stored("x/.zarray", document.to_string()),
            stored("x/.zattrs", r#"{"_ARRAY_DIMENSIONS": ["t"]}"#),
            stored("x/0", [1, 2]),
            stored("x/1", [3, 4]),
        ]),
    );
    world.ok(&["init", "r"]);
    world.ok(&["import", "two.zip", "r"]);
    assert_eq!(cat(&world, &["r", "x/c/1"]), [3, 4]);
}

// As zarr-python writes them, which puts a value behind the one that it replaces.
#[test]
fn of_entries_of_one_name_the_last_counts() {
    let world = World::new();
    let mut entries = hierarchy("");
    entries.insert(1, stored("x/zarr.json", "not yet"));
    entries.push(stored("x/c/1", [7; 700]));
    world.file("twice.zip", zip(&entries));
    for (repository, options) in [("r", &[][..]), ("v", &["--virtual"])] {
        world.ok(&["init", repository]);
        world.ok(&[&["import", "twice.zip", repository], options].concat());
        let grant = format!(
            "file://{}",
            world.path(".").canonicalize().unwrap().display()
        );
        let read = cat(&world, &[repository, "x/c/1", "--grant", &grant]);
        assert_eq!(read, [7; 700], "{options:?}");
    }
}

#[test]
fn bad_zip_files_are_refused_by_name() {
    let world = World::with_history();
    let before = (world.history("r"), world.files("r/refs"));
    let whole = zip(&hierarchy(""));
    let with = |entry: Raw| {
        let mut entries = hierarchy("");
        entries.push(entry);
        zip(&entries)
    };
    let edited = |at: usize, entry: Raw| {
        let mut entries = hierarchy("");
        entries[at] = entry;
        zip(&entries)
    };
    let link = Raw {
        mode: 0o120_777,
        ..stored("x/c/7", "/etc/passwd")
    };
    let bomb = Raw {
        size: 2 << 30,
        ..deflated("x/c/7", &[0; 100])
    };
    let lies = Raw {
        crc: 1,
        ..stored("x/c/1", [2; 700])
    };
    let table = [
        ("bomb", with(bomb), "\"x/c/7\" grows from"),
        (
            "outside",
            with(stored("../../escape", "v")),
            "walk the directory tree",
        ),
        (
            "absolute",
            with(stored("/etc/passwd", "v")),
            "\"/etc/passwd\" has an empty segment",
        ),
        ("link", with(link), "\"x/c/7\" is a symbolic link"),
        (
            "case",
            with(stored("X/c/0", "other")),
            "differ in case alone",
        ),
        (
            "below",
            with(stored("x/c/0/0", "v")),
            "below the entry \"x/c/0\"",
        ),
        (
            "cut",
            whole[..whole.len() - 30].to_vec(),
            "no zip file, or damaged",
        ),
        (
            "cut short",
            whole[..100].to_vec(),
            "no zip file, or damaged",
        ),
        (
            "checksum",
            edited(3, lies),
            "\"x/c/1\" is damaged: its checksum",
        ),
        ("stray", with(stored("x/c/2", [3; 700])), "x/c/2"),
        ("empty chunk", edited(3, stored("x/c/1", "")), "x/c/1"),
        (
            "document",
            edited(1, stored("x/zarr.json", "{")),
            "x/zarr.json",
        ),
        (
            "nothing",
            zip(&[stored("readme", "v")]),
            "it holds no zarr.json",
        ),
        ("no entries", zip(&[]), "it holds no zarr.json"),
    ];
    for (name, bytes, words) in table {
        let path = format!("{name}.zip");
        world.file(&path, bytes);
        for options in [&[][..], &["--virtual"]] {
            if name == "checksum" && !options.is_empty() {
                // The referenced bytes are not read.
                continue;
            }
            let args = [&["import", &path, "r", "--group", "bad"], options].concat();
            let error = world.fails(1, &args);
            assert!(error.contains(words), "{name}: {words} is not in: {error}");
            let encoded = path.replace(' ', "%20");
            assert!(error.contains(&path) || error.contains(&encoded), "{error}");
        }
    }
    assert_eq!((world.history("r"), world.files("r/refs")), before);
    world.fails(4, &["ls", "r", "bad"]);
}

#[test]
fn buckets_are_exported_to_and_zip_files_imported_from_them() {
    let world = World::with_history();
    let server = S3Server::start(S3Options::default());
    let at = |key: &str| {
        format!(
            "s3://{}/{key}?endpoint={}",
            server.bucket(),
            server.endpoint()
        )
    };
    let run = |args: &[&str]| {
        let mut command = world.command(args);
        command
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "testtest");
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code().unwrap_or(-1), said)
    };
    let ok = |args: &[&str]| assert_eq!(run(args), (0, String::new()), "{args:?}");
    ok(&["export", "r", &at("out/tree")]);
    world.ok(&["export", "r", "plain"]);
    let mut keys = server.world().keys(server.bucket());
    keys.sort();
    let plain = world.files("plain");
    let expected: Vec<_> = plain.keys().map(|key| format!("out/tree/{key}")).collect();
    assert_eq!(keys, expected);
    let (code, said) = run(&["export", "r", &at("out/tree")]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("holds"), "{said}");
    let (code, said) = run(&["export", "r", &at("out/x.zip")]);
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains("out/x.zip cannot be written as a zip file"),
        "{said}"
    );
    // No place in a repository is one.
    ok(&["init", &at("repo")]);
    ok(&["import", &at("out/tree"), &at("repo")]);
    let (code, said) = run(&["export", &at("repo"), &at("repo/chunks/x")]);
    assert_eq!(code, 1, "{said}");
    ok(&["export", &at("repo"), "again"]);
    assert!(world.files("again").keys().eq(plain.keys()));
    // A zip file there.
    world.ok(&["export", "r", "all.zip"]);
    let bytes = fs::read(world.path("all.zip")).unwrap();
    let _ = server
        .world()
        .put(server.bucket(), "z/all.zip", Draft::new(bytes));
    for (repository, options) in [("c", &[][..]), ("v", &["--virtual"])] {
        world.ok(&["init", repository]);
        let zip = at("z/all.zip");
        ok(&[&["import", &zip, repository], options].concat());
    }
    world.ok(&["export", "c", "from the bucket"]);
    assert_eq!(world.files("from the bucket")["x/c/1/0"], plain["x/c/1/0"]);
}
