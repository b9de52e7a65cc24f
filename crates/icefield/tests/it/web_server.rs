//! A repository on a web server that serves plain files: read whole, never written, and not listed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use icefield::{
    BranchName, ByteRange, Error, ErrorKind, NodePath, Repository, RevisionSpec, WriteMode,
};
use icefield_testservers::FileServer;
use tempfile::TempDir;

const ARRAY: &str = r#"{
    "zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "uint8",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
    "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]
}"#;

/// A repository with a chunk of its own and an inline one, a tag and a branch of odd names, on a server of files.
async fn served() -> (TempDir, FileServer, String) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("my data");
    let repository = icefield::create(path.to_str().unwrap()).await.unwrap();
    let session = repository.write_session(BranchName::main()).await.unwrap();
    let mode = WriteMode::Overwrite;
    let x = NodePath::parse("/x").unwrap();
    session.set_metadata(&x, ARRAY.into(), mode).await.unwrap();
    for (index, length) in [(0, 1000), (1, 10)] {
        let bytes = vec![index as u8 + 1; length].into();
        session.set_chunk(&x, &[index], bytes, mode).await.unwrap();
    }
    let id = icefield::committed(session.commit("one").await.unwrap()).unwrap();
    icefield::landed(repository.create_tag("v 1%+", id).await.unwrap()).unwrap();
    icefield::landed(repository.create_branch("ünï code", id).await.unwrap()).unwrap();
    let server = FileServer::of_directory(folder.path());
    let url = server.url("my%20data");
    (folder, server, url)
}

fn refused(result: Result<(), Error>) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ReadOnly, "{error:?}");
    assert!(error.to_string().contains("read-only"), "{error}");
}

#[tokio::test]
async fn every_version_is_read_by_name() {
    let (_folder, server, url) = served().await;
    for url in [url.clone(), format!("{url}/")] {
        let repository = icefield::open(&url).await.unwrap();
        for revision in ["main", "tag:v 1%+", "v 1%+", "branch:ünï code", "main~0"] {
            let spec = RevisionSpec::parse(revision).unwrap();
            let id = spec.resolve(&repository).await.unwrap();
            let session = repository.read_session(id).await.unwrap();
            let x = NodePath::parse("/x").unwrap();
            for (index, length) in [(0, 1000), (1, 10)] {
                let chunk = session.chunk(&x, &[index], ByteRange::All).await.unwrap();
                assert_eq!(chunk.unwrap(), vec![index as u8 + 1; length], "{revision}");
            }
            let range = ByteRange::Range { start: 5, end: 15 };
            let part = session.chunk(&x, &[0], range).await.unwrap();
            assert_eq!(part.unwrap().len(), 10);
        }
        let missing = RevisionSpec::parse("nowhere").unwrap();
        let error = missing.resolve(&repository).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error:?}");
    }
    let nothing = icefield::open(&server.url("nothing")).await.unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::NotFound, "{nothing:?}");
}

#[tokio::test]
async fn what_there_is_cannot_be_listed_and_that_is_said() {
    let (_folder, _server, url) = served().await;
    let repository = icefield::open(&url).await.unwrap();
    let error = Error::from(repository.refs().await.unwrap_err());
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:?}");
    assert!(
        error.to_string().contains("a web server does not say"),
        "{error}"
    );
}

#[tokio::test]
async fn nothing_is_written() {
    let (_folder, server, url) = served().await;
    let repository = icefield::open(&url).await.unwrap();
    let main = RevisionSpec::parse("main").unwrap();
    let id = main.resolve(&repository).await.unwrap();
    refused(write(&repository).await);
    let branch = repository.create_branch("mine", id).await;
    refused(branch.map(|_| ()).map_err(Error::from));
    let tag = repository.create_tag("mine", id).await;
    refused(tag.map(|_| ()).map_err(Error::from));
    refused(icefield::create(&server.url("new")).await.map(|_| ()));
    let methods = server.requests();
    assert!(
        methods
            .iter()
            .all(|it| ["GET", "HEAD"].contains(&&*it.method)),
        "{methods:?}"
    );
}

async fn write(repository: &Repository) -> Result<(), Error> {
    let session = repository.write_session(BranchName::main()).await?;
    let x = NodePath::parse("/x")?;
    session
        .set_chunk(&x, &[0], vec![3; 1000].into(), WriteMode::Overwrite)
        .await?;
    icefield::committed(session.commit("two").await?)?;
    Ok(())
}
