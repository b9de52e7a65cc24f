//! Repositories of the alpha generation are looked at like those of today, and not written.

use icefield_testservers::world::Draft;
use icefield_testservers::{S3Options, S3Server};
use serde_json::{Value, json};

use crate::alpha::vector;
use crate::world::{World, files};

/// A world with the vector `alpha-b` at `old`, and ids of its snapshots.
fn world() -> World {
    let world = World::new();
    world.copy(&vector("alpha-b"), "old");
    world
}

const MAIN: &str = "YZB8QF212DQV4X0A54CA2RMMZ0";
const FIRST: &str = "JMDXNBWNAWJ7QBCJ5ND3RP7308";
const INITIAL: &str = "0BM70M427GC37188AEZ7P8FVMR";
const DEV: &str = "117QHXM0EGDCZ2FN3AAE6MVNY0";

#[test]
fn ls() {
    let world = world();
    assert_eq!(world.ok(&["ls", "old"]), "g/\ng-x/\nscalar\n");
    assert_eq!(world.ok(&["ls", "old", "/g", "--ref", "tag:v1"]), "temp\n");
    assert_eq!(world.ok(&["ls", "old", "/g"]), "");
    assert_eq!(world.ok(&["ls", "old", "g-x/half"]), "half\n");
    let long = "\
KIND   TYPE     SHAPE  CHUNK  CHUNKS  INLINE  VIRTUAL    BYTES  NAME
array  float32  (5)    (2)         3       1        1  1.5 KiB  half
";
    assert_eq!(world.ok(&["ls", "-l", "old", "/g-x"]), long);
    let expected = json!({
        "schema_version": 1, "location": "old", "snapshot_id": MAIN, "path": "/g-x",
        "nodes": [{
            "path": "/g-x/half", "name": "half", "kind": "array", "data_type": "float32", "shape": [5],
            "chunk_shape": [2], "dimension_names": null, "chunk_key_encoding": "default /",
            "chunks": {
                "native": {"count": 1, "bytes": 700}, "inline": {"count": 1, "bytes": 9},
                "virtual": {"count": 1, "bytes": 800}, "containers": {"": {"count": 1, "bytes": 800}},
            },
        }],
    });
    assert_eq!(world.facts(&["ls", "-l", "old", "/g-x"]), expected);
}

#[test]
fn tree() {
    let expected = "/\n├── g/\n├── g-x/\n│   └── half (5) float32\n└── scalar () float64\n";
    assert_eq!(world().ok(&["tree", "old"]), expected);
}

#[test]
fn log() {
    let world = world();
    let expected = format!(
        "{MAIN}  2024-09-18T12:00:35.123456Z  (main) second commit\n\
         {FIRST}  2024-09-18T12:00:21.123456Z  (tag:v1) first commit\n\
         {INITIAL}  2024-09-18T12:00:07.123456Z  Repository initialized\n"
    );
    assert_eq!(world.ok(&["log", "old"]), expected);
    let newest: Vec<&str> = expected.lines().take(1).collect();
    assert_eq!(
        world.ok(&["log", "old", "-n", "1"]),
        newest[0].to_owned() + "\n"
    );
    let expected = json!({
        "schema_version": 1, "location": "old",
        "snapshots": [
            {
                "id": FIRST, "parent_id": INITIAL, "written_at": "2024-09-18T12:00:21.123456Z",
                "message": "first commit", "metadata": {"depth": {"a": -1}, "who": "me"}, "refs": ["tag:v1"],
            },
            {
                "id": INITIAL, "parent_id": null, "written_at": "2024-09-18T12:00:07.123456Z",
                "message": "Repository initialized", "metadata": {}, "refs": [],
            },
        ],
    });
    assert_eq!(world.facts(&["log", "old", "--ref", "v1"]), expected);
}

#[test]
fn every_layout_has_its_history() {
    for (name, commits) in [
        ("alpha-a", 3),
        ("alpha-b", 3),
        ("alpha-literal-messagepack", 4),
        ("alpha-literal-json", 4),
    ] {
        let world = World::new();
        world.copy(&vector(name), "old");
        let before = world.files("old");
        let expected = std::fs::read(vector(name).join("../expected.json")).unwrap();
        let expected: Value = serde_json::from_slice(&expected).unwrap();
        for branch in ["main", "dev"] {
            let log = world.facts(&["log", "old", "--ref", branch]);
            let mut next = expected["branches"][branch]["snapshot"].clone();
            for found in log["snapshots"].as_array().unwrap() {
                assert_eq!(found["id"], next, "{name}");
                let told = &expected["snapshots"][next.as_str().unwrap()];
                assert_eq!(found["message"], told["message"], "{name}");
                assert_eq!(found["metadata"], told["properties"], "{name}");
                assert_eq!(found["parent_id"], told["parent"], "{name}");
                next = told["parent"].clone();
            }
            assert_eq!(next, Value::Null, "{name}: the history is shown to its end");
        }
        world.facts(&["import", "old", "new"]);
        assert_eq!(world.history("new").len(), commits, "{name}");
        // The commands show the old repository as an import converts it.
        let names = |repository: &str| world.facts(&["ls", "-l", repository])["nodes"].clone();
        // An import may put bytes elsewhere; how many there are of each array stays.
        let sums = |chunks: &Value, what: &str| -> u64 {
            let kinds = ["inline", "native", "virtual"].iter();
            kinds
                .map(|kind| chunks[kind][what].as_u64().unwrap_or(0))
                .sum()
        };
        let sizes = |nodes: Value| -> Vec<(Value, u64, u64)> {
            let nodes = nodes.as_array().unwrap().iter();
            let one = |it: &Value| {
                let chunks = &it["chunks"];
                (
                    it["path"].clone(),
                    sums(chunks, "count"),
                    sums(chunks, "bytes"),
                )
            };
            nodes.map(one).collect()
        };
        assert_eq!(sizes(names("old")), sizes(names("new")), "{name}");
        assert_eq!(world.files("old"), before, "{name}");
    }
}

#[test]
fn cat() {
    let world = world();
    let document = world.ok(&["cat", "old", "g/temp/zarr.json", "--ref", "v1"]);
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["shape"], json!([4, 3]));
    assert_eq!(document["attributes"], json!({"units": "K"}));
    let bytes = |key: &str, at: &str| {
        let args = ["cat", "old", key, "--ref", at];
        world.command(&args).output().unwrap().stdout
    };
    let native = bytes("g/temp/c/1/0", "tag:v1");
    let objects = world.files("old/c");
    assert_eq!(native, objects["7K76Z44138C8KF22TFKPXSN548"]);
    assert_eq!(bytes("g-x/half/c/0", "main").len(), 9);
    assert_eq!(bytes("scalar/c", "main").len(), 8);

    let error = world.fails(1, &["cat", "old", "g-x/half/c/2"]);
    let expected = "\
error: \"g-x/half/c/2\" is 800 bytes from 1234567 of s3://bucket/dir/file.nc, and foreign files of a repository of the alpha generation are not read
hint: `icefield import LOCATION NEW` converts it to a repository of version 1, which reads them with --grant
";
    assert_eq!(error, expected);
}

#[test]
fn refs_are_listed() {
    let world = world();
    let branches = format!("dev    {DEV}\nmain   {MAIN}\n");
    assert_eq!(world.ok(&["branch", "list", "old"]), branches);
    assert_eq!(world.ok(&["tag", "list", "old"]), format!("v1   {FIRST}\n"));
    let tags = json!({
        "schema_version": 1, "location": "old",
        "tags": [{"name": "v1", "snapshot_id": FIRST}], "deleted": [],
    });
    assert_eq!(world.facts(&["tag", "list", "old"]), tags);

    world.file("old/r/branch:main/ZZZZZZZZZZZZT.json", "{\n");
    let run = world.run(&["branch", "list", "old"]);
    assert_eq!(run.code, 5, "{run:?}");
    let expected = format!(
        "dev    {DEV}\nmain   DAMAGED: r/branch:main/ZZZZZZZZZZZZT.json is damaged: no ref can be read from its JSON at byte 2 (EOF while parsing an object at line 2 column 0); put back a copy of it\n"
    );
    assert_eq!(run.stdout, expected);
    assert_eq!(run.stderr, "error: 1 of the refs cannot be read\n");
}

#[test]
fn versions_are_said_as_everywhere() {
    let world = world();
    let shown = |at: &str| world.facts(&["ls", "old", "--ref", at])["snapshot_id"].clone();
    assert_eq!(shown("main"), MAIN);
    assert_eq!(shown("main~1"), FIRST);
    assert_eq!(shown("branch:dev~2"), INITIAL);
    assert_eq!(shown("v1"), FIRST);
    assert_eq!(shown("tag:v1~1"), INITIAL);
    assert_eq!(shown(FIRST), FIRST);
    assert_eq!(shown(&format!("{FIRST}~1")), INITIAL);
    assert_eq!(shown("main@2024-09-18T12:00:22Z"), FIRST);
    for (at, code, problem) in [
        ("nosuch", 4, "branch nosuch does not exist\nhint: `icefield branch list` and `icefield tag list` show the existing ones".to_owned()),
        ("tag:main", 4, "tag main does not exist\nhint: `icefield branch list` and `icefield tag list` show the existing ones".to_owned()),
        ("main~3", 4, format!("snapshot {MAIN} has only 2 ancestors")),
        (
            "main@2020-01-01T00:00:00Z",
            4,
            format!("the history of {MAIN} has no snapshot as old as the time given"),
        ),
        (
            "000G40R40M30E209185GR38E1W",
            4,
            "there is no snapshot 000G40R40M30E209185GR38E1W".to_owned(),
        ),
    ] {
        let error = world.fails(code, &["ls", "old", "--ref", at]);
        assert_eq!(error, format!("error: {problem}\n"), "{at}");
    }
}

#[test]
fn paths_and_keys_that_are_not_there_are_named() {
    let world = world();
    let error = world.fails(4, &["ls", "old", "/nope"]);
    assert_eq!(error, "error: there is no array or group at /nope\n");
    for key in [
        "nope/zarr.json",
        "g-x/half/c/7",
        "g-x/half/c/0/0",
        ".zgroup",
    ] {
        let error = world.fails(4, &["cat", "old", key]);
        let expected = format!(
            "error: there is no key {key:?} in snapshot {MAIN}\nhint: keys look like tos/zarr.json and tos/c/0/0; a chunk that was never written has no key\n"
        );
        assert_eq!(error, expected);
    }
    world.fails(2, &["cat", "old", "/x"]);
}

#[test]
fn damage_is_named() {
    let world = world();
    let key = format!("old/s/{MAIN}.msgpack");
    let whole = std::fs::read(world.path(&key)).unwrap();
    world.file(&key, &whole[..40]);
    for command in [
        &["ls", "old"][..],
        &["tree", "old"],
        &["log", "old"],
        &["cat", "old", "zarr.json"],
    ] {
        let error = world.fails(5, command);
        let expected = format!(
            "error: s/{MAIN}.msgpack is damaged: no snapshot can be read from its MessagePack at byte 40 (IO error while reading data: unexpected end of file); put back a copy of it\n"
        );
        assert_eq!(error, expected);
    }
    assert_eq!(world.ok(&["ls", "old", "/g", "--ref", "v1"]), "temp\n");
    world.file(&key, whole);

    std::fs::remove_file(world.path(&format!("old/s/{FIRST}.msgpack"))).unwrap();
    let run = world.run(&["log", "old"]);
    assert_eq!(run.code, 5);
    // The readable part comes first.
    let expected = format!("{MAIN}  2024-09-18T12:00:35.123456Z  (main) second commit\n");
    assert_eq!(run.stdout, expected);
    let expected = format!(
        "error: s/{FIRST}.msgpack is missing, and s/{MAIN}.msgpack needs it: put back a copy of it\n"
    );
    assert_eq!(run.stderr, expected);
    let error = world.fails(5, &["ls", "old", "--ref", "v1"]);
    let expected = format!(
        "error: s/{FIRST}.msgpack is missing, and r/tag:v1/ref.json needs it: put back a copy of it\n"
    );
    assert_eq!(error, expected);

    for manifest in world.files("old/m").into_keys() {
        std::fs::remove_file(world.path(&format!("old/m/{manifest}"))).unwrap();
    }
    world.ok(&["ls", "old"]);
    let error = world.fails(5, &["ls", "-l", "old"]);
    assert!(
        error.contains(&format!("is missing, and s/{MAIN}.msgpack needs it")),
        "{error}"
    );
}

#[test]
fn it_is_not_written_and_the_message_says_what_makes_a_new_one() {
    let world = world();
    world.tree("tree", 2, 1);
    world.copy(&vector("alpha-a"), "other");
    world.ok(&["init", "r"]);
    world.ok(&["import", "tree", "r"]);
    world.ok(&["bundle", "r", "r.bundle"]);
    world.file("text.cdl", "netcdf a { dimensions: x = 1 ; }");
    let before = world.files("old");
    let expected = "\
error: old is a repository of the alpha generation of the format (September 2024), which is read-only: ls, tree, cat, log, branch list and tag list read it
hint: `icefield import old NEW` converts it to a repository of version 1
";
    for command in [
        &["init", "old"][..],
        &["import", "tree", "old"],
        &["import", "other", "old"],
        &["ncgen", "text.cdl", "old"],
        &["materialize", "old"],
        &["branch", "create", "old", "b"],
        &["branch", "delete", "old", "dev"],
        &["branch", "reset", "old", "dev", "--ref", "nosuch"],
        &["tag", "create", "old", "t", "--ref", "dev"],
        &["tag", "delete", "old", "v1"],
        &["merge", "old", "dev"],
        &["mv", "old", "/g", "/h"],
        &["amend", "old", "-m", "m"],
        &["rewrite-manifests", "old"],
        &["copy", "r", "old"],
        &["unbundle", "r.bundle", "old"],
        // These only look, and do not know it.
        &["info", "old"],
        &["diff", "old", "main~1", "main"],
        &["export", "old", "exported"],
        &["ncdump", "old"],
        &["status", "old"],
        &["copy", "old", "elsewhere"],
        &["bundle", "old", "old.bundle"],
        &["du", "old"],
        &["gc", "old"],
        &["expire", "old"],
        &["fsck", "old"],
        &["config", "get", "old"],
    ] {
        let error = world.fails(1, command);
        assert_eq!(error, expected, "{command:?}");
    }
    assert_eq!(world.files("old"), before);
    for made in ["exported", "elsewhere", "old.bundle"] {
        assert!(!world.path(made).exists(), "{made}");
    }
    let text = world.ok(&["doctor", "old"]);
    assert!(
        text.contains("a repository of the alpha generation, which is read-only"),
        "{text}"
    );
}

#[test]
fn it_is_looked_at_on_s3() {
    let (world, server) = (World::new(), S3Server::start(S3Options::default()));
    for (name, bytes) in files(&vector("alpha-b")) {
        server
            .world()
            .put(server.bucket(), &format!("old/{name}"), Draft::new(bytes));
    }
    let location = format!(
        "s3://{}/old?endpoint={}",
        server.bucket(),
        server.endpoint()
    );
    let run = |args: &[&str]| {
        let mut command = world.command(args);
        command.env("AWS_ACCESS_KEY_ID", server.access_key());
        command.env("AWS_SECRET_ACCESS_KEY", server.secret_key());
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    };
    let log = run(&["log", &location]);
    let ids: Vec<&str> = log.lines().map(|line| &line[..26]).collect();
    assert_eq!(ids, [MAIN, FIRST, INITIAL]);
    assert_eq!(run(&["ls", &location, "/g", "--ref", "v1"]), "temp\n");
    assert!(
        server
            .requests()
            .iter()
            .all(|it| it.method == "GET" || it.method == "HEAD")
    );
    run(&["import", &location, "new"]);
    assert_eq!(world.history("new").len(), 3);
    assert!(
        server
            .requests()
            .iter()
            .all(|it| it.method == "GET" || it.method == "HEAD")
    );
}

#[test]
fn refs_are_found_as_that_generation_found_them() {
    let world = world();
    // A bare word was a tag first.
    for (name, bytes) in files(&world.path("old/r/branch:dev")) {
        world.file(&format!("old/r/branch:v1/{name}"), &bytes);
        // The file was written by hand, without encoding.
        world.file(&format!("old/r/branch:é/{name}"), &bytes);
    }
    let id = |word: &str| world.facts(&["ls", "old", "--ref", word])["snapshot_id"].clone();
    assert_eq!(id("v1"), FIRST);
    assert_eq!(id("branch:v1"), DEV);
    let listed = world.ok(&["branch", "list", "old"]);
    assert!(listed.contains('é'), "{listed}");
    assert_eq!(id("é"), DEV);
}
