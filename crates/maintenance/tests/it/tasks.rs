//! Copies as tasks of a runtime with several threads: their futures are `Send`.

use std::io::Cursor;
use std::sync::Arc;

use icefield_core::Repository;
use icefield_format::SpecVersion;
use icefield_maintenance::{BundleRepository, CopyRepository, DowngradeRepository, Unbundle};

use crate::copies::{assert_same, empty};
use crate::source::Source;

fn is_send<T: Send>(future: T) -> T {
    future
}

versions!(copies_and_bundles_are_tasks);

async fn copies_and_bundles_are_tasks(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let copied = empty();
    let (from, to) = (source.repository.clone(), Arc::clone(&copied));
    let copy = is_send(async move { CopyRepository::new().run(&from, to, &()).await });
    tokio::spawn(copy).await.unwrap().unwrap();
    assert_same(&source.storage(), &copied).await;

    let from = Repository::open(copied).await.unwrap();
    let bundle = is_send(async move { BundleRepository::new().run(&from, Vec::new(), &()).await });
    let (_, file) = tokio::spawn(bundle).await.unwrap().unwrap();

    let unbundled = empty();
    let to = Arc::clone(&unbundled);
    let unbundle = is_send(async move {
        let open = || Ok(Cursor::new(file.clone()));
        Unbundle::new().run(open, to, &()).await
    });
    tokio::spawn(unbundle).await.unwrap().unwrap();
    assert_same(&source.storage(), &unbundled).await;
}

#[tokio::test]
async fn a_downgrade_is_a_task() {
    let source = Source::with_history_in(SpecVersion::V2).await;
    let downgraded = empty();
    let (from, to) = (source.repository.clone(), Arc::clone(&downgraded));
    let downgrade = is_send(async move { DowngradeRepository::new().run(&from, to, &()).await });
    tokio::spawn(downgrade).await.unwrap().unwrap();
    let copy = Repository::open(downgraded).await.unwrap();
    assert_eq!(copy.spec_version(), SpecVersion::V1);
}
