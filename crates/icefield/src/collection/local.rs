//! Files of the local disk that match a pattern.

use std::io;
use std::path::{Path, PathBuf};

use super::pattern::Pattern;
use super::{DOCUMENTS, MOST, settled, too_many};
use crate::{Error, ErrorKind};

/// Returns the names below a directory that match, sorted.
pub(super) async fn found(base: PathBuf, pattern: Pattern) -> Result<Vec<Vec<String>>, Error> {
    let walked = tokio::task::spawn_blocking(move || {
        let mut walk = FolderWalk {
            pattern,
            found: Vec::new(),
            hierarchies: Vec::new(),
        };
        walk.directory(&base, &mut Vec::new())?;
        Ok::<_, Error>(settled(walk.found, walk.hierarchies))
    });
    let ended = walked.await;
    ended.map_err(|error| Error::new(ErrorKind::Other, error))?
}

struct FolderWalk {
    pattern: Pattern,
    found: Vec<Vec<String>>,
    hierarchies: Vec<Vec<String>>,
}

impl FolderWalk {
    /// Looks into a directory, which lies under `names` below the base.
    fn directory(&mut self, directory: &Path, names: &mut Vec<String>) -> Result<(), Error> {
        // The working directory has no name.
        let is_here = directory.as_os_str().is_empty();
        let listed = std::fs::read_dir(if is_here { Path::new(".") } else { directory });
        let entries = match listed {
            Ok(entries) => entries,
            // A missing folder has nothing that matches, nor has a file.
            Err(error) if is_gone(&error) => return Ok(()),
            Err(error) => return Err(unreadable(directory, error)),
        };
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(directory, error))?;
            // No pattern matches a name that is no text.
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let path = directory.join(&name);
            names.push(name);
            let done = self.entry(&path, names);
            names.pop();
            done?;
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, names: &mut Vec<String>) -> Result<(), Error> {
        let (is_match, leads_on) = (self.pattern.is_match(names), self.pattern.leads_on(names));
        if !is_match && !leads_on {
            return Ok(());
        }
        // Of a link, where it leads; one that leads nowhere is a file that cannot be opened, which is said then.
        let is_directory = std::fs::metadata(path).is_ok_and(|it| it.is_dir());
        if is_match && !is_directory {
            self.found.push(names.clone());
        }
        let has_document = || DOCUMENTS.iter().any(|name| path.join(name).is_file());
        if is_match && is_directory && has_document() {
            self.hierarchies.push(names.clone());
            return Ok(());
        }
        if self.found.len() + self.hierarchies.len() > MOST {
            return Err(too_many(&self.pattern));
        }
        let may_turn = || self.pattern.is_deep() && path.is_symlink();
        match leads_on && is_directory && !may_turn() {
            true => self.directory(path, names),
            false => Ok(()),
        }
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn unreadable(directory: &Path, error: io::Error) -> Error {
    let problem = format!(
        "the directory {} cannot be listed: {error}",
        directory.display()
    );
    Error::new(ErrorKind::Io, problem)
}
