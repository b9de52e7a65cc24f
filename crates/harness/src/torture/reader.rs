//! A reader: it reads the tip of `main` whole, again and again.

use anyhow::{Context, bail, ensure};
use futures::TryStreamExt;
use icefield_core::{BranchName, ByteRange, Repository, Session, SnapshotId};

use super::stamp::Stamp;
use crate::protocol::say;
use crate::work::{CHUNKS, array_path};

/// Times that one snapshot is read before what cannot be read counts as lost: a store that fails now and then fails not
/// each time.
const TRIES: u32 = 6;

/// Reads until it is killed.
///
/// # Errors
/// If what is there cannot be read, or is not what a writer wrote.
pub async fn run(repository: &Repository, is_patient: bool) -> anyhow::Result<()> {
    loop {
        let session = match repository.read_session(BranchName::main()).await {
            Ok(session) => session,
            Err(error) if is_patient => {
                say(&format!("failed {error}"));
                continue;
            }
            Err(error) => bail!(error),
        };
        let mut tries = 1;
        while let Err(error) = chunks(&session).await {
            if tries == TRIES || !is_patient {
                say(&format!("broken {}: {error:#}", name(&session)));
                return Err(error);
            }
            say(&format!("failed {error:#}"));
            tries += 1;
        }
        say(&"read");
    }
}

fn name(session: &Session) -> String {
    let id = session.snapshot_id();
    id.map_or_else(|error| error.to_string(), |id| id.to_string())
}

/// Reads each chunk of a snapshot, and returns its stamps by their places.
///
/// # Errors
/// If one cannot be read, is torn, or belongs elsewhere.
pub async fn chunks(session: &Session) -> anyhow::Result<Vec<Option<Stamp>>> {
    let mut stamps = vec![None; CHUNKS as usize];
    let path = array_path();
    let listed: Vec<_> = session.chunks(&path)?.try_collect().await?;
    for chunk in listed {
        let at = chunk
            .index
            .first()
            .copied()
            .context("an index of no rank")?;
        let bytes = session.chunk(&path, &chunk.index, ByteRange::All).await?;
        let bytes = bytes.with_context(|| format!("chunk {at} is listed and not there"))?;
        let stamp = Stamp::of_bytes(&bytes).with_context(|| format!("chunk {at}"))?;
        ensure!(stamp.chunk == at, "{stamp} is in chunk {at}");
        let place = stamps.get_mut(at as usize);
        *place.with_context(|| format!("there is no chunk {at}"))? = Some(stamp);
    }
    Ok(stamps)
}

/// Reads each chunk of the snapshot of that id.
///
/// # Errors
/// As [`chunks`].
pub async fn chunks_at(
    repository: &Repository,
    id: SnapshotId,
) -> anyhow::Result<Vec<Option<Stamp>>> {
    let session = repository.read_session(id).await?;
    chunks(&session).await
}
