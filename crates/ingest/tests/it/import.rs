//! Importing Zarr v3 directories: what arrives, and what is refused by name.

use std::fs;

use crate::common::{
    After, Tree, array, chain, exported, files, group, path, refused, repository, run,
};
use icefield_core::{BranchName, ByteRange, ChunkKeyEncoding, CommitOutcome, Interrupt};
use icefield_ingest::{Export, ImportError, Limits, PlanError, Source, SourceError, ZarrDirectory};
use serde_json::{Value, json};

/// A tree with one of everything.
fn varied() -> Tree {
    let tree = Tree::new();
    tree.json("zarr.json", &group(json!({"title": "żółw"})))
        .json("x/zarr.json", &array(&[4, 6], &[2, 3], &["t", "y"]))
        .file("x/c/0/0", [1; 6])
        .file("x/c/1/1", vec![2; 6000])
        .json("scalar/zarr.json", &array(&[], &[], &[]))
        .file("scalar/c", [7])
        .json("empty/zarr.json", &array(&[0, 3], &[1, 1], &["t", "y"]))
        .json("deep/down/under/zarr.json", &array(&[3], &[3], &["z"]))
        .file("deep/down/under/c/0", [9; 3])
        .json("unicode/Ω ß/zarr.json", &group(json!({})));
    tree
}

#[tokio::test]
async fn what_is_exported_is_what_was_imported() {
    let tree = varied();
    let repository = repository().await;
    let report = run(tree.import(), &repository).await;
    assert_eq!(
        (report.new_arrays, report.chunks, report.bytes),
        (4, 4, 6 + 6000 + 1 + 3)
    );
    // Root and one group are there; `deep`, `deep/down` and `unicode` are implied.
    assert_eq!(report.new_groups, 5);
    let mut found = exported(&repository).await;
    for implied in ["deep/zarr.json", "deep/down/zarr.json", "unicode/zarr.json"] {
        let document: Value = serde_json::from_slice(&found.remove(implied).unwrap()).unwrap();
        assert_eq!(document, group(json!({})));
    }
    assert_eq!(found, files(tree.path()));
}

#[tokio::test]
async fn interrupted_anywhere_the_branch_is_where_it_was_and_a_second_import_is_whole() {
    let tree = varied();
    let mut interrupted = 0;
    for calls in 0.. {
        let repository = repository().await;
        let main = BranchName::main().into();
        let before = repository.resolve(&main).await.unwrap();
        let interrupt = Interrupt::new();
        let import = tree.import().interruptible(&interrupt);
        let import = import.progress(After::calls(calls, &interrupt));
        let ended = import
            .run(&repository, BranchName::main(), "interrupted")
            .await;
        if let Ok(imported) = ended {
            assert!(matches!(imported.commit, CommitOutcome::Committed(_)));
            break;
        }
        let error = ended.unwrap_err();
        assert!(
            matches!(error, ImportError::Interrupted(_)),
            "{calls}: {error:?}"
        );
        interrupted += 1;
        assert_eq!(repository.resolve(&main).await.unwrap(), before, "{calls}");
        let report = run(tree.import(), &repository).await;
        assert_eq!(report.chunks, 4, "{calls}");
        let found = exported(&repository).await;
        for (name, bytes) in files(tree.path()) {
            assert_eq!(found[&name], bytes, "{calls}: {name}");
        }
    }
    assert!(interrupted > 5, "{interrupted}");
}

#[tokio::test]
async fn both_chunk_key_encodings_become_default_with_slash() {
    let tree = Tree::new();
    for (name, encoding, separator, keys) in [
        ("a", "default", ".", ["c.0.0", "c.1.1"]),
        ("b", "v2", ".", ["0.0", "1.1"]),
        ("c", "v2", "/", ["0/0", "1/1"]),
        ("d", "default", "/", ["c/0/0", "c/1/1"]),
    ] {
        let mut document = array(&[2, 2], &[1, 1], &["y", "x"]);
        document["chunk_key_encoding"] =
            json!({"name": encoding, "configuration": {"separator": separator}});
        tree.json(&format!("{name}/zarr.json"), &document);
        for (value, key) in (1_u8..).zip(keys) {
            tree.file(&format!("{name}/{key}"), [value]);
        }
    }
    let mut scalar = array(&[], &[], &[]);
    scalar["chunk_key_encoding"] = json!({"name": "v2"});
    tree.json("s/zarr.json", &scalar).file("s/0", [5]);

    let repository = repository().await;
    run(tree.import(), &repository).await;
    let session = repository.read_session(BranchName::main()).await.unwrap();
    for name in ["/a", "/b", "/c", "/d"] {
        let array = session.array(&path(name)).unwrap();
        assert_eq!(array.chunk_key_encoding, ChunkKeyEncoding::COMMON);
        for (index, value) in [([0, 0], 1), ([1, 1], 2)] {
            let chunk = session
                .chunk(&path(name), &index, ByteRange::All)
                .await
                .unwrap();
            assert_eq!(chunk.as_deref(), Some(&[value][..]), "{name} {index:?}");
        }
    }
    let scalar = session
        .chunk(&path("/s"), &[], ByteRange::All)
        .await
        .unwrap();
    assert_eq!(scalar.as_deref(), Some(&[5][..]));
    assert!(exported(&repository).await.contains_key("a/c/1/1"));
}

#[tokio::test]
async fn consolidated_metadata_is_left_behind() {
    let tree = Tree::new();
    tree.file(
        "zarr.json",
        br#"{"attributes": {"a": 1.0}, "consolidated_metadata": {"metadata": {"x": {}}}, "zarr_format": 3, "node_type": "group"}"#,
    );
    let repository = repository().await;
    run(tree.import(), &repository).await;
    // Not by an export, which drops it itself.
    let session = repository.read_session(BranchName::main()).await.unwrap();
    assert_eq!(
        session.metadata(&path("/")).unwrap().unwrap(),
        br#"{"attributes": {"a": 1.0}, "zarr_format": 3, "node_type": "group"}"#[..]
    );
}

#[tokio::test]
async fn copies_in_a_group_hide_nothing_and_stand_in_for_lost_documents() {
    let tree = Tree::new();
    let copied = array(&[2], &[1], &["t"]);
    let mut root = group(json!({}));
    let copies = json!({"x": copied, "g/lost": copied, "gone": copied});
    root["consolidated_metadata"] = json!({"kind": "inline", "metadata": copies});
    tree.json("zarr.json", &root)
        .json("x/zarr.json", &array(&[3], &[1], &["t"]))
        .json("late/zarr.json", &copied)
        .file("x/c/2", [1])
        .file("g/lost/c/1", [2]);
    let repository = repository().await;
    let report = run(tree.import(), &repository).await;
    assert_eq!(
        (report.new_arrays, report.chunks, report.ignored.count()),
        (3, 2, 0)
    );
    let [changed, adopted, gone] = &report.warnings[..] else {
        panic!("{:?}", report.warnings)
    };
    assert!(
        changed.contains("zarr.json is out of date for /late, /x: their"),
        "{changed}"
    );
    assert!(
        adopted.starts_with("there is no document of /g/lost:"),
        "{adopted}"
    );
    assert!(gone.contains("lists /gone, of which"), "{gone}");
    let found = exported(&repository).await;
    assert_eq!(
        (&found["x/c/2"][..], &found["g/lost/c/1"][..]),
        (&[1][..], &[2][..])
    );
}

#[tokio::test]
async fn a_copy_makes_no_node_of_a_directory_without_files() {
    let mut root = group(json!({}));
    let copies = json!({"gone": array(&[2], &[1], &["t"])});
    root["consolidated_metadata"] = json!({"kind": "inline", "metadata": copies});
    let tree = Tree::new();
    tree.json("zarr.json", &root);
    fs::create_dir_all(tree.path().join("gone/c")).unwrap();
    let hierarchy = tree.source().hierarchy().await.unwrap();
    assert!(!hierarchy.nodes.contains_key(&path("/gone")));
    assert!(
        hierarchy.warnings[0].contains("lists /gone, of which"),
        "{:?}",
        hierarchy.warnings
    );
}

#[tokio::test]
async fn a_copy_that_stands_in_for_a_document_keeps_its_numbers() {
    let number = "123456789012345678901234567890";
    let mut copied = array(&[2], &[1], &["t"]);
    copied["attributes"] = json!({"big": 0});
    let mut root = group(json!({}));
    root["consolidated_metadata"] = json!({"kind": "inline", "metadata": {"lost": copied}});
    let root = root.to_string();
    let root = root.replace("\"big\":0", &format!("\"big\":{number}"));
    let tree = Tree::new();
    tree.file("zarr.json", root).file("lost/c/1", [2]);
    let hierarchy = tree.source().hierarchy().await.unwrap();
    let document = hierarchy.nodes[&path("/lost")].document();
    let document = std::str::from_utf8(document).unwrap();
    assert!(document.contains(number), "{document}");
}

#[tokio::test]
async fn a_group_is_made_for_the_import() {
    let tree = varied();
    let repository = repository().await;
    run(tree.import().into_group(path("/a/b")), &repository).await;
    let found = exported(&repository).await;
    assert_eq!(found["a/b/x/c/1/1"], vec![2; 6000]);
    assert!(found.contains_key("zarr.json") && found.contains_key("a/zarr.json"));
    // A second time there is something in the way; beside it there is not.
    let error = refused(tree.import().into_group(path("/a/b")), &repository).await;
    assert!(
        matches!(&error, ImportError::Plan(PlanError::AlreadyExists { path }) if path.as_str() == "/a/b/deep/down/under"),
        "{error}"
    );
    run(tree.import().into_group(path("/a/c")), &repository).await;
}

#[tokio::test]
async fn foreign_files_are_left_out_and_told() {
    let tree = varied();
    tree.file(".DS_Store", "x")
        .file("README.md", "x")
        .file("x/.DS_Store", "x")
        .file("x/c/0/.nfs000123", "x")
        .file("x/c/0/0.uuid.partial", "x")
        .file("x/.zarray", "{}")
        .file("__pycache__/x.pyc", "x")
        .file("notes/deep/text.txt", "x");
    fs::create_dir_all(tree.path().join("void/of/anything")).unwrap();
    let repository = repository().await;
    let report = run(tree.import(), &repository).await;
    assert_eq!(report.ignored.count(), 8, "{:?}", report.ignored);
    assert_eq!((report.new_arrays, report.chunks), (4, 4));
    let found = exported(&repository).await;
    assert!(
        !found
            .keys()
            .any(|name| name.contains("void") || name.contains("notes"))
    );
}

#[tokio::test]
async fn a_node_is_imported_whatever_its_name_looks_like() {
    let tree = Tree::new();
    tree.json("zarr.json", &group(json!({})));
    for name in [
        ".hidden",
        "a.partial",
        "__reserved",
        "Thumbs.db",
        "desktop.ini",
    ] {
        tree.json(&format!("{name}/zarr.json"), &array(&[2], &[1], &["t"]))
            .file(&format!("{name}/c/0"), [1])
            .file(&format!("group/{name}/below/c/0"), [2])
            .json(
                &format!("group/{name}/below/zarr.json"),
                &array(&[1], &[1], &["t"]),
            )
            .json(&format!("group/{name}/zarr.json"), &group(json!({})));
    }
    tree.json("group/zarr.json", &group(json!({})));
    let repository = repository().await;
    let report = run(tree.import(), &repository).await;
    assert_eq!(report.ignored.count(), 0, "{:?}", report.ignored);
    let found = exported(&repository).await;
    assert_eq!(found, files(tree.path()));

    // And back again.
    let session = repository.read_session(BranchName::main()).await.unwrap();
    let place = Tree::new();
    let out = place.path().join("out");
    Export::new(session).run(&out).await.unwrap();
    let again = crate::common::repository().await;
    run(
        icefield_ingest::Import::new(std::sync::Arc::new(ZarrDirectory::open(&out).unwrap())),
        &again,
    )
    .await;
    assert_eq!(exported(&again).await, found);
}

#[tokio::test]
async fn a_node_below_an_array_is_refused_whatever_its_name_looks_like() {
    refused_with(
        |tree| {
            tree.json("x/.hidden/zarr.json", &group(json!({})));
        },
        "x/.hidden",
    )
    .await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_node_whose_name_is_not_utf_8_is_refused() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let tree = varied();
    let directory = tree.path().join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&directory).unwrap();
    let repository = repository().await;
    let report = run(tree.import().into_group(path("/without")), &repository).await;
    assert_eq!(report.ignored.count(), 1);
    fs::write(directory.join("zarr.json"), group(json!({})).to_string()).unwrap();
    let error = refused(tree.import(), &repository).await;
    assert!(
        matches!(&error, ImportError::Source(SourceError::NodeName { .. })),
        "{error:?}"
    );
    assert!(chain(&error).contains("not UTF-8"), "{}", chain(&error));
}

#[cfg(unix)]
#[tokio::test]
async fn a_document_that_is_no_file_is_refused_as_such() {
    let is_no_document = |error: &ImportError| matches!(error, ImportError::Source(SourceError::NoDocument { name }) if name.ends_with("zarr.json"));
    let error = refused_with(
        |tree| fs::create_dir_all(tree.path().join("g/zarr.json")).unwrap(),
        "g/zarr.json",
    )
    .await;
    assert!(is_no_document(&error), "{error:?}");
    let error = refused_with(
        |tree| {
            let directory = tree.path().join("f");
            fs::create_dir(&directory).unwrap();
            let status = std::process::Command::new("mkfifo")
                .arg(directory.join("zarr.json"))
                .status();
            assert!(status.unwrap().success());
        },
        "f/zarr.json",
    )
    .await;
    assert!(is_no_document(&error), "{error:?}");
}

#[tokio::test]
async fn an_import_that_adds_nothing_says_so() {
    let tree = Tree::new();
    tree.json("zarr.json", &group(json!({"a": 1})));
    let repository = repository().await;
    run(tree.import(), &repository).await;
    let error = refused(tree.import(), &repository).await;
    assert!(
        matches!(&error, ImportError::AddsNothing { group, .. } if group.is_root()),
        "{error:?}"
    );
    assert!(error.to_string().contains("adds nothing to /"), "{error}");
}

/// Puts something into a tree that must not be there, and expects to be told its name.
async fn refused_with(edit: impl FnOnce(&Tree), named: &str) -> ImportError {
    let tree = varied();
    edit(&tree);
    let error = refused(tree.import(), &repository().await).await;
    let text = chain(&error);
    assert!(text.contains(named), "{named} is not named by: {text}");
    error
}

#[tokio::test]
async fn chunks_that_are_none_are_refused_by_name() {
    refused_with(
        |tree| {
            tree.file("x/c/2/0", [1]);
        },
        "x/c/2/0",
    )
    .await;
    refused_with(
        |tree| {
            tree.file("x/c/0/4294967296", [1]);
        },
        "x/c/0/4294967296",
    )
    .await;
    refused_with(
        |tree| {
            tree.file("x/c/0/00", [1]);
        },
        "x/c/0/00",
    )
    .await;
    refused_with(
        |tree| {
            tree.file("x/c/1/2/3", [1]);
        },
        "x/c/1/2",
    )
    .await;
    refused_with(
        |tree| {
            tree.file("x/c/data.bin", [1]);
        },
        "x/c/data.bin",
    )
    .await;
    refused_with(
        |tree| {
            tree.file("x/0.0", [1]);
        },
        "x/0.0",
    )
    .await;
    refused_with(
        |tree| {
            tree.json("x/below/zarr.json", &group(json!({})));
        },
        "x/below",
    )
    .await;
}

#[tokio::test]
async fn an_empty_chunk_is_refused_by_name() {
    let error = refused_with(
        |tree| {
            tree.file("x/c/0/1", []);
        },
        "x/c/0/1",
    )
    .await;
    assert!(matches!(
        error,
        ImportError::Source(SourceError::EmptyChunk { .. })
    ));
}

#[tokio::test]
async fn a_chunk_of_an_array_without_elements_is_outside_its_grid() {
    let error = refused_with(
        |tree| {
            tree.file("empty/c/0/0", [1]);
        },
        "empty/c/0/0",
    )
    .await;
    assert!(matches!(error, ImportError::OutOfGrid { .. }), "{error}");
}

#[tokio::test]
async fn metadata_that_is_none_is_refused_by_name() {
    for document in [
        "",
        "{",
        "[]",
        r#"{"zarr_format": 2}"#,
        r#"{"zarr_format":3,"node_type":"group","a":nan}"#,
    ] {
        let error = refused_with(
            |tree| {
                tree.file("deep/zarr.json", document);
            },
            "deep/zarr.json",
        )
        .await;
        assert!(
            matches!(error, ImportError::Source(SourceError::Metadata { .. })),
            "{error}"
        );
    }
    refused_with(
        |tree| fs::create_dir_all(tree.path().join("dir/zarr.json")).unwrap(),
        "dir/zarr.json",
    )
    .await;
}

#[tokio::test]
async fn zarr_format_2_is_refused_by_name() {
    let tree = Tree::new();
    tree.file("v/.zarray", "{}").file("v/0.0", "x");
    let error = refused(tree.import(), &repository().await).await;
    assert!(
        matches!(&error, ImportError::Source(SourceError::ZarrFormat2 { name }) if name.ends_with("v/.zarray")),
        "{error}"
    );
}

#[tokio::test]
async fn a_source_without_nodes_is_refused() {
    let tree = Tree::new();
    tree.file("x/y/z.txt", "x");
    let error = refused(tree.import(), &repository().await).await;
    assert!(
        matches!(error, ImportError::Source(SourceError::NoNodes { .. })),
        "{error}"
    );
    assert!(matches!(
        ZarrDirectory::open(tree.path().join("nowhere")),
        Err(SourceError::NotFound { .. })
    ));
    assert!(matches!(
        ZarrDirectory::open(tree.path().join("x/y/z.txt")),
        Err(SourceError::NotADirectory { .. })
    ));
}

#[cfg(unix)]
#[tokio::test]
async fn links_are_refused_and_special_files_never_opened() {
    use std::os::unix::fs::symlink;
    let outside = Tree::new();
    outside
        .json("zarr.json", &group(json!({})))
        .file("secret", "secret");
    for (place, target) in [
        ("link", outside.path().to_owned()),
        ("x/c/0/1", outside.path().join("secret")),
        ("x/c/1/0", "dangling".into()),
        ("deep/zarr.json", outside.path().join("zarr.json")),
        ("deep/loop", ".".into()),
    ] {
        let error = refused_with(
            |tree| symlink(&target, tree.path().join(place)).unwrap(),
            place,
        )
        .await;
        assert!(
            matches!(error, ImportError::Source(SourceError::Link { .. })),
            "{error}"
        );
    }
    let fifo = |tree: &Tree, name: &str| {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        mknodat(CWD, tree.path().join(name), FileType::Fifo, Mode::RUSR, 0).unwrap();
    };
    refused_with(|tree| fifo(tree, "x/c/0/1"), "x/c/0/1").await;
    refused_with(|tree| fifo(tree, "deep/zarr.json"), "deep/zarr.json").await;
    let tree = varied();
    fifo(&tree, "deep/pipe");
    assert_eq!(
        run(tree.import(), &repository().await)
            .await
            .ignored
            .count(),
        1
    );
    // The root itself may be a link.
    let link = Tree::new();
    symlink(tree.path(), link.path().join("root")).unwrap();
    fs::remove_file(tree.path().join("deep/pipe")).unwrap();
    ZarrDirectory::open(link.path().join("root")).unwrap();
}

#[tokio::test]
async fn deep_trees_and_many_chunks_are_no_trouble() {
    let tree = Tree::new();
    let deep = "d/".repeat(300);
    tree.json(&format!("{deep}zarr.json"), &array(&[1000], &[1], &["t"]));
    for chunk in 0..1000 {
        tree.file(&format!("{deep}c/{chunk}"), [1, 2]);
    }
    let repository = repository().await;
    let limits = Limits::default().with_chunks(3).with_bytes(1);
    let report = run(tree.import().limits(limits), &repository).await;
    assert_eq!((report.new_groups, report.chunks), (300, 1000));
}

#[tokio::test]
async fn two_groups_that_disagree_are_refused_by_name() {
    let repository = repository().await;
    let (one, other) = (Tree::new(), Tree::new());
    one.json("zarr.json", &group(json!({"title": "one"})));
    other
        .json("zarr.json", &group(json!({"title": "other"})))
        .json("x/zarr.json", &array(&[1], &[1], &["t"]));
    run(one.import(), &repository).await;
    let error = refused(other.import(), &repository).await;
    assert!(
        chain(&error).contains("`attributes.title` is \"one\" here and \"other\""),
        "{error}"
    );
    run(other.import().into_group(path("/other")), &repository).await;
}

#[test]
fn the_future_can_be_spawned() {
    fn check<T: Send>(_: T) {}
    let tree = varied();
    let import = tree.import();
    check(async move {
        let repository = repository().await;
        let imported = import.run(&repository, BranchName::main(), "").await;
        let session = repository.read_session(BranchName::main()).await.unwrap();
        let exported = Export::new(session).run("nowhere").await;
        (imported, exported)
    });
}
