//! The kind of an archive file, by its first bytes.

use crate::archive::{Archive, ArchiveFile, ArchiveOptions, OpenUrl};
use crate::kerchunk::read_kerchunk_with;
use crate::{SourceError, read_netcdf3, read_zip};

/// The kind of an archive file, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ArchiveKind {
    /// HDF5, and with it NetCDF-4.
    Hdf5,
    /// NetCDF-3: classic, with 64-bit offsets, with 64-bit data.
    NetCdf3,
    /// References of kerchunk, in JSON.
    Kerchunk,
    /// A zip file, with a Zarr hierarchy in it.
    Zip,
    /// XML, which DMR++ is.
    Dmrpp,
    /// TIFF, and with it GeoTIFF.
    Tiff,
    /// GRIB, of any edition.
    Grib,
}

/// Where an HDF5 file may begin: at zero, or behind a block of the user's, of 512 bytes or twice as many, and so on.
const SIGNATURE: &[u8; 8] = b"\x89HDF\r\n\x1a\n";

/// How a message of GRIB begins.
const GRIB: &[u8] = b"GRIB";

impl ArchiveKind {
    /// Reads the beginning of a file and returns its kind; `None` if it is of no known kind.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn of(file: &ArchiveFile) -> Result<Option<Self>, SourceError> {
        let first = file.read(0..file.size().min(8)).await?;
        if first.starts_with(b"CDF") && matches!(first.get(3), Some(1 | 2 | 5)) {
            return Ok(Some(Self::NetCdf3));
        }
        if first[..] == *SIGNATURE {
            return Ok(Some(Self::Hdf5));
        }
        if first.starts_with(b"PK\x03\x04") || first.starts_with(b"PK\x05\x06") {
            return Ok(Some(Self::Zip));
        }
        if matches!(
            &first[..],
            [b'I', b'I', 42 | 43, 0, ..] | [b'M', b'M', 0, 42 | 43, ..]
        ) {
            return Ok(Some(Self::Tiff));
        }
        if first.starts_with(GRIB) {
            return Ok(Some(Self::Grib));
        }
        let text = first.iter().find(|byte| !byte.is_ascii_whitespace());
        if text == Some(&b'{') {
            return Ok(Some(Self::Kerchunk));
        }
        if text == Some(&b'<') || first.starts_with(b"\xef\xbb\xbf<") {
            return Ok(Some(Self::Dmrpp));
        }
        // The headers of bulletins may come before the first message.
        let beginning = file.read(0..file.size().min(512)).await?;
        if beginning.windows(GRIB.len()).any(|it| it == GRIB) {
            return Ok(Some(Self::Grib));
        }
        let mut at = 512_u64;
        while at.saturating_add(8) <= file.size() && at <= 1 << 20 {
            if file.read(at..at + 8).await?[..] == *SIGNATURE {
                return Ok(Some(Self::Hdf5));
            }
            at *= 2;
        }
        Ok(None)
    }
}

/// Reads an archive file of any known kind. `files` opens the files that a file of references refers to.
///
/// # Errors
/// [`SourceError::Damaged`] for a file of no known kind, and the errors of its reader.
pub async fn read_archive(file: ArchiveFile, files: &dyn OpenUrl) -> Result<Archive, SourceError> {
    read_archive_with(file, files, ArchiveOptions::default()).await
}

/// As [`read_archive`], with options.
///
/// # Errors
/// As [`read_archive`].
pub async fn read_archive_with(
    file: ArchiveFile,
    files: &dyn OpenUrl,
    options: ArchiveOptions,
) -> Result<Archive, SourceError> {
    match ArchiveKind::of(&file).await? {
        Some(ArchiveKind::NetCdf3) => read_netcdf3(file).await,
        Some(ArchiveKind::Kerchunk) => read_kerchunk_with(file, files, options).await,
        Some(ArchiveKind::Zip) => read_zip(file, !options.is_copied, options).await,
        #[cfg(feature = "hdf5")]
        Some(ArchiveKind::Hdf5) => {
            let read = crate::Hdf5Options::default();
            crate::read_hdf5(
                file,
                read.with_unsupported_listed(options.lists_unsupported)
                    .with_compounds_split(options.split_compound),
            )
            .await
        }
        #[cfg(not(feature = "hdf5"))]
        Some(ArchiveKind::Hdf5) => Err(built_without(&file, "HDF5", "hdf5")),
        #[cfg(feature = "dmrpp")]
        Some(ArchiveKind::Dmrpp) => crate::read_dmrpp(file, files, options).await,
        #[cfg(not(feature = "dmrpp"))]
        Some(ArchiveKind::Dmrpp) => Err(built_without(&file, "XML", "dmrpp")),
        #[cfg(feature = "geotiff")]
        Some(ArchiveKind::Tiff) => crate::read_geotiff(file, options).await,
        #[cfg(not(feature = "geotiff"))]
        Some(ArchiveKind::Tiff) => Err(built_without(&file, "TIFF", "geotiff")),
        #[cfg(feature = "grib")]
        Some(ArchiveKind::Grib) => crate::read_grib(file, options).await,
        #[cfg(not(feature = "grib"))]
        Some(ArchiveKind::Grib) => Err(built_without(&file, "GRIB", "grib")),
        None => {
            let problem = "it begins like none of HDF5, NetCDF-4, NetCDF-3, GRIB, zip, kerchunk's JSON, DMR++ and TIFF";
            Err(SourceError::damaged(file.url(), problem))
        }
    }
}

/// The error of a file that another build of this program reads.
#[cfg(not(all(
    feature = "dmrpp",
    feature = "geotiff",
    feature = "grib",
    feature = "hdf5"
)))]
fn built_without(file: &ArchiveFile, kind: &str, feature: &str) -> SourceError {
    let problem =
        format!("it is {kind}, and this program was built without the feature `{feature}`");
    SourceError::damaged(file.url(), problem)
}
