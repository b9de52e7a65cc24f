//! Where exports go, by location.

use icefield_ingest::{Destination, ExportError, StorageTree, ZipLayout};
use icefield_storage::Prefix;

use crate::location::without_options;
use crate::{Error, ErrorKind, Location, Schemes};

impl Schemes {
    /// Returns the destination of an export at a location: a directory for a path, a prefix of a bucket for a URL of
    /// another scheme. With `is_zip`, or if its name ends in `.zip`, a path is a zip file of this layout. `repository`
    /// is the location of the exported repository, inside which no export may be written.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) for a location inside the repository; [`Unsupported`](ErrorKind::Unsupported)
    /// for a zip file that is not on the local disk; the errors of the backend.
    pub async fn destination(
        &self,
        location: &Location,
        is_zip: bool,
        layout: ZipLayout,
        repository: &Location,
    ) -> Result<Destination, Error> {
        let named_zip = || {
            let name = without_options(location.as_str()).trim_end_matches('/');
            let end = name.len().checked_sub(".zip".len());
            end.is_some_and(|end| {
                name.get(end..)
                    .is_some_and(|it| it.eq_ignore_ascii_case(".zip"))
            })
        };
        let zip = (is_zip || named_zip()).then_some(layout);
        let shown = without_options(location.as_str());
        if let Some(path) = location.path() {
            let path = path.to_owned();
            return Ok(match zip {
                Some(layout) => Destination::Zip { path, layout },
                None => Destination::Directory(path),
            });
        }
        if zip.is_some() {
            let problem = format!(
                "{shown} cannot be written as a zip file: make one on the local disk, and copy it there"
            );
            return Err(Error::new(ErrorKind::Unsupported, problem));
        }
        let place = without_options(repository.as_str());
        if repository.path().is_none() && is_within(shown, place) {
            return Err(ExportError::InsideRepository {
                path: shown.into(),
                repository: place.into(),
            }
            .into());
        }
        let storage = self.storage(location).await?;
        Ok(Destination::Tree(StorageTree::new(storage, Prefix::all())))
    }
}

/// Whether a URL names another one or something below it.
fn is_within(url: &str, above: &str) -> bool {
    let segments = |url: &str| {
        let (scheme, rest) = url.split_once(':').unwrap_or(("", url));
        let rest = rest.split('/').filter(|name| !name.is_empty());
        let scheme = scheme.to_ascii_lowercase();
        std::iter::once(scheme)
            .chain(rest.map(str::to_owned))
            .collect::<Vec<_>>()
    };
    segments(url).starts_with(&segments(above))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_lie_within_one_another_by_segments() {
        for (url, above, expected) in [
            ("s3://b/r/x", "s3://b/r", true),
            ("S3://b//r/", "s3://b/r", true),
            ("s3://b/rx", "s3://b/r", false),
            ("gs://b/r/x", "s3://b/r", false),
            ("s3://b", "s3://b/r", false),
        ] {
            assert_eq!(is_within(url, above), expected, "{url} {above}");
        }
    }

    #[tokio::test]
    async fn the_name_and_the_scheme_say_what_a_destination_is() {
        let schemes = Schemes::standard();
        let here = Location::of_path("r");
        let at = |text: &str| Location::parse(text).expect(text);
        let of = async |text: &str, is_zip| {
            let layout = ZipLayout::Flat;
            schemes.destination(&at(text), is_zip, layout, &here).await
        };
        assert!(matches!(
            of("a.zarr", false).await,
            Ok(Destination::Directory(_))
        ));
        for (text, zip) in [("a.ZIP", false), ("a", true), ("file:///x/a.zip", false)] {
            assert!(
                matches!(of(text, zip).await, Ok(Destination::Zip { .. })),
                "{text}"
            );
        }
        assert!(matches!(
            of("memory:", false).await,
            Ok(Destination::Tree(_))
        ));
        let refused = of("memory:", true).await.expect_err("no file");
        assert_eq!(refused.kind(), ErrorKind::Unsupported);
        let inside = schemes
            .destination(
                &at("s3://b/r/x"),
                false,
                ZipLayout::Flat,
                &at("s3://b/r?region=x"),
            )
            .await;
        assert_eq!(inside.expect_err("inside").kind(), ErrorKind::Invalid);
    }
}
