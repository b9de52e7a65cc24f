//! The files that a document refers to.

use std::collections::HashMap;

use icefield_core::NodePath;

use crate::kerchunk::{open_all, resolve};
use crate::{ArchiveFile, OpenUrl, SourceError};

/// The placeholder that the builder of OPeNDAP writes for a URL.
const PLACE_HOLDER: &str = "OPeNDAP_DMRpp_DATA_ACCESS_URL";
/// The suffix of the name of a document behind that of its data file.
const SUFFIX: &str = ".dmrpp";

/// Files by number, each with the first array that refers to it.
#[derive(Debug)]
pub(super) struct Places {
    /// The URL of the document.
    base: String,
    /// The name that the document gives its data file, if any.
    href: Option<String>,
    urls: Vec<(String, NodePath)>,
    numbers: HashMap<String, u32>,
}

impl Places {
    pub(super) fn new(base: &str, href: Option<&str>) -> Self {
        Self {
            base: base.to_owned(),
            href: href.filter(|it| !is_open(it)).map(str::to_owned),
            urls: Vec::new(),
            numbers: HashMap::new(),
        }
    }

    /// Returns the number of the file in which a chunk lies: that of the chunk's own `href`, else that of the document.
    ///
    /// # Errors
    /// The obstacle.
    pub(super) fn number(&mut self, href: Option<&str>, path: &NodePath) -> Result<u32, String> {
        let own = href.filter(|it| !is_open(it));
        let url = match own.or(self.href.as_deref()) {
            Some(href) => resolve(&self.base, href),
            None => self
                .base
                .strip_suffix(SUFFIX)
                .ok_or("nothing says where its data file is: it has no dmrpp:href, and its own name does not end in .dmrpp")?
                .to_owned(),
        };
        if let Some(number) = self.numbers.get(&url) {
            return Ok(*number);
        }
        let number = u32::try_from(self.urls.len()).map_err(|_| "it refers to too many files")?;
        self.numbers.insert(url.clone(), number);
        self.urls.push((url, path.clone()));
        Ok(number)
    }

    /// Opens all of them.
    pub(super) async fn open(self, files: &dyn OpenUrl) -> Result<Vec<ArchiveFile>, SourceError> {
        open_all(files, &self.base, self.urls).await
    }
}

/// Tells whether a reference leaves open where the data are.
fn is_open(href: &str) -> bool {
    href.trim().is_empty() || href == PLACE_HOLDER
}
