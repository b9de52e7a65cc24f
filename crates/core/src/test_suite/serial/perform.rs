//! Operations, done to real sessions.

use super::model::{Model, Op};
use crate::test_suite::words::path;
use crate::{Session, SessionError, WriteMode};

/// Applies the operation of the model to a session.
pub(super) async fn perform(session: &Session, op: &Op, after: &Model) -> Result<(), String> {
    let text = |error: SessionError| format!("{error:?}");
    match op {
        Op::Net(..) => Ok(()),
        Op::Create(at, _) => set_document(session, at, after).await,
        Op::Resize(at, _) | Op::SetAttribute(at, ..) => set_document(session, at, after).await,
        Op::Delete(at) => session.delete_node(&path(at)).await.map(drop).map_err(text),
        Op::Chunk(at, index, value) => {
            // Some are inline, some in an object.
            let length = if index % 2 == 0 { 600 } else { 6 };
            let bytes = vec![*value; length].into();
            let (at, index) = (path(at), [*index]);
            let wrote = session
                .set_chunk(&at, &index, bytes, WriteMode::Overwrite)
                .await;
            wrote.map(drop).map_err(text)
        }
        Op::NoChunk(at, index) => {
            let deleted = session.delete_chunk(&path(at), &[*index]).await;
            deleted.map_err(text)
        }
        Op::NoChunks(at, within) => {
            let within = [within.clone()];
            let deleted = session.delete_chunks(&path(at), &within).await;
            deleted.map(drop).map_err(text)
        }
        Op::Move(from, to) => session
            .move_node(&path(from), &path(to))
            .await
            .map_err(text),
    }
}

async fn set_document(session: &Session, at: &str, after: &Model) -> Result<(), String> {
    let document = after.0[at].document().into();
    let wrote = session
        .set_metadata(&path(at), document, WriteMode::Overwrite)
        .await;
    wrote.map(drop).map_err(|error| format!("{error:?}"))
}
