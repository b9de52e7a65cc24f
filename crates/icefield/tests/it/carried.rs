//! A repository that another tool carries between a bucket and a disk, object by object, stays whole.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use icefield::maintenance::{Check, Collect, CopyRepository, FindingKind, Repair};
use icefield::storage::wrap::CountingStorage;
use icefield::storage::{Key, KeyForm, Storage, StorageExt};
use icefield::{Fsync, LocalStorage, MemoryStorage};
use icefield_core::{
    BranchName, ByteRange, CommitOutcome, Detector, EditOutcome, NodePath, RebaseOutcome,
    RefsError, Refusal, Repository, RepositoryError, SnapshotId, TagName, WriteMode,
};
use icefield_storage_s3::{Credentials, S3Builder};
use icefield_testservers::world::Draft;
use icefield_testservers::{S3Options, S3Server};

use crate::collection::{age_files, run};
use crate::suite::scratch::folder;

/// Names of branches, and with a `t` before them of tags. None of them is what a disk makes of another name.
const NAMES: [&str; 22] = [
    "wip#1",
    "a\\b",
    "a{b}",
    "a^b",
    "100%",
    "50%off",
    "a%7eb",
    "feature%2Fx",
    "`tick`",
    "[x]",
    "\"quoted\"",
    "a>b<c",
    "~home",
    "a|b",
    "a*b",
    "what?",
    "é",
    "数据",
    "naïve ~1",
    "%",
    "#",
    "plain",
];

fn bucket(server: &S3Server, name: &str) -> Arc<dyn Storage> {
    server.world().create_bucket(name);
    let storage = S3Builder::new(name)
        .endpoint(server.endpoint())
        .credentials(Credentials::new(server.access_key(), server.secret_key()))
        .open();
    Arc::new(storage.expect("the settings are sound"))
}

/// Copies all objects of a bucket to files of the same names, as `aws s3 sync` does.
fn to_disk(server: &S3Server, bucket: &str, root: &Path) {
    for key in server.world().keys(bucket) {
        let object = server.world().get(bucket, &key).expect("listed");
        let path = root.join(&key);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, &object.bytes).expect("written");
    }
}

/// Copies all files to objects of the same names.
fn to_bucket(server: &S3Server, bucket: &str, root: &Path, below: &Path) {
    for entry in fs::read_dir(below).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            to_bucket(server, bucket, root, &path);
            continue;
        }
        let key = path.strip_prefix(root).expect("below").to_str();
        let key = key.filter(|key| !key.starts_with(".icefield-local"));
        if let Some(key) = key {
            let bytes = fs::read(&path).expect("read");
            server.world().put(bucket, key, Draft::new(bytes));
        }
    }
}

fn a() -> NodePath {
    NodePath::parse("/a").expect("a path")
}

async fn commit(repository: &Repository, branch: &str, index: u32) -> SnapshotId {
    let branch = BranchName::parse(branch).expect("a name");
    let session = repository.write_session(branch).await.expect("a session");
    let group = r#"{"zarr_format": 3, "node_type": "group"}"#;
    let root = NodePath::root();
    let set = session.set_metadata(&root, group.into(), WriteMode::Overwrite);
    set.await.expect("set");
    let document = r#"{"zarr_format": 3, "node_type": "array", "shape": [40], "data_type": "int8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]}"#;
    let array = a();
    let set = session.set_metadata(&array, document.into(), WriteMode::Overwrite);
    set.await.expect("set");
    let chunk = vec![index as u8 + 1; 600].into();
    let index = [index];
    let set = session.set_chunk(&array, &index, chunk, WriteMode::Overwrite);
    set.await.expect("set");
    match session.commit("a commit").await {
        Ok(CommitOutcome::Committed(id)) => id,
        other => panic!("not committed: {other:?}"),
    }
}

/// A commit, a branch and a tag for each name, and a deleted tag.
async fn fill(storage: Arc<dyn Storage>) -> Repository {
    let repository = Repository::create(storage).await.expect("made");
    let first = commit(&repository, "main", 39).await;
    for (index, name) in NAMES.into_iter().enumerate() {
        drop(repository.create_branch(name, first).await.expect("made"));
        let tip = commit(&repository, name, index as u32).await;
        drop(
            repository
                .create_tag(&format!("t{name}"), tip)
                .await
                .expect("made"),
        );
    }
    drop(repository.create_tag("gone#1", first).await.expect("made"));
    let gone = TagName::parse("gone#1").expect("a name");
    drop(repository.delete_tag(&gone).await.expect("deleted"));
    repository
}

/// Lists all refs, resolves them by name, and reads everything that they reach.
async fn told(repository: &Repository) -> BTreeMap<String, String> {
    let refs = repository.refs().await.expect("listed");
    let refs = refs.require_understood().expect("all of them");
    let store = repository.ledger();
    let mut told = BTreeMap::new();
    for (name, tip) in refs.branches {
        let found = store.branch(&name).await.expect("read").expect("there");
        assert_eq!(found.snapshot, tip, "{name}");
        told.insert(format!("branch {name}"), tip.to_string());
        let session = repository.read_session(name).await.expect("opened");
        for index in 0..40 {
            let read = session.chunk(&a(), &[index], ByteRange::All).await;
            let read = read.expect("readable");
            told.extend(read.map(|it| (format!("{tip} {index}"), format!("{:?}", &it[..2]))));
        }
    }
    for (name, target) in refs.tags {
        assert_eq!(store.resolve_tag(&name).await.expect("read"), target);
        told.insert(format!("tag {name}"), target.to_string());
    }
    for name in refs.deleted_tags {
        assert!(store.resolve_tag(&name).await.is_err(), "{name}");
        told.insert(format!("deleted tag {name}"), String::new());
    }
    told
}

async fn open(storage: Arc<dyn Storage>) -> Repository {
    Repository::open(storage).await.expect("opened")
}

fn disk(root: &Path) -> Arc<dyn Storage> {
    let storage = LocalStorage::builder(root).fsync(Fsync::None).open();
    Arc::new(storage.expect("a directory opens"))
}

async fn copied(repository: &Repository, form: KeyForm) -> BTreeMap<String, String> {
    let memory = MemoryStorage::builder().key_form(form).build();
    let to: Arc<dyn Storage> = Arc::new(memory);
    let copy = CopyRepository::new()
        .run(repository, Arc::clone(&to), &())
        .await;
    copy.expect("copied");
    told(&open(to).await).await
}

#[test]
fn a_repository_of_odd_names_moves_from_s3_to_a_disk_and_back() {
    run(async {
        let server = S3Server::start(S3Options::default());
        let source = fill(bucket(&server, "one")).await;
        let expected = told(&source).await;
        let refs = expected.keys().filter(|it| it.contains(' ')).count();
        assert!(refs > 2 * NAMES.len());

        let root = folder();
        to_disk(&server, "one", &root);
        let there = open(disk(&root)).await;
        assert_eq!(told(&there).await, expected);
        assert_eq!(copied(&there, KeyForm::Raw).await, expected);
        assert_eq!(copied(&there, KeyForm::ObjectStorePath).await, expected);
        age_files(&root, Duration::from_secs(3 * 24 * 3600));
        let collect = Collect::default().floor(Duration::ZERO).force_floor();
        collect.run(&there).await.expect("collected");
        assert_eq!(told(&open(disk(&root)).await).await, expected);
        let checked = Check::new(disk(&root)).run(&()).await;
        let checked = checked.expect("checked");
        assert!(checked.is_sound(), "{checked:#?}");
        // All but `plain`, and both files of the deleted tag.
        let misspelled = 2 * (NAMES.len() as u64 - 1) + 2;
        assert_eq!(checked.kinds[&FindingKind::RefSpelling], misspelled);

        // Back by the same way.
        let back = bucket(&server, "two");
        to_bucket(&server, "two", &root, &root);
        let back = open(back).await;
        assert_eq!(told(&back).await, expected);
        assert_eq!(copied(&back, KeyForm::ObjectStorePath).await, expected);

        // Refs are moved, deleted and buried where they are.
        let tip = commit(&there, "wip#1", 30).await;
        assert!(root.join("refs/branch.wip#1/ref.json").exists());
        assert!(!root.join("refs/branch.wip%231").exists());
        let branch = BranchName::parse("a*b").expect("a name");
        drop(there.delete_branch(&branch).await.expect("deleted"));
        assert!(!root.join("refs/branch.a*b/ref.json").exists());
        let tag = TagName::parse("ta*b").expect("a name");
        drop(there.delete_tag(&tag).await.expect("deleted"));
        assert!(root.join("refs/tag.ta*b/ref.json.deleted").exists());
        for taken in ["é", "wip#1"] {
            let again = there.create_branch(taken, tip).await.expect("an answer");
            assert!(
                matches!(again, icefield::EditOutcome::Refused(_)),
                "{again:?}"
            );
        }
        for taken in ["té", "ta*b", "gone#1"] {
            let again = there.create_tag(taken, tip).await.expect("an answer");
            assert!(
                matches!(again, icefield::EditOutcome::Refused(_)),
                "{again:?}"
            );
        }
        let expected = told(&there).await;

        // A repair gives all of them the spelling of the disk.
        let storage = disk(&root);
        let builder = Repository::builder(Arc::clone(&storage));
        let repair = Repair::new(Check::new(Arc::clone(&storage)), builder);
        let report = repair.run(&()).await.expect("repaired");
        assert!(report.left.is_empty(), "{report:#?}");
        assert!(root.join("refs/branch.wip%231/ref.json").exists());
        assert!(root.join("refs/tag.ta%2Ab/ref.json.deleted").exists());
        let checked = Check::new(Arc::clone(&storage)).run(&()).await;
        let checked = checked.expect("checked");
        assert!(checked.is_sound() && checked.warnings == 0, "{checked:#?}");
        assert_eq!(told(&open(disk(&root)).await).await, expected);
    });
}

#[test]
fn an_encoded_name_in_a_bucket_is_itself_and_found_by_what_it_encodes() {
    run(async {
        let server = S3Server::start(S3Options::default());
        let root = folder();
        let source = Repository::create(disk(&root)).await.expect("made");
        let first = commit(&source, "main", 0).await;
        drop(source.create_branch("wip#1", first).await.expect("made"));
        let tip = commit(&source, "wip#1", 1).await;
        drop(source.create_tag("v#1", tip).await.expect("made"));
        let carried = bucket(&server, "carried");
        to_bucket(&server, "carried", &root, &root);
        let there = open(Arc::clone(&carried)).await;
        let (wip, encoded) = (
            BranchName::parse("wip#1").expect("a name"),
            BranchName::parse("wip%231").expect("a name"),
        );
        // The reference implementation lists it so, too: a branch may have been given that name.
        let refs = there.refs().await.expect("listed");
        assert!(refs.branches.contains_key(&encoded) && !refs.branches.contains_key(&wip));
        for name in [&wip, &encoded] {
            let found = there.ledger().branch(name).await.expect("read");
            assert_eq!(found.expect("there").snapshot, tip);
        }
        let tag = TagName::parse("v#1").expect("a name");
        assert_eq!(there.ledger().resolve_tag(&tag).await.expect("read"), tip);
        let next = commit(&there, "wip#1", 2).await;
        let found = there.ledger().branch(&encoded).await.expect("read");
        assert_eq!(
            found.expect("there").snapshot,
            next,
            "it is moved where it is"
        );
        let checked = Check::new(carried).run(&()).await.expect("checked");
        assert_eq!(checked.kinds[&FindingKind::RefNameEncoded], 2);
        // Both names may be given, and then each means itself.
        drop(there.create_branch("wip#1", first).await.expect("made"));
        let found = there.ledger().branch(&wip).await.expect("read");
        assert_eq!(found.expect("there").snapshot, first);
        let refs = there.refs().await.expect("listed");
        let refs = refs.require_understood().expect("all of them");
        assert_eq!(
            (refs.branches[&wip], refs.branches[&encoded]),
            (first, next)
        );
    });
}

/// In a bucket, a missing name may be found by its encoded spelling, which is another ref all the same.
#[test]
fn what_is_done_to_a_missing_ref_is_not_done_to_the_one_that_is_found_for_it() {
    run(async {
        let memory = MemoryStorage::builder().key_form(KeyForm::Raw).build();
        let storage: Arc<dyn Storage> = Arc::new(memory);
        let there = Repository::create(storage).await.expect("made");
        let first = commit(&there, "main", 0).await;
        for name in ["wip#1", "wip%231"] {
            drop(there.create_branch(name, first).await.expect("made"));
        }
        drop(there.create_tag("v%231", first).await.expect("made"));
        let wip = BranchName::parse("wip#1").expect("a name");
        let encoded = BranchName::parse("wip%231").expect("a name");
        let stale = there.ledger().branch(&wip).await.expect("read");
        let stale = stale.expect("there");
        let session = there.write_session(wip.clone()).await.expect("a session");
        let chunk = vec![9; 600].into();
        let array = a();
        let set = session.set_chunk(&array, &[1], chunk, WriteMode::Overwrite);
        set.await.expect("set");

        let deleted = there.delete_branch(&wip).await.expect("an answer");
        assert!(matches!(deleted, EditOutcome::Done(_)), "{deleted:?}");
        let again = there.delete_branch(&wip).await;
        assert!(
            matches!(
                again,
                Err(RepositoryError::Refs(RefsError::BranchNotFound(_)))
            ),
            "{again:?}"
        );
        let late = session.commit("too late").await;
        assert!(
            matches!(late, Ok(CommitOutcome::BranchMoved { found: None, .. })),
            "{late:?}"
        );
        let rebased = session.rebase(&Detector::Strict).await;
        assert!(
            matches!(rebased, Ok(RebaseOutcome::BranchGone)),
            "{rebased:?}"
        );
        let store = there.ledger();
        let now = store.branch_of(&wip, &stale).await.expect("read");
        assert!(now.is_none(), "{now:?}");
        let found = store.branch(&encoded).await.expect("read").expect("there");
        assert_eq!(found.snapshot, first);

        // A ref that is opened by that name stays where it was found.
        let next = commit(&there, "wip#1", 2).await;
        let found = store.branch(&encoded).await.expect("read").expect("there");
        assert_eq!(found.snapshot, next);

        let (tag, kept) = (TagName::parse("v#1"), TagName::parse("v%231"));
        let (tag, kept) = (tag.expect("a name"), kept.expect("a name"));
        let deleted = there.delete_tag(&tag).await.expect("an answer");
        assert!(
            matches!(deleted, EditOutcome::Refused(Refusal::NotFound)),
            "{deleted:?}"
        );
        assert_eq!(store.resolve_tag(&kept).await.expect("read"), first);
    });
}

/// A name that both kinds of stores spell alike is looked up once.
#[test]
fn an_ordinary_name_costs_one_look() {
    run(async {
        for form in [KeyForm::Raw, KeyForm::ObjectStorePath] {
            let memory = MemoryStorage::builder().key_form(form).build();
            let counting = CountingStorage::new(Arc::new(memory));
            let storage: Arc<dyn Storage> = Arc::new(counting.clone());
            let repository = Repository::create(storage).await.expect("made");
            let branch = async |name: &str| {
                let name = BranchName::parse(name).expect("a name");
                counting.reset();
                let found = repository.ledger().branch(&name).await.expect("read");
                (found.is_some(), counting.snapshot().total.requests())
            };
            assert_eq!(branch("main").await, (true, 1));
            assert_eq!(branch("absent (1) @x").await, (false, 1));
            drop(
                repository
                    .create_branch("a#b", SnapshotId::INITIAL)
                    .await
                    .expect("made"),
            );
            let (found, requests) = branch("a#b").await;
            assert!(found && requests <= 3, "{requests}");
            counting.reset();
            drop(
                repository
                    .create_branch("ab", SnapshotId::INITIAL)
                    .await
                    .expect("made"),
            );
            let plain = counting.snapshot().total;
            // A lease and its end, the snapshot, the collection, the ref, and a look for an upgrade.
            let requests = (plain.put, plain.delete, plain.head, plain.get);
            assert_eq!(requests, (2, 1, 2, 1), "{plain:?}");
            let key = Key::parse("refs/branch.ab/ref.json").expect("a key");
            assert!(counting.exists(&key).await.expect("an answer"));
        }
    });
}
