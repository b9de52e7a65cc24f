//! The conditions of a request, and why they did not hold.

use std::time::{Duration, SystemTime};

use http::HeaderMap;

use super::StoredObject;

/// The demands of a request on the object that is there. Empty means: none.
#[derive(Clone, Debug, Default)]
pub struct Condition {
    /// `If-Match`: one of these tags, or `*` for any object.
    pub if_match: Option<String>,
    /// `If-None-Match`: another tag than this, or `*` for no object.
    pub if_none_match: Option<String>,
    /// `If-Unmodified-Since`.
    pub if_unmodified_since: Option<SystemTime>,
    /// `If-Modified-Since`.
    pub if_modified_since: Option<SystemTime>,
    /// `ifGenerationMatch`: this version, or 0 for no object.
    pub if_generation: Option<u64>,
    /// `ifGenerationNotMatch`: another version than this, or 0 for any object.
    pub if_generation_not: Option<u64>,
    /// `ifMetagenerationMatch`.
    pub if_metageneration: Option<u64>,
    /// `ifMetagenerationNotMatch`.
    pub if_metageneration_not: Option<u64>,
}

/// Why a request did not go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such bucket.
    NoBucket,
    /// There is no such object, but one is needed.
    Missing,
    /// A condition does not hold.
    Failed,
    /// A reader already has what is there.
    NotModified,
    /// The object was written less than a second ago.
    TooSoon,
    /// There is no such upload.
    NoUpload,
    /// A part that completes an upload was not uploaded, or has another tag.
    BadPart,
    /// Parts are not in ascending order.
    PartOrder,
    /// A part other than the last is too small.
    PartTooSmall,
    /// More bytes or parts than allowed.
    TooMuch,
}

impl Condition {
    /// Demands that there be no object.
    pub fn absent() -> Self {
        Self {
            if_none_match: Some("*".to_owned()),
            ..Self::default()
        }
    }

    /// Reads the conditions that HTTP itself has from the headers of a request.
    pub(crate) fn of_headers(headers: &HeaderMap) -> Self {
        let text = |name: &str| headers.get(name)?.to_str().ok();
        let date = |name: &str| httpdate::parse_http_date(text(name)?).ok();
        Self {
            if_match: text("if-match").map(ToOwned::to_owned),
            if_none_match: text("if-none-match").map(ToOwned::to_owned),
            if_unmodified_since: date("if-unmodified-since"),
            if_modified_since: date("if-modified-since"),
            ..Self::default()
        }
    }

    /// Checks a write against what is there.
    ///
    /// # Errors
    /// [`Refusal::Missing`] if a tag is demanded of an object that is not there, [`Refusal::Failed`] if a
    /// condition does not hold.
    pub fn check_write(&self, object: Option<&StoredObject>) -> Result<(), Refusal> {
        match self.check(object) {
            Err(Refusal::NotModified) => Err(Refusal::Failed),
            other => other,
        }
    }

    /// Checks a read of what is there.
    ///
    /// # Errors
    /// [`Refusal::NotModified`] if the reader has it already, [`Refusal::Failed`] if a condition does not
    /// hold.
    pub fn check_read(&self, object: &StoredObject) -> Result<(), Refusal> {
        self.check(Some(object))
    }

    fn check(&self, object: Option<&StoredObject>) -> Result<(), Refusal> {
        if let Some(wanted) = &self.if_match {
            let object = object.ok_or(Refusal::Missing)?;
            demand(names(wanted, &object.etag))?;
        } else if let (Some(since), Some(object)) = (self.if_unmodified_since, object) {
            demand(whole_seconds(object.last_modified) <= whole_seconds(since))?;
        }
        if let Some(refused) = &self.if_none_match {
            if object.is_some_and(|object| names(refused, &object.etag)) {
                return Err(Refusal::NotModified);
            }
        } else if let (Some(since), Some(object)) = (self.if_modified_since, object)
            && whole_seconds(object.last_modified) <= whole_seconds(since)
        {
            return Err(Refusal::NotModified);
        }
        let generation = object.map_or(0, |object| object.generation);
        let metageneration = object.map_or(0, |object| object.metageneration);
        demand(self.if_generation.is_none_or(|is| is == generation))?;
        demand(self.if_metageneration.is_none_or(|is| is == metageneration))?;
        let not = |unwanted: Option<u64>, is| unwanted.is_none_or(|unwanted| unwanted != is);
        if not(self.if_generation_not, generation)
            && not(self.if_metageneration_not, metageneration)
        {
            Ok(())
        } else {
            Err(Refusal::NotModified)
        }
    }
}

fn demand(holds: bool) -> Result<(), Refusal> {
    if holds { Ok(()) } else { Err(Refusal::Failed) }
}

/// Tells whether a header names a tag. Stores that give out weak tags accept them in conditions.
fn names(header: &str, etag: &str) -> bool {
    let bare = |tag: &str| tag.trim().trim_matches('"').to_owned();
    header.trim() == "*"
        || header
            .split(',')
            .any(|one| one.trim() == etag || (!etag.starts_with("W/") && bare(one) == bare(etag)))
}

/// HTTP dates have no fractions of a second.
fn whole_seconds(time: SystemTime) -> Duration {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    Duration::from_secs(since.unwrap_or_default().as_secs())
}
