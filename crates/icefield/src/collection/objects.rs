//! Objects of a bucket that match a pattern.

use futures::TryStreamExt;
use icefield_storage::{Key, ListOptions, ObjectMeta, Prefix, Storage, StorageExt};

use super::pattern::Pattern;
use super::{MOST, is_document, settled, too_many};
use crate::{Error, Schemes};

/// Keys of one directory that are listed without a match before the list skips it.
const IN_VAIN: u32 = 1000;

/// Returns the names below the base that match, sorted.
pub(super) async fn found(schemes: &Schemes, pattern: &Pattern) -> Result<Vec<Vec<String>>, Error> {
    let storage = schemes.storage(&pattern.base.location).await?;
    let mut matches = Matches {
        pattern,
        found: Vec::new(),
        hierarchies: Vec::new(),
        in_vain: 0,
    };
    let mut options = ListOptions::prefix(Prefix::all()).without_versions();
    while let Some(behind) = matches.list(&*storage, options).await? {
        options = ListOptions::prefix(Prefix::all())
            .without_versions()
            .with_start_after(behind);
    }
    Ok(settled(matches.found, matches.hierarchies))
}

struct Matches<'a> {
    pattern: &'a Pattern,
    found: Vec<Vec<String>>,
    hierarchies: Vec<Vec<String>>,
    in_vain: u32,
}

impl Matches<'_> {
    /// Reads a list. Returns the key behind which to go on, if it is left early.
    async fn list(
        &mut self,
        storage: &dyn Storage,
        options: ListOptions,
    ) -> Result<Option<Key>, Error> {
        let mut objects = storage.list_objects(options);
        while let Some(object) = objects.try_next().await? {
            if self.found.len() + self.hierarchies.len() > MOST {
                return Err(too_many(self.pattern));
            }
            let behind = self.object(&object);
            if let Some(behind) = behind {
                return Ok(Some(behind));
            }
        }
        Ok(None)
    }

    /// Visits an object. Returns the key after which the list continues, if many keys did not match.
    fn object(&mut self, object: &ObjectMeta) -> Option<Key> {
        let names: Vec<&str> = object.key.segments().collect();
        let owned = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
        if is_document(&names) && self.pattern.is_match(&names[..names.len() - 1]) {
            self.hierarchies.push(owned(&names[..names.len() - 1]));
        }
        if self.pattern.is_match(&names) {
            self.found.push(owned(&names));
        }
        // Below it may be the document of a hierarchy, right there, and what matches.
        let is_of_use = |length: usize| {
            self.pattern.leads_on(&names[..length]) || self.pattern.is_match(&names[..length])
        };
        let Some(length) = (1..names.len()).find(|length| !is_of_use(*length)) else {
            self.in_vain = 0;
            return None;
        };
        self.in_vain += 1;
        if self.in_vain < IN_VAIN {
            return None;
        }
        self.in_vain = 0;
        // No key in the directory comes after this one.
        Key::parse(&format!("{}/\u{10ffff}", names[..length].join("/"))).ok()
    }
}
