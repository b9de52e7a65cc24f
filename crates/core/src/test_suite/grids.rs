//! Chunks of several lengths, which arrays have from version 2 on.

use serde_json::json;

use super::Trial;
use super::words::*;
use crate::{CommitOutcome, SessionError};

/// The `zarr.json` of an array of bytes that is cut into chunks of 2, 1, 1 and 3 elements.
fn uneven() -> String {
    let regular = json!({"name": "regular", "configuration": {"chunk_shape": [1]}});
    let grid = json!({
        "name": "rectilinear",
        "configuration": {"kind": "inline", "chunk_shapes": [[2, [1, 2], 3]]},
    });
    array(&[7], &[1]).replace(&regular.to_string(), &grid.to_string())
}

pub(super) async fn chunks_of_several_lengths_come_back(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let session = writer(&repository).await;
    let written = session
        .set_metadata(&path("/a"), uneven().into(), crate::WriteMode::Overwrite)
        .await;
    if trial.is_v1() {
        is!(written, Err(SessionError::Metadata(error))
            if error.source.to_string().contains("spec version 2"));
        return;
    }
    is!(written, Ok(true));
    for at in 0..4 {
        write(&session, "/a", &[at], vec![at as u8 + 1]).await;
    }
    is!(
        try_write(&session, "/a", &[4], "x").await,
        Err(SessionError::OutOfGrid { grid, .. }) if grid == [4]
    );
    is!(
        session.shift(&path("/a"), &[1]).await,
        Err(SessionError::ShiftOfUnequalChunks { .. })
    );
    is!(session.commit("one").await, Ok(CommitOutcome::Committed(_)));
    let session = read_main(&trial.open(&storage).await).await;
    assert_eq!(indices(&session, "/a").await.len(), 4);
    for at in 0..4 {
        holds(&session, "/a", &[at], Some(&[at as u8 + 1])).await;
    }
    super::walk::assert_sound(&storage).await;
}
