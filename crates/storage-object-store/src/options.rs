//! The properties of a store that the crate `object_store` leaves open.

use icefield_storage::remote::RemoteSettings;
use icefield_storage::{Capabilities, KeyForm, ObjectClass, Prefix};

/// The guarantees of a store beyond the trait [`ObjectStore`](object_store::ObjectStore), and the way it is used.
///
/// The defaults suit a store that honours conditions (which is tried before the first conditional write), keeps user
/// metadata, and lists in no order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdapterOptions {
    /// The name of the store in errors. Default: its `Display`.
    pub name: Option<String>,
    /// The name by which this process knows the place, see [`Storage::place`](icefield_storage::Storage::place).
    /// Default: the address of the store's handle.
    pub place: Option<String>,
    /// The prefix below which keys lie. Default: all keys.
    pub prefix: Prefix,
    /// The spelling of names in keys. Default: as on every store but S3.
    pub key_form: KeyForm,
    /// Whether writes are accepted. Default: true.
    pub writable: bool,
    /// Whether `PutMode::Create` is honoured. Default: true.
    pub conditional_create: bool,
    /// Whether `PutMode::Update` is honoured. Default: true.
    pub conditional_update: bool,
    /// Whether the store is known to honour conditions, so that it is not tried. Default: false.
    pub known_conditions: bool,
    /// Whether no two writes ever give an object the same ETag. Default: false.
    pub exact_versions: bool,
    /// Whether ETags are quoted texts, so that one without quotes, as in lists, is the same. Default: false.
    pub quoted_etags: bool,
    /// Whether the version id belongs to the state, in addition to the ETag (Google's generations). Default: false.
    pub version_ids: bool,
    /// Whether user metadata and content types are kept, so that a write recognises itself. Without them, a write whose
    /// answer was lost stays in doubt. Default: true.
    pub attributes: bool,
    /// Whether a backslash is a character like any other. Otherwise keys with one are refused: Azure makes a slash of
    /// it. Default: true.
    pub backslashes: bool,
    /// Whether an acknowledged write survives a loss of power. Default: true.
    pub durable: bool,
    /// Whether requests cross a network. Default: true.
    pub remote: bool,
    /// Whether the store can list: a plain web server cannot. Default: true.
    pub lists: bool,
    /// Whether lists come in byte order and can begin anywhere at no cost, so that they are read in pages. Otherwise
    /// each is read to its end and sorted before its first entry is handed out; a list of more entries than
    /// [`RemoteSettings::list_entries`] is an error. Default: false.
    pub ordered_lists: bool,
    /// The size in bytes of the largest object that one put makes. A stream with a condition may be as long, but no
    /// longer than 256 MiB, because it is collected in memory. Larger objects are written in parts, without a
    /// condition. Default: 256 MiB.
    pub put_bytes: u64,
    /// The number of deletions in one request. Default: 1.
    pub delete_keys: usize,
    /// The storage class of new objects of class metadata. Default: none, so that the store decides.
    pub metadata_storage_class: Option<String>,
    /// The storage class of new chunks. Default: none, so that the store decides.
    pub chunk_storage_class: Option<String>,
    /// Retries, time-outs and sizes of parts.
    pub settings: RemoteSettings,
    /// The setting that says where the store is, as errors name it.
    pub(crate) address: &'static str,
}

impl Default for AdapterOptions {
    fn default() -> Self {
        Self {
            name: None,
            place: None,
            prefix: Prefix::all(),
            key_form: KeyForm::ObjectStorePath,
            writable: true,
            conditional_create: true,
            conditional_update: true,
            known_conditions: false,
            exact_versions: false,
            quoted_etags: false,
            version_ids: false,
            attributes: true,
            backslashes: true,
            durable: true,
            remote: true,
            lists: true,
            ordered_lists: false,
            put_bytes: 256 << 20,
            delete_keys: 1,
            metadata_storage_class: None,
            chunk_storage_class: None,
            settings: RemoteSettings::default(),
            address: "store",
        }
    }
}

impl AdapterOptions {
    /// Returns the options of a store that is only read.
    pub fn read_only() -> Self {
        Self {
            writable: false,
            conditional_create: false,
            conditional_update: false,
            ..Self::default()
        }
    }

    /// Returns the options below a prefix.
    #[must_use]
    pub fn with_prefix(mut self, prefix: Prefix) -> Self {
        self.prefix = prefix;
        self
    }

    /// Returns the options with other retries, time-outs and sizes of parts.
    #[must_use]
    pub fn with_settings(mut self, settings: RemoteSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Returns the options changed by `change`: fields cannot be named in a literal outside this crate.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub(crate) fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::full(self.key_form);
        capabilities.writable = self.writable;
        capabilities.conditional_create = self.writable && self.conditional_create;
        capabilities.conditional_update = self.writable && self.conditional_update;
        // The trait has neither a deletion of one state nor a copy that says which state it made.
        capabilities.conditional_delete = false;
        capabilities.server_side_copy = false;
        capabilities.exact_versions = self.exact_versions;
        capabilities.user_metadata = self.attributes;
        capabilities.durable = self.durable;
        capabilities.remote = self.remote;
        capabilities
    }

    pub(crate) fn storage_class(&self, class: ObjectClass) -> Option<&str> {
        match class {
            ObjectClass::Metadata => self.metadata_storage_class.as_deref(),
            ObjectClass::Chunk => self.chunk_storage_class.as_deref(),
        }
    }
}
