//! Errors of the operating system, in the words of the storage contract.

use std::io;

use icefield_storage::{Key, KeyError, StorageError};

use crate::sys::{EntryKind, Errno};

/// Translates an error about one object; "not found" names the key.
pub(crate) fn of_key(action: &'static str, key: &Key, errno: Errno) -> StorageError {
    match errno {
        Errno::NOENT => StorageError::NotFound { key: key.clone() },
        _ => of_place(action, key.as_str(), errno),
    }
}

/// Translates an error about a directory, a lock or the store as a whole.
pub(crate) fn of_place(action: &'static str, target: &str, errno: Errno) -> StorageError {
    let failed = |why: &str| StorageError::Failed {
        action,
        target: target.to_owned(),
        source: why.into(),
    };
    match errno {
        Errno::NAMETOOLONG => too_long(target),
        Errno::LOOP => not_an_object(target, EntryKind::Symlink),
        Errno::NXIO => not_an_object(target, EntryKind::Socket),
        Errno::XDEV => failed(
            "another file system is mounted inside the store: an object cannot be moved into place there",
        ),
        Errno::MFILE | Errno::NFILE | Errno::AGAIN | Errno::INTR => StorageError::Unavailable {
            action,
            target: target.to_owned(),
            source: io::Error::from(errno).into(),
        },
        _ => StorageError::from_io_at(action, target, errno.into()),
    }
}

/// Returns the error for something that is no object.
pub(crate) fn not_an_object(target: &str, found: EntryKind) -> StorageError {
    StorageError::NotAnObject {
        target: target.to_owned(),
        found: found.name(),
    }
}

fn too_long(path: &str) -> StorageError {
    let segments = path.split('/');
    let longest = segments.max_by_key(|s| s.len()).unwrap_or_default();
    StorageError::InvalidKey(KeyError::SegmentTooLong {
        start: longest.chars().take(40).collect(),
        length: longest.len(),
    })
}

/// Returns whether the process, or the system, had no file descriptor left: nothing was attempted.
pub(crate) fn is_exhausted(error: &StorageError) -> bool {
    let StorageError::Unavailable { source, .. } = error else {
        return false;
    };
    source
        .downcast_ref::<io::Error>()
        .and_then(Errno::from_io_error)
        .is_some_and(|errno| matches!(errno, Errno::MFILE | Errno::NFILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e71_a_name_too_long_for_the_file_system_is_an_invalid_key() {
        let key = Key::parse(&format!("a/{}", "x".repeat(200))).expect("valid");
        let error = of_key("write", &key, Errno::NAMETOOLONG);
        assert!(
            matches!(
                error,
                StorageError::InvalidKey(KeyError::SegmentTooLong { length: 200, .. })
            ),
            "{error:?}"
        );
    }

    #[test]
    fn errors_have_their_kinds() {
        let key = Key::parse("a").expect("valid");
        let of = |errno| of_key("write", &key, errno);
        assert!(matches!(of(Errno::NOENT), StorageError::NotFound { .. }));
        assert!(matches!(of(Errno::NOSPC), StorageError::NoSpace { .. }));
        assert!(matches!(of(Errno::DQUOT), StorageError::NoSpace { .. }));
        assert!(matches!(of(Errno::ROFS), StorageError::ReadOnly { .. }));
        assert!(matches!(
            of(Errno::ACCESS),
            StorageError::PermissionDenied { .. }
        ));
        assert!(matches!(
            of(Errno::PERM),
            StorageError::PermissionDenied { .. }
        ));
        assert!(matches!(of(Errno::LOOP), StorageError::NotAnObject { .. }));
        assert!(matches!(of(Errno::IO), StorageError::Failed { .. }));
        assert!(matches!(of(Errno::STALE), StorageError::Failed { .. }));
        assert!(is_exhausted(&of(Errno::MFILE)) && is_exhausted(&of(Errno::NFILE)));
        assert!(!is_exhausted(&of(Errno::AGAIN)) && of(Errno::AGAIN).is_retryable());
    }
}
