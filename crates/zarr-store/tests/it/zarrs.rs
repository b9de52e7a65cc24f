//! The storage traits of `zarrs`, judged by its own tests and by its arrays.

mod arrays;
mod suite;

use std::sync::Arc;

use icefield_core::{BranchName, CommitOutcome, Repository, Session};
use icefield_storage_memory::MemoryStorage;
use icefield_zarr_store::ZarrStore;
use tokio::runtime::Runtime;

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap()
}

async fn repository() -> Repository {
    Repository::create(Arc::new(MemoryStorage::new()))
        .await
        .unwrap()
}

async fn writable(repository: &Repository) -> Session {
    repository.write_session(BranchName::main()).await.unwrap()
}

/// A session that reads what another process would see: opened anew, nothing cached.
async fn reopened(repository: &Repository) -> Session {
    let repository = Repository::open(Arc::clone(repository.storage()))
        .await
        .unwrap();
    repository.read_session(BranchName::main()).await.unwrap()
}

async fn commit(store: &ZarrStore) {
    let outcome = store.session().commit("test").await.unwrap();
    assert!(
        matches!(outcome, CommitOutcome::Committed(_)),
        "{outcome:?}"
    );
}
