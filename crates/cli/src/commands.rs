//! One module per command. Each reads through the facade, gathers its facts in a serializable value, and prints them.

mod alpha;
mod amend;
mod branch;
mod bundle;
mod carry;
mod cat;
mod chunk_counts;
mod config;
mod copy;
mod diff;
mod doctor;
mod downgrade;
mod du;
mod expire;
mod export;
mod found;
mod fsck;
mod gc;
mod import;
mod info;
mod init;
mod inspect;
mod log;
mod ls;
mod materialize;
mod mv;
mod ncdump;
mod ncgen;
mod nodes;
mod ops_log;
#[cfg(feature = "plot")]
mod plot;
mod rechunk;
mod refs;
mod repack;
mod rewrite_manifests;
#[cfg(feature = "serve")]
mod serve;
mod set_status;
mod slots;
mod squash;
mod stats;
mod status;
mod tag;
mod tree;
mod unbundle;
mod upgrade;
mod version;
mod windows;

use std::sync::Arc;

use icefield::alpha::AlphaVersion;
use icefield::storage::Storage;
use icefield::storage::wrap::TracingStorage;
use icefield::{
    ConnectLocal, Error, Fsync, Location, LocationError, Repository, RepositoryBuilder,
    RevisionSpec, Schemes, Session, Settings, SnapshotId, VirtualAccess, grant,
};

use self::found::FoundRepository;
use self::version::RevisionReader;
use crate::args::{self, Args, Command};
use crate::failure::{Exit, Failure, missing_snapshot};
use crate::pages;

/// The access of a command to locations: URL schemes and grants.
pub(crate) struct Context {
    schemes: Schemes,
    /// The foreign files that repositories may refer to.
    access: VirtualAccess,
    /// Where what is read over a network is kept; without it, the environment may say so.
    #[cfg(feature = "cache")]
    cache: Option<icefield::CacheSpec>,
}

/// Runs a command.
///
/// # Errors
/// The failure of the command, with its exit code.
pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    #[cfg_attr(
        not(feature = "cache"),
        expect(unused_mut, reason = "the cache is one more option")
    )]
    let mut context = Context::new(args.fsync, &args.grant)?;
    #[cfg(feature = "cache")]
    {
        context.cache = args.cache;
    }
    match args.command {
        Command::Init(args) => init::run(&context, args).await,
        Command::OpsLog(args) => ops_log::run(&context, args).await,
        Command::Upgrade(args) => upgrade::run(&context, args).await,
        Command::Downgrade(args) => downgrade::run(&context, args).await,
        Command::SetStatus(args) => set_status::run(&context, args).await,
        Command::Import(args) => import::run(&context, *args).await,
        Command::Append(args) => windows::grow(&context, windows::GrowthEnd::End, args).await,
        Command::Prepend(args) => windows::grow(&context, windows::GrowthEnd::Start, args).await,
        Command::Trim(args) => windows::trim(&context, args).await,
        Command::Roll(args) => windows::roll(&context, args).await,
        Command::Stats(args) => stats::run(&context, args).await,
        #[cfg(feature = "plot")]
        Command::Plot(args) => plot::run(&context, args).await,
        Command::Slots(args) => slots::run(&context, args).await,
        Command::Materialize(args) => materialize::run(&context, args).await,
        Command::Rechunk(args) => rechunk::run(&context, args).await,
        Command::Export(args) => export::run(&context, args).await,
        Command::Ncdump(args) => ncdump::run(&context, args).await,
        Command::Ncgen(args) => ncgen::run(&context, args).await,
        Command::Ls(args) => ls::run(&context, args).await,
        Command::Tree(args) => tree::run(&context, args).await,
        Command::Cat(args) => cat::run(&context, args).await,
        Command::Log(args) => log::run(&context, args).await,
        Command::Info(args) => info::run(&context, args).await,
        Command::Config(args) => config::run(&context, args).await,
        Command::Expire(args) => expire::run(&context, args).await,
        Command::Gc(args) => gc::run(&context, args).await,
        Command::Branch(args) => branch::run(&context, args).await,
        Command::Tag(args) => tag::run(&context, args).await,
        Command::Diff(args) => diff::run(&context, args).await,
        Command::Merge(args) => carry::run(&context, carry::CarryKind::Merge, args).await,
        Command::CherryPick(args) => carry::run(&context, carry::CarryKind::CherryPick, args).await,
        Command::Revert(args) => carry::run(&context, carry::CarryKind::Revert, args).await,
        Command::Squash(args) => squash::run(&context, args).await,
        Command::Amend(args) => amend::run(&context, args).await,
        Command::Mv(args) => mv::run(&context, args).await,
        Command::RewriteManifests(args) => rewrite_manifests::run(&context, args).await,
        Command::Repack(args) => repack::run(&context, args).await,
        Command::Status(args) => status::run(&context, args).await,
        Command::Du(args) => du::run(&context, args).await,
        Command::Copy(args) => copy::run(&context, args).await,
        Command::Bundle(args) => bundle::run(&context, args).await,
        Command::Unbundle(args) => unbundle::run(&context, args).await,
        Command::Fsck(args) => fsck::run(&context, args).await,
        #[cfg(feature = "serve")]
        Command::Serve(serving) => serve::run(&context, &args.grant, serving).await,
        Command::Doctor(args) => doctor::run(&context, args).await,
        Command::Inspect(args) => inspect::run(&context, args).await,
        Command::Completions(args) => pages::completions(&args),
        Command::Man(args) => pages::man(&args),
    }
}

impl Context {
    fn new(fsync: args::Fsync, grants: &[String]) -> Result<Self, Error> {
        let fsync = match fsync {
            args::Fsync::None => Fsync::None,
            args::Fsync::Commit => Fsync::Commit,
            args::Fsync::Each => Fsync::Each,
        };
        let local = ConnectLocal {
            fsync,
            ..ConnectLocal::default()
        };
        let none = VirtualAccess::none();
        let access = grants.iter().try_fold(none, |all, one| grant(all, one))?;
        Ok(Self {
            schemes: Schemes::standard().with("file", Arc::new(local)),
            access,
            #[cfg(feature = "cache")]
            cache: None,
        })
    }

    /// Opens a store that traces its requests for `-v`.
    async fn storage(&self, location: &Location) -> Result<Arc<dyn Storage>, Error> {
        let storage = self.schemes.storage(location).await?;
        Ok(Arc::new(TracingStorage::new(storage)))
    }

    /// Opens a repository with access to more foreign files than `--grant` gives.
    async fn open_with(
        &self,
        location: &Location,
        access: VirtualAccess,
    ) -> Result<Repository, Failure> {
        let storage = self.cached_storage(location).await?;
        let builder = self.builder(Arc::clone(&storage)).virtual_access(access);
        let opened = builder.open().await;
        FoundRepository::of(opened, storage)
            .await?
            .of_today(location)
    }

    /// Opens a repository of spec version 1 or 2.
    async fn open(&self, location: &Location) -> Result<Repository, Failure> {
        self.open_any(location).await?.of_today(location)
    }

    /// Opens a repository of spec version 1 or 2 with a cache of so many bytes in memory, and none on the disk: for work on
    /// what is stored.
    async fn open_with_cache(
        &self,
        location: &Location,
        bytes: u64,
    ) -> Result<Repository, Failure> {
        let storage = self.storage_of_repository(location).await?;
        let settings = Settings::default().with_cache_bytes(bytes);
        let builder = self.builder(Arc::clone(&storage)).settings(settings);
        let opened = builder.open().await;
        FoundRepository::of(opened, storage)
            .await?
            .of_today(location)
    }

    /// Opens a repository, which may be of the alpha generation.
    async fn open_any(&self, location: &Location) -> Result<FoundRepository<Repository>, Failure> {
        let storage = self.cached_storage(location).await?;
        let opened = self.builder(Arc::clone(&storage)).open().await;
        Ok(FoundRepository::of(opened, storage).await?)
    }

    fn builder(&self, storage: Arc<dyn Storage>) -> RepositoryBuilder {
        Repository::builder(storage).virtual_access(self.access.clone())
    }

    /// Opens the store of a repository that should exist.
    async fn storage_of_repository(
        &self,
        location: &Location,
    ) -> Result<Arc<dyn Storage>, Failure> {
        self.storage(location).await.map_err(|error| {
            let is_file = matches!(
                error.downcast_ref(),
                Some(LocationError::NotADirectory { .. })
            );
            let mut failure = Failure::from(error);
            if is_file {
                // A file is treated like a location without a repository.
                failure.exit = Exit::NotFound;
            }
            failure
        })
    }

    /// As [`Context::storage_of_repository`], with the cache in front of it, if there is to be one.
    async fn cached_storage(&self, location: &Location) -> Result<Arc<dyn Storage>, Failure> {
        let storage = self.storage_of_repository(location).await?;
        #[cfg(feature = "cache")]
        let storage = match &self.cache {
            Some(cache) => cache.over(storage),
            None => icefield::CacheSpec::of_environment_over(storage),
        }
        .map_err(Error::from)?;
        Ok(storage)
    }

    /// Opens a repository and resolves a revision of it.
    async fn open_at(
        &self,
        location: &Location,
        revision: &RevisionSpec,
    ) -> Result<(Repository, SnapshotId), Failure> {
        let repository = self.open(location).await?;
        let id = self.find(&repository, revision).await?;
        Ok((repository, id))
    }

    /// Resolves a revision.
    async fn find(
        &self,
        repository: &Repository,
        revision: &RevisionSpec,
    ) -> Result<SnapshotId, Failure> {
        (revision.resolve(repository).await).map_err(|error| dangling(revision, error))
    }

    /// Opens a repository and a read-only session at a revision.
    async fn session(
        &self,
        location: &Location,
        revision: &RevisionSpec,
    ) -> Result<(Session, SnapshotId), Failure> {
        let (_, session, id) = self.open_session(location, revision).await?;
        Ok((session, id))
    }

    async fn open_session(
        &self,
        location: &Location,
        revision: &RevisionSpec,
    ) -> Result<(Repository, Session, SnapshotId), Failure> {
        let found = self.open_session_of_any(location, revision).await?;
        found.of_today(location)
    }

    async fn open_session_of_any(
        &self,
        location: &Location,
        revision: &RevisionSpec,
    ) -> Result<FoundRepository<(Repository, Session, SnapshotId)>, Failure> {
        let storage = self.cached_storage(location).await?;
        let builder = self.builder(Arc::clone(&storage));
        let opened = revision.open_session_with(builder).await;
        let found = FoundRepository::of(opened, storage).await;
        match found.map_err(|error| dangling(revision, error))? {
            FoundRepository::Today((repository, session)) => {
                let id = session.snapshot_id()?;
                Ok(FoundRepository::Today((repository, session, id)))
            }
            FoundRepository::Alpha(repository) => Ok(FoundRepository::Alpha(repository)),
        }
    }

    /// Opens a revision of a repository, which may be of the alpha generation, for reading.
    async fn version(
        &self,
        location: &Location,
        revision: &RevisionSpec,
    ) -> Result<RevisionReader, Failure> {
        match self.open_session_of_any(location, revision).await? {
            FoundRepository::Today((repository, session, id)) => Ok(RevisionReader::Today {
                repository,
                session,
                id,
            }),
            FoundRepository::Alpha(repository) => {
                let snapshot = revision.resolve_alpha(&repository).await?;
                let version = AlphaVersion::new(repository, snapshot);
                Ok(RevisionReader::Alpha(Box::new(version)))
            }
        }
    }
}

/// Returns the failure of a revision that does not resolve. A missing snapshot is not found if the user gave its id, and damage
/// if a ref or a snapshot refers to it.
fn dangling(revision: &RevisionSpec, error: impl Into<Error>) -> Failure {
    let error = error.into();
    match missing_snapshot(&error) {
        Some(id) if !revision.is_of_snapshot(id) => Failure::new(
            Exit::Damage,
            format!("{revision} leads to snapshot {id}, which is missing"),
        )
        .hint("`icefield branch reset` moves a branch to a snapshot that exists"),
        _ => error.into(),
    }
}
