//! A long history of small commits on one repository of spec version 2: what a commit takes at its beginning and at its end, and
//! what the repository takes on disk once garbage is collected.
//!
//! Included by the benchmark of ours alone and by the one beside the reference, which name our types in `api`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::api::{
    BranchName, Clock, Collect, CommitOutcome, Fsync, LocalStorage, NodePath, Repository,
    SpecVersion, SystemClock, WriteMode,
};

/// How many commits are compared at both ends.
pub(crate) const ENDS: usize = 100;
/// The array, of one chunk that stands in its manifest: no object of the repository is data.
pub(crate) const ARRAY: &str = r#"{"zarr_format":3,"node_type":"array","shape":[8],"data_type":"uint8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[8]}},"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}],"attributes":{}}"#;
pub(crate) const GROUP: &str = r#"{"zarr_format":3,"node_type":"group"}"#;

/// The result of one history.
#[derive(Debug)]
pub(crate) struct Figure {
    /// Of each commit, from opening the session to the end of the commit.
    pub(crate) times: Vec<Duration>,
    /// Of all collections.
    pub(crate) collecting: Duration,
    /// Objects and their bytes, by folder.
    pub(crate) objects: BTreeMap<String, (u64, u64)>,
}

impl Figure {
    fn median(times: &[Duration]) -> Duration {
        let mut times = times.to_vec();
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or_default()
    }

    /// Returns the median time of the first commits, and of the last ones.
    pub(crate) fn ends(&self) -> [Duration; 2] {
        let count = ENDS.min(self.times.len());
        let (first, last) = (
            &self.times[..count],
            &self.times[self.times.len() - count..],
        );
        [first, last].map(Self::median)
    }

    /// Returns by how many milliseconds the last commits were slower.
    pub(crate) fn slower_by(&self) -> f64 {
        let [first, last] = self.ends();
        1000.0 * (last.as_secs_f64() - first.as_secs_f64())
    }

    /// Returns the number of objects, and their bytes.
    pub(crate) fn total(&self) -> (u64, u64) {
        let add = |sum: (u64, u64), it: &(u64, u64)| (sum.0 + it.0, sum.1 + it.1);
        self.objects.values().fold((0, 0), add)
    }

    /// Returns the figure as the fields of a JSON object.
    pub(crate) fn json(&self) -> String {
        let [first, last] = self.ends().map(|it| 1000.0 * it.as_secs_f64());
        let (count, bytes) = self.total();
        let commits = self.times.len();
        let folders: Vec<String> = (self.objects.iter())
            .map(|(name, (count, bytes))| format!(r#""{name}":[{count},{bytes}]"#))
            .collect();
        let folders = folders.join(",");
        let collecting = self.collecting.as_secs_f64();
        format!(
            r#""commits":{commits},"first_ms":{first:.3},"last_ms":{last:.3},"collecting_s":{collecting:.3},"objects":{count},"bytes":{bytes},"folders":{{{folders}}}"#
        )
    }
}

impl std::fmt::Display for Figure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [first, last] = self.ends().map(|it| 1000.0 * it.as_secs_f64());
        let (count, bytes) = self.total();
        write!(
            f,
            "a commit took {first:.2} ms among the first {ENDS}, {last:.2} ms among the last; after collections of {:.1} s {count} objects of {bytes} bytes:",
            self.collecting.as_secs_f64()
        )?;
        for (name, (count, bytes)) in &self.objects {
            write!(f, " {name} {count} of {bytes},")?;
        }
        Ok(())
    }
}

/// Counts the objects of a repository, by folder; what a store keeps for itself is hidden.
pub(crate) fn objects(root: &Path) -> std::io::Result<BTreeMap<String, (u64, u64)>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            let sum = found.entry(name).or_insert((0, 0));
            count(&entry.path(), sum)?;
        }
    }
    Ok(found)
}

fn count(path: &Path, sum: &mut (u64, u64)) -> std::io::Result<()> {
    let about = fs::metadata(path)?;
    if !about.is_dir() {
        *sum = (sum.0 + 1, sum.1 + about.len());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        count(&entry?.path(), sum)?;
    }
    Ok(())
}

/// Makes the history with ours in a folder of its own. Collects each time that so many commits were made, and in the end.
pub(crate) async fn ours(folder: &Path, commits: usize, collect_every: usize) -> Figure {
    let storage = LocalStorage::builder(folder).fsync(Fsync::None).open();
    let builder = Repository::builder(Arc::new(storage.expect("opened")));
    let repository = builder.spec_version(SpecVersion::V2).create().await;
    let repository = repository.expect("created");
    let array = NodePath::parse("/x").expect("a path");
    let session = repository.write_session(BranchName::main()).await;
    let session = session.expect("a session");
    for (path, document) in [(NodePath::root(), GROUP), (array.clone(), ARRAY)] {
        let set = session.set_metadata(&path, document.into(), WriteMode::Overwrite);
        set.await.expect("set");
    }
    let outcome = session.commit("an array").await.expect("committed");
    assert!(
        matches!(outcome, CommitOutcome::Committed(_)),
        "{outcome:?}"
    );
    let (mut times, mut collecting) = (Vec::with_capacity(commits), Duration::ZERO);
    for number in 1..=commits {
        let begin = SystemClock.monotonic();
        let session = repository.write_session(BranchName::main()).await;
        let session = session.expect("a session");
        let chunk = (number as u64).to_le_bytes().to_vec().into();
        session
            .set_chunk(&array, &[0], chunk, WriteMode::Overwrite)
            .await
            .expect("set");
        let outcome = session.commit("a chunk").await.expect("committed");
        assert!(
            matches!(outcome, CommitOutcome::Committed(_)),
            "{outcome:?}"
        );
        times.push(SystemClock.monotonic() - begin);
        if number % collect_every == 0 || number == commits {
            let begin = SystemClock.monotonic();
            let collect = Collect::default().floor(Duration::ZERO).force_floor();
            collect.run(&repository).await.expect("collected");
            collecting += SystemClock.monotonic() - begin;
        }
    }
    Figure {
        times,
        collecting,
        objects: objects(folder).expect("the folder can be read"),
    }
}
