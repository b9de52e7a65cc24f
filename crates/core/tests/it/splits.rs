//! Arrays over several manifests: which of them a commit rewrites, and that nothing else changes by it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use icefield_core::test_suite::words::*;
use icefield_core::{
    BasicSolver, CommitError, CommitOutcome, ManifestRewrite, Repository, RepositoryConfig,
    SeededEntropy, Session, VirtualRefs, VirtualSource, WriteMode,
};
use icefield_storage::Storage;
use icefield_storage::wrap::fault::{Decision, Matcher, Plan};
use icefield_storage::wrap::{CountingStorage, FaultyStorage};

use crate::support::memory;

const REFS_OF_A_STEP: u32 = 100;

/// An array of (steps, 100) references into one foreign file.
fn document(steps: u32) -> String {
    array(&[u64::from(steps), 100], &[1, 1])
}

async fn refer(session: &Session, steps: Range<u32>) {
    let coordinates: Vec<u32> = steps
        .flat_map(|step| (0..REFS_OF_A_STEP).flat_map(move |at| [step, at]))
        .collect();
    let count = coordinates.len() / 2;
    // Nothing that compresses well: as large as references get.
    let random = SeededEntropy::new(u64::from(coordinates[0]));
    let offsets: Vec<u64> = (0..count).map(|_| random.below(1 << 60)).collect();
    let source = VirtualSource::new("s3://bucket/file.nc").expect("a location");
    let refs = VirtualRefs {
        coordinates: &coordinates,
        offsets: &offsets,
        lengths: &vec![100; count],
        sources: &[source],
        source: &vec![0; count],
    };
    let set = session.set_virtual_refs(&path("/a"), refs).await;
    set.expect("set");
}

/// The boxes of the manifests of `/a`, and the bytes of each.
async fn manifests(repository: &Repository) -> Vec<(Vec<Range<u32>>, u64)> {
    let snapshot = repository.snapshot(tip(repository, "main").await).await;
    let snapshot = snapshot.expect("a snapshot");
    let node = snapshot.node(&path("/a")).expect("an array");
    let manifests = node.array().expect("an array").manifests();
    manifests
        .map(|it| {
            let info = snapshot.manifest_file(&it.id()).expect("listed");
            (it.extents().ranges().to_vec(), info.size_bytes)
        })
        .collect()
}

async fn large(steps: u32) -> (Arc<dyn Storage>, CountingStorage, Repository) {
    let counting = CountingStorage::new(memory());
    let storage: Arc<dyn Storage> = Arc::new(counting.clone());
    let config = "virtual_chunk_containers:
  s3://bucket/:
    url_prefix: s3://bucket/
    store: in_memory
";
    let config = RepositoryConfig::decode(config.as_bytes()).expect("a configuration");
    let builder = Repository::builder(Arc::clone(&storage)).config(config);
    let repository = builder.create().await.expect("made");
    let session = writer(&repository).await;
    set(&session, "/a", document(steps)).await;
    refer(&session, 0..steps).await;
    commit(&session, "many").await;
    (storage, counting, repository)
}

#[tokio::test]
async fn an_array_is_split_into_manifests_of_half_a_mebibyte() {
    let (_, _, repository) = large(3000).await;
    let manifests = manifests(&repository).await;
    assert!(manifests.len() > 4, "{manifests:?}");
    for (ranges, bytes) in &manifests[..manifests.len() - 1] {
        assert!((128 << 10..=1 << 20).contains(bytes), "{ranges:?}: {bytes}");
        assert_eq!(ranges[1], 0..REFS_OF_A_STEP, "split along the steps alone");
    }
}

#[tokio::test]
async fn an_append_rewrites_the_edge_alone() {
    let (_, counting, repository) = large(3000).await;
    let before = manifests(&repository).await;
    for step in 3000..3005 {
        let session = writer(&repository).await;
        set(&session, "/a", document(step + 1)).await;
        refer(&session, step..step + 1).await;
        counting.reset();
        commit(&session, "one more").await;
        let counts = counting.reset();
        assert_eq!(counts.of("manifests").put, 1);
        assert!(counts.total.bytes_written < 1 << 20, "{counts:?}");
    }
    let after = manifests(&repository).await;
    let kept = before.iter().filter(|it| after.contains(it)).count();
    assert!(kept + 1 >= before.len(), "{before:?} {after:?}");
    let session = read_main(&repository).await;
    assert_eq!(
        indices(&session, "/a").await.len(),
        3005 * REFS_OF_A_STEP as usize
    );
}

#[tokio::test]
async fn a_change_in_the_middle_reads_and_writes_one_manifest() {
    let (storage, counting, _) = large(3000).await;
    let repository = Repository::open(storage).await.expect("opened");
    let session = writer(&repository).await;
    write(&session, "/a", &[1500, 7], pattern(1, 3)).await;
    counting.reset();
    commit(&session, "one chunk").await;
    let counts = counting.reset();
    let of_manifests = counts.of("manifests");
    assert_eq!((of_manifests.get, of_manifests.put), (1, 1));
    assert!(counts.total.bytes_written < 1 << 20, "{counts:?}");
    holds(
        &read_main(&repository).await,
        "/a",
        &[1500, 7],
        Some(&pattern(1, 3)),
    )
    .await;
}

#[tokio::test]
async fn what_a_shrink_cuts_off_whole_is_not_read() {
    let (storage, counting, _) = large(3000).await;
    let repository = Repository::open(storage).await.expect("opened");
    let boxes = manifests(&repository).await;
    let edge = boxes[1].0[0].start;
    let session = writer(&repository).await;
    set(&session, "/a", document(edge)).await;
    counting.reset();
    commit(&session, "shrink").await;
    let of_manifests = counting.reset().of("manifests");
    assert_eq!((of_manifests.get, of_manifests.put), (0, 0));
    assert_eq!(manifests(&repository).await, boxes[..1]);
    let session = writer(&repository).await;
    set(&session, "/a", document(edge - 1)).await;
    commit(&session, "into the first").await;
    let count = indices(&read_main(&repository).await, "/a").await.len();
    assert_eq!(count, ((edge - 1) * REFS_OF_A_STEP) as usize);
}

fn config(rules: &str) -> RepositoryConfig {
    let text = format!("manifest:\n  splitting:\n    split_sizes:\n{rules}");
    RepositoryConfig::decode(text.as_bytes()).expect("a configuration")
}

async fn with_rules(storage: &Arc<dyn Storage>, rules: &str) -> Repository {
    let builder = Repository::builder(Arc::clone(storage)).config(config(rules));
    builder.open().await.expect("opened")
}

#[tokio::test]
async fn manifests_are_rewritten_by_other_rules_once() {
    let (storage, _, repository) = large(240).await;
    assert_eq!(manifests(&repository).await.len(), 1);
    let contents = chunk_list(&read_main(&repository).await, "/a").await;
    let rules = "    - [any_array, [{condition: !Axis 0, num_chunks: 80}]]\n";
    let repository = with_rules(&storage, rules).await;
    let session = writer(&repository).await;
    let outcome = session
        .commit("rewritten")
        .rewrite_manifests(ManifestRewrite::Misplaced)
        .await;
    is!(outcome, Ok(CommitOutcome::Committed(_)));
    let boxes: Vec<_> = manifests(&repository)
        .await
        .into_iter()
        .map(|it| it.0)
        .collect();
    assert_eq!(
        boxes,
        [[0..80, 0..100], [80..160, 0..100], [160..240, 0..100]]
    );
    assert_eq!(
        chunk_list(&read_main(&repository).await, "/a").await,
        contents
    );
    let again = writer(&repository).await.commit("again");
    is!(
        again.rewrite_manifests(ManifestRewrite::Misplaced).await,
        Err(CommitError::NothingToCommit)
    );
    // By size, the three are one.
    let session = writer(&Repository::open(storage).await.expect("opened")).await;
    let outcome = session
        .commit("by size")
        .rewrite_manifests(ManifestRewrite::Misplaced)
        .await;
    is!(outcome, Ok(CommitOutcome::Committed(_)));
    assert_eq!(manifests(&repository).await.len(), 1);
    assert_eq!(
        chunk_list(&read_main(&repository).await, "/a").await,
        contents
    );
    let tip = tip(&repository, "main").await;
    let log = repository.transaction_log(tip).await.expect("a log");
    assert_eq!(
        log.updated_chunks().count(),
        0,
        "nothing that readers see has changed"
    );
}

#[tokio::test]
async fn a_rewrite_that_loses_a_race_keeps_what_landed() {
    let (storage, _, repository) = large(300).await;
    let rules = "    - [any_array, [{condition: !Axis 0, num_chunks: 100}]]\n";
    let rewriting = with_rules(&storage, rules).await;
    let session = writer(&rewriting).await;
    commit_edits(&repository, "meanwhile", &[], &[("/a", &[0, 0], &[7; 5])]).await;
    let commit = session
        .commit("rewritten")
        .rewrite_manifests(ManifestRewrite::Misplaced);
    is!(
        commit.rebase_with(BasicSolver::default()).await,
        Ok(CommitOutcome::Committed(_))
    );
    assert_eq!(manifests(&repository).await.len(), 3);
    holds(&read_main(&repository).await, "/a", &[0, 0], Some(&[7; 5])).await;
}

#[tokio::test]
async fn a_rewrite_onto_a_disk_that_is_full_at_any_write_changes_nothing() {
    let rules = "    - [any_array, [{condition: !Axis 0, num_chunks: 80}]]\n";
    for k in 0.. {
        let (storage, _, repository) = large(240).await;
        let contents = chunk_list(&read_main(&repository).await, "/a").await;
        let faulty = FaultyStorage::new(Arc::clone(&storage), Plan::none());
        let full: Arc<dyn Storage> = Arc::new(faulty.clone());
        let session = writer(&with_rules(&full, rules).await).await;
        faulty.set_plan(Plan::none().on(Matcher::writes(), k, Decision::FailBefore));
        let outcome = session
            .commit("rewritten")
            .rewrite_manifests(ManifestRewrite::Misplaced)
            .await;
        // Readers see the old manifests, or all of the new ones.
        let others = with_rules(&storage, rules).await;
        let expected = if outcome.is_ok() { 3 } else { 1 };
        assert_eq!(manifests(&others).await.len(), expected, "{k}: {outcome:?}");
        assert_eq!(chunk_list(&read_main(&others).await, "/a").await, contents);
        if let Ok(outcome) = outcome {
            assert!(
                matches!(outcome, CommitOutcome::Committed(_)),
                "{outcome:?}"
            );
            // Three manifests, a log and a snapshot were written before the branch was moved.
            assert!(k > 5, "{k}");
            break;
        }
        // With room again, it is done.
        let again = writer(&others).await.commit("again");
        let again = again.rewrite_manifests(ManifestRewrite::Misplaced).await;
        is!(again, Ok(CommitOutcome::Committed(_)));
        assert_eq!(manifests(&others).await.len(), 3);
        assert_eq!(chunk_list(&read_main(&others).await, "/a").await, contents);
    }
}

#[tokio::test]
async fn only_what_does_not_fit_is_rewritten() {
    let (storage, counting, repository) = large(240).await;
    // By the rules, but for the first hundred steps, which are in one manifest by an earlier rule.
    let rule =
        |steps: u32| format!("    - [any_array, [{{condition: !Axis 0, num_chunks: {steps}}}]]\n");
    drop(repository);
    for steps in [80, 40] {
        let session = writer(&with_rules(&storage, &rule(steps)).await).await;
        counting.reset();
        let outcome = session
            .commit("by rules")
            .rewrite_manifests(ManifestRewrite::Misplaced)
            .await;
        is!(outcome, Ok(CommitOutcome::Committed(_)));
        assert_eq!(counting.reset().of("manifests").put, 240 / u64::from(steps));
    }
    let repository = with_rules(&storage, &rule(80)).await;
    let session = writer(&repository).await;
    write(&session, "/a", &[0, 0], pattern(1, 3)).await;
    commit(&session, "the first 80 steps are one again").await;
    assert_eq!(manifests(&repository).await.len(), 5);
    let session = writer(&repository).await;
    counting.reset();
    let outcome = session
        .commit("the others")
        .rewrite_manifests(ManifestRewrite::Misplaced)
        .await;
    is!(outcome, Ok(CommitOutcome::Committed(_)));
    assert_eq!(counting.reset().of("manifests").put, 2, "four became two");
    assert_eq!(manifests(&repository).await.len(), 3);
}

#[tokio::test]
async fn deletions_alone_rewrite_their_cells_and_drop_empty_ones() {
    let (storage, counting, _) = large(240).await;
    let rules = "    - [any_array, [{condition: !Axis 0, num_chunks: 80}]]\n";
    let repository = with_rules(&storage, rules).await;
    let session = writer(&repository).await;
    let outcome = session
        .commit("by rules")
        .rewrite_manifests(ManifestRewrite::Misplaced)
        .await;
    is!(outcome, Ok(CommitOutcome::Committed(_)));
    let session = writer(&repository).await;
    for index in (80..160).flat_map(|step| (0..REFS_OF_A_STEP).map(move |at| [step, at])) {
        let deleted = session.delete_chunk(&path("/a"), &index).await;
        deleted.expect("deleted");
    }
    let deleted = session.delete_chunk(&path("/a"), &[0, 5]).await;
    deleted.expect("deleted");
    counting.reset();
    commit(&session, "fewer").await;
    assert_eq!(counting.reset().of("manifests").put, 1);
    let boxes: Vec<_> = manifests(&repository).await;
    assert_eq!(boxes.len(), 2);
    let left = indices(&read_main(&repository).await, "/a").await;
    assert_eq!(left.len(), 160 * REFS_OF_A_STEP as usize - 1);
}

#[tokio::test]
async fn edits_among_many_deletions_are_estimated_by_what_is_set() {
    let (storage, _, _) = large(3000).await;
    let repository = Repository::open(storage).await.expect("opened");
    let session = writer(&repository).await;
    // Deletions where a sample would look, and three thousand inline chunks that do not compress.
    for step in [0, 750, 1500, 2250]
        .iter()
        .flat_map(|first| *first..first + 8)
    {
        for at in 0..REFS_OF_A_STEP {
            let deleted = session.delete_chunk(&path("/a"), &[step, at]).await;
            deleted.expect("deleted");
        }
    }
    for step in 100..130 {
        for at in 0..REFS_OF_A_STEP {
            let bytes = pattern(u64::from(step * REFS_OF_A_STEP + at), 500);
            write(&session, "/a", &[step, at], bytes).await;
        }
    }
    commit(&session, "both").await;
    for (ranges, bytes) in manifests(&repository).await {
        assert!(bytes <= 5 << 18, "{ranges:?}: {bytes}");
    }
}

#[tokio::test]
async fn arrays_without_axes_and_axes_without_chunks_are_not_split() {
    let storage = memory();
    let rules = "    - [any_array, [{condition: Any, num_chunks: 1}]]\n";
    let builder = Repository::builder(Arc::clone(&storage)).config(config(rules));
    let repository = builder.create().await.expect("made");
    let session = writer(&repository).await;
    set(&session, "/scalar", array(&[], &[])).await;
    write(&session, "/scalar", &[], vec![1]).await;
    set(&session, "/a", array(&[2, 2], &[1, 1])).await;
    write(&session, "/a", &[0, 1], vec![2]).await;
    write(&session, "/a", &[1, 0], vec![3]).await;
    let many = vec![1; 200];
    set(&session, "/many", array(&many, &many)).await;
    write(&session, "/many", &[0; 200], vec![4]).await;
    commit(&session, "three").await;
    assert_eq!(manifests(&repository).await.len(), 2);
    let session = writer(&repository).await;
    set(&session, "/a", array(&[2, 0], &[1, 1])).await;
    write(&session, "/scalar", &[], vec![5]).await;
    commit(&session, "no chunks any more").await;
    assert_eq!(manifests(&repository).await.len(), 0);
    for which in [ManifestRewrite::Misplaced, ManifestRewrite::All] {
        let session = writer(&repository).await;
        let outcome = session.commit("rewritten").rewrite_manifests(which).await;
        match which {
            ManifestRewrite::All => is!(outcome, Ok(CommitOutcome::Committed(_))),
            _ => is!(outcome, Err(CommitError::NothingToCommit)),
        }
    }
    let session = read_main(&repository).await;
    holds(&session, "/scalar", &[], Some(&[5])).await;
    holds(&session, "/many", &[0; 200], Some(&[4])).await;
    assert_eq!(indices(&session, "/a").await.len(), 0);
}

#[tokio::test]
async fn a_rewrite_by_size_comes_to_an_end() {
    let mut model = model(11, 500).await;
    let repository = Repository::open(Arc::clone(&model.storage)).await;
    let repository = repository.expect("opened");
    for round in 0..4 {
        model.step(&repository, 2500).await;
        let rules = with_rules(&model.storage, &model.rules()).await;
        let session = writer(&if round % 2 == 0 {
            rules
        } else {
            repository.clone()
        })
        .await;
        let outcome = session
            .commit("rewritten")
            .rewrite_manifests([ManifestRewrite::Misplaced, ManifestRewrite::All][round % 2]);
        is!(
            outcome.await,
            Ok(CommitOutcome::Committed(_)) | Err(CommitError::NothingToCommit)
        );
        let mut left = 6;
        loop {
            let session = writer(&repository).await;
            let commit = session
                .commit("by size")
                .rewrite_manifests(ManifestRewrite::Misplaced);
            if let Err(CommitError::NothingToCommit) = commit.await {
                break;
            }
            left -= 1;
            assert!(left > 0, "rewritten again and again");
        }
        model.check().await;
    }
}

/// Random edits, resizes and rules, and what should be there.
struct Model {
    storage: Arc<dyn Storage>,
    random: SeededEntropy,
    shape: [u32; 2],
    chunks: BTreeMap<Vec<u32>, Vec<u8>>,
    /// Bytes of a chunk, all of them inline.
    length: usize,
}

impl Model {
    fn below(&self, bound: u32) -> u32 {
        self.random.below(u64::from(bound)) as u32
    }

    fn rules(&self) -> String {
        let (y, x) = (1 + self.below(6), 1 + self.below(6));
        format!(
            "    - [any_array, [{{condition: !Axis 0, num_chunks: {y}}}, {{condition: !Axis 1, num_chunks: {x}}}]]\n"
        )
    }

    async fn step(&mut self, repository: &Repository, most: u32) {
        let session = writer(repository).await;
        if self.below(3) == 0 {
            self.shape = [1 + self.below(most), 1 + self.below(most)];
            let shape = self.shape.map(u64::from);
            set(&session, "/a", array(&shape, &[1, 1])).await;
            let shape = self.shape;
            self.chunks
                .retain(|at, _| at[0] < shape[0] && at[1] < shape[1]);
        }
        for _ in 0..1 + self.below(most) {
            let at = vec![self.below(self.shape[0]), self.below(self.shape[1])];
            if self.below(4) == 0 {
                let deleted = session.delete_chunk(&path("/a"), &at).await;
                deleted.expect("deleted");
                self.chunks.remove(&at);
            } else {
                let bytes = pattern(self.random.next_u64(), self.length);
                write(&session, "/a", &at, bytes.clone()).await;
                self.chunks.insert(at, bytes);
            }
        }
        let commit = session.commit("a step").allow_empty();
        let commit = match self.below(5) {
            0 => commit.rewrite_manifests(ManifestRewrite::Misplaced),
            1 => commit.rewrite_manifests(ManifestRewrite::All),
            _ => commit,
        };
        is!(commit.await, Ok(CommitOutcome::Committed(_)));
    }

    /// Every manifest has the box that its snapshot says, and no index is in two.
    async fn check(&self) {
        let repository = Repository::open(Arc::clone(&self.storage)).await;
        let repository = repository.expect("opened");
        let session = read_main(&repository).await;
        let found: BTreeSet<Vec<u32>> = (indices(&session, "/a").await.iter())
            .map(|index| index.to_vec())
            .collect();
        assert_eq!(found, self.chunks.keys().cloned().collect());
        for (at, bytes) in &self.chunks {
            holds(&session, "/a", at, Some(bytes)).await;
        }
        let snapshot = repository.snapshot(tip(&repository, "main").await).await;
        let snapshot = snapshot.expect("a snapshot");
        let node = snapshot.node(&path("/a")).expect("an array");
        let mut all = 0;
        for manifest in node.array().expect("an array").manifests() {
            let decoded = repository
                .manifest(manifest.id())
                .await
                .expect("a manifest");
            let refs = decoded.array(&node.id()).expect("of the array");
            let (mut low, mut high) = (vec![u32::MAX; 2], vec![0; 2]);
            for position in 0..refs.len() {
                let mut index = Vec::new();
                refs.record_at(position).index_into(&mut index);
                for axis in 0..2 {
                    low[axis] = low[axis].min(index[axis]);
                    high[axis] = high[axis].max(index[axis] + 1);
                }
            }
            let ranges: Vec<Range<u32>> = low.into_iter().zip(high).map(|(a, b)| a..b).collect();
            assert_eq!(manifest.extents().ranges(), ranges);
            all += refs.len();
        }
        assert_eq!(all, self.chunks.len(), "each index is in one manifest");
    }
}

async fn model(seed: u64, length: usize) -> Model {
    let storage = memory();
    let repository = Repository::create(Arc::clone(&storage))
        .await
        .expect("made");
    let session = writer(&repository).await;
    session
        .set_metadata(
            &path("/a"),
            array(&[4, 4], &[1, 1]).into(),
            WriteMode::Overwrite,
        )
        .await
        .expect("set");
    commit(&session, "an array").await;
    Model {
        storage,
        random: SeededEntropy::new(seed),
        shape: [4, 4],
        chunks: BTreeMap::new(),
        length,
    }
}

#[tokio::test]
async fn rules_that_change_all_the_time_lose_nothing() {
    for seed in 0..40 {
        let mut model = model(seed, 5).await;
        for step in 0..12 {
            let repository = match model.below(4) {
                0 => Repository::open(Arc::clone(&model.storage))
                    .await
                    .expect("opened"),
                _ => with_rules(&model.storage, &model.rules()).await,
            };
            model.step(&repository, 20).await;
            if step % 3 == 2 {
                model.check().await;
            }
        }
    }
}

#[tokio::test]
async fn splits_by_size_lose_nothing() {
    let mut split = 0;
    for seed in 0..3 {
        let mut model = model(seed, 500).await;
        for _ in 0..10 {
            let repository = Repository::open(Arc::clone(&model.storage))
                .await
                .expect("opened");
            // A few thousand of 500 bytes that do not compress.
            model.step(&repository, 2500).await;
            split += usize::from(manifests(&repository).await.len() > 1);
            model.check().await;
        }
    }
    assert!(
        split > 3,
        "the sizes are such that arrays were split: {split}"
    );
}
