//! The part of the configuration about virtual chunks: where foreign objects may lie.

use std::collections::BTreeMap;

use serde_yaml_ng::value::{Tag, TaggedValue};
use serde_yaml_ng::{Mapping, Value};

use super::section::{Entry, Setting, UnknownKeys, invalid, mapping, section, take};
use crate::VirtualLocation;
use crate::debug::debug_struct;
use crate::error::FormatError;

/// `virtual_chunk_containers`: the places where virtual chunks may lie, by key.
///
/// The key is the URL prefix, in older files a name; only the prefix inside counts. Entries keep
/// the order of the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct VirtualChunkContainers {
    entries: Vec<(String, ContainerEntry)>,
}

/// One of them, as far as it can be read.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "there are a few of them, and nearly all are valid"
)]
pub enum ContainerEntry {
    /// A container.
    Valid(VirtualChunkContainer),
    /// Something else. Readers ignore it with a warning; it is written back as it was.
    Invalid(OpaqueYaml),
}

/// A value that could not be read, kept as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct OpaqueYaml(Value);

/// A container: a prefix of URLs below which virtual chunks may lie.
#[derive(Debug, Clone, PartialEq)]
pub struct VirtualChunkContainer {
    /// The name, by which locations of spec 2 may refer to the container; unused in spec 1.
    pub name: Option<String>,
    /// The beginning of all locations in the container. Ends in `/`, which is added where it is missing.
    pub url_prefix: String,
    /// The store, and how it is reached.
    pub store: VirtualStore,
    /// Keys that this crate does not know.
    pub unknown: UnknownKeys,
}

/// The store of a container, and how it is reached.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum VirtualStore {
    /// Amazon S3.
    S3(S3Options),
    /// A store with the interface of S3.
    S3Compatible(S3Options),
    /// Tigris.
    Tigris(S3Options),
    /// Google Cloud Storage.
    Gcs(BTreeMap<String, String>),
    /// Azure Blob Storage.
    Azure(BTreeMap<String, String>),
    /// A web server.
    Http(HttpOptions),
    /// A local directory.
    LocalFileSystem(String),
    /// The memory of a process, for tests.
    InMemory,
}

/// The options of a web server.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct HttpOptions {
    /// The options of the client, by name.
    pub options: BTreeMap<String, String>,
    /// The headers that are sent with each request. They may contain secrets: `Debug` shows only their names.
    pub headers: BTreeMap<String, String>,
}

debug_struct!(HttpOptions, it => {
    options: it.options,
    headers: it.headers.keys(),
});

section! { whole
    /// Options of S3 and its kin.
    S3Options {
        /// Region.
        region: String,
        /// URL of the service.
        endpoint_url: String,
        /// Whether requests go unsigned.
        anonymous: bool,
        /// Whether plain HTTP is allowed.
        allow_http: bool,
        /// Whether the bucket is part of the path. Default: false.
        force_path_style: bool,
        /// Seconds without data after which a request is given up.
        network_stream_timeout_seconds: u32,
        /// Whether the requester pays. Default: false.
        requester_pays: bool,
        /// Digest of uploads: `crc32`, `crc32c`, `crc64_nvme`, `sha1` or `sha256`.
        checksum_algorithm: String,
    }
}

impl S3Options {
    /// A yes-or-no option that was left open is no: the reference implementation cannot read a configuration that says
    /// nothing of it.
    fn spelt_out(&self) -> Self {
        let mut all = self.clone();
        for flag in [
            &mut all.anonymous,
            &mut all.allow_http,
            &mut all.force_path_style,
            &mut all.requester_pays,
        ] {
            flag.get_or_insert(false);
        }
        all
    }
}

impl VirtualChunkContainer {
    /// Returns the container of a folder, with no more than the reference implementation has to know to reach it:
    /// credentials, endpoints and the like are the business of readers.
    #[must_use]
    pub fn of_folder(folder: &VirtualLocation) -> Self {
        // The reference implementation takes the prefix of a local one for a path, in which nothing is encoded; its
        // chunks it still finds by their encoded locations.
        let url_prefix = match folder.service() {
            "file" if folder.depth() > 0 => format!("file:///{}/", folder.decoded_path()),
            _ => format!("{folder}/"),
        };
        let store = match folder.service() {
            "s3" => VirtualStore::S3(S3Options::default()),
            "gs" => VirtualStore::Gcs(BTreeMap::default()),
            "az" => VirtualStore::Azure(BTreeMap::default()),
            "http" | "https" => VirtualStore::Http(Default::default()),
            _ => {
                let path = url_prefix.strip_prefix("file://").unwrap_or(&url_prefix);
                VirtualStore::LocalFileSystem(path.to_owned())
            }
        };
        Self {
            name: None,
            url_prefix,
            store,
            unknown: UnknownKeys::default(),
        }
    }
}

impl VirtualChunkContainers {
    /// Returns the entries by key, in the order of the file.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = (&str, &ContainerEntry)> {
        self.entries
            .iter()
            .map(|(key, entry)| (key.as_str(), entry))
    }

    /// Returns the containers that can be read.
    pub fn containers(&self) -> impl Iterator<Item = &VirtualChunkContainer> {
        self.entries.iter().filter_map(|(_, entry)| match entry {
            ContainerEntry::Valid(container) => Some(container),
            ContainerEntry::Invalid(_) => None,
        })
    }

    /// Adds a container under its URL prefix, in place of a former one with that prefix.
    pub fn insert(&mut self, mut container: VirtualChunkContainer) {
        end_with_slash(&mut container.url_prefix);
        let key = container.url_prefix.clone();
        let entry = ContainerEntry::Valid(container);
        match self
            .entries
            .iter_mut()
            .find(|(existing, _)| *existing == key)
        {
            Some((_, existing)) => *existing = entry,
            None => self.entries.push((key, entry)),
        }
    }
}

impl FromIterator<VirtualChunkContainer> for VirtualChunkContainers {
    fn from_iter<I: IntoIterator<Item = VirtualChunkContainer>>(containers: I) -> Self {
        let mut all = Self::default();
        containers
            .into_iter()
            .for_each(|container| all.insert(container));
        all
    }
}

fn end_with_slash(prefix: &mut String) {
    if !prefix.ends_with('/') {
        prefix.push('/');
    }
}

impl Entry for VirtualChunkContainers {
    fn settings(name: &str, default: Option<&'static str>, into: &mut Vec<Setting>) {
        into.push(Setting {
            name: name.to_owned(),
            allowed: "a mapping from URL prefixes to containers, each with url_prefix and store, such as {'s3://sea/': {url_prefix: 's3://sea/', store: !s3 {region: eu-west-1}}}",
            default,
        });
    }

    fn read(value: Value, key: &str) -> Result<Self, FormatError> {
        let mut entries = Vec::new();
        for (name, value) in mapping(value, key)? {
            let name = String::read(name, key)?;
            // The reading consumes the value, and an invalid one must be kept.
            let entry = match VirtualChunkContainer::read(value.clone(), key) {
                Ok(container) => ContainerEntry::Valid(container),
                Err(_) => ContainerEntry::Invalid(OpaqueYaml(value)),
            };
            entries.push((name, entry));
        }
        Ok(Self { entries })
    }

    fn write(&self) -> Result<Value, FormatError> {
        let mut map = Mapping::new();
        for (key, entry) in &self.entries {
            let value = match entry {
                ContainerEntry::Valid(container) => container.write()?,
                ContainerEntry::Invalid(OpaqueYaml(value)) => value.clone(),
            };
            map.insert(Value::from(key.as_str()), value);
        }
        Ok(Value::Mapping(map))
    }
}

impl Entry for VirtualChunkContainer {
    fn settings(name: &str, default: Option<&'static str>, into: &mut Vec<Setting>) {
        into.push(Setting {
            name: name.to_owned(),
            allowed: "a container with url_prefix and store",
            default,
        });
    }

    fn read(value: Value, key: &str) -> Result<Self, FormatError> {
        let missing = || FormatError::NotAMapping {
            key: key.to_owned(),
        };
        let mut map = mapping(value, key)?;
        let name = take(&mut map, key, "name")?;
        let mut url_prefix: String = take(&mut map, key, "url_prefix")?.ok_or_else(missing)?;
        end_with_slash(&mut url_prefix);
        let store = take(&mut map, key, "store")?.ok_or_else(missing)?;
        Ok(Self {
            name,
            url_prefix,
            store,
            unknown: UnknownKeys(map),
        })
    }

    fn write(&self) -> Result<Value, FormatError> {
        let mut map = Mapping::new();
        super::section::put(&mut map, "name", self.name.as_ref())?;
        super::section::put(&mut map, "url_prefix", Some(&self.url_prefix))?;
        super::section::put(&mut map, "store", Some(&self.store))?;
        map.extend(self.unknown.0.clone());
        Ok(Value::Mapping(map))
    }
}

fn strings(value: Value, key: &str) -> Result<BTreeMap<String, String>, FormatError> {
    match value {
        Value::Null => Ok(BTreeMap::new()),
        value => serde_yaml_ng::from_value(value).map_err(|error| invalid(key, error)),
    }
}

fn pairs(map: &BTreeMap<String, String>) -> Mapping {
    let pairs = map
        .iter()
        .map(|(key, value)| (key.as_str().into(), value.as_str().into()));
    pairs.collect()
}

impl HttpOptions {
    /// The headers are a mapping among the options.
    fn read(value: Value, key: &str) -> Result<Self, FormatError> {
        let mut value = value;
        let headers = match &mut value {
            Value::Mapping(map) => map.shift_remove("headers"),
            _ => None,
        };
        Ok(Self {
            options: strings(value, key)?,
            headers: strings(headers.unwrap_or_default(), key)?,
        })
    }

    fn write(&self) -> Value {
        let mut map = pairs(&self.options);
        if !self.headers.is_empty() {
            map.insert(Value::from("headers"), Value::Mapping(pairs(&self.headers)));
        }
        Value::Mapping(map)
    }
}

impl Entry for VirtualStore {
    fn settings(name: &str, default: Option<&'static str>, into: &mut Vec<Setting>) {
        into.push(Setting {
            name: name.to_owned(),
            allowed: "a store, such as !s3 {region: eu-west-1}",
            default,
        });
    }

    fn read(value: Value, key: &str) -> Result<Self, FormatError> {
        let unknown = || FormatError::NotAMapping {
            key: key.to_owned(),
        };
        let strings = |value: Value| strings(value, key);
        let (tag, value) = match value {
            Value::String(tag) => (tag, Value::Null),
            Value::Tagged(tagged) => (
                tagged.tag.to_string().trim_start_matches('!').to_owned(),
                tagged.value,
            ),
            _ => return Err(unknown()),
        };
        Ok(match tag.as_str() {
            "s3" => Self::S3(S3Options::read(value, key)?.spelt_out()),
            "s3_compatible" => Self::S3Compatible(S3Options::read(value, key)?.spelt_out()),
            "tigris" => Self::Tigris(S3Options::read(value, key)?.spelt_out()),
            "gcs" => Self::Gcs(strings(value)?),
            "azure" => Self::Azure(strings(value)?),
            "http" => Self::Http(HttpOptions::read(value, key)?),
            "local_file_system" => Self::LocalFileSystem(String::read(value, key)?),
            "in_memory" => Self::InMemory,
            _ => return Err(unknown()),
        })
    }

    fn write(&self) -> Result<Value, FormatError> {
        let strings = |map: &BTreeMap<String, String>| Value::Mapping(pairs(map));
        let (tag, value) = match self {
            Self::S3(options) => ("s3", options.spelt_out().write()?),
            Self::S3Compatible(options) => ("s3_compatible", options.spelt_out().write()?),
            Self::Tigris(options) => ("tigris", options.spelt_out().write()?),
            Self::Gcs(options) => ("gcs", strings(options)),
            Self::Azure(options) => ("azure", strings(options)),
            Self::Http(options) => ("http", options.write()),
            Self::LocalFileSystem(path) => ("local_file_system", Value::from(path.as_str())),
            Self::InMemory => return Ok(Value::from("in_memory")),
        };
        Ok(Value::Tagged(Box::new(TaggedValue {
            tag: Tag::new(tag),
            value,
        })))
    }
}
