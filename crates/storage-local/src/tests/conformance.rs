//! The conformance suite on what `tests/it/conformance.rs` cannot have: an old kernel, and a file system of few
//! talents.

use std::path::Path;
use std::sync::Arc;

use icefield_storage::Storage;

use crate::sys::Sys;
use crate::sys::habits::Habits;
use crate::sys::real::RealSys;
use crate::sys::twin::Twin;
use crate::{Fsync, LocalStorage};

/// Opens an empty directory that the next run removes.
fn open(case: &str, name: &str, sys: Arc<dyn Sys>) -> Arc<dyn Storage> {
    let memory = Path::new("/dev/shm");
    let directory = match memory.is_dir() {
        true => memory.to_owned(),
        false => std::env::temp_dir(),
    };
    let directory = directory
        .join("icefield-storage-local-conformance")
        .join(name)
        .join(case);
    let _ = std::fs::remove_dir_all(&directory);
    let builder = LocalStorage::builder(directory).fsync(Fsync::None).sys(sys);
    Arc::new(builder.open().expect("opened"))
}

mod on_an_old_kernel {
    use super::*;

    async fn fresh(case: &str) -> Arc<dyn Storage> {
        open(case, "old-kernel", Arc::new(RealSys::without_openat2()))
    }

    icefield_storage::conformance_tests! { fresh }
}

mod where_locks_end_at_this_machine {
    use super::*;
    use crate::sys::habits::Ground;

    async fn fresh(case: &str) -> Arc<dyn Storage> {
        let habits = Habits {
            ground: Ground::mounted(0x6573_5546, "fuse.sshfs", "rw"),
            ..Habits::default()
        };
        open(case, "locks-end-here", Twin::new(habits))
    }

    icefield_storage::conformance_tests! { fresh }
}

mod on_a_poor_file_system {
    use super::*;

    async fn fresh(case: &str) -> Arc<dyn Storage> {
        let habits = Habits {
            no_rename_new: true,
            no_copy_range: true,
            no_syncfs: true,
            untyped_entries: true,
            grain: Some(1_000_000_000),
            short_writes: Some(10_000),
            open_files: Some(64),
            ..Habits::default()
        };
        open(case, "poor-file-system", Twin::new(habits))
    }

    icefield_storage::conformance_tests! { fresh }
}
