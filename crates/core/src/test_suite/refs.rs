//! Branches, tags and tombstones.

use icefield_format::layout;

use super::Trial;
use super::words::*;
use crate::{
    EditOutcome, NameError, RefsError, Refusal, Repository, RepositoryError, SnapshotId, TagName,
};

fn tag(name: &str) -> TagName {
    TagName::parse(name).expect("BUG: the case uses a valid name")
}

async fn two(repository: &Repository) -> [SnapshotId; 2] {
    [
        commit_edits(repository, "one", &[("/a", group())], &[]).await,
        commit_edits(repository, "two", &[("/b", group())], &[]).await,
    ]
}

/// The branches and tags and what they point to, by name.
async fn listed(repository: &Repository) -> (Vec<(String, SnapshotId)>, Vec<(String, SnapshotId)>) {
    let refs = repository.refs().await.expect("refs are listed");
    assert!(refs.strays.is_empty());
    let branches = refs.branches.into_iter();
    let tags = refs.tags.into_iter();
    (
        branches
            .map(|(name, id)| (name.to_string(), id.expect("it resolves")))
            .collect(),
        tags.map(|(name, id)| (name.to_string(), id.expect("it resolves")))
            .collect(),
    )
}

pub(super) async fn a_branch_is_created_moved_and_deleted(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let [one, two] = two(&repository).await;
    let dev = branch("dev");
    done(repository.create_branch("dev", one).await);
    refused(
        repository.create_branch("dev", two).await,
        &Refusal::AlreadyExists,
    );
    let (branches, _) = listed(&trial.open(&storage).await).await;
    assert_eq!(
        branches,
        [("dev".to_owned(), one), ("main".to_owned(), two)]
    );
    done(repository.reset_branch(&dev, two, Some(one)).await);
    refused(
        repository.reset_branch(&dev, one, Some(one)).await,
        &Refusal::BranchMoved { found: two },
    );
    assert_eq!(tip(&repository, "dev").await, two);
    done(
        repository
            .reset_branch(&dev, SnapshotId::INITIAL, None)
            .await,
    );
    assert_eq!(tip(&repository, "dev").await, SnapshotId::INITIAL);
    done(repository.delete_branch(&dev).await);
    is!(
        repository.delete_branch(&dev).await,
        Err(RepositoryError::Refs(RefsError::BranchNotFound(name))) if name == dev,
    );
    is!(
        repository.reset_branch(&dev, one, None).await,
        Err(RepositoryError::Refs(RefsError::BranchNotFound(name))) if name == dev,
    );
    done(repository.create_branch("dev", one).await);
    assert_eq!(tip(&repository, "dev").await, one);
    super::walk::assert_sound(&storage).await;
}

pub(super) async fn main_cannot_be_deleted(trial: Trial) {
    let (storage, repository) = trial.create().await;
    is!(
        repository.delete_branch(&branch("main")).await,
        Err(RepositoryError::Refs(RefsError::MainIsPermanent)),
    );
    is!(Repository::exists(storage).await, Ok(true));
}

pub(super) async fn a_tag_is_for_ever_and_its_name_stays_taken(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let [one, two] = two(&repository).await;
    done(repository.create_tag("v1", one).await);
    for id in [one, two] {
        refused(
            repository.create_tag("v1", id).await,
            &Refusal::AlreadyExists,
        );
    }
    refused(repository.delete_tag(&tag("v2")).await, &Refusal::NotFound);
    done(repository.create_tag("v2", two).await);
    done(repository.delete_tag(&tag("v1")).await);
    refused(repository.delete_tag(&tag("v1")).await, &Refusal::NotFound);
    let repository = trial.open(&storage).await;
    refused(repository.create_tag("v1", one).await, &Refusal::NameTaken);
    assert_eq!(listed(&repository).await.1, [("v2".to_owned(), two)]);
    let refs = repository.refs().await.expect("listed");
    assert_eq!(
        refs.deleted_tags.into_iter().collect::<Vec<_>>(),
        [tag("v1")]
    );
    done(repository.create_branch("v1", one).await);
    if trial.is_v1() {
        let objects = objects(&storage).await;
        assert_eq!(
            objects["refs/tag.v1/ref.json"],
            format!("{{\"snapshot\":\"{one}\"}}")
        );
        assert!(objects["refs/tag.v1/ref.json.deleted"].is_empty());
    }
}

pub(super) async fn a_ref_needs_a_snapshot(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let none = SnapshotId::from_bytes([7; 12]);
    let before = keys(&storage).await;
    for outcome in [
        repository.create_branch("dev", none).await,
        repository.create_tag("v1", none).await,
        repository.reset_branch(&branch("main"), none, None).await,
    ] {
        is!(
            outcome,
            Err(RepositoryError::Refs(RefsError::SnapshotNotFound(id))) if id == none,
        );
    }
    assert_eq!(keys(&storage).await, before);
    assert_eq!(tip(&repository, "main").await, SnapshotId::INITIAL);
}

/// Names that people give, and names that break careless encodings.
const ODD: [&str; 14] = [
    "odd name {x} é~%#",
    "feature.x",
    "branch.x",
    "tag.x",
    ".",
    "..",
    "ref.json",
    "%2e",
    "%",
    "a%20b",
    "\u{1F9CA}",
    "e\u{301}",
    "\u{e9}",
    "-_:=+,@!()'$&;^`<>|*?\"[]\\",
];

pub(super) async fn odd_names_are_names(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let [one, two] = two(&repository).await;
    for name in ODD {
        done(repository.create_branch(name, one).await);
        done(repository.create_tag(name, two).await);
    }
    let repository = trial.open(&storage).await;
    let (branches, tags) = listed(&repository).await;
    let mut names = ODD.map(str::to_owned);
    names.sort_unstable();
    assert!(tags.iter().map(|(name, _)| name).eq(&names), "{tags:?}");
    assert!(tags.iter().all(|(_, id)| *id == two));
    assert_eq!(branches.len(), ODD.len() + 1);
    for name in ODD {
        assert_eq!(tip(&repository, name).await, one);
        let session = writer_on(&repository, name).await;
        set(&session, "/odd", group()).await;
        let id = commit(&session, name).await;
        assert_eq!(tip(&repository, name).await, id);
        is!(repository.resolve(&tag(name).into()).await, Ok(id) if id == two);
        done(repository.delete_tag(&tag(name)).await);
        done(repository.delete_branch(&branch(name)).await);
    }
    let (branches, tags) = listed(&repository).await;
    assert!(branches.len() == 1 && tags.is_empty());
    super::walk::assert_sound(&storage).await;
}

pub(super) async fn invalid_names_are_refused(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let before = keys(&storage).await;
    let slashes: &[&str] = if trial.is_v1() { &["a/b", "/"] } else { &[] };
    for name in ["", "a\0b", "a\nb", "\u{1b}[31m", " a", "a "]
        .iter()
        .chain(slashes)
    {
        for outcome in [
            repository.create_branch(name, SnapshotId::INITIAL).await,
            repository.create_tag(name, SnapshotId::INITIAL).await,
        ] {
            is!(
                outcome,
                Err(RepositoryError::Refs(RefsError::Name(
                    NameError::Slash { .. } | NameError::Unprintable { .. }
                ))),
            );
        }
    }
    if !trial.is_v1() {
        // No name is stored under a key of its own.
        done(repository.create_branch("a/b", SnapshotId::INITIAL).await);
        let names = repository.refs().await.expect("listed");
        assert!(names.branches.contains_key(&branch("a/b")));
        return;
    }
    is!(
        repository
            .create_tag(&"é".repeat(200), SnapshotId::INITIAL)
            .await,
        Err(RepositoryError::Refs(RefsError::Name(
            NameError::Key { .. }
        ))),
    );
    assert_eq!(keys(&storage).await, before);
}

pub(super) async fn strays_and_damaged_refs_leave_the_others_usable(trial: Trial) {
    if !trial.is_v1() {
        return;
    }
    let (storage, repository) = trial.create().await;
    let [one, two] = two(&repository).await;
    done(repository.create_branch("dev", one).await);
    done(repository.create_tag("v1", one).await);
    let damaged = [
        ("refs/branch.bad/ref.json", "{\"snapshot\":"),
        ("refs/branch.empty/ref.json", ""),
        ("refs/tag.bad/ref.json", "{\"snapshot\":\"not an id\"}"),
    ];
    let strays = ["refs/branch.x/other", "refs/note.txt"];
    let others = ["refs/.DS_Store"].into_iter().chain(strays);
    for (at, bytes) in damaged.into_iter().chain(others.map(|at| (at, "stray"))) {
        put(&storage, at, bytes).await;
    }
    let repository = trial.open(&storage).await;
    let refs = repository.refs().await.expect("listed");
    let found: Vec<_> = refs.strays.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(found, strays);
    let system_files: Vec<_> = refs.system_files.iter().map(|it| it.as_str()).collect();
    assert_eq!(system_files, ["refs/.DS_Store"]);
    is!(&refs.branches[&branch("dev")], Ok(id) if *id == one);
    is!(&refs.tags[&tag("v1")], Ok(id) if *id == one);
    let is_damaged = |found: &Result<SnapshotId, RefsError>, at: &str| {
        is!(found, Err(RefsError::InvalidRefFile { key, .. }) if key.as_str() == at);
    };
    is_damaged(&refs.branches[&branch("bad")], damaged[0].0);
    is_damaged(&refs.branches[&branch("empty")], damaged[1].0);
    is_damaged(&refs.tags[&tag("bad")], damaged[2].0);
    is!(
        repository.read_session(branch("bad")).await,
        Err(RepositoryError::Refs(RefsError::InvalidRefFile { .. })),
    );
    assert_eq!(tip(&repository, "main").await, two);
    refused(
        repository.create_branch("bad", one).await,
        &Refusal::AlreadyExists,
    );
    let session = writer_on(&repository, "dev").await;
    set(&session, "/c", group()).await;
    commit(&session, "three").await;
}

pub(super) async fn a_tombstone_decides_whatever_it_holds(trial: Trial) {
    if !trial.is_v1() {
        return;
    }
    let (storage, repository) = trial.create().await;
    done(repository.create_tag("v1", SnapshotId::INITIAL).await);
    let form = layout::KeyForm::Raw;
    put(&storage, &layout::tombstone_key("v1", form), "anything").await;
    put(&storage, &layout::tombstone_key("never", form), "").await;
    is!(
        repository.resolve(&tag("v1").into()).await,
        Err(RepositoryError::Refs(RefsError::TagDeleted(_))),
    );
    assert!(listed(&repository).await.1.is_empty());
    is!(
        repository.create_tag("v1", SnapshotId::INITIAL).await,
        Ok(EditOutcome::Refused(Refusal::NameTaken)),
    );
}
