//! Appending: arrays grow along a named dimension, everything else must be equal.

use crate::common::{Tree, array, chain, exported, group, path, refused, repository, run};
use icefield_core::{BranchName, ByteRange, Repository, WriteMode};
use icefield_ingest::ImportError;
use serde_json::{Value, json};

/// A series of `length` steps in chunks of two, with a grid that does not depend on time.
fn series(length: u64, value: u8) -> Tree {
    let tree = Tree::new();
    tree.json("zarr.json", &group(json!({"made by": value})))
        .json("x/zarr.json", &array(&[3, length], &[2, 2], &["y", "t"]))
        .json("y/zarr.json", &array(&[3], &[2], &["y"]))
        .file("y/c/0", [1, 2])
        .file("y/c/1", [3, 0]);
    for step in 0..length.div_ceil(2) {
        tree.file(&format!("x/c/0/{step}"), [value, step as u8, 0, 0]);
        tree.file(&format!("x/c/1/{step}"), vec![value; 600]);
    }
    tree
}

async fn with_first() -> Repository {
    let repository = repository().await;
    run(series(4, 1).import(), &repository).await;
    repository
}

#[tokio::test]
async fn chunks_land_behind_those_that_are_there() {
    let repository = with_first().await;
    let report = run(series(3, 2).import().append("t"), &repository).await;
    assert_eq!((report.chunks, report.compared_chunks), (4, 2));
    assert_eq!(report.extended_arrays, [path("/x")]);
    assert_eq!(report.kept_groups, [path("/")]);

    let files = exported(&repository).await;
    let document: Value = serde_json::from_slice(&files["x/zarr.json"]).unwrap();
    assert_eq!(document, array(&[3, 7], &[2, 2], &["y", "t"]));
    let root: Value = serde_json::from_slice(&files["zarr.json"]).unwrap();
    assert_eq!(root["attributes"], json!({"made by": 1}));
    assert_eq!(files["x/c/0/1"], [1, 1, 0, 0]);
    assert_eq!(files["x/c/0/2"], [2, 0, 0, 0]);
    assert_eq!(files["x/c/1/3"], vec![2; 600]);

    // Seven is no multiple of two: the last chunks are filled up, and one of them is none.
    let error = refused(series(2, 3).import().append("t"), &repository).await;
    let text = chain(&error);
    assert!(text.contains("[1, 3] of /x"), "{text}");
}

#[tokio::test]
async fn only_the_length_in_the_document_changes() {
    let odd = "{ \"zarr_format\" :3,\"node_type\":\"array\",\n\"shape\":[ 2 ],\"data_type\":\"uint8\",\
        \"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[2]}},\"dimension_names\":[\"t\"],\
        \"chunk_key_encoding\":{\"name\":\"default\"},\"fill_value\":0,\"codecs\":[{\"name\":\"bytes\"}]}\n\n";
    let repository = repository().await;
    for step in 0..3_u8 {
        let tree = Tree::new();
        tree.file("x/zarr.json", odd).file("x/c/0", [step, step]);
        let import = tree.import();
        let import = if step == 0 {
            import
        } else {
            import.append("t")
        };
        run(import, &repository).await;
    }
    let files = exported(&repository).await;
    assert_eq!(
        files["x/zarr.json"],
        odd.replace("[ 2 ]", "[ 6 ]").into_bytes()
    );
    assert_eq!(files["x/c/2"], [2, 2]);
}

#[tokio::test]
async fn what_differs_is_refused_by_name() {
    let repository = with_first().await;
    let mut cases: Vec<(Tree, &str)> = Vec::new();
    let mut case = |named, edit: fn(&Tree)| {
        let tree = series(2, 2);
        edit(&tree);
        cases.push((tree, named));
    };
    case("/x cannot be appended to: its `data_type`", |tree| {
        let mut other = array(&[3, 2], &[2, 2], &["y", "t"]);
        other["data_type"] = json!("complex64");
        other["fill_value"] = json!([0.0, 0.0]);
        tree.json("x/zarr.json", &other);
    });
    case("`dimension_names[0]`", |tree| {
        tree.json("x/zarr.json", &array(&[3, 2], &[2, 2], &["z", "t"]));
    });
    case("`attributes`", |tree| {
        let mut other = array(&[3, 2], &[2, 2], &["y", "t"]);
        other["attributes"] = json!({"units": "days since 2015-02-01"});
        tree.json("x/zarr.json", &other);
    });
    case("/y", |tree| {
        tree.json("y/zarr.json", &array(&[4], &[2], &["y"]));
    });
    case("chunk [1] differs", |tree| {
        tree.file("y/c/1", [4, 0]);
    });
    case("it has 2 chunks and the source 1", |tree| {
        std::fs::remove_file(tree.path().join("y/c/1")).unwrap();
    });
    case("/z does not exist yet", |tree| {
        tree.json("z/zarr.json", &array(&[2], &[2], &["t"]));
    });
    case("/y is not in the source", |tree| {
        std::fs::remove_dir_all(tree.path().join("y")).unwrap();
    });
    case("/y is an array here and a group in the source", |tree| {
        std::fs::remove_dir_all(tree.path().join("y")).unwrap();
        tree.json("y/zarr.json", &group(json!({})));
    });
    for (tree, named) in cases {
        let error = refused(tree.import().append("t"), &repository).await;
        let text = chain(&error);
        assert!(text.contains(named), "{named} is not named by: {text}");
    }
    let error = refused(series(2, 2).import().append("time"), &repository).await;
    assert!(chain(&error).contains("\"time\""), "{error}");
    let error = refused(
        series(2, 2).import().append("t").into_group(path("/other")),
        &repository,
    )
    .await;
    assert!(
        chain(&error).contains("/other/x does not exist yet"),
        "{error}"
    );
    run(series(2, 2).import().append("t"), &repository).await;
}

#[tokio::test]
async fn an_extra_chunk_in_the_repository_is_a_difference() {
    let repository = repository().await;
    let tree = series(2, 1);
    std::fs::remove_file(tree.path().join("y/c/1")).unwrap();
    run(tree.import(), &repository).await;
    let session = repository.write_session(BranchName::main()).await.unwrap();
    session
        .set_chunk(&path("/y"), &[1], vec![3, 0].into(), WriteMode::Overwrite)
        .await
        .unwrap();
    assert!(matches!(
        session.commit("by hand").await.unwrap(),
        icefield_core::CommitOutcome::Committed(_)
    ));
    let error = refused(tree.import().append("t"), &repository).await;
    assert!(
        matches!(
            error,
            ImportError::ChunkCountDiffers {
                existing: 2,
                found: 1,
                ..
            }
        ),
        "{error}"
    );
}

#[tokio::test]
async fn appending_in_a_group_leaves_the_rest_alone() {
    let repository = repository().await;
    for group in ["/a", "/b"] {
        run(series(2, 1).import().into_group(path(group)), &repository).await;
    }
    run(
        series(2, 2).import().into_group(path("/a")).append("t"),
        &repository,
    )
    .await;
    let session = repository.read_session(BranchName::main()).await.unwrap();
    assert_eq!(session.array(&path("/a/x")).unwrap().shape, [3, 4]);
    assert_eq!(session.array(&path("/b/x")).unwrap().shape, [3, 2]);
    let chunk = session
        .chunk(&path("/a/x"), &[0, 1], ByteRange::All)
        .await
        .unwrap();
    assert_eq!(chunk.as_deref(), Some(&[2, 0, 0, 0][..]));
}
