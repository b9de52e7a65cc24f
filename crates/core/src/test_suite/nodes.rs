//! Arrays and groups: creating, updating, deleting, listing.

use serde_json::json;

use super::Trial;
use super::words::*;
use crate::{MetadataError, NodeKind, SessionError, WriteMode};

pub(super) async fn metadata_comes_back_byte_for_byte(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let odd = "{ \"node_type\":\t\"group\",\n\"zarr_format\": 3, \"attributes\":{\"é\":1.50,\"n\":1e3}}  ";
    let session = writer(&repository).await;
    set(&session, "/g", odd.to_owned()).await;
    set(&session, "/é/ü.b", group()).await;
    is!(session.metadata(&path("/g")), Ok(Some(bytes)) if bytes == odd);
    commit(&session, "one").await;
    let session = read_main(&trial.open(&storage).await).await;
    is!(session.metadata(&path("/g")), Ok(Some(bytes)) if bytes == odd);
    is!(
        session.node_kind(&path("/é/ü.b")),
        Ok(Some(NodeKind::Group))
    );
}

pub(super) async fn equal_metadata_is_no_change(trial: Trial) {
    let (_, repository) = trial.create().await;
    commit_edits(&repository, "one", &[("/a", array(&[1], &[1]))], &[]).await;
    let session = writer(&repository).await;
    set(&session, "/a", array(&[1], &[1])).await;
    is!(session.has_changes(), Ok(false));
}

pub(super) async fn a_write_if_absent_keeps_what_is_there(trial: Trial) {
    let (_, repository) = trial.create().await;
    let document = array(&[3], &[1]);
    commit_edits(
        &repository,
        "one",
        &[("/a", document.clone())],
        &[("/a", &[0], b"base")],
    )
    .await;
    let session = writer(&repository).await;
    let a = path("/a");
    let mode = WriteMode::IfAbsent;
    is!(
        session
            .set_metadata(&a, array(&[9], &[1]).into(), mode)
            .await,
        Ok(false)
    );
    is!(
        session
            .set_metadata(&path("/b"), group().into(), mode)
            .await,
        Ok(true)
    );
    is!(
        session
            .set_metadata(&path("/b"), group().into(), mode)
            .await,
        Ok(false)
    );
    is!(session.metadata(&a), Ok(Some(bytes)) if bytes == document);
    is!(
        session.set_chunk(&a, &[0], "new".into(), mode).await,
        Ok(false)
    );
    is!(
        session.set_chunk(&a, &[1], "own".into(), mode).await,
        Ok(true)
    );
    is!(
        session.set_chunk(&a, &[1], "new".into(), mode).await,
        Ok(false)
    );
    is!(session.delete_chunk(&a, &[0]).await, Ok(()));
    is!(
        session.set_chunk(&a, &[0], "after".into(), mode).await,
        Ok(true)
    );
    let long = pattern(1, 5000);
    is!(
        session.set_chunk(&a, &[2], long.clone().into(), mode).await,
        Ok(true)
    );
    is!(
        session.set_chunk(&a, &[2], "new".into(), mode).await,
        Ok(false)
    );
    holds(&session, "/a", &[0], Some(b"after")).await;
    holds(&session, "/a", &[1], Some(b"own")).await;
    holds(&session, "/a", &[2], Some(&long)).await;
}

pub(super) async fn an_update_keeps_the_node_id_and_the_chunks(trial: Trial) {
    let (_, repository) = trial.create().await;
    let nodes = [("/a", array(&[2], &[1])), ("/g", group())];
    commit_edits(&repository, "one", &nodes, &[("/a", &[1], b"1")]).await;
    let session = writer(&repository).await;
    let ids = (node_id(&session, "/a"), node_id(&session, "/g"));
    set(
        &session,
        "/a",
        array_with(&[2], &[1], json!({"units": "m"})),
    )
    .await;
    set(
        &session,
        "/a",
        array_with(&[2], &[1], json!({"units": "km"})),
    )
    .await;
    set(&session, "/g", group_with(json!({"title": "t"}))).await;
    commit(&session, "two").await;
    let session = read_main(&repository).await;
    assert_eq!(ids, (node_id(&session, "/a"), node_id(&session, "/g")));
    holds(&session, "/a", &[1], Some(b"1")).await;
    for (at, id) in [("/a", Some(ids.0)), ("/g", Some(ids.1)), ("/none", None)] {
        is!(session.node_id(&path(at)), Ok(found) if found == id);
    }
}

pub(super) async fn a_recreated_node_is_another_node(trial: Trial) {
    let (_, repository) = trial.create().await;
    let document = array(&[2], &[1]);
    let nodes = [("/a", document.clone())];
    commit_edits(&repository, "one", &nodes, &[("/a", &[0], b"old")]).await;
    let session = writer(&repository).await;
    let old = node_id(&session, "/a");
    write(&session, "/a", &[1], "pending").await;
    is!(session.delete_node(&path("/a")).await, Ok(true));
    is!(session.metadata(&path("/a")), Ok(None));
    holds(&session, "/a", &[0], None).await;
    set(&session, "/a", document).await;
    let new = node_id(&session, "/a");
    assert_ne!(old, new);
    for index in [0, 1] {
        holds(&session, "/a", &[index], None).await;
    }
    assert!(indices(&session, "/a").await.is_empty());
    commit(&session, "two").await;
    let session = read_main(&repository).await;
    assert_eq!(node_id(&session, "/a"), new);
    assert!(indices(&session, "/a").await.is_empty());
    holds(&session, "/a", &[0], None).await;
}

pub(super) async fn a_group_and_an_array_do_not_become_each_other(trial: Trial) {
    let (_, repository) = trial.create().await;
    let nodes = [("/a", array(&[2], &[1])), ("/g", group())];
    commit_edits(&repository, "one", &nodes, &[]).await;
    let session = writer(&repository).await;
    set(&session, "/new", group()).await;
    for (at, document, found) in [
        ("/a", group(), "an array"),
        ("/g", array(&[1], &[1]), "a group"),
        ("/new", array(&[1], &[1]), "a group"),
    ] {
        let mode = WriteMode::Overwrite;
        let target = path(at);
        let result = session.set_metadata(&target, document.clone().into(), mode);
        is!(
            result.await,
            Err(SessionError::KindChange { path, found: kind, .. })
                if path.as_str() == at && kind == found,
        );
        is!(session.delete_node(&path(at)).await, Ok(true));
        set(&session, at, document).await;
    }
    commit(&session, "two").await;
    let session = read_main(&repository).await;
    is!(session.node_kind(&path("/a")), Ok(Some(NodeKind::Group)));
    is!(session.node_kind(&path("/g")), Ok(Some(NodeKind::Array)));
}

pub(super) async fn arrays_have_no_children(trial: Trial) {
    let (_, repository) = trial.create().await;
    let document = || array(&[1], &[1]);
    let nodes = [("/a", document()), ("/g/deep/b", document())];
    commit_edits(&repository, "one", &nodes, &[]).await;
    let session = writer(&repository).await;
    set(&session, "/new", document()).await;
    let set = |at: &str, document: String| {
        let (session, at) = (session.clone(), path(at));
        async move {
            session
                .set_metadata(&at, document.into(), WriteMode::Overwrite)
                .await
        }
    };
    for (at, above) in [("/a/b", "/a"), ("/a/x/y", "/a"), ("/new/b", "/new")] {
        for document in [group(), document()] {
            is!(
                set(at, document).await,
                Err(SessionError::ParentIsArray { path, array })
                    if path.as_str() == at && array.as_str() == above,
            );
        }
    }
    for (at, below) in [("/g", "/g/deep/b"), ("/g/deep", "/g/deep/b"), ("/", "/a")] {
        is!(
            set(at, document()).await,
            Err(SessionError::HasChildren { path, child })
                if path.as_str() == at && child.as_str() == below,
        );
    }
    is!(session.delete_node(&path("/g/deep/b")).await, Ok(true));
    is!(set("/g", document()).await, Ok(true));
    is!(session.delete_node(&path("/a")).await, Ok(true));
    is!(set("/a/b", document()).await, Ok(true));
    commit(&session, "two").await;
}

pub(super) async fn parents_may_be_implicit(trial: Trial) {
    let (_, repository) = trial.create().await;
    let nodes = [("/x/y/z", array(&[1], &[1]))];
    commit_edits(&repository, "one", &nodes, &[("/x/y/z", &[0], b"z")]).await;
    let session = writer(&repository).await;
    assert_eq!(paths(&session, "/"), ["/x/y/z"]);
    is!(session.metadata(&path("/x")), Ok(None));
    is!(session.child_names(&path("/")), Ok(names) if names == ["x"]);
    is!(session.child_names(&path("/x")), Ok(names) if names == ["y"]);
    is!(session.delete_node(&path("/x")).await, Ok(false));
    set(&session, "/x", group()).await;
    commit(&session, "two").await;
    let session = read_main(&repository).await;
    assert_eq!(paths(&session, "/"), ["/x", "/x/y/z"]);
    holds(&session, "/x/y/z", &[0], Some(b"z")).await;
}

/// Paths that a comparison of texts would take for children of `/a`.
const NEIGHBOURS: [&str; 5] = ["/a-b", "/a.b", "/a0", "/aa/b", "/A/b"];

pub(super) async fn a_delete_takes_the_subtree_alone(trial: Trial) {
    let (_, repository) = trial.create().await;
    let session = writer(&repository).await;
    for at in NEIGHBOURS.iter().chain(&["/a", "/a/b", "/a/b/c", "/a/d"]) {
        set(&session, at, group()).await;
    }
    commit(&session, "one").await;
    let session = writer(&repository).await;
    set(&session, "/a/new", group()).await;
    is!(session.delete_node(&path("/a")).await, Ok(true));
    let mut kept = NEIGHBOURS;
    kept.sort_unstable();
    assert_eq!(paths(&session, "/"), kept);
    assert!(paths(&session, "/a").is_empty());
    commit(&session, "two").await;
    let session = writer(&repository).await;
    assert_eq!(paths(&session, "/"), kept);
    is!(session.delete_node(&path("/")).await, Ok(false));
    is!(session.delete_below(&path("/")).await, Ok(()));
    assert!(paths(&session, "/").is_empty());
    commit(&session, "three").await;
    assert!(paths(&read_main(&repository).await, "/").is_empty());
}

pub(super) async fn delete_below_needs_no_node(trial: Trial) {
    let (_, repository) = trial.create().await;
    let nodes = [("/x/a", group()), ("/x/b/c", group()), ("/xx", group())];
    commit_edits(&repository, "one", &nodes, &[]).await;
    let session = writer(&repository).await;
    set(&session, "/x/new", group()).await;
    is!(session.delete_below(&path("/x")).await, Ok(()));
    is!(session.delete_below(&path("/nothing/here")).await, Ok(()));
    assert_eq!(paths(&session, "/"), ["/xx"]);
    commit(&session, "two").await;
    assert_eq!(paths(&read_main(&repository).await, "/"), ["/xx"]);
}

pub(super) async fn children_are_listed_by_segment(trial: Trial) {
    let (_, repository) = trial.create().await;
    let session = writer(&repository).await;
    for at in ["/", "/a", "/a-b", "/a/b", "/a/b/c", "/a/é", "/gone"] {
        set(&session, at, group()).await;
    }
    commit(&session, "one").await;
    let session = writer(&repository).await;
    is!(session.delete_node(&path("/gone")).await, Ok(true));
    set(&session, "/a/0", group()).await;
    is!(session.child_names(&path("/")), Ok(names) if names == ["a", "a-b"]);
    is!(session.child_names(&path("/a")), Ok(names) if names == ["0", "b", "é"]);
    is!(session.child_names(&path("/a/b")), Ok(names) if names == ["c"]);
    is!(session.child_names(&path("/a/b/c")), Ok(names) if names.is_empty());
    assert_eq!(
        paths(&session, "/a"),
        ["/a", "/a/0", "/a/b", "/a/b/c", "/a/é"]
    );
    assert_eq!(
        paths(&session, "/"),
        ["/", "/a", "/a-b", "/a/0", "/a/b", "/a/b/c", "/a/é"]
    );
}

pub(super) async fn invalid_metadata_is_refused_with_its_path(trial: Trial) {
    let (_, repository) = trial.create().await;
    let session = writer(&repository).await;
    for document in [
        "",
        "{}",
        "[1]",
        r#"{"zarr_format": 2, "node_type": "group"}"#,
    ] {
        let mode = WriteMode::Overwrite;
        is!(
            session.set_metadata(&path("/a"), document.into(), mode).await,
            Err(SessionError::Metadata(error))
                if error.path == path("/a")
                    && matches!(error.source, MetadataError::Invalid(_) | MetadataError::Json(_)),
        );
    }
    is!(session.has_changes(), Ok(false));
}

pub(super) async fn an_array_can_be_the_root(trial: Trial) {
    let (storage, repository) = trial.create().await;
    commit_edits(
        &repository,
        "one",
        &[("/", array(&[2], &[1]))],
        &[("/", &[1], b"r")],
    )
    .await;
    let session = read_main(&trial.open(&storage).await).await;
    assert_eq!(paths(&session, "/"), ["/"]);
    holds(&session, "/", &[1], Some(b"r")).await;
    is!(session.child_names(&path("/")), Ok(names) if names.is_empty());
}
