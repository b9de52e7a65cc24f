//! Several refs: what they share, what they protect, and which of them go.

use std::sync::Arc;

use icefield_core::RefsError;
use icefield_core::test_suite::words::*;
use icefield_maintenance::{Expire, ExpireError, Policy};
use icefield_storage::Storage;
use icefield_storage::wrap::ReadOnlyStorage;

use super::{Lab, MONDAY, older_than};

fn last(number: u64) -> Policy {
    let mut policy = Policy::default();
    policy.last = number;
    policy
}

#[tokio::test]
async fn what_any_branch_keeps_stays_in_every_history() {
    let lab = Lab::new().await;
    let mut main = Vec::new();
    for time in 1..=4 {
        main.push(lab.commit("main", MONDAY + time).await);
    }
    done(lab.repository.create_branch("dev", main[1]).await);
    let dev = lab.commit("dev", MONDAY + 5).await;
    main.push(lab.commit("main", MONDAY + 6).await);
    // `dev` keeps the fork point, which main alone would release; both walk through it.
    let expired = lab.run(last(2)).await;
    assert_eq!(lab.history("main").await, [main[4], main[3], main[1]]);
    assert_eq!(lab.history("dev").await, [dev, main[1]]);
    assert_eq!(expired.plan.released(), 2);
    assert_eq!(expired.plan.new_parents.len(), 2);
}

#[tokio::test]
async fn what_a_tag_points_to_stays_and_its_history_is_that_of_the_branches() {
    let lab = Lab::new().await;
    let mut main = Vec::new();
    for time in 1..=5 {
        main.push(lab.commit("main", MONDAY + time).await);
    }
    done(lab.repository.create_tag("v1", main[2]).await);
    lab.run(last(1)).await;
    assert_eq!(lab.history("main").await, [main[4], main[2]]);
    let info = lab
        .repository
        .snapshot_info(main[2])
        .await
        .expect("it is there");
    assert_eq!(info.parent_id, Some(icefield_core::SnapshotId::INITIAL));
}

#[tokio::test]
async fn only_branches_that_were_asked_for_lose_anything() {
    let lab = Lab::new().await;
    let mut main = Vec::new();
    for time in 1..=3 {
        main.push(lab.commit("main", MONDAY + time).await);
    }
    done(lab.repository.create_branch("dev", main[0]).await);
    let mut dev = Vec::new();
    for time in 4..=6 {
        dev.push(lab.commit("dev", MONDAY + time).await);
    }
    let expire = Expire::new(last(1)).branches([branch("dev")]);
    expire.run(&lab.repository, &()).await.expect("done");
    assert_eq!(lab.history("main").await, [main[2], main[1], main[0]]);
    assert_eq!(lab.history("dev").await, [dev[2], main[0]]);
}

#[tokio::test]
async fn expired_refs_go_only_when_asked_and_main_never() {
    for (branches, tags) in [(false, false), (true, false), (false, true), (true, true)] {
        let lab = Lab::new().await;
        let old = lab.commit("main", MONDAY + 1).await;
        let main = lab.commit("main", MONDAY + 2).await;
        done(lab.repository.create_branch("old", old).await);
        done(lab.repository.create_branch("young", main).await);
        done(lab.repository.create_tag("v1", old).await);
        let young = lab.commit("young", MONDAY + 9).await;
        done(lab.repository.create_tag("v2", young).await);
        let expire = Expire::new(older_than(MONDAY + 5))
            .delete_expired_branches(branches)
            .delete_expired_tags(tags);
        let expired = expire.run(&lab.repository, &()).await.expect("done");
        assert_eq!(expired.plan.branches.len(), usize::from(branches));
        assert_eq!(expired.plan.tags.len(), usize::from(tags));
        let refs = lab.open(&lab.storage).await.refs().await.expect("listed");
        let names: Vec<_> = refs.branches.keys().map(|name| name.as_str()).collect();
        let expected: &[&str] = match branches {
            true => &["main", "young"],
            false => &["main", "old", "young"],
        };
        assert_eq!(names, expected);
        assert_eq!(refs.tags.len(), 2 - usize::from(tags));
        assert_eq!(refs.deleted_tags.len(), usize::from(tags));
        // The name of a deleted tag stays taken.
        if tags {
            is!(
                lab.repository.create_tag("v1", young).await,
                Ok(icefield_core::EditOutcome::Refused(
                    icefield_core::Refusal::NameTaken
                )),
            );
        }
        let protected = if branches && tags {
            vec![main]
        } else {
            vec![main, old]
        };
        assert_eq!(lab.history("main").await, protected);
    }
}

#[tokio::test]
async fn a_ref_that_cannot_be_read_may_protect_anything() {
    let lab = Lab::new().await;
    lab.commit("main", MONDAY + 1).await;
    lab.commit("main", MONDAY + 2).await;
    put(&lab.storage, "refs/branch.broken/ref.json", "{}").await;
    let before = objects(&lab.storage).await;
    is!(
        Expire::new(last(1)).run(&lab.repository, &()).await,
        Err(ExpireError::Refs(RefsError::NotUnderstood { .. })),
    );
    assert_eq!(objects(&lab.storage).await, before);
}

#[tokio::test]
async fn a_store_without_conditions_is_planned_for_and_left_alone() {
    let lab = Lab::new().await;
    lab.commit("main", MONDAY + 1).await;
    lab.commit("main", MONDAY + 2).await;
    let storage: Arc<dyn Storage> = Arc::new(ReadOnlyStorage::new(Arc::clone(&lab.storage)));
    let repository = lab.open(&storage).await;
    let plan = Expire::new(last(1)).plan(&repository, &()).await;
    assert_eq!(plan.expect("it can be planned").released(), 1);
    is!(
        Expire::new(last(1)).run(&repository, &()).await,
        Err(ExpireError::Refs(RefsError::NoConditions { .. })),
    );
}

#[tokio::test]
async fn a_process_that_edits_a_history_reads_it_as_it_is_then() {
    let lab = Lab::new().await;
    let mut main = Vec::new();
    for time in 1..=3 {
        main.push(lab.commit("main", MONDAY + time).await);
    }
    // All of it is in memory.
    assert_eq!(history(&lab.repository, main[2]).await.len(), 4);
    lab.run(last(1)).await;
    let infos = history(&lab.repository, main[2]).await;
    assert_eq!(infos.len(), 2);
    // Another process, which has read the old history, expires what is there now.
    let other = lab.open(&lab.storage).await;
    history(&other, main[2]).await;
    let fourth = lab.commit("main", MONDAY + 4).await;
    lab.commit("main", MONDAY + 5).await;
    let expired = Expire::new(last(1)).run(&other, &()).await.expect("done");
    assert_eq!(expired.restarts, 0);
    assert!(
        expired
            .plan
            .snapshots
            .iter()
            .any(|fate| fate.id == fourth && !fate.stays())
    );
    assert_eq!(lab.history("main").await.len(), 1);
}
