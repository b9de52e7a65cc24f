//! Six tasks, from beginning to end. `docs/cookbook.md` in the repository has the same for shells and Python.
//!
//! 1. [A forecast archive, updated every night](#a-forecast-archive-updated-every-night)
//! 2. [A rolling window](#a-rolling-window)
//! 3. [A virtual archive of NetCDF files](#a-virtual-archive-of-netcdf-files)
//! 4. [Many writers, one commit](#many-writers-one-commit)
//! 5. [Retention](#retention)
//! 6. [From a disk to a bucket, and back](#from-a-disk-to-a-bucket-and-back)
//!
//! # A forecast archive, updated every night
//! Edits are staged in a session, which no other session sees. The session shows them, and one commit publishes them. The
//! history says what is in the archive already: the job may run twice.
//!
//! ```
//! use futures::TryStreamExt;
//! use icefield::ingest::Import;
//! use icefield::rolling::unwritten;
//! use icefield::{
//!     BranchName, Error, ErrorKind, NodePath, Purpose, Repository, Schemes, SourceLocation, VirtualAccess,
//! };
//!
//! /// Takes the file of one night in. Returns whether it was new.
//! async fn nightly(archive: &Repository, file: &str, night: &str) -> Result<bool, Error> {
//!     let session = archive.write_session(BranchName::main()).await?;
//!     let mut history = archive.ancestry(session.snapshot_id()?);
//!     while let Some(snapshot) = history.try_next().await? {
//!         if snapshot.message == night {
//!             return Ok(false);
//!         }
//!     }
//!
//!     let schemes = Schemes::standard();
//!     let source = SourceLocation::parse(file)?;
//!     let opened = schemes.sources().open(&source, VirtualAccess::none(), Purpose::Copy).await?;
//!     let mut import = Import::new(opened.source);
//!     // The first night makes the arrays; those that follow are appended to them.
//!     if !session.nodes(&NodePath::root())?.is_empty() {
//!         import = import.append("time_counter");
//!     }
//!     import.stage(&session).await?;
//!
//!     // No night is published with a chunk missing.
//!     let slots = unwritten(&session, &NodePath::root(), "time_counter", None).await?;
//!     if !slots.is_complete() {
//!         let problem = format!("{night} is not published: {} chunks are missing", slots.missing());
//!         return Err(Error::new(ErrorKind::Invalid, problem));
//!     }
//!     // An error of the kind `Conflict` if another commit came first: begin again.
//!     icefield::committed(session.commit(night).await?)?;
//!     Ok(true)
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let archive = icefield::create("memory:").await?;
//! # let incoming = "../../fixtures/ocean";
//! for month in ["20150101-20150201", "20150201-20150301", "20150101-20150201"] {
//!     let file = format!("{incoming}/nemo_1m_{month}_grid-T.nc");
//!     println!("{month} was new: {}", nightly(&archive, &file, month).await?);
//! }
//! # let tip = archive.resolve(&BranchName::main().into()).await?;
//! # let nights: Vec<_> = archive.ancestry(tip).try_collect().await?;
//! # assert_eq!(nights.len(), 3, "two nights, and the beginning");
//! # Ok(())
//! # }
//! ```
//!
//! # A rolling window
//! One commit adds the new elements and drops the old ones, the data included: readers see the window before it or the one after. Chunks
//! that stay move by reference. A key makes sure that a day comes in once.
//!
//! ```
//! use icefield::rolling::{Change, Keep, Rolled, Rolling};
//! use icefield::{BranchName, Error, NodePath, Repository, WriteMode, ZarrStore};
//!
//! /// Lets a day come in. Three stay, and what is older goes.
//! async fn next_day(repository: &Repository, day: &str, values: [u8; 4]) -> Result<Rolled, Error> {
//!     let sst = NodePath::parse("/sst")?;
//!     let change = Change::append(1).and_keep(Keep::Count(3));
//!     let rolling = Rolling::new(repository, BranchName::main(), "time").key(day).complete();
//!     let rolled = rolling.run(&change, async |session, staged| {
//!         // The chunk of the day that came in; chunks have one element along time.
//!         let index = staged.window.chunk_of(staged.new.start, 1).ok_or("it is not shown")?;
//!         session.set_chunk(&sst, &[index, 0], values.to_vec().into(), WriteMode::Overwrite).await?;
//!         Ok(())
//!     });
//!     Ok(rolled.await?)
//! }
//!
//! # fn array(shape: &str, chunk: &str, kind: &str, names: &str, attributes: &str) -> String {
//! #     format!(
//! #         r#"{{"zarr_format": 3, "node_type": "array", "shape": {shape}, "data_type": "{kind}",
//! #         "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": {chunk}}}}},
//! #         "chunk_key_encoding": {{"name": "default", "configuration": {{"separator": "/"}}}},
//! #         "fill_value": 0, "codecs": [{{"name": "bytes", "configuration": {{"endian": "little"}}}}],
//! #         "dimension_names": {names}, "attributes": {attributes}}}"#
//! #     )
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let repository = icefield::create("memory:").await?;
//! # let session = repository.write_session(BranchName::main()).await?;
//! # let store = ZarrStore::new(session.clone());
//! # store.set("zarr.json", r#"{"zarr_format": 3, "node_type": "group"}"#.into()).await?;
//! # let sst = array("[2, 4]", "[1, 4]", "uint8", r#"["time", "x"]"#, "{}");
//! # store.set("sst/zarr.json", sst.into()).await?;
//! # store.set("sst/c/0/0", vec![1; 4].into()).await?;
//! # store.set("sst/c/1/0", vec![2; 4].into()).await?;
//! # let units = r#"{"units": "days since 2026-01-01"}"#;
//! # let time = array("[2]", "[2]", "float64", r#"["time"]"#, units);
//! # store.set("time/zarr.json", time.into()).await?;
//! # let labels = [0f64, 1.0].map(f64::to_le_bytes).concat();
//! # store.set("time/c/0", labels.into()).await?;
//! # icefield::committed(session.commit("the first two days").await?)?;
//! for (day, value) in [("2026-01-03", 3), ("2026-01-04", 4), ("2026-01-05", 5), ("2026-01-05", 5)] {
//!     match next_day(&repository, day, [value; 4]).await? {
//!         Rolled::Committed { window, .. } => {
//!             println!("days {} to {} are shown", window.first(), window.end());
//!         }
//!         Rolled::AlreadyThere { snapshot } => println!("{day} came in with {snapshot}"),
//!     }
//! }
//! # let reader = ZarrStore::new(repository.read_session(BranchName::main()).await?);
//! # for (index, value) in [(0, 3), (1, 4), (2, 5)] {
//! #     let chunk = reader.get(&format!("sst/c/{index}/0")).await?;
//! #     assert_eq!(chunk.as_deref(), Some(&[value; 4][..]));
//! # }
//! # assert!(reader.get("sst/c/3/0").await?.is_none());
//! # Ok(())
//! # }
//! ```
//!
//! # A virtual archive of NetCDF files
//! One dataset of many files, of whose chunks the repository knows where they lie. Readers say what they let it refer to.
//!
//! ```
//! use icefield::ingest::Import;
//! use icefield::{
//!     BranchName, ByteRange, Error, Location, NodePath, Purpose, Repository, Schemes, SourceLocation,
//!     VirtualAccess,
//! };
//!
//! /// Makes one dataset of files that lie below one folder. They stay where they are.
//! async fn catalogue(place: &str, files: &[String]) -> Result<(), Error> {
//!     let schemes = Schemes::standard();
//!     let sources = schemes.sources();
//!     let (mut opened, mut access) = (Vec::new(), VirtualAccess::none());
//!     for file in files {
//!         let file = SourceLocation::parse(file)?;
//!         let one = sources.open(&file, VirtualAccess::none(), Purpose::Refer).await?;
//!         access = access.and(one.access);
//!         opened.push(one.source);
//!     }
//!     let storage = schemes.storage(&Location::parse(place)?).await?;
//!     let repository = Repository::builder(storage).virtual_access(access).create().await?;
//!     let import = Import::new(opened.remove(0)).concat("time_counter", opened).by_reference([]);
//!     let imported = import.run(&repository, BranchName::main(), "Three months").await?;
//!     icefield::committed(imported.commit)?;
//!     println!("{} chunks are referred to", imported.report.virtual_chunks);
//!     Ok(())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! # let directory = tempfile::tempdir().expect("a directory");
//! # let place = directory.path().join("catalogue");
//! # let place = place.to_str().expect("UTF-8");
//! # let folder = std::fs::canonicalize("../../fixtures/ocean").expect("it is there");
//! # let folder = folder.to_str().expect("UTF-8");
//! # let months = ["20150101-20150201", "20150201-20150301", "20150301-20150401"];
//! # let files = months.map(|it| format!("{folder}/nemo_1m_{it}_grid-T.nc"));
//! catalogue(place, &files).await?;
//!
//! // A program that reads it grants access to the folder, and to nothing else.
//! let storage = Schemes::standard().storage(&Location::parse(place)?).await?;
//! let access = icefield::grant(VirtualAccess::none(), &format!("file://{folder}/"))?;
//! let repository = Repository::builder(storage).virtual_access(access).open().await?;
//! let session = repository.read_session(BranchName::main()).await?;
//! let march = session.chunk(&NodePath::parse("/tos")?, &[2, 0, 0], ByteRange::All).await?;
//! assert!(march.is_some());
//! # Ok(())
//! # }
//! ```
//!
//! # Many writers, one commit
//! A session is forked, forks go to other processes as bytes, what they changed comes back, and one commit publishes all of
//! it. Two forks that wrote different bytes to one chunk are a conflict.
//!
//! ```
//! use icefield::{
//!     BranchName, ByteRange, Error, MergeOutcome, NodePath, Repository, VersionSelection, WriteMode,
//!     ZarrStore,
//! };
//!
//! /// Stands for a process somewhere else: it has the bytes of a fork, and sends back what it changed.
//! async fn work(repository: &Repository, fork: &[u8], index: u32) -> Result<Vec<u8>, Error> {
//!     let fork = repository.open_fork(fork).await?;
//!     let bytes = vec![index as u8; 2].into();
//!     fork.set_chunk(&NodePath::parse("/depth")?, &[index], bytes, WriteMode::Overwrite).await?;
//!     Ok(fork.to_answer().await?.to_vec())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let repository = icefield::create("memory:").await?;
//! let session = repository.write_session(BranchName::main()).await?;
//! let store = ZarrStore::new(session.clone());
//! # let array = r#"{
//! #   "zarr_format": 3, "node_type": "array", "shape": [8], "data_type": "uint8",
//! #   "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
//! #   "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
//! #   "fill_value": 0, "codecs": [{"name": "bytes"}], "dimension_names": ["x"]
//! # }"#;
//! store.set("depth/zarr.json", array.into()).await?;
//!
//! let fork = session.fork()?.to_bytes().await?;
//! let mut answers = Vec::new();
//! for index in 0..4 {
//!     answers.push(work(&repository, &fork, index).await?);
//! }
//! match session.merge_forks(answers.iter().map(Vec::as_slice), VersionSelection::Fail).await? {
//!     MergeOutcome::Merged => icefield::committed(session.commit("from four workers").await?)?,
//!     MergeOutcome::Conflicts(conflicts) => panic!("two wrote to one chunk: {conflicts:?}"),
//! };
//! # let depth = NodePath::parse("/depth")?;
//! # let chunk = session.chunk(&depth, &[3], ByteRange::All).await?;
//! # assert_eq!(chunk.as_deref(), Some(&[3, 3][..]));
//! # Ok(())
//! # }
//! ```
//!
//! # Retention
//! Expiration takes old snapshots out of the histories, a collection deletes what nothing reaches and what is more than a day
//! old, and a check looks whether all the rest is there.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use icefield::Repository;
//! use icefield::maintenance::{Check, Collect, Expire, Policy};
//!
//! /// To be run every night, while others read and write.
//! async fn thin_out(repository: &Repository) -> Result<(), Box<dyn std::error::Error>> {
//!     const DAY: Duration = Duration::from_secs(24 * 3600);
//!     // Snapshots younger than 30 days stay, then the last of each day, and later that of each month.
//!     let mut policy = Policy::default();
//!     policy.older_than = repository.clock().now().checked_sub(30 * DAY);
//!     (policy.daily, policy.monthly) = (60, 24);
//!     let expired = Expire::new(policy).run(repository, &()).await?;
//!     println!("{} snapshots expired", expired.plan.released());
//!
//!     let collected = Collect::default().floor(DAY).run(repository).await?;
//!     println!("{} objects are gone", collected.total().deleted);
//!
//!     let checked = Check::new(Arc::clone(repository.storage())).run(&()).await?;
//!     assert!(checked.is_sound(), "{:?}", checked.findings);
//!     Ok(())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let repository = icefield::create("memory:").await?;
//! thin_out(&repository).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # From a disk to a bucket, and back
//! A copy moves whole histories, with all ids. A second one moves what is new since: most of it can go while others still
//! write, and the rest when they have stopped.
//!
//! ```
//! use icefield::maintenance::CopyRepository;
//! use icefield::{Error, Location, Schemes};
//!
//! /// Copies what `to` does not have yet.
//! async fn copy(from: &str, to: &str) -> Result<u64, Error> {
//!     let repository = icefield::open(from).await?;
//!     let destination = Schemes::standard().storage(&Location::parse(to)?).await?;
//!     let report = CopyRepository::new().run(&repository, destination, &()).await?;
//!     Ok(report.snapshots.objects)
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! # let directory = tempfile::tempdir().expect("a directory");
//! # let place = |name: &str| directory.path().join(name).display().to_string();
//! # let (disk, bucket) = (&*place("disk"), &*place("bucket"));
//! # let repository = icefield::create(disk).await?;
//! # let session = repository.write_session(icefield::BranchName::main()).await?;
//! # let store = icefield::ZarrStore::new(session.clone());
//! # store.set("zarr.json", r#"{"zarr_format": 3, "node_type": "group"}"#.into()).await?;
//! # icefield::committed(session.commit("a group").await?)?;
//! // Such as "/data/ocean" and "s3://bucket/ocean?region=eu-west-1".
//! assert_eq!(copy(disk, bucket).await?, 2, "a commit, and the beginning");
//! assert_eq!(copy(disk, bucket).await?, 0, "all of it is there");
//! # Ok(())
//! # }
//! ```
