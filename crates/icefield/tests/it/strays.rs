//! Whatever is below `refs/` and is not understood ends what deletes, on every backend that can hold it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt, TryStreamExt};
use icefield::maintenance::{
    BundleRepository, Check, Collect, CollectError, CopyError, CopyRepository, Expire, ExpireError,
    FindingKind, Policy, Repair,
};
use icefield::storage::{Key, KeyForm, ListOptions, Listed, Storage, StorageExt};
use icefield::{Fsync, LocalStorage, MemoryStorage, RefsError, StrayProblem};
use icefield_core::{
    BranchName, ByteRange, Clock as _, ManualClock, Repository, SnapshotId, SystemClock,
};
use icefield_storage_gcs::GcsBuilder;
use icefield_storage_s3::{Credentials, S3Builder};
use icefield_testservers::world::{Condition, Draft, World as Objects, WriteRules};
use icefield_testservers::{GcsOptions, GcsServer, S3Options, S3Server};

use crate::collection::{Place, Shifted, World, age_files, path, run};
use crate::suite::scratch::folder;

#[cfg(feature = "azure")]
mod azurite;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// The contents under a name.
#[derive(Clone, Copy, Debug)]
enum Thing {
    Object(&'static str),
    Link(&'static str),
    Fifo,
}

use Thing::{Fifo, Link, Object};

const GOOD: &str = r#"{"snapshot":"1CECHNKREP0F1RSTCMT0"}"#;

/// Names below `refs/` that can be keys, of things that are no refs.
const READABLE: [(&str, &str); 30] = [
    ("foo", GOOD),
    ("foo/ref.json", GOOD),
    ("ref.json", GOOD),
    ("config.yaml", ""),
    ("repo", ""),
    (".gitkeep", ""),
    (".DS_Store/x", ""),
    ("._x", ""),
    ("thumbs.db", ""),
    ("Desktop.ini", ""),
    ("x.nfs", ""),
    ("branch.x/other.json", GOOD),
    ("branch.x/ref.json.bak", GOOD),
    ("branch.x/ref.json.deleted", ""),
    ("branch.x/ref.json/inner", GOOD),
    ("branch.x/a/ref.json", GOOD),
    ("branch.x/REF.JSON", GOOD),
    ("branch.x/ref.json~", GOOD),
    ("branch.x/ref (1).json", GOOD),
    ("branch.x/.ref.json.swp", GOOD),
    ("branch", GOOD),
    ("branch-x/ref.json", GOOD),
    ("Branch.x/ref.json", GOOD),
    ("branches.x/ref.json", GOOD),
    ("tags.v/ref.json", GOOD),
    ("tag.v/ref.json.deleted.bak", ""),
    ("tag.v/ref.json.DELETED", ""),
    ("tag/v/ref.json", GOOD),
    ("heads/main", GOOD),
    ("\u{1b}[31m", GOOD),
];

/// Refs whose file says nothing.
const DAMAGED: [(&str, &str); 8] = [
    ("branch.x/ref.json", ""),
    ("branch.x/ref.json", "{"),
    ("branch.x/ref.json", r#"{"a":1}"#),
    ("branch.x/ref.json", r#"{"snapshot":"not an id"}"#),
    ("branch.x/ref.json", "[]"),
    ("branch.#/ref.json", "\u{feff}"),
    ("branch./ref.json", ""),
    ("tag.x/ref.json", ""),
];

/// Names that are no keys.
fn unreadable() -> Vec<Vec<u8>> {
    let long = "a".repeat(300);
    let longer = ["a"; 600].join("/");
    let names = [
        "/ref.json".to_owned(),
        "branch.x//ref.json".to_owned(),
        "branch.x/".to_owned(),
        "branch.x/ref.json/".to_owned(),
        "branch.x/../ref.json".to_owned(),
        "./ref.json".to_owned(),
        format!("branch.{long}/ref.json"),
        format!("branch.x/{long}"),
        longer,
    ];
    let mut names: Vec<Vec<u8>> = names.map(String::into_bytes).to_vec();
    names.push(b"branch.\xff/ref.json".to_vec());
    names
}

/// Things that only a disk can hold.
const OF_DISKS: [(&str, Thing); 8] = [
    ("branch.x/ref.json", Link("../branch.main/ref.json")),
    ("branch.x/ref.json", Link("nowhere")),
    ("branch.x", Link("branch.main")),
    ("tag.x", Link("branch.main")),
    ("loose", Link("/dev/null")),
    (".DS_Store", Link("nowhere")),
    ("branch.x/ref.json", Fifo),
    ("pipe", Fifo),
];

/// Names of branches that stores of other kinds spell otherwise.
const ODD: [&str; 24] = [
    "a\\b", "a{b", "a^b", "a}b", "a%b", "a`b", "a]b", "a\"b", "a>b", "a[b", "a~b", "a<b", "a#b",
    "a|b", "a*b", "a?b", "é", "数据", "a\nb", "100%", "a%7b", "a%2Fb", "%", "#",
];

/// A store in which anything can be planted.
struct Bench {
    world: World,
    place: &'static str,
    /// Plants a thing under a name, relative to the root; returns whether the store can hold it.
    plant: Plant,
    uproot: Uproot,
    /// Of a branch that was deleted: garbage, unless a ref keeps it.
    orphan: SnapshotId,
}

impl Bench {
    async fn new(place: &'static str, store: Place, plant: Plant, uproot: Uproot) -> Self {
        let world = World::new(store).await;
        let first = world.commit_chunk("main", 0).await;
        let created = world.repository.create_branch("side", first).await;
        drop(created.expect("made"));
        let orphan = world.commit_chunk("side", 1).await;
        let side = BranchName::parse("side").expect("a name");
        drop(world.repository.delete_branch(&side).await.expect("gone"));
        world.commit_chunk("main", 2).await;
        world.pass(2 * DAY);
        Self {
            world,
            place,
            plant,
            uproot,
            orphan,
        }
    }

    fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(&self.world.place.storage)
    }

    /// Everything in the store but our own state.
    async fn listing(&self) -> Vec<String> {
        let entries = self.storage().list_entries(ListOptions::default());
        let entries: Vec<Listed> = entries.try_collect().await.expect("listed");
        let names = entries.into_iter().map(|entry| match entry {
            Listed::Object(object) => object.key.to_string(),
            Listed::Unreadable { raw, .. } => raw,
        });
        names.filter(|it| !it.starts_with("icefield/")).collect()
    }

    fn expiration() -> Expire {
        let mut policy = Policy::default();
        policy.last = 1;
        Expire::new(policy)
    }

    /// Plants one thing and asserts that nothing is deleted, rewritten or copied. Returns whether it could be planted.
    async fn is_refused(&self, name: &[u8], thing: Thing) -> bool {
        let raw = [b"refs/", name].concat();
        if !(self.plant)(&raw, thing) {
            return false;
        }
        let shown = String::from_utf8_lossy(&raw).into_owned();
        let when = format!("{}: {shown:?} as {thing:?}", self.place);
        let before = self.listing().await;
        for dry_run in [true, false] {
            let collected = Collect::default().dry_run(dry_run);
            let collected = collected.run(&self.world.repository).await;
            let Err(CollectError::Refs(error)) = collected else {
                panic!("{when}: {collected:#?}");
            };
            not_understood(&error, &when);
        }
        let repository = &self.world.repository;
        let expired = Self::expiration().run(repository, &()).await;
        let Err(ExpireError::Refs(error)) = expired else {
            panic!("{when}: {expired:#?}");
        };
        not_understood(&error, &when);
        let planned = Self::expiration().plan(repository, &()).await;
        assert!(planned.is_err(), "{when}");
        let to: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let copy = CopyRepository::new();
        let copied = copy.run(repository, Arc::clone(&to), &()).await;
        let Err(CopyError::SourceRefs(error)) = copied else {
            panic!("{when}: copied");
        };
        not_understood(&error, &when);
        let bundled = BundleRepository::new()
            .run(repository, Vec::new(), &())
            .await;
        assert!(matches!(bundled, Err(CopyError::SourceRefs(_))), "{when}");
        assert_eq!(self.listing().await, before, "{when}");
        // One branch by its name can be copied all the same.
        let main = icefield::maintenance::RefChoice::parse("branch:main").expect("a ref");
        let copied = copy.refs([main]).run(repository, to, &()).await;
        copied.unwrap_or_else(|error| panic!("{when}: {error:?}"));
        // It is damage, and a repair leaves it alone.
        let builder = Repository::builder(self.storage());
        let repaired = Repair::new(Check::new(self.storage()), builder).dry_run();
        let report = repaired.run(&()).await.expect("checked");
        assert!(
            !report.check.is_sound() && !report.left.is_empty(),
            "{when}"
        );
        assert_eq!(self.listing().await, before, "{when}");
        (self.uproot)(&raw);
        true
    }

    /// Plants one more ref and asserts that what it reaches is kept.
    async fn is_read(&self, name: &str) -> bool {
        let raw = format!("refs/branch.{name}/ref.json");
        let file = format!(r#"{{"snapshot":"{}"}}"#, self.orphan);
        if !(self.plant)(raw.as_bytes(), Object(Box::leak(file.into_boxed_str()))) {
            return false;
        }
        let when = format!("{}: {raw}", self.place);
        let collected = Collect::default().run(&self.world.repository).await;
        collected.unwrap_or_else(|error| panic!("{when}: {error:?}"));
        let repository = Repository::open(self.storage()).await.expect("opened");
        let branch = BranchName::parse(name).expect("a name");
        let session = repository.read_session(branch).await;
        let session = session.unwrap_or_else(|error| panic!("{when}: {error:?}"));
        let read = session.chunk(&path(), &[1], ByteRange::All).await;
        assert!(read.expect("kept").is_some(), "{when}");
        let planned = Self::expiration().plan(&self.world.repository, &()).await;
        planned.unwrap_or_else(|error| panic!("{when}: {error:?}"));
        (self.uproot)(raw.as_bytes());
        true
    }

    /// Plants each thing that the store can hold, and returns how many there were.
    async fn refusals(&self) -> usize {
        let mut refused = 0;
        for (name, bytes) in READABLE.into_iter().chain(DAMAGED) {
            refused += usize::from(self.is_refused(name.as_bytes(), Object(bytes)).await);
        }
        for name in unreadable() {
            refused += usize::from(self.is_refused(&name, Object("")).await);
        }
        for (name, thing) in OF_DISKS {
            refused += usize::from(self.is_refused(name.as_bytes(), thing).await);
        }
        // Encoded, it is too long for any other store.
        let long = format!("branch.{}/ref.json", "é".repeat(60));
        refused + usize::from(self.is_refused(long.as_bytes(), Object(GOOD)).await)
    }

    /// Everything, and in the end the proof that there was something to lose.
    async fn all(&self, least_refused: usize) {
        let refused = self.refusals().await;
        assert!(refused >= least_refused, "{}: {refused}", self.place);

        for name in ODD {
            assert!(self.is_read(name).await, "{}: {name}", self.place);
        }
        let system = [
            ".DS_Store",
            "Thumbs.db",
            "branch.x/desktop.ini",
            ".nfs0000000000c0ffee",
        ];
        for name in system {
            (self.plant)(format!("refs/{name}").as_bytes(), Object("dropped"));
        }
        // A tombstone without its tag says that there is none.
        (self.plant)(b"refs/tag.alone/ref.json.deleted", Object(""));
        let repository = &self.world.repository;
        let collected = Collect::default().run(repository).await.expect("collected");
        assert!(
            collected.snapshots.deleted > 0,
            "{}: {collected:#?}",
            self.place
        );
        let expired = Self::expiration()
            .run(repository, &())
            .await
            .expect("expired");
        assert!(expired.plan.released() > 0, "{}", self.place);
        let checked = Check::new(self.storage()).run(&()).await.expect("checked");
        assert!(checked.is_sound(), "{checked:#?}");
        assert_eq!(checked.kinds[&FindingKind::RefSystemFile], 4);
    }
}

/// The output of work that waits for nothing.
fn at_once<T>(work: impl Future<Output = T>) -> T {
    work.now_or_never().expect("nothing waits in memory")
}

fn not_understood(error: &RefsError, when: &str) {
    let RefsError::NotUnderstood { strays } = error else {
        panic!("{when}: {error:?}");
    };
    assert!(!strays.is_empty(), "{when}");
    let said = error.to_string();
    assert!(
        said.contains("fsck") && said.contains("refs/"),
        "{when}: {said}"
    );
}

fn in_memory(form: KeyForm) {
    run(async move {
        let clock = ManualClock::new(SystemClock.now());
        let memory = MemoryStorage::builder()
            .clock(Arc::new(clock.clone()))
            .key_form(form)
            .build();
        let (planted, uprooted) = (memory.clone(), memory.clone());
        let place = Place {
            storage: Arc::new(memory),
            age: Box::new(move |by| clock.advance(by)),
        };
        let plant = move |name: &[u8], thing: Thing| {
            let Object(bytes) = thing else { return false };
            match std::str::from_utf8(name).map(Key::parse) {
                Ok(Ok(key)) => at_once(put(&planted, &key, bytes)),
                _ => return planted.plant_unreadable(name, bytes.len() as u64),
            }
            true
        };
        let uproot = move |name: &[u8]| match std::str::from_utf8(name).map(Key::parse) {
            Ok(Ok(key)) => {
                let deleted = uprooted.delete_one(key.into());
                drop(at_once(deleted).expect("deleted"));
            }
            _ => assert!(uprooted.remove_unreadable(name)),
        };
        let bench = Bench::new("memory", place, Box::new(plant), Box::new(uproot)).await;
        bench.all(45).await;
    });
}

async fn put(storage: &dyn Storage, key: &Key, bytes: &'static str) {
    let put = storage.put(key, bytes.into(), Default::default()).await;
    drop(put.expect("put"));
}

#[test]
fn nothing_is_deleted_in_memory_beside_what_is_not_understood() {
    in_memory(KeyForm::ObjectStorePath);
}

#[test]
fn nothing_is_deleted_in_memory_with_raw_names_beside_what_is_not_understood() {
    in_memory(KeyForm::Raw);
}

#[test]
fn nothing_is_deleted_on_a_disk_beside_what_is_not_understood() {
    let root: PathBuf = folder();
    let storage = LocalStorage::builder(&root).fsync(Fsync::None).open();
    let storage = Shifted::new(storage.expect("a new directory opens"), true);
    let (aged, planted, uprooted) = (root.clone(), root.clone(), root);
    run(async {
        let place = Place {
            storage: Arc::new(storage.clone()),
            age: Box::new(move |by| {
                age_files(&aged, by);
                storage.pass(by);
            }),
        };
        let plant = move |name: &[u8], thing: Thing| {
            let text = std::str::from_utf8(name);
            let odd_segment =
                |it: &str| it.is_empty() || matches!(it, "." | "..") || it.len() > 255;
            if text.is_ok_and(|text| text.split('/').any(odd_segment)) || name.len() > 1100 {
                return false;
            }
            let path = planted.join(OsStr::from_bytes(name));
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            match thing {
                Object(bytes) => fs::write(path, bytes).expect("written"),
                Link(to) => std::os::unix::fs::symlink(to, path).expect("linked"),
                Fifo => {
                    let made = std::process::Command::new("mkfifo").arg(path).status();
                    assert!(made.expect("run").success());
                }
            }
            true
        };
        let uproot = move |name: &[u8]| {
            let mut path = uprooted.join(OsStr::from_bytes(name));
            fs::remove_file(&path).expect("removed");
            // Folders, too: a link may come in their place.
            while path.pop() && path != uprooted.join("refs") && fs::remove_dir(&path).is_ok() {}
        };
        let bench = Bench::new("disk", place, Box::new(plant), Box::new(uproot)).await;
        bench.all(45).await;
    });
}

type Plant = Box<dyn Fn(&[u8], Thing) -> bool>;
/// Takes it away again.
type Uproot = Box<dyn Fn(&[u8])>;

/// Ways to plant into a bucket of a server of ours, and to uproot from it.
fn of_bucket(objects: &Arc<Objects>, bucket: &str) -> (Plant, Uproot) {
    let (planted, uprooted) = (Arc::clone(objects), Arc::clone(objects));
    let (one, other) = (bucket.to_owned(), bucket.to_owned());
    let plant = move |name: &[u8], thing: Thing| match (std::str::from_utf8(name), thing) {
        (Ok(name), Object(bytes)) if name.len() <= 1024 => {
            planted.put(&one, name, Draft::new(bytes));
            true
        }
        _ => false,
    };
    let uproot = move |name: &[u8]| {
        let name = std::str::from_utf8(name).expect("text");
        let (condition, rules) = (Condition::default(), WriteRules::default());
        let removed = uprooted.remove(&other, name, &condition, rules);
        assert!(matches!(at_once(removed), Ok(Some(_))), "{name}");
    };
    (Box::new(plant), Box::new(uproot))
}

#[test]
fn nothing_is_deleted_on_s3_beside_what_is_not_understood() {
    let server = S3Server::start(S3Options::default());
    let objects = Arc::clone(server.world());
    let storage = S3Builder::new("bucket")
        .endpoint(server.endpoint())
        .credentials(Credentials::new(server.access_key(), server.secret_key()))
        .open();
    let storage = Shifted::new(storage.expect("the settings are sound"), false);
    run(async {
        let (plant, uproot) = of_bucket(&objects, "bucket");
        let place = Place {
            storage: Arc::new(storage.clone()),
            age: Box::new(move |by| {
                objects.move_clock_forward(by);
                storage.pass(by);
            }),
        };
        let bench = Bench::new("S3", place, plant, uproot).await;
        bench.all(45).await;
    });
}

#[test]
fn nothing_is_deleted_on_gcs_beside_what_is_not_understood() {
    let server = GcsServer::start(GcsOptions::default());
    let objects = Arc::clone(server.world());
    run(async {
        let storage = GcsBuilder::new("bucket")
            .endpoint(server.endpoint())
            .anonymous()
            .open()
            .await;
        let (plant, uproot) = of_bucket(&objects, "bucket");
        let place = Place {
            storage: Arc::new(storage.expect("the settings are sound")),
            age: Box::new(move |by| objects.move_clock_forward(by)),
        };
        let bench = Bench::new("GCS", place, plant, uproot).await;
        bench.all(45).await;
    });
}

/// A name that is there in both spellings is neither read nor written, whatever both say.
#[test]
fn a_ref_in_two_spellings_is_damage_that_refuses_writes() {
    run(async {
        let memory = MemoryStorage::new();
        let storage: Arc<dyn Storage> = Arc::new(memory.clone());
        let repository = Repository::create(Arc::clone(&storage))
            .await
            .expect("made");
        let created = repository.create_branch("a#b", SnapshotId::INITIAL).await;
        drop(created.expect("made"));
        let raw = Key::parse("refs/branch.a#b/ref.json").expect("a key");
        put(&memory, &raw, "{}").await;
        let name = BranchName::parse("a#b").expect("a name");
        let is_twice = |error: &RefsError| matches!(error, RefsError::SpelledTwice { .. });
        let refs = repository.ledger();
        assert!(is_twice(&refs.branch(&name).await.expect_err("two")));
        let error = repository.create_branch("a#b", SnapshotId::INITIAL).await;
        assert!(error.is_err(), "{error:?}");
        assert!(repository.delete_branch(&name).await.is_err());
        let list = repository.refs().await.expect("listed");
        assert!(matches!(&list.branches[&name], Err(error) if is_twice(error)));
        let Err(RefsError::NotUnderstood { strays }) = list.require_understood() else {
            panic!("understood");
        };
        assert!(matches!(strays[0].problem, StrayProblem::Damaged(_)));
        let repair = || {
            let builder = Repository::builder(Arc::clone(&storage));
            Repair::new(Check::new(Arc::clone(&storage)), builder)
        };
        // They say different things: which of them is right, only the owner knows.
        let report = repair().run(&()).await.expect("checked");
        assert_eq!(report.check.kinds[&FindingKind::RefTwice], 1);
        assert_eq!(report.left.len(), 1, "{report:#?}");
        // As an interrupted rename leaves them.
        put(&memory, &raw, GOOD).await;
        let report = repair().run(&()).await.expect("checked");
        assert!(report.left.is_empty(), "{report:#?}");
        assert!(!storage.exists(&raw).await.expect("an answer"));
        let tip = refs.branch(&name).await.expect("one").expect("there");
        assert_eq!(tip.snapshot, SnapshotId::INITIAL);
    });
}
