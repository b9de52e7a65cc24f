//! The conformance suite, on a directory of its own for each case.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use icefield_storage::conformance::Subject;
use icefield_storage_local::{Fsync, LocalStorage};

/// Opens an empty directory that the next run removes.
fn open(case: &str, fsync: Fsync) -> Subject {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("storage-local-conformance")
        .join(format!("{fsync:?}"))
        .join(case);
    let _ = std::fs::remove_dir_all(&directory);
    let store = LocalStorage::builder(&directory).fsync(fsync).open();
    Subject::with_plant(Arc::new(store.expect("opened")), move |name| {
        std::future::ready(plant(&directory, &name))
    })
}

/// Puts a file there if the name is not UTF-8, and a symbolic link if it may be a key.
fn plant(root: &Path, name: &[u8]) -> bool {
    let path = root.join(OsStr::from_bytes(name));
    let text = std::str::from_utf8(name);
    if !path.starts_with(root) || text.is_ok_and(|text| icefield_storage::Key::parse(text).is_err())
    {
        return false;
    }
    let Some(folder) = path.parent() else {
        return false;
    };
    std::fs::create_dir_all(folder).expect("made");
    match text {
        Ok(_) => std::os::unix::fs::symlink("nowhere", &path).expect("linked"),
        Err(_) => std::fs::write(&path, "").expect("written"),
    }
    true
}

mod without_fsync {
    use super::*;

    async fn fresh(case: &str) -> Subject {
        open(case, Fsync::None)
    }

    icefield_storage::conformance_tests! { fresh }
}

mod with_fsync_on_commit {
    use super::*;

    async fn fresh(case: &str) -> Subject {
        open(case, Fsync::Commit)
    }

    icefield_storage::conformance_tests! { fresh }
}
