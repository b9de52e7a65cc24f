//! Versions: the ETag of a state, or what there is instead.
//!
//! ```text
//! "0x8D…"                 an ETag
//! "etag" 1700000000123    an ETag and a version id, where both belong to the state
//! time:1700000000.0:42    no ETag: when it was written, and its size
//! ```

use std::time::{SystemTime, UNIX_EPOCH};

use icefield_storage::{PutMode, Version};
use object_store::{ObjectMeta, UpdateVersion};

use crate::AdapterOptions;

/// Begins a version that has no ETag. The store cannot compare it.
const TIME: &str = "time:";

/// Returns the version of a described state.
pub(crate) fn version(options: &AdapterOptions, meta: &ObjectMeta) -> Version {
    match of_parts(options, meta.e_tag.as_deref(), meta.version.as_deref()) {
        Some(version) => version,
        None => {
            let time = SystemTime::from(meta.last_modified);
            let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
            let (seconds, nanos) = (since.as_secs(), since.subsec_nanos());
            Version::new(format!("{TIME}{seconds}.{nanos}:{}", meta.size))
        }
    }
}

/// Returns the version of an ETag and a version id; `None` without an ETag.
pub(crate) fn of_parts(
    options: &AdapterOptions,
    etag: Option<&str>,
    id: Option<&str>,
) -> Option<Version> {
    let etag = etag_text(options, etag?);
    Some(match id.filter(|_| options.version_ids) {
        Some(id) => Version::new(format!("{etag} {id}")),
        None => Version::new(etag),
    })
}

/// Returns an ETag as versions have it.
pub(crate) fn etag_text(options: &AdapterOptions, etag: &str) -> String {
    let bare = !etag.starts_with('"') && !etag.starts_with("W/");
    match options.quoted_etags && bare {
        true => format!("\"{etag}\""),
        false => etag.to_owned(),
    }
}

fn split<'a>(options: &AdapterOptions, version: &'a Version) -> (&'a str, Option<&'a str>) {
    match version.as_str().rsplit_once(' ') {
        Some((etag, id)) if options.version_ids => (etag, Some(id)),
        _ => (version.as_str(), None),
    }
}

/// Returns whether a store can be asked to compare its ETag with this one, and compares it as a whole: not `*`,
/// which any state matches, not a weak one, which none does, not a list of several.
fn comparable(options: &AdapterOptions, etag: &str) -> bool {
    let printable = |text: &str| text.bytes().all(|byte| (b'!'..=b'~').contains(&byte));
    if etag.is_empty() || !printable(etag) || etag.contains(',') || etag.starts_with(TIME) {
        return false;
    }
    let quoted = etag.len() >= 2 && etag.starts_with('"') && etag.ends_with('"');
    let inner = etag.trim_matches('"');
    if options.quoted_etags {
        return quoted && !inner.is_empty();
    }
    etag != "*" && !etag.starts_with("W/") && (quoted || !etag.contains('"'))
}

/// Returns the ETag that a read can be made to depend on, if it can. The answer is compared in any case.
pub(crate) fn etag_for_read(options: &AdapterOptions, version: &Version) -> Option<String> {
    let (etag, _) = split(options, version);
    // Web servers want quotes; what compares without them gets what it gave.
    comparable(options, etag).then(|| etag.to_owned())
}

/// Returns the mode in the words of `object_store`; `None` for a state that no object of this store can be in.
pub(crate) fn mode(options: &AdapterOptions, mode: &PutMode) -> Option<object_store::PutMode> {
    Some(match mode {
        PutMode::Overwrite => object_store::PutMode::Overwrite,
        PutMode::Create => object_store::PutMode::Create,
        PutMode::Update(version) => {
            let (etag, id) = split(options, version);
            if !comparable(options, etag) || (options.version_ids && id.is_none()) {
                return None;
            }
            object_store::PutMode::Update(UpdateVersion {
                e_tag: Some(etag.to_owned()),
                version: id.map(str::to_owned),
            })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(etag: Option<&str>, version: Option<&str>) -> ObjectMeta {
        ObjectMeta {
            location: object_store::path::Path::parse("a").expect("a path"),
            last_modified: Default::default(),
            size: 7,
            e_tag: etag.map(str::to_owned),
            version: version.map(str::to_owned),
        }
    }

    #[test]
    fn etags_go_back_byte_for_byte() {
        let plain = AdapterOptions::default();
        let both = AdapterOptions::default().with(|options| options.version_ids = true);
        for etag in ["\"0x8D\"", "bare-12", "\"a;b\""] {
            let version = version(&plain, &meta(Some(etag), Some("9")));
            assert_eq!(version.as_str(), etag);
            let Some(object_store::PutMode::Update(update)) =
                mode(&plain, &PutMode::Update(version))
            else {
                panic!("{etag} can be compared");
            };
            assert_eq!(
                (update.e_tag.as_deref(), update.version),
                (Some(etag), None)
            );
        }
        let version = version(&both, &meta(Some("\"e f\""), Some("17")));
        let (etag, id) = split(&both, &version);
        assert_eq!((etag, id), ("\"e f\"", Some("17")));
    }

    #[test]
    fn what_matches_every_state_or_none_is_not_sent() {
        for options in [
            AdapterOptions::default(),
            AdapterOptions::default().with(|options| options.quoted_etags = true),
        ] {
            for odd in [
                "",
                "*",
                "\"",
                "W/\"x\"",
                "two words",
                "é",
                "\"a\",\"b\"",
                "time:1.0:2",
            ] {
                let update = PutMode::Update(Version::new(odd));
                assert!(mode(&options, &update).is_none(), "{odd:?}");
                assert!(etag_for_read(&options, &Version::new(odd)).is_none());
            }
        }
    }

    #[test]
    fn quotes_are_added_where_lists_leave_them_out() {
        let azure = AdapterOptions::default().with(|options| options.quoted_etags = true);
        let listed = version(&azure, &meta(Some("0x8D"), None));
        let read = version(&azure, &meta(Some("\"0x8D\""), None));
        assert_eq!(listed, read);
    }

    #[test]
    fn without_etags_time_and_size_must_do() {
        let options = AdapterOptions::default();
        let version = version(&options, &meta(None, None));
        assert_eq!(version.as_str(), "time:0.0:7");
        assert!(mode(&options, &PutMode::Update(version)).is_none());
    }
}
