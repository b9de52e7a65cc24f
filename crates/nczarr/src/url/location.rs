//! Where a dataset lies, whatever the form of the URL.

use std::fmt;

use super::error::UrlError;
use super::format::{Format, Store};
use super::fragment::Fragment;

/// The location of a dataset.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DatasetLocation {
    /// A path of this machine, absolute or relative to the working directory, letter by letter.
    File(String),
    /// Below a key of a bucket.
    S3(S3Place),
    /// A resource of a web server: the URL without query and keys.
    Http(String),
}

/// A key in a bucket of S3 or of a compatible service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct S3Place {
    /// The provider, which determines protocol and host names.
    pub provider: Provider,
    /// The name of the bucket.
    pub bucket: String,
    /// The key of the dataset, without slashes at its ends; empty for the whole bucket.
    pub key: String,
    /// The region, from the host or from `aws.region`.
    pub region: Option<String>,
    /// The profile whose credentials are used: `aws.profile`.
    pub profile: Option<String>,
    /// The server, if it is not the provider's own: `http://localhost:9000`. The bucket is the first segment of its
    /// paths.
    pub endpoint: Option<String>,
}

/// The provider that runs a bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Provider {
    /// Amazon, or a server that speaks like it.
    #[default]
    Aws,
    /// Google.
    Google,
}

const AMAZON: &str = ".amazonaws.com";
const GOOGLE: &str = "storage.googleapis.com";

impl Provider {
    /// The scheme and the word of `mode`.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Aws => "s3",
            Self::Google => "gs3",
        }
    }
}

/// The place and the store that were found, and the keys that are not part of it.
pub(super) struct FoundLocation {
    pub(super) place: DatasetLocation,
    pub(super) store: Store,
    pub(super) keys: Vec<(String, Option<String>)>,
}

/// Finds the place of `scheme://rest`.
pub(super) fn find(
    scheme: &str,
    rest: &str,
    fragment: &Fragment,
) -> Result<FoundLocation, UrlError> {
    let said = fragment.store();
    let keys = fragment.keys.clone();
    match scheme {
        "file" => match said {
            Some((Store::S3, word)) => Err(contradiction("a `file://` URL", word)),
            _ if rest.is_empty() => Err(UrlError::NoPath),
            _ => Ok(FoundLocation {
                place: DatasetLocation::File(rest.to_owned()),
                store: said.map_or(Store::File, |(store, _)| store),
                keys,
            }),
        },
        "s3" | "gs3" => {
            if let Some((_, word)) = said.filter(|(_, word)| *word != scheme) {
                return Err(contradiction(&format!("the scheme `{scheme}`"), word));
            }
            let provider = match scheme {
                "s3" => Provider::Aws,
                _ => Provider::Google,
            };
            let (host, _) = split(rest);
            let place = match provider_of(host) {
                // A whole host under the short scheme.
                Some(found) if found == provider => on_host("https", rest, provider)?,
                _ => short(rest, provider)?,
            };
            bucket(place, fragment)
        }
        "http" | "https" => web(scheme, rest, fragment),
        _ => Err(UrlError::Scheme {
            scheme: scheme.to_owned(),
        }),
    }
}

fn web(scheme: &str, rest: &str, fragment: &Fragment) -> Result<FoundLocation, UrlError> {
    let (host, _) = split(rest);
    if host.is_empty() {
        return Err(UrlError::NoHost {
            scheme: scheme.to_owned(),
        });
    }
    let known = provider_of(host);
    let said = match fragment.store() {
        Some((Store::S3, "gs3")) => Some(Provider::Google),
        Some((Store::S3, _)) => Some(Provider::Aws),
        Some((_, word)) => {
            return Err(contradiction(&format!("`{scheme}://`"), word));
        }
        None => None,
    };
    if let (Some(known), Some(said)) = (known, said)
        && known != said
    {
        return Err(contradiction(&format!("the host {host}"), said.word()));
    }
    let format = fragment.format();
    // A single file is read from any server, also from one that holds buckets.
    let known = known.filter(|_| format != Some(Format::Bytes));
    match (said.or(known), format) {
        (Some(provider), _) => bucket(on_host(scheme, rest, provider)?, fragment),
        (None, None | Some(Format::Bytes)) => Ok(FoundLocation {
            place: DatasetLocation::Http(format!("{scheme}://{rest}")),
            store: Store::Http,
            keys: fragment.keys.clone(),
        }),
        (None, Some(_)) => Err(UrlError::NotListed {
            host: without_credentials(host).to_owned(),
        }),
    }
}

/// `bucket/key`.
fn short(rest: &str, provider: Provider) -> Result<S3Place, UrlError> {
    let (bucket, key) = split(rest);
    if bucket.contains('@') {
        return Err(UrlError::Credentials);
    }
    Ok(S3Place {
        provider,
        bucket: bucket.to_owned(),
        key: key.trim_matches('/').to_owned(),
        ..S3Place::default()
    })
}

/// `host/bucket/key`, or `bucket.host/key` with a host of the provider.
fn on_host(scheme: &str, rest: &str, provider: Provider) -> Result<S3Place, UrlError> {
    let (host, path) = split(rest);
    if host.contains('@') {
        return Err(UrlError::Credentials);
    }
    let in_path = || short(path.trim_start_matches('/'), provider);
    let with_bucket = |bucket: &str| S3Place {
        provider,
        bucket: bucket.to_owned(),
        key: path.trim_matches('/').to_owned(),
        ..S3Place::default()
    };
    if provider_of(host) != Some(provider) {
        let mut place = in_path()?;
        place.endpoint = Some(format!("{scheme}://{host}"));
        return Ok(place);
    }
    if provider == Provider::Google {
        return match host
            .strip_suffix(GOOGLE)
            .and_then(|it| it.strip_suffix('.'))
        {
            Some(bucket) => Ok(with_bucket(bucket)),
            None => in_path(),
        };
    }
    // BUCKET.s3.REGION, of which bucket and region may be absent, and the bucket may have dots.
    let name = host.strip_suffix(AMAZON).unwrap_or(host);
    let labels: Vec<&str> = name.split('.').collect();
    let (bucket, region) = match &labels[..] {
        [bucket @ .., "s3"] => (bucket, None),
        [bucket @ .., "s3", region] => (bucket, Some((*region).to_owned())),
        _ => {
            return Err(UrlError::NotAnS3Host {
                host: host.to_owned(),
            });
        }
    };
    let mut place = match bucket {
        [] => in_path()?,
        bucket => with_bucket(&bucket.join(".")),
    };
    place.region = region;
    Ok(place)
}

/// Adds what the keys say about a bucket.
fn bucket(mut place: S3Place, fragment: &Fragment) -> Result<FoundLocation, UrlError> {
    if place.bucket.is_empty() {
        return Err(UrlError::NoBucket);
    }
    let mut keys = Vec::new();
    for (key, value) in &fragment.keys {
        let (field, name) = match key.as_str() {
            "aws.region" | "awsregion" => (&mut place.region, "region"),
            "aws.profile" | "awsprofile" => (&mut place.profile, "profile"),
            _ => {
                keys.push((key.clone(), value.clone()));
                continue;
            }
        };
        let Some(value) = value.as_deref().filter(|value| !value.is_empty()) else {
            continue;
        };
        match field {
            Some(had) if had != value => {
                return Err(UrlError::Contradiction {
                    one: format!("the {name} {had}"),
                    other: format!("`{key}={value}`"),
                });
            }
            _ => *field = Some(value.to_owned()),
        }
    }
    Ok(FoundLocation {
        place: DatasetLocation::S3(place),
        store: Store::S3,
        keys,
    })
}

fn provider_of(host: &str) -> Option<Provider> {
    let is_google = host
        .strip_suffix(GOOGLE)
        .is_some_and(|it| it.is_empty() || it.ends_with('.'));
    match (host.ends_with(AMAZON), is_google) {
        (true, _) => Some(Provider::Aws),
        (_, true) => Some(Provider::Google),
        _ => None,
    }
}

/// The text before the first slash, and the rest with it.
fn split(text: &str) -> (&str, &str) {
    text.split_at(text.find('/').unwrap_or(text.len()))
}

fn without_credentials(host: &str) -> &str {
    host.rsplit('@').next().unwrap_or_default()
}

fn contradiction(one: &str, word: &str) -> UrlError {
    UrlError::Contradiction {
        one: one.to_owned(),
        other: format!("`{word}` in mode"),
    }
}

impl DatasetLocation {
    /// The keys after `#` that are part of a place.
    pub(super) fn keys(&self) -> Vec<String> {
        let Self::S3(place) = self else {
            return Vec::new();
        };
        // The region of a host of Amazon is part of its name.
        let region = place.region.as_ref().filter(|_| !place.has_regional_host());
        let region = region.map(|region| format!("aws.region={region}"));
        let profile = place.profile.as_ref();
        let profile = profile.map(|profile| format!("aws.profile={profile}"));
        region.into_iter().chain(profile).collect()
    }
}

impl S3Place {
    fn has_regional_host(&self) -> bool {
        let is_label = |region: &String| {
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
            region != "s3" && region.chars().all(is_part)
        };
        self.provider == Provider::Aws
            && self.endpoint.is_none()
            && self.region.as_ref().is_some_and(is_label)
    }
}

impl fmt::Display for DatasetLocation {
    /// The URL, without what follows `?` and `#`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self {
            Self::File(path) => return write!(f, "file://{path}"),
            Self::Http(url) => return f.write_str(url),
            Self::S3(place) => place,
        };
        match (&place.endpoint, &place.region) {
            (Some(endpoint), _) => write!(f, "{endpoint}/{}", place.bucket)?,
            (None, Some(region)) if place.has_regional_host() => {
                write!(f, "https://s3.{region}{AMAZON}/{}", place.bucket)?;
            }
            (None, _) => write!(f, "{}://{}", place.provider.word(), place.bucket)?,
        }
        match place.key.is_empty() {
            true => Ok(()),
            false => write!(f, "/{}", place.key),
        }
    }
}
