//! Case 75: a directory that may be read but not written to.

use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use icefield_storage::{GetOptions, ObjectClass, PutMode, Storage, StorageError, StorageExt};
use tempfile::TempDir;

use super::kit::{REF, Speak, key, open, run, skipped};
use super::processes::{Child, command};
use crate::LocalStorage;
use crate::lock::KeyLock;

/// The user that owns nothing.
const UNPRIVILEGED: u32 = 65534;

fn set_mode(path: &Path, mode: u32) {
    let permissions = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(path, permissions).expect("permitted");
}

/// The actions of the unprivileged process; the directory is such that it may read.
pub(super) async fn act(root: &Path) {
    let store = LocalStorage::open(root).expect("opened");
    assert_eq!(store.text(REF).await.as_deref(), Some("tip"));
    assert_eq!(store.keys().await, ["chunks/1", REF]);
    let meta = store.head(&key(REF)).await.expect("there");
    for (at, mode, class) in [
        (REF, PutMode::Overwrite, ObjectClass::Metadata),
        (REF, PutMode::Update(meta.version), ObjectClass::Metadata),
        ("new", PutMode::Create, ObjectClass::Metadata),
        ("chunks/2", PutMode::Create, ObjectClass::Chunk),
    ] {
        refused(store.try_put(at, "x", mode, class).await);
    }
    refused(store.delete_one(key(REF).into()).await);
    refused(
        store
            .copy(&key(REF), &key("copy"), Default::default())
            .await,
    );
    store.sync().await.expect("nothing to flush");
    assert_eq!(store.text(REF).await.as_deref(), Some("tip"));
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, StorageError>) {
    match result {
        Err(StorageError::PermissionDenied { .. } | StorageError::ReadOnly { .. }) => {}
        other => panic!("must be refused, is {other:?}"),
    }
}

/// Makes a store with a branch and a chunk; with or without the hidden directory of a writer.
async fn furnish(root: &Path, hidden: bool) -> LocalStorage {
    let store = open(root);
    store.write(REF, "tip", PutMode::Create).await;
    store.chunk("chunks/1", "x").await;
    if !hidden {
        // As the reference implementation leaves it.
        std::fs::remove_dir_all(root.join(".icefield-local")).expect("removed");
    }
    store
}

#[test]
fn e75_without_permission_to_write_reads_work_and_writes_fail_early() {
    for hidden in [true, false] {
        let dir = TempDir::new().expect("a temporary directory");
        set_mode(dir.path(), 0o755);
        let root = dir.path().join("root");
        let store = run(furnish(&root, hidden));
        // A writer is in the middle of something: readers take no lock.
        let folder = std::fs::File::open(&root).expect("there");
        let lock =
            hidden.then(|| KeyLock::acquire(&store.0, &key(REF), folder.as_fd()).expect("locked"));
        let before = tree(&root);
        for place in &before {
            let is_dir = place.is_dir();
            set_mode(place, if is_dir { 0o555 } else { 0o444 });
        }
        set_mode(&root, 0o555);
        // A copy, because the unprivileged user may not look into the directory of this one.
        let program = dir.path().join("program");
        std::fs::copy(std::env::current_exe().expect("known"), &program).expect("copied");
        set_mode(&program, 0o755);
        let mut command = command(&program, "unprivileged", &root, "");
        command.current_dir("/");
        if rustix::process::getuid().is_root() {
            command.uid(UNPRIVILEGED).gid(UNPRIVILEGED);
        }
        Child::start(command).ends_well();
        assert_eq!(tree(&root), before, "nothing was written");
        drop(lock);
        set_mode(&root, 0o755);
    }
}

#[test]
fn e75_what_may_not_be_read_is_an_error_not_missing() {
    if !rustix::process::getuid().is_root() {
        skipped(
            "e75_what_may_not_be_read",
            "needs root to become another user",
        );
        return;
    }
    let dir = TempDir::new().expect("a temporary directory");
    set_mode(dir.path(), 0o755);
    let root = dir.path().join("root");
    run(furnish(&root, false));
    set_mode(&root, 0o755);
    let program = dir.path().join("program");
    std::fs::copy(std::env::current_exe().expect("known"), &program).expect("copied");
    set_mode(&program, 0o755);
    std::fs::create_dir(root.join("secret")).expect("made");
    set_mode(&root.join("secret"), 0o700);
    let mut command = command(&program, "unreadable", &root, "");
    command.current_dir("/").uid(UNPRIVILEGED).gid(UNPRIVILEGED);
    Child::start(command).ends_well();
}

/// The actions of the unprivileged process where a directory is closed to it.
pub(super) async fn meet_a_closed_door(root: &Path) {
    let store = LocalStorage::open(root).expect("opened");
    let get = store.get(&key("secret/x"), GetOptions::default()).await;
    assert!(
        matches!(get, Err(StorageError::PermissionDenied { .. })),
        "{get:?}"
    );
    let list = store.list_all(&Default::default()).await;
    assert!(
        matches!(list, Err(StorageError::PermissionDenied { .. })),
        "{list:?}"
    );
    let blocking = store.try_get_blocking(&key("secret/x"), &GetOptions::default());
    assert!(
        matches!(blocking, Some(Err(StorageError::PermissionDenied { .. }))),
        "{blocking:?}"
    );
}

fn tree(root: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).expect("read") {
            let path = entry.expect("read").path();
            if path.is_dir() {
                open.push(path.clone());
            }
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn e75_on_a_read_only_mount_or_skipped_loudly() {
    let dir = TempDir::new().expect("a temporary directory");
    let (root, view) = (dir.path().join("root"), dir.path().join("view"));
    run(furnish(&root, true));
    std::fs::create_dir(&view).expect("made");
    let mount = |arguments: &[&std::ffi::OsStr]| {
        let output = Command::new("mount").args(arguments).output();
        output.is_ok_and(|output| output.status.success())
    };
    let bind = [
        std::ffi::OsStr::new("--bind"),
        root.as_os_str(),
        view.as_os_str(),
    ];
    let read_only = ["-o", "remount,bind,ro"].map(std::ffi::OsStr::new);
    if !mount(&bind) || !mount(&[read_only[0], read_only[1], view.as_os_str()]) {
        let _ = Command::new("umount").arg(&view).output();
        skipped("e75_on_a_read_only_mount", "this machine cannot mount");
        return;
    }
    let result = std::panic::catch_unwind(|| run(act(&view)));
    let _ = Command::new("umount").arg(&view).output();
    result.expect("the laws hold");
}
