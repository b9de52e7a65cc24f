//! Files of a web server that match a pattern, by the pages on which it lists its directories.

use super::pattern::Pattern;
use super::{MOST, settled, too_many};
use crate::{Error, ErrorKind, Location, Schemes};

/// Pages that are read for one pattern.
const MOST_PAGES: usize = 10_000;

/// Returns the names below the base that match, sorted; `None` if the place has no such pages.
///
/// Hierarchies are not among them: a web server cannot list what they have.
pub(super) async fn found(
    schemes: &Schemes,
    pattern: &Pattern,
) -> Result<Option<Vec<Vec<String>>>, Error> {
    let mut open: Vec<Vec<String>> = vec![Vec::new()];
    let (mut found, mut pages) = (Vec::new(), 0);
    while let Some(directory) = open.pop() {
        let location = match directory.is_empty() {
            true => pattern.base.location.clone(),
            false => pattern.source(&directory)?.location,
        };
        pages += 1;
        if pages > MOST_PAGES {
            let problem = format!(
                "{:?} leads through more than {MOST_PAGES} directories of the server: name more of the way",
                pattern.text
            );
            return Err(Error::new(ErrorKind::Invalid, problem));
        }
        let Some(entries) = page(schemes, &location).await? else {
            return Ok(None);
        };
        for entry in entries {
            let (name, is_directory) = match entry.strip_suffix('/') {
                Some(name) => (name.to_owned(), true),
                None => (entry, false),
            };
            let names: Vec<String> = directory.iter().cloned().chain([name]).collect();
            match is_directory {
                true if pattern.leads_on(&names) => open.push(names),
                false if pattern.is_match(&names) => found.push(names),
                _ => {}
            }
        }
        if found.len() > MOST {
            return Err(too_many(pattern));
        }
    }
    Ok(Some(settled(found, Vec::new())))
}

async fn page(schemes: &Schemes, location: &Location) -> Result<Option<Vec<String>>, Error> {
    schemes.connection(location)?.directory_page(location).await
}
