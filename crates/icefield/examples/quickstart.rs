//! Create, write, commit, lose a race, travel in time, in memory:
//! `cargo run --example quickstart`.

use icefield::{
    BranchName, ByteRange, CommitOutcome, Error, NodePath, Repository, RevisionSpec, Session,
    WriteMode, ZarrStore,
};

const ARRAY: &str = r#"{
  "zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "uint8",
  "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
  "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
  "fill_value": 0, "codecs": [{"name": "bytes"}], "dimension_names": ["x"]
}"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    // "memory:" could as well be a path or a file:///… URL.
    let repository = icefield::create("memory:").await?;
    let path = NodePath::parse("/depth")?;

    // Write through Zarr keys, commit.
    let session = repository.write_session(BranchName::main()).await?;
    let store = ZarrStore::new(session.clone());
    store.set("depth/zarr.json", ARRAY.into()).await?;
    store.set("depth/c/0", vec![10, 20].into()).await?;
    let first = icefield::committed(session.commit("two depths").await?)?;
    println!("committed {first}: {:?}", depths(&session).await?);

    // Two writers begin at the same snapshot. The first to commit wins, the second is told so.
    let ours = repository.write_session(BranchName::main()).await?;
    let theirs = repository.write_session(BranchName::main()).await?;
    for (session, value) in [(&theirs, 30), (&ours, 99)] {
        let bytes = vec![value, value + 1].into();
        session
            .set_chunk(&path, &[1], bytes, WriteMode::Overwrite)
            .await?;
    }
    icefield::committed(theirs.commit("two more depths").await?)?;
    match ours.commit("two other depths").await? {
        CommitOutcome::BranchMoved { found, .. } => {
            println!(
                "refused: the branch is at {} now",
                found.expect("it was not deleted")
            );
        }
        other => panic!("no writer should have won twice: {other:?}"),
    }

    // The past stays as it was, by number, by name, by time.
    let was = repository.resolve(&BranchName::main().into()).await?;
    icefield::landed(repository.create_tag("v1", was).await?)?;
    for text in ["main", "tag:v1", "main~1", "main~1@2999-01-01T00:00:00Z"] {
        let id = RevisionSpec::parse(text)?.resolve(&repository).await?;
        println!(
            "{text:28} {:?}",
            depths(&repository.read_session(id).await?).await?
        );
    }
    history(&repository).await
}

async fn depths(session: &Session) -> Result<Vec<u8>, Error> {
    let path = NodePath::parse("/depth")?;
    let mut depths = Vec::new();
    for index in 0..2 {
        match session.chunk(&path, &[index], ByteRange::All).await? {
            Some(chunk) => depths.extend_from_slice(&chunk),
            None => depths.extend([0, 0]),
        }
    }
    Ok(depths)
}

async fn history(repository: &Repository) -> Result<(), Error> {
    use futures::TryStreamExt;

    let tip = repository.resolve(&BranchName::main().into()).await?;
    let mut history = repository.ancestry(tip);
    while let Some(info) = history.try_next().await? {
        println!("{} {}", info.id, info.message);
    }
    Ok(())
}
