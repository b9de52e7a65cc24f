//! Objects that are larger than any state of `repo`: they are refused by their size, and never read.

use icefield_format::FormatError;
use icefield_storage::{Bytes, PutMode, PutOutcome, StorageError};

use super::super::object::MAX_REPO_LEN;
use super::*;
use crate::{FollowedLog, NewestBackup, PageProblem, RepoBackups, StoredRepo};

/// Puts a byte more than a state may have. The pages of it are never touched.
async fn put_oversized(storage: &Arc<dyn Storage>, key: &str) {
    let bytes = Bytes::from(vec![0; MAX_REPO_LEN as usize + 1]);
    let key = Key::parse(key).expect("a key");
    let put = storage.put(&key, bytes.into(), PutMode::Overwrite.into());
    let put = put.await.expect("answered");
    assert!(matches!(put, PutOutcome::Written(_)), "{put:?}");
}

fn is_too_large<T>(outcome: Result<T, RefsError>) -> bool {
    let error = outcome.err();
    matches!(
        error,
        Some(RefsError::Storage(StorageError::ObjectTooLarge { .. }))
    )
}

#[test]
fn an_oversized_repo_is_refused_by_its_size() {
    block_on(async {
        let storage = memory();
        let ledger = create(&storage, None).await;
        let expected = tip(&ledger, "main").await;
        put_oversized(&storage, layout::REPO).await;
        let branch = ledger.resolve_branch(&BranchName::main()).await;
        assert!(is_too_large(branch));
        let stored = StoredRepo::read(&*storage).await;
        assert!(matches!(stored, Err(StorageError::ObjectTooLarge { .. })));
        // A program of version 1 that looks for what became of its commit.
        let old = parts(&storage, 2, &ManualClock::new(start()));
        let old = old.ledger(SpecVersion::V1).expect("a ledger");
        let landed = old.landed(&BranchName::main(), id(1), &expected).await;
        assert!(is_too_large(landed));
    });
}

#[test]
fn an_oversized_backup_is_passed_over_and_ends_the_log() {
    block_on(async {
        let storage = memory();
        let ledger = create(&storage, Some(2)).await;
        for number in 1..6 {
            assert!(is_done(&commit(&ledger, "main", number).await));
        }
        let state = StoredRepo::read(&*storage).await.expect("readable");
        let crate::RepoContent::Sound(state) = state.content else {
            panic!("{state:?}");
        };
        let page = state.log().continues_in().expect("it goes on").to_owned();
        put_oversized(&storage, &layout::overwritten_key(&page)).await;
        let followed = FollowedLog::of(&*storage, &state).await.expect("followed");
        match followed.broken {
            Some((name, PageProblem::Damaged(FormatError::TooLarge { limit, .. }))) => {
                assert_eq!((name, limit), (page, MAX_REPO_LEN));
            }
            other => panic!("{other:?}"),
        }
        let operations = ledger.operations().await.expect("it has a log");
        let operations: Result<Vec<Update>, _> = operations.try_collect().await;
        assert!(is_too_large(operations));

        // The name of the newest one.
        let newest = "repo.00000000000001.00000000000000000000";
        put_oversized(&storage, &layout::overwritten_key(newest)).await;
        let backups = RepoBackups::list(&*storage).await.expect("listed");
        assert_eq!(backups.all[0].0, newest);
        match backups.newest_sound(&*storage, &|_| true).await {
            Ok(NewestBackup::Sound(found)) => assert!(found.passed_over > 0, "{found:?}"),
            other => panic!("{other:?}"),
        }
    });
}
