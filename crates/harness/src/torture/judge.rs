//! The judgement of a repository when all its processes are dead.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, ensure};
use icefield::maintenance::{Check, Severity};
use icefield_core::{Repository, SnapshotId, SnapshotInfo};
use icefield_storage::Storage;

use super::reader;
use super::stamp::Stamp;
use crate::history;
use crate::work::CHUNKS;

/// Snapshots whose chunks are compared with what the history says, besides the tip.
const SAMPLES: usize = 24;

/// The findings of a judgement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Commits of writers in the history.
    pub landed: u64,
    /// Acknowledged commits that the history does not have exactly once.
    pub lost: Vec<SnapshotId>,
    /// Writes that the history has twice, and ids that were acknowledged twice.
    pub doubled: Vec<String>,
    /// All other faults.
    pub broken: Vec<String>,
}

/// Reads all logs of acknowledged commits in a folder.
///
/// # Errors
/// If one cannot be read.
pub fn acknowledged(folder: &Path) -> anyhow::Result<Vec<SnapshotId>> {
    let mut ids = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry
            .file_name()
            .to_string_lossy()
            .starts_with("acknowledged")
        {
            ids.extend(history::acknowledged(&entry.path())?);
        }
    }
    Ok(ids)
}

/// Judges a repository by what its store holds.
pub async fn judge(storage: Arc<dyn Storage>, acknowledged: &[SnapshotId]) -> Verdict {
    let mut verdict = Verdict::default();
    if let Err(error) = history_and_chunks(&storage, acknowledged, &mut verdict).await {
        verdict.broken.push(format!("{error:#}"));
    }
    match Check::new(storage).read_chunks().run(&()).await {
        Ok(report) => {
            let damage = report.findings.iter();
            let damage = damage.filter(|it| it.severity == Severity::Damage);
            verdict.broken.extend(damage.map(|it| format!("{it:?}")));
        }
        Err(error) => verdict.broken.push(format!("not checked: {error}")),
    }
    verdict
}

async fn history_and_chunks(
    storage: &Arc<dyn Storage>,
    acknowledged: &[SnapshotId],
    verdict: &mut Verdict,
) -> anyhow::Result<()> {
    let repository = Repository::open(Arc::clone(storage)).await?;
    let refs = repository.refs().await?;
    ensure!(refs.strays.is_empty(), "strays: {:?}", refs.strays);
    ensure!(
        refs.branches.len() == 1 && refs.tags.is_empty(),
        "refs that no process made"
    );
    let history = history::of_main(&repository).await?;
    let ids: Vec<_> = history.iter().map(|info| info.id).collect();
    verdict.lost = history::lost(&ids, acknowledged);
    verdict.doubled = doubled(&history, acknowledged);
    // The first snapshot, and the one that made the array.
    let writes = history.len().checked_sub(2).context("a short history")?;
    verdict.landed = writes as u64;
    let stamps: Vec<Stamp> = history[..writes]
        .iter()
        .rev()
        .map(|info| info.message.parse())
        .collect::<Result<_, _>>()?;
    for (at, expected) in states(&stamps) {
        let id = history[writes - at].id;
        let found = reader::chunks_at(&repository, id).await;
        let found = found.with_context(|| format!("snapshot {id}"))?;
        let wrong = found.iter().zip(&expected).position(|(a, b)| a != b);
        ensure!(
            wrong.is_none(),
            "snapshot {id}: chunk {wrong:?} is not what its history says"
        );
    }
    Ok(())
}

/// Returns the writes that a history has twice, and the ids that were acknowledged twice.
fn doubled(history: &[SnapshotInfo], acknowledged: &[SnapshotId]) -> Vec<String> {
    let mut seen = HashSet::new();
    let messages = history.iter().map(|info| info.message.clone());
    let acknowledged = acknowledged.iter().map(ToString::to_string);
    let all = messages.chain(acknowledged);
    all.filter(|it| !seen.insert(it.clone())).collect()
}

/// Returns what all chunks hold after some of the writes, the last among them: how many writes, and the stamps.
fn states(stamps: &[Stamp]) -> BTreeMap<usize, Vec<Option<Stamp>>> {
    let step = stamps.len().div_ceil(SAMPLES).max(1);
    let mut chunks = vec![None; CHUNKS as usize];
    let mut states = BTreeMap::new();
    for (before, stamp) in stamps.iter().enumerate() {
        if let Some(chunk) = chunks.get_mut(stamp.chunk as usize) {
            *chunk = Some(*stamp);
        }
        let after = before + 1;
        if after == stamps.len() || after.is_multiple_of(step) {
            states.insert(after, chunks.clone());
        }
    }
    states
}

#[cfg(test)]
mod tests {
    use icefield_core::{BranchName, CommitOutcome, WriteMode};
    use icefield_storage::SeededEntropy;

    use super::*;
    use crate::work::{self, array_path};
    use icefield::Location;
    use icefield::format::SpecVersion;

    const STAMP: Stamp = Stamp {
        writer: 0,
        round: 0,
        chunk: 5,
    };

    async fn commit(repository: &Repository, message: &str, bytes: Vec<u8>) -> SnapshotId {
        let session = repository.write_session(BranchName::main()).await.unwrap();
        let (path, bytes) = (array_path(), bytes.into());
        let set = session.set_chunk(&path, &[STAMP.chunk], bytes, WriteMode::Overwrite);
        set.await.unwrap();
        match session.commit(message).await.unwrap() {
            CommitOutcome::Committed(id) => id,
            other => panic!("{other:?}"),
        }
    }

    /// Makes a repository with one honest write.
    async fn written() -> (tempfile::TempDir, Repository, SnapshotId) {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::of_path(folder.path().join("repo"));
        work::prepare(&location, SpecVersion::V2).await.unwrap();
        let repository = crate::open(&location).await.unwrap();
        let id = commit(&repository, &STAMP.to_string(), STAMP.bytes(600)).await;
        (folder, repository, id)
    }

    async fn verdict(repository: &Repository, acknowledged: &[SnapshotId]) -> Verdict {
        judge(Arc::clone(repository.storage()), acknowledged).await
    }

    #[tokio::test]
    async fn a_whole_repository_is_clean() {
        let (_folder, repository, id) = written().await;
        let clean = Verdict {
            landed: 1,
            ..Verdict::default()
        };
        assert_eq!(verdict(&repository, &[id]).await, clean);
        assert_eq!(verdict(&repository, &[]).await, clean);
    }

    #[tokio::test]
    async fn a_lost_commit_is_found() {
        let (_folder, repository, id) = written().await;
        let mut bytes = [0; 12];
        icefield_storage::Entropy::fill(&SeededEntropy::new(1), &mut bytes);
        let never = SnapshotId::from_bytes(bytes);
        assert_eq!(verdict(&repository, &[id, never]).await.lost, [never]);
    }

    #[tokio::test]
    async fn a_doubled_write_is_found() {
        let (_folder, repository, id) = written().await;
        commit(&repository, &STAMP.to_string(), STAMP.bytes(1)).await;
        assert_eq!(
            verdict(&repository, &[id]).await.doubled,
            [STAMP.to_string()]
        );
        assert!(
            verdict(&repository, &[id, id])
                .await
                .doubled
                .contains(&id.to_string())
        );
    }

    #[tokio::test]
    async fn a_wrong_chunk_is_found() {
        let (_folder, repository, _) = written().await;
        let other = Stamp { round: 9, ..STAMP };
        let said = Stamp { round: 1, ..STAMP };
        commit(&repository, &said.to_string(), other.bytes(1)).await;
        let broken = verdict(&repository, &[]).await.broken;
        assert!(
            broken[0].contains("not what its history says"),
            "{broken:?}"
        );
    }

    #[tokio::test]
    async fn a_missing_chunk_is_found() {
        let (folder, repository, _) = written().await;
        std::fs::remove_dir_all(folder.path().join("repo/chunks")).unwrap();
        let broken = verdict(&repository, &[]).await.broken;
        // By the reader, and by the check.
        assert!(broken.len() >= 2, "{broken:?}");
    }
}
