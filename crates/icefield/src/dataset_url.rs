//! Sources by the URLs of netCDF-C, such as `file:///data/sea.zarr#mode=nczarr,file`.

use std::path::Path;

use icefield_ingest::nczarr::ReadOptions;
use icefield_ingest::nczarr::url::{DatasetLocation, DatasetUrl, Format, Provider, S3Place, Store};

use crate::{Location, LocationError};

/// The location of something to import, and the options with which it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// The path or URL, without the fragment.
    pub location: Location,
    /// The options with which a hierarchy of Zarr format 2 is read. The fragment of the URL (`#mode=nczarr`) sets them.
    pub options: ReadOptions,
}

impl From<Location> for SourceLocation {
    fn from(location: Location) -> Self {
        Self {
            location,
            options: ReadOptions::default(),
        }
    }
}

impl SourceLocation {
    /// Reads a location, or a URL with a fragment that netCDF-C would take for a dataset.
    ///
    /// ```
    /// let source = icefield::SourceLocation::parse("file:///data/sea.zarr#mode=nczarr,file").unwrap();
    /// assert_eq!(source.location.path().unwrap().to_str(), Some("/data/sea.zarr"));
    /// ```
    ///
    /// # Errors
    /// The rule that the text breaks, as [`LocationError`].
    pub fn parse(text: &str) -> Result<Self, LocationError> {
        let is_dataset = text.contains("://") && text.contains('#');
        if !is_dataset {
            return Location::parse(text).map(Self::from);
        }
        let rule = |problem: String| LocationError::Rule {
            url: text.split(['?', '#']).next().unwrap_or(text).to_owned(),
            problem,
        };
        let url = DatasetUrl::parse(text).map_err(|error| rule(error.to_string()))?;
        if url.format.is_none() {
            // A path with a number sign in it, or words that say nothing.
            return Location::parse(text).map(Self::from);
        }
        let location = match &url.place {
            DatasetLocation::File(path) => Location::of_path(Path::new(path)),
            DatasetLocation::S3(place) => bucket(place, url.query.as_deref())?,
            DatasetLocation::Http(url) => Location::parse(url)?,
        };
        let is_zarr = url.format == Some(Format::Zarr);
        if url.store == Store::Http && url.format != Some(Format::Bytes) {
            let problem =
                "a web server cannot list what a hierarchy has: use #mode=bytes for one file";
            return Err(rule(problem.to_owned()));
        }
        Ok(Self {
            location,
            options: ReadOptions {
                is_pure: is_zarr,
                is_without_xarray: is_zarr && !url.xarray,
                has_legacy_endian: false,
            },
        })
    }
}

/// The bucket in our own words.
fn bucket(place: &S3Place, query: Option<&str>) -> Result<Location, LocationError> {
    let scheme = match place.provider {
        Provider::Aws => "s3",
        Provider::Google => "gs",
    };
    let mut options: Vec<String> = query.into_iter().map(str::to_owned).collect();
    if let Some(region) = &place.region {
        options.push(format!("region={region}"));
    }
    if let Some(endpoint) = &place.endpoint {
        options.push(format!("endpoint={endpoint}"));
    }
    let options = match options.is_empty() {
        true => String::new(),
        false => format!("?{}", options.join("&")),
    };
    let (bucket, key) = (&place.bucket, icefield_format::encoded_key(&place.key));
    Location::parse(&format!("{scheme}://{bucket}/{key}{options}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> SourceLocation {
        SourceLocation::parse(text).expect("a source")
    }

    #[test]
    fn datasets_are_where_they_are_without_their_fragment() {
        let plain = parsed("/data/sea.zarr");
        assert_eq!(parsed("file:///data/sea.zarr#mode=nczarr,file"), plain);
        let pure = parsed("file:///data/sea.zarr#mode=zarr");
        assert!(pure.options.is_pure && !pure.options.is_without_xarray);
        assert!(
            parsed("file:///data/sea.zarr#mode=noxarray")
                .options
                .is_without_xarray
        );
        // Percent signs are no escapes there.
        assert_eq!(
            parsed("file:///a%20b#mode=nczarr").location,
            Location::of_path(Path::new("/a%20b"))
        );
    }

    #[test]
    fn both_forms_of_a_bucket_are_one_place() {
        let path = parsed("https://s3.eu-west-1.amazonaws.com/bucket/sea#mode=nczarr,s3");
        let host = parsed("https://bucket.s3.eu-west-1.amazonaws.com/sea#mode=nczarr,s3");
        assert_eq!(path, host);
        assert_eq!(path.location.as_str(), "s3://bucket/sea?region=eu-west-1");
    }

    #[test]
    fn what_is_no_dataset_is_a_location() {
        assert_eq!(parsed("data#1").location.path(), Some(Path::new("data#1")));
        assert!(SourceLocation::parse("https://example.org/sea#mode=nczarr").is_err());
    }
}
