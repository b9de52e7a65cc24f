//! The guarantees of a store, known when it is opened.

/// How object keys that contain names chosen by people are spelt in this store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyForm {
    /// The name itself (S3).
    Raw,
    /// Percent-encoded as the `Path` type of the crate `object_store` does it (every other store).
    ObjectStorePath,
}

/// Facts about a store, constant for the life of a [`Storage`](crate::Storage) value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// How names become keys.
    pub key_form: KeyForm,
    /// [`PutMode::Create`](crate::PutMode::Create) has exactly one winner.
    pub conditional_create: bool,
    /// [`PutMode::Update`](crate::PutMode::Update) has exactly one winner per version.
    pub conditional_update: bool,
    /// [`Deletion::version`](crate::Deletion::version) is honoured. Servers that speak S3 and ignore `If-Match` on
    /// deletes are not found out: there it is looked at before, and what happens in between is not noticed.
    pub conditional_delete: bool,
    /// Writes are accepted at all.
    pub writable: bool,
    /// `copy` moves no bytes through this process.
    pub server_side_copy: bool,
    /// A version belongs to one write. Otherwise conditions compare contents, by an ETag that is their digest:
    /// bytes that come back bring their condition back, and the versions in a list are coarser than those of a
    /// read.
    pub exact_versions: bool,
    /// Of an object that is not there, clients that may not list are told that they may not read it.
    pub hides_missing: bool,
    /// User metadata and content types are kept.
    pub user_metadata: bool,
    /// Objects are dated by the clock of the machine that writes them, as on a local disk: where that clock is set, the
    /// dates jump with it, and a comparison of the two shows nothing.
    pub host_dates: bool,
    /// Requests cross a network: each costs a round trip, whatever its size, so that one long object is written much faster
    /// than the many short ones that it holds.
    pub remote: bool,
    /// An acknowledged, [synchronised](crate::Storage::sync) write survives a loss of power.
    pub durable: bool,
}

impl Capabilities {
    /// Returns the facts of a store at hand that guarantees everything; a backend switches off what it cannot do, and says that
    /// it is [remote](Self::remote) if it is.
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

    /// Returns whether a branch can be moved safely in this store.
    pub fn safe_commits(&self) -> bool {
        self.writable && self.conditional_create && self.conditional_update
    }
}
