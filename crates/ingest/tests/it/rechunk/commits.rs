//! Rechunking beside other edits and other commits, watched and interrupted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::{Tree, group, path, run};
use icefield_core::{
    BranchName, ByteRange, CommitOutcome, Detector, NodePath, RebaseOutcome, Repository, Session,
    WriteMode,
};
use icefield_ingest::{ChunkLayout, Compression, ImportError, Progress, Rechunk};
use icefield_testkit::both_versions;
use serde_json::json;

use super::{chunks, committed, decoded, document, numbered, plane, repository, tip, tree};

both_versions!(a_session_is_rechunked_with_its_edits_and_others_collide);
async fn a_session_is_rechunked_with_its_edits_and_others_collide() {
    let tree = tree([4, 4], [2, 2]);
    let repository = repository().await;
    run(tree.import(), &repository).await;
    let a = path("/a");
    let session = repository.write_session(BranchName::main()).await.unwrap();
    let other = repository.write_session(BranchName::main()).await.unwrap();
    let edit = |session: Session, value: u8| {
        let a = a.clone();
        async move {
            let bytes = vec![value; 4].into();
            session
                .set_chunk(&a, &[1, 1], bytes, WriteMode::Overwrite)
                .await
                .unwrap();
        }
    };
    edit(session.clone(), 200).await;
    Rechunk::new(a.clone(), chunks("t=1,x=4"))
        .stage(&session)
        .await
        .unwrap();
    let mut expected = numbered(16);
    for at in [10, 11, 14, 15] {
        expected[at] = Some(200);
    }
    assert_eq!(decoded(&session, "/a").await, expected);
    edit(other.clone(), 100).await;
    assert!(matches!(
        other.commit("other").await.unwrap(),
        CommitOutcome::Committed(_)
    ));
    let outcome = session.commit("rechunk").await.unwrap();
    assert!(
        matches!(outcome, CommitOutcome::BranchMoved { .. }),
        "{outcome:?}"
    );
    let rebased = session.rebase(&Detector::Strict).await.unwrap();
    let RebaseOutcome::Conflicts { conflicts, .. } = rebased else {
        panic!("{rebased:?}");
    };
    assert!(!conflicts.is_empty());
}

/// Commits a chunk of another session when a rechunking is about to commit.
struct Meanwhile {
    repository: Repository,
    array: NodePath,
    index: [u32; 2],
}

impl Progress for Meanwhile {
    fn finishing(&self) {
        let (repository, array, index) = (self.repository.clone(), self.array.clone(), self.index);
        let commit = async move {
            let other = repository.write_session(BranchName::main()).await.unwrap();
            let bytes = vec![200; 4].into();
            other
                .set_chunk(&array, &index, bytes, WriteMode::Overwrite)
                .await
                .unwrap();
            committed(Some(other.commit("other").await.unwrap()));
        };
        let thread = std::thread::spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.enable_all().build().unwrap();
            runtime.block_on(commit);
        });
        thread.join().unwrap();
    }
}

both_versions!(commits_meanwhile_are_passed_unless_they_touch_the_array);
async fn commits_meanwhile_are_passed_unless_they_touch_the_array() {
    let gzip = ChunkLayout::kept().with_compression(Compression::Gzip(1));
    for (layout, array, index, is_passed) in [
        (chunks("t=1,x=4"), "/b", [0, 0], true),
        (chunks("t=1,x=4"), "/a", [0, 0], false),
        (chunks("t=4,x=4"), "/a", [1, 1], false),
        // With other codecs and the same grid, also where neither has a chunk yet.
        (gzip.clone(), "/b", [1, 1], true),
        (gzip.clone(), "/a", [0, 0], false),
        (gzip.clone(), "/a", [1, 1], false),
    ] {
        let tree = Tree::new();
        tree.json("zarr.json", &group(json!({})));
        let has = |row, column| (row, column) != (1, 1);
        plane(&tree, "a", ([4, 4], [2, 2]), 0, has);
        plane(&tree, "b", ([4, 4], [2, 2]), 0, has);
        let repository = repository().await;
        run(tree.import(), &repository).await;
        let before = document(&tip(&repository).await, "/a");
        let values = decoded(&tip(&repository).await, "/a").await;
        let meanwhile = Meanwhile {
            repository: repository.clone(),
            array: path(array),
            index,
        };
        let rechunk = Rechunk::new(path("/a"), layout).progress(Arc::new(meanwhile));
        let done = rechunk.run(&repository, BranchName::main(), "rechunk");
        let (_, outcome) = done.await.unwrap();
        let session = tip(&repository).await;
        if is_passed {
            committed(outcome);
            assert_ne!(document(&session, "/a"), before);
            let found = decoded(&session, "/a").await;
            let read = |it: &Option<u8>| it.unwrap_or_default();
            assert!(found.iter().map(read).eq(values.iter().map(read)));
        } else {
            assert!(
                matches!(outcome, Some(CommitOutcome::Conflicts { .. })),
                "{array} {index:?}: {outcome:?}"
            );
            assert_eq!(document(&session, "/a"), before);
        }
        let array = path(array);
        let other = session.chunk(&array, &index, ByteRange::All).await;
        assert_eq!(other.unwrap().unwrap(), vec![200; 4]);
    }
}

/// Holds what is made of it, and counts what is under way.
#[derive(Debug, Default)]
struct Told {
    expected: AtomicU64,
    done: AtomicU64,
}

impl Progress for Told {
    fn expected(&self, chunks: u64) {
        self.expected.fetch_add(chunks, Ordering::SeqCst);
    }

    fn chunk(&self, _: u64) {
        self.done.fetch_add(1, Ordering::SeqCst);
    }

    fn absent(&self, chunks: u64) {
        self.done.fetch_add(chunks, Ordering::SeqCst);
    }
}

both_versions!(progress_comes_to_its_end_and_interrupts_end_it);
async fn progress_comes_to_its_end_and_interrupts_end_it() {
    let tree = tree([9, 9], [2, 2]);
    std::fs::remove_dir_all(tree.path().join("a/c/0")).unwrap();
    let repository = repository().await;
    run(tree.import(), &repository).await;
    let told = Arc::new(Told::default());
    let rechunk = Rechunk::new(path("/a"), chunks("t=1,x=9"));
    let (report, _) = rechunk
        .progress(Arc::<Told>::clone(&told))
        .run(&repository, BranchName::main(), "")
        .await
        .unwrap();
    assert_eq!(report.chunks, 7);
    assert_eq!(told.expected.load(Ordering::SeqCst), 9);
    assert_eq!(told.done.load(Ordering::SeqCst), 9);
    let before: NodePath = path("/a");
    let interrupt = icefield_core::Interrupt::new();
    let rechunk = Rechunk::new(before, chunks("t=9,x=1"))
        .progress(crate::common::After::calls(2, &interrupt))
        .interruptible(&interrupt);
    let error = rechunk
        .run(&repository, BranchName::main(), "")
        .await
        .unwrap_err();
    assert!(matches!(error, ImportError::Interrupted(_)), "{error}");
}
