//! The files that references point into.

use std::collections::HashMap;

use futures::{StreamExt, TryStreamExt, stream};
use icefield_core::NodePath;
use icefield_format::encoded_key;

use crate::SourceError;
use crate::archive::{ArchiveFile, ChunkPlace, KeyedNodes, OpenUrl};

/// Files opened at a time.
const AT_ONCE: usize = 16;

/// Files by number, before they are opened.
pub(super) struct Targets<'a> {
    /// The URL of the references.
    base: &'a str,
    urls: Vec<String>,
    /// Of each file, an array that refers to it.
    arrays: HashMap<u32, NodePath>,
    /// Numbers by URL, and by what stands for one in the references.
    numbers: HashMap<String, u32>,
    /// Chunks that are whole files, whose length is known only then.
    whole: Vec<(ChunkPlace, u32)>,
}

impl<'a> Targets<'a> {
    pub(super) fn new(base: &'a str) -> Self {
        Self {
            base,
            urls: Vec::new(),
            arrays: HashMap::new(),
            numbers: HashMap::new(),
            whole: Vec::new(),
        }
    }

    /// Returns the number of a file, given what the references call it and how that becomes a URL.
    pub(super) fn number(
        &mut self,
        spelling: &str,
        url: impl Fn(&str) -> Result<String, SourceError>,
    ) -> Result<u32, SourceError> {
        if let Some(number) = self.numbers.get(spelling) {
            return Ok(*number);
        }
        let url = resolve(self.base, &url(spelling)?);
        let number = match self.numbers.get(&url) {
            Some(number) => *number,
            None => {
                let number = u32::try_from(self.urls.len()).map_err(|_| {
                    SourceError::damaged(self.base, "it refers to more than 4294967295 files")
                })?;
                self.urls.push(url.clone());
                self.numbers.insert(url, number);
                number
            }
        };
        self.numbers.insert(spelling.to_owned(), number);
        Ok(number)
    }

    /// Adds a chunk to its array, or keeps it until the length of its file is known.
    pub(super) fn add(
        &mut self,
        nodes: &mut KeyedNodes,
        place: ChunkPlace,
        file: u32,
        range: Option<(u64, u64)>,
    ) {
        self.arrays
            .entry(file)
            .or_insert_with(|| nodes.path_of(&place));
        match range {
            Some((offset, length)) => nodes.add_extent(&place, file, offset, length),
            None => self.whole.push((place, file)),
        }
    }

    /// Opens all files.
    pub(super) async fn open(
        self,
        files: &dyn OpenUrl,
        nodes: &mut KeyedNodes,
    ) -> Result<Vec<ArchiveFile>, SourceError> {
        drop(self.numbers);
        let (base, arrays) = (self.base, &self.arrays);
        let of_file = |number| arrays.get(&number).cloned().unwrap_or_else(NodePath::root);
        let urls = self.urls.into_iter().zip(0..);
        let urls = urls.map(|(url, number)| (url, of_file(number))).collect();
        let opened = open_all(files, base, urls).await?;
        for (place, number) in self.whole {
            let size = opened.get(number as usize).map_or(0, ArchiveFile::size);
            nodes.add_extent(&place, number, 0, size);
        }
        Ok(opened)
    }
}

/// Opens the files that `base` refers to, in order. Each URL comes with an array that needs it.
pub(crate) async fn open_all(
    files: &dyn OpenUrl,
    base: &str,
    urls: Vec<(String, NodePath)>,
) -> Result<Vec<ArchiveFile>, SourceError> {
    let opening = urls.into_iter().map(|(url, path)| async move {
        let opened = files.open(&url).await;
        opened.map_err(|source| SourceError::Reference {
            name: base.to_owned(),
            path,
            url,
            source: Box::new(source),
        })
    });
    stream::iter(opening).buffered(AT_ONCE).try_collect().await
}

/// Returns a URL as it is if it is absolute, else as one that begins where the references lie.
pub(crate) fn resolve(base: &str, url: &str) -> String {
    if base.starts_with("file://") && url.starts_with('/') {
        // A path of this machine, as kerchunk writes it of local files; nothing in it is encoded.
        return format!("file://{}", encoded_key(url));
    }
    if url.contains("://") || url.starts_with('/') {
        return url.to_owned();
    }
    // The part that must not be taken away: `s3://bucket`, or the root of a file system.
    let kept = match base.split_once("://") {
        Some((scheme, rest)) => {
            let authority = rest.find('/').unwrap_or(rest.len());
            scheme.len() + "://".len() + authority
        }
        None => 0,
    };
    let (root, path) = base.split_at_checked(kept).unwrap_or((base, ""));
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let mut segments: Vec<&str> = directory.split('/').collect();
    for segment in url.split('/') {
        match segment {
            "." => {}
            ".." if segments
                .last()
                .is_some_and(|last| !matches!(*last, "" | "..")) =>
            {
                segments.pop();
            }
            segment => segments.push(segment),
        }
    }
    let path = segments.join("/");
    match root.is_empty() || path.starts_with('/') {
        // An empty directory leaves a slash that would make the path absolute.
        true if directory.is_empty() && root.is_empty() && !base.starts_with('/') => {
            path.trim_start_matches('/').to_owned()
        }
        true => format!("{root}{path}"),
        false => format!("{root}/{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn relative_urls_begin_at_the_references() {
        for (base, url, expected) in [
            ("s3://b/refs/a.json", "data.nc", "s3://b/refs/data.nc"),
            ("s3://b/refs/a.json", "../d/x.nc", "s3://b/d/x.nc"),
            ("s3://b/a.json", "./x.nc", "s3://b/x.nc"),
            ("s3://b/a.json", "../x.nc", "s3://b/../x.nc"),
            ("s3://b/a.json", "s3://c/x.nc", "s3://c/x.nc"),
            ("/data/a.json", "x.nc", "/data/x.nc"),
            ("/a.json", "x.nc", "/x.nc"),
            ("refs/a.json", "../x.nc", "x.nc"),
            ("a.json", "x.nc", "x.nc"),
            ("file:///data/a.json", "x.nc", "file:///data/x.nc"),
            ("file:///data/a.json", "/e f/x.nc", "file:///e%20f/x.nc"),
        ] {
            assert_eq!(resolve(base, url), expected, "{base} {url}");
        }
    }
}
