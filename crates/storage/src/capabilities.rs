//! The guarantees of a store, known when it is opened.

/// The spelling of object keys that contain names chosen by people. Other programs that write the same repository use
/// it, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyForm {
    /// The name itself, as on S3.
    Raw,
    /// The name percent-encoded by the rules of the `Path` type of the crate `object_store`, as on every other store.
    ObjectStorePath,
}

/// The guarantees of a store, constant for the life of a [`Storage`](crate::Storage) value. A backend that cannot
/// promise something says so here, before the first write.
///
/// ```
/// use icefield_storage::Storage;
/// # use icefield_storage_memory::MemoryStorage;
///
/// let capabilities = MemoryStorage::new().capabilities();
/// assert!(capabilities.safe_commits());
/// assert!(!capabilities.durable, "memory does not survive its process");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// The spelling of names in keys.
    pub key_form: KeyForm,
    /// [`PutMode::Create`](crate::PutMode::Create) has exactly one winner among any number of processes.
    pub conditional_create: bool,
    /// [`PutMode::Update`](crate::PutMode::Update) has exactly one winner per version.
    pub conditional_update: bool,
    /// [`Deletion::version`](crate::Deletion::version) is honoured. Servers that speak S3 and ignore `If-Match` on
    /// deletes cannot be detected: for them, the object is looked at before it is deleted, and a change in between goes
    /// unnoticed.
    pub conditional_delete: bool,
    /// The store accepts writes.
    pub writable: bool,
    /// [`Storage::copy`](crate::Storage::copy) moves no bytes through this process.
    pub server_side_copy: bool,
    /// A version belongs to one write. Otherwise conditions compare contents, by an ETag that is their digest:
    /// bytes that come back bring their condition back, and the versions in a list are coarser than those of a
    /// read.
    pub exact_versions: bool,
    /// The store answers "forbidden" instead of "not found" to clients that may not list, so that a missing object
    /// looks like a forbidden one.
    pub hides_missing: bool,
    /// The store keeps user metadata and content types.
    pub user_metadata: bool,
    /// The clock of the writing machine dates the objects, as on a local disk. When that clock is set, the dates jump
    /// with it, and a comparison of the two shows nothing.
    pub host_dates: bool,
    /// Requests cross a network: each costs a round trip, whatever its size. One long object is written much faster
    /// than many short ones with the same bytes.
    pub remote: bool,
    /// An acknowledged write survives a loss of power after [`Storage::sync`](crate::Storage::sync).
    pub durable: bool,
}

impl Capabilities {
    /// Returns the guarantees of a local store that guarantees everything. A backend switches off what it cannot do,
    /// and switches on [`remote`](Self::remote) if requests cross a network.
    pub fn full(key_form: KeyForm) -> Self {
        Self {
            key_form,
            conditional_create: true,
            conditional_update: true,
            conditional_delete: true,
            writable: true,
            server_side_copy: true,
            exact_versions: true,
            hides_missing: false,
            user_metadata: true,
            host_dates: false,
            remote: false,
            durable: true,
        }
    }

    /// Returns whether a branch can be moved safely in this store: it accepts writes, and both conditions have exactly
    /// one winner.
    pub fn safe_commits(&self) -> bool {
        self.writable && self.conditional_create && self.conditional_update
    }
}
