//! Chunks that share objects: counted, checked, collected, copied, and written anew.

mod checked;
mod repack;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use icefield_core::test_suite::walk;
use icefield_core::test_suite::words::*;
use icefield_core::{
    BranchName, ChunkLocation, ManualClock, PackSettings, Repository, SeededEntropy, Session,
    Settings,
};
use icefield_format::SpecVersion;
use icefield_maintenance::{
    Check, Collect, CopyRepository, Expire, FindingKind, Policy, Repack, RepackReport, Usage,
    UsageSummary,
};
use icefield_storage::wrap::CountingStorage;
use icefield_storage::{Clock as _, Storage};
use icefield_storage_memory::MemoryStorage;
use icefield_testkit::stores;

use crate::world::DAY;

/// A repository whose sessions pack small chunks, with an array `/a` of so many chunks by so many, on a clock of its own.
struct Packed {
    storage: Arc<dyn Storage>,
    clock: ManualClock,
    repository: Repository,
}

fn settings(packs: PackSettings) -> Settings {
    Settings::default().with_packs(packs)
}

impl Packed {
    async fn new(spec: SpecVersion, shape: &[u64]) -> Self {
        Self::with(spec, shape, PackSettings::default().with_threshold(1 << 20)).await
    }

    async fn with(spec: SpecVersion, shape: &[u64], packs: PackSettings) -> Self {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let clock = ManualClock::new(start);
        let memory = MemoryStorage::builder().clock(Arc::new(clock.clone()));
        let storage: Arc<dyn Storage> = Arc::new(memory.build());
        let repository = Repository::builder(Arc::clone(&storage))
            .spec_version(spec)
            .settings(settings(packs))
            .clock(Arc::new(clock.clone()))
            .entropy(Arc::new(SeededEntropy::new(7)))
            .create()
            .await
            .unwrap();
        let packed = Self {
            storage,
            clock,
            repository,
        };
        let session = packed.session().await;
        let chunk = vec![1; shape.len()];
        set(&session, "/a", array(shape, &chunk)).await;
        packed.commit(&session).await;
        packed
    }

    async fn session(&self) -> Session {
        writer(&self.repository).await
    }

    async fn commit(&self, session: &Session) {
        self.clock.advance(Duration::from_secs(1));
        commit(session, "a commit").await;
    }

    /// Writes chunks of 600 bytes, each of the bytes of its seed, and commits them.
    async fn write(&self, chunks: impl IntoIterator<Item = (Vec<u32>, u64)>) {
        let session = self.session().await;
        for (index, seed) in chunks {
            write(&session, "/a", &index, pattern(seed, 600)).await;
        }
        self.commit(&session).await;
    }

    /// The same repository through another store. At another time, it draws other ids: two collections have no names in common.
    async fn on(&self, storage: &Arc<dyn Storage>) -> Repository {
        let since = self.clock.now().duration_since(SystemTime::UNIX_EPOCH);
        Repository::builder(Arc::clone(storage))
            .clock(Arc::new(self.clock.clone()))
            .entropy(Arc::new(SeededEntropy::new(since.unwrap().as_secs())))
            .open()
            .await
            .unwrap()
    }

    async fn packs(&self) -> Vec<String> {
        stores::keys_below(&self.storage, "chunks/").await
    }

    async fn used(&self) -> UsageSummary {
        let repository = self.on(&self.storage).await;
        Usage::new().summary(&repository, &()).await.unwrap()
    }

    /// Lets all but the tip expire, and deletes what is garbage then. Returns how many chunk objects that were.
    async fn collect(&self) -> u64 {
        let mut policy = Policy::default();
        policy.last = 1;
        let repository = self.on(&self.storage).await;
        Expire::new(policy).run(&repository, &()).await.unwrap();
        self.clock.advance(3 * DAY);
        let collected = Collect::default().run(&repository).await.unwrap();
        collected.chunks.deleted
    }

    async fn holds(&self, chunks: impl IntoIterator<Item = (Vec<u32>, u64)>) {
        let session = read_main(&self.on(&self.storage).await).await;
        for (index, seed) in chunks {
            holds(&session, "/a", &index, Some(&pattern(seed, 600))).await;
        }
    }

    /// The object of a chunk, and its first byte there.
    async fn place(&self, index: &[u32]) -> (String, u64) {
        let session = read_main(&self.on(&self.storage).await).await;
        match session.chunk_location(&path("/a"), index).await.unwrap() {
            Some(ChunkLocation::Native { id, offset, .. }) => (id.to_string(), offset),
            other => panic!("{index:?} is {other:?}"),
        }
    }

    /// Asserts that a check finds no damage. In version 1, it knows that logs tell less than happened where commits expired.
    async fn is_sound(&self) {
        let report = Check::new(Arc::clone(&self.storage))
            .run(&())
            .await
            .unwrap();
        assert!(report.is_sound(), "{:#?}", report.findings);
    }

    async fn repack(&self, repack: Repack) -> RepackReport {
        self.clock.advance(Duration::from_secs(1));
        repack.run(&self.repository, &()).await.unwrap()
    }
}

fn main_branch() -> BranchName {
    BranchName::main()
}

fn row(seeds: std::ops::Range<u32>, add: u64) -> impl Iterator<Item = (Vec<u32>, u64)> {
    seeds.map(move |i| (vec![i], u64::from(i) + add))
}

async fn a_pack_lives_as_long_as_one_of_its_chunks(spec: SpecVersion) {
    let packed = Packed::new(spec, &[10]).await;
    packed.write(row(0..10, 0)).await;
    packed.write(row(0..9, 100)).await;
    assert_eq!(packed.packs().await.len(), 2);
    assert_eq!(packed.collect().await, 0, "chunk 9 is in the first one");
    packed.holds(row(0..9, 100).chain(row(9..10, 0))).await;
    packed.is_sound().await;
    packed.write(row(9..10, 100)).await;
    assert_eq!(packed.collect().await, 1);
    packed.holds(row(0..10, 100)).await;
    packed.is_sound().await;
}

async fn live_and_dead_bytes_of_packs_are_counted(spec: SpecVersion) {
    let packed = Packed::new(spec, &[10]).await;
    packed.write(row(0..10, 0)).await;
    let used = packed.used().await.packs;
    assert_eq!((used.objects.count, used.objects.bytes), (1, 6000));
    assert_eq!((used.live_bytes, used.dead_bytes), (6000, 0));
    packed.write(row(0..9, 100)).await;
    packed.collect().await;
    let used = packed.used().await;
    assert_eq!(
        (used.packs.objects.count, used.packs.objects.bytes),
        (2, 11_400)
    );
    assert_eq!((used.packs.live_bytes, used.packs.dead_bytes), (6000, 5400));
    assert_eq!(used.live_bytes, 6000);
}

async fn a_cut_or_missing_pack_is_damage(spec: SpecVersion) {
    let packed = Packed::new(spec, &[10]).await;
    packed.write(row(0..10, 0)).await;
    let check = async || {
        let report = Check::new(Arc::clone(&packed.storage))
            .run(&())
            .await
            .unwrap();
        let damage = report.findings.iter();
        let damage = damage.map(|it| (it.kind, it.key.clone()));
        (report.is_sound(), damage.collect::<Vec<_>>())
    };
    assert!(check().await.0);
    let key = packed.packs().await[0].clone();
    let whole = stores::read(&packed.storage, &key).await;
    stores::put(&packed.storage, &key, whole.slice(..5999)).await;
    let (sound, found) = check().await;
    assert!(
        !sound && found.contains(&(FindingKind::ChunkShort, key.clone())),
        "{found:?}"
    );
    stores::delete(&packed.storage, &key).await;
    let (sound, found) = check().await;
    assert!(
        !sound && found.contains(&(FindingKind::ChunkMissing, key.clone())),
        "{found:?}"
    );
}

async fn a_pack_is_copied_once(spec: SpecVersion) {
    let packed = Packed::new(spec, &[10]).await;
    packed.write(row(0..10, 0)).await;
    packed.write(row(0..5, 100)).await;
    let counting = CountingStorage::new(Arc::new(MemoryStorage::new()));
    let to: Arc<dyn Storage> = Arc::new(counting.clone());
    let copy = async || {
        let copy = CopyRepository::new();
        copy.run(&packed.repository, Arc::clone(&to), &())
            .await
            .unwrap()
    };
    copy().await;
    assert_eq!(counting.snapshot().of("chunks").put, 2);
    walk::assert_sound(&to).await;
    packed.write(row(5..6, 200)).await;
    copy().await;
    assert_eq!(counting.snapshot().of("chunks").put, 3);
    let session = read_main(&Repository::open(to).await.unwrap()).await;
    for (i, seed) in [(4, 104), (5, 205), (6, 6)] {
        holds(&session, "/a", &[i], Some(&pattern(seed, 600))).await;
    }
}

versions! {
    a_pack_lives_as_long_as_one_of_its_chunks,
    live_and_dead_bytes_of_packs_are_counted,
    a_cut_or_missing_pack_is_damage,
    a_pack_is_copied_once,
}
