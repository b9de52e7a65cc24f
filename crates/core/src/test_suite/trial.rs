//! The environment of a test case.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::FutureExt;
use futures::future::BoxFuture;
use icefield_format::SpecVersion;
use icefield_storage::{Entropy, ManualClock, SeededEntropy, Storage};

use crate::{PackSettings, Repository, RepositoryBuilder, Settings};

/// The seed of all ids. They must not matter, so one will do; a failure shows it with the name of the case.
const SEED: u64 = 0x01CE_F1E1_D000;

type Make = dyn Fn(&'static str) -> BoxFuture<'static, Arc<dyn Storage>> + Send + Sync;

/// Where one case runs: stores of one kind, a clock that stands still, ids that can be drawn again.
#[derive(Clone)]
pub struct Trial {
    name: &'static str,
    make: Arc<Make>,
    spec: SpecVersion,
    clock: ManualClock,
    entropy: Arc<SeededEntropy>,
    /// As the store suggests, unless it is said here.
    packs: Option<PackSettings>,
}

impl Trial {
    /// Returns a trial of the case `name` on stores from `make`, each empty.
    pub fn new<F>(
        name: &'static str,
        spec: SpecVersion,
        make: impl Fn(&'static str) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Arc<dyn Storage>> + Send + 'static,
    {
        // Shown by the test harness if the case fails.
        println!("case {name}, spec {spec:?}, seed {SEED:#x}");
        Self {
            name,
            make: Arc::new(move |case| make(case).boxed()),
            spec,
            clock: ManualClock::new(Self::start()),
            entropy: Arc::new(SeededEntropy::new(SEED)),
            packs: None,
        }
    }

    /// Returns the trial with small chunks in packs, and these so small that there are many.
    #[must_use]
    pub fn packed(self) -> Self {
        let packs = PackSettings::default()
            .with_threshold(u32::MAX)
            .with_size(4096)
            .with_buffered_bytes(3 * 4096);
        Self {
            packs: Some(packs),
            ..self
        }
    }

    /// Returns the trial with each chunk of the store in an object of its own, whatever the store suggests.
    #[must_use]
    pub fn unpacked(self) -> Self {
        Self {
            packs: Some(PackSettings::off()),
            ..self
        }
    }

    /// The time at which every trial begins: 2026-01-01T00:00:00Z.
    pub fn start() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600)
    }

    /// Returns the same stores with the time and the ids of the beginning.
    #[must_use]
    pub fn again(&self) -> Self {
        Self {
            clock: ManualClock::new(Self::start()),
            entropy: Arc::new(SeededEntropy::new(SEED)),
            ..self.clone()
        }
    }

    /// Returns an empty store.
    pub async fn store(&self) -> Arc<dyn Storage> {
        (self.make)(self.name).await
    }

    /// Returns whether files are those of spec version 1.
    pub fn is_v1(&self) -> bool {
        self.spec == SpecVersion::V1
    }

    /// Returns the clock of all repositories of this trial.
    pub fn clock(&self) -> &ManualClock {
        &self.clock
    }

    /// Returns a source of ids, different from all others of this trial.
    pub fn ids(&self) -> Arc<dyn Entropy> {
        self.entropy.derive()
    }

    /// Begins to open or create a repository, on the clock of the trial and with ids of its own.
    pub fn builder(&self, storage: &Arc<dyn Storage>) -> RepositoryBuilder {
        let mut settings = Settings::default();
        settings.packs = self.packs.clone().unwrap_or(settings.packs);
        Repository::builder(Arc::clone(storage))
            .spec_version(self.spec)
            .settings(settings)
            .clock(Arc::new(self.clock.clone()))
            .entropy(self.ids())
    }

    /// Creates a repository on an empty store.
    ///
    /// # Panics
    /// If that fails.
    pub async fn create(&self) -> (Arc<dyn Storage>, Repository) {
        let storage = self.store().await;
        let repository = self.builder(&storage).create().await;
        let repository = repository.expect("an empty store takes a repository");
        (storage, repository)
    }

    /// Opens a repository once more, as another process would: with nothing cached.
    ///
    /// # Panics
    /// If that fails.
    pub async fn open(&self, storage: &Arc<dyn Storage>) -> Repository {
        let repository = self.builder(storage).open().await;
        repository.expect("there is a repository")
    }

    /// Lets a second pass.
    pub fn tick(&self) {
        self.clock.advance(Duration::from_secs(1));
    }
}

impl fmt::Debug for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trial")
            .field("name", &self.name)
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}
