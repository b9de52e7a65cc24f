//! Readers and writers that move Zarr hierarchies in and out of icefield repositories.
//!
//! An [`Import`] reads a [`Source`] and stages what it holds in a writable session; one commit at the end
//! makes it visible. [`ZarrDirectory`] is the source for Zarr v3 hierarchies in plain directories; sources
//! of other formats implement the same trait. An [`Export`] writes any session out to a
//! [`Destination`]: such a directory, a zip file, or a prefix of a bucket; in Zarr v3, or in another [`Dialect`].
//!
//! Both copy chunks in parallel, within [`Limits`] on their number and on their bytes, so that memory does
//! not grow with the size of the data. Bytes go in and come out as they are, but where chunks must be put together of the
//! elements of others: at seams between sources, and where another [`ChunkLayout`] is asked for. [`Rechunk`] gives one to an
//! array that is in a repository.
//!
//! Archive files, made by others, become an [`Archive`]: arrays in the terms of Zarr, and where their chunks lie in the
//! files. `read_hdf5` fills one from HDF5 and NetCDF-4 files (feature `hdf5`, on by default), `read_grib` from GRIB files of
//! edition 2 (feature `grib`).
//!
//! Decisions are pure and apart from the input and output: `plan` says what becomes of every node,
//! `document` edits `zarr.json` documents without touching the bytes around the edit. Chunk keys are spelt and
//! read by `icefield-zarr-store`.
//!
//! ```
//! # use std::sync::Arc;
//! use icefield_core::{BranchName, CommitOutcome, Repository};
//! use icefield_ingest::{Export, Import, ZarrDirectory};
//!
//! # async fn example(storage: Arc<dyn icefield_storage::Storage>) -> Result<(), Box<dyn std::error::Error>> {
//! let repository = Repository::open_or_create(storage).await?;
//! let source = ZarrDirectory::open("january.zarr")?;
//! let imported = Import::new(Arc::new(source)).run(&repository, BranchName::main(), "January").await?;
//! if let CommitOutcome::Committed(id) = imported.commit {
//!     println!("{} chunks as {id}", imported.report.chunks);
//! }
//! let session = repository.read_session(BranchName::main()).await?;
//! Export::new(session).run("again.zarr").await?;
//! # Ok(())
//! # }
//! ```

mod archive;
mod assemble;
mod cf;
mod chunk_layout;
mod codec;
mod consolidated;
mod decode;
mod detect;
#[cfg(unix)]
mod directory;
#[cfg(feature = "dmrpp")]
mod dmrpp;
mod document;
mod error;
mod export;
mod format2;
mod formats;
#[cfg(feature = "geotiff")]
mod geotiff;
#[cfg(feature = "grib")]
mod grib;
mod grid_part;
#[cfg(feature = "hdf5")]
mod hdf5;
mod ignored;
mod import;
mod kerchunk;
mod limits;
mod lossy;
mod materialize;
mod names;
#[cfg(feature = "codecs")]
mod netcdf;
mod netcdf3;
mod numbers;
mod operation;
mod packing;
mod plan;
mod progress;
mod rechunk;
mod regions;
#[cfg(feature = "codecs")]
mod slice;
mod source;
#[cfg(feature = "codecs")]
mod statistics;
mod zarr2;
mod zarr_tree;

pub use archive::{
    Archive, ArchiveArray, ArchiveChunks, ArchiveFile, ArchiveNode, ArchiveOptions, ArchiveSource,
    ChunkExtents, Expected, OpenUrl, Overviews, Recode, RecodeError,
};
pub use cf::TimeError;
pub use chunk_layout::{ChunkLayout, ChunkLength, Compression, LayoutError, Shards};
pub use detect::{ArchiveKind, read_archive, read_archive_with};
#[cfg(unix)]
pub use directory::ZarrDirectory;
#[cfg(feature = "dmrpp")]
pub use dmrpp::read_dmrpp;
pub use document::Difference;
pub use error::{ExportError, ImportError, PlanError, SourceError};
#[cfg(unix)]
pub use export::BegunExport;
pub use export::{
    Destination, Dialect, Export, ExportNode, ExportReport, NcZarr, OffsetZarrV2, Spelling, ZarrV2,
    ZarrV3, export_key,
};
pub use format2::ShardIndex;
#[cfg(feature = "geotiff")]
pub use geotiff::read_geotiff;
#[cfg(feature = "grib")]
pub use grib::{GribProblem, read_grib};
#[cfg(feature = "hdf5")]
pub use hdf5::{Hdf5Options, read_hdf5};
pub use icefield_nczarr as nczarr;
pub use icefield_zarr_fs::{StorageTree, TreeError, TreeKey, TreePrefix, ZipLayout};
#[cfg(feature = "codecs")]
pub use icefield_zarr_store::{ChunkCodec, Elements};
pub use ignored::Ignored;
pub use import::{
    AbandonedImport, Attributes, Combine, CombineError, DifferingAttribute, Encoding, Gap, Import,
    ImportPlan, ImportReport, Imported, Lacking, Missing, Order, Overlap, PlannedArray,
    PlannedSource, Rounded, Selection, Share, Shares, Survey, ValueFrom, abandon_imports,
};
pub use kerchunk::{is_kerchunk_parquet, read_kerchunk, read_kerchunk_parquet};
pub use limits::Limits;
pub use materialize::{Materialize, MaterializeReport};
#[cfg(feature = "codecs")]
pub use netcdf::{NetcdfError, VariableReader, archive_of_cdl, dataset_of};
pub use netcdf3::read_netcdf3;
pub use numbers::Number;
pub use packing::PackingError;
pub use progress::Progress;
pub use rechunk::{ArrayLayout, Rechunk, RechunkPlan, RechunkReport};
#[cfg(feature = "codecs")]
pub use slice::{
    ArraySlice, FixedDimension, Position, PositionError, SliceAxis, SliceBounds, SliceCoordinate,
    SliceError, slice,
};
pub use source::{ChunkEntry, Hierarchy, References, Source, SourceNode, Unsupported};
#[cfg(feature = "codecs")]
pub use statistics::{ArrayStatistics, Histogram, StatisticsError, Summary, statistics};
pub use zarr_tree::{read_zarr, read_zip};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
