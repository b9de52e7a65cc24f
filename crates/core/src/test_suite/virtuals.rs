//! Locations of virtual chunks, as each version of the format spells them.

use std::sync::Arc;

use icefield_format::config::{VirtualChunkContainer, VirtualStore};
use icefield_storage::Storage;

use super::Trial;
use super::words::*;
use crate::{
    ChunkLocation, EditOutcome, RepositoryConfig, VirtualAccess, VirtualChunkError, VirtualRefs,
};

/// A configuration with a container that has this prefix and the name `archive`.
fn archive_at(url_prefix: &str) -> RepositoryConfig {
    let container = VirtualChunkContainer {
        name: Some("archive".to_owned()),
        url_prefix: url_prefix.to_owned(),
        store: VirtualStore::InMemory,
        unknown: Default::default(),
    };
    RepositoryConfig {
        virtual_chunk_containers: Some([container].into_iter().collect()),
        ..RepositoryConfig::default()
    }
}

pub(super) async fn locations_are_spelt_as_their_version_has_them(trial: Trial) {
    let (storage, here, there) = (
        trial.store().await,
        trial.store().await,
        trial.store().await,
    );
    put(&here, "x/a b%.nc", "here").await;
    put(&there, "x/a b%.nc", "over there").await;
    let grant = |access: VirtualAccess, prefix, storage: &Arc<dyn Storage>| {
        let granted = access.grant_storage(prefix, Arc::clone(storage));
        granted.expect("a prefix")
    };
    let access = grant(VirtualAccess::none(), "s3://here", &here);
    let access = grant(access, "s3://there", &there);
    let builder = trial.builder(&storage).virtual_access(access.clone());
    let repository = builder.config(archive_at("s3://here/")).create().await;
    let repository = repository.expect("created");
    let spellings = match trial.is_v1() {
        true => ["s3://here/x/a%20b%25.nc", "S3://here/x//a b%25.nc"],
        false => ["S3://here/x/a b%.nc", "vcc://archive//x/a b%.nc"],
    };
    let stored = match trial.is_v1() {
        true => ["s3://here/x/a%20b%25.nc"; 2],
        false => ["s3://here/x/a b%.nc", "vcc://archive/x/a b%.nc"],
    };
    if trial.is_v1() {
        is!(
            repository.virtual_source("vcc://archive/x/a"),
            Err(VirtualChunkError::NeedsSpecVersion2)
        );
    } else {
        is!(
            repository.virtual_source("vcc://unknown/x/a"),
            Err(VirtualChunkError::NoContainerNamed { name }) if name == "unknown"
        );
    }
    let sources = spellings.map(|text| repository.virtual_source(text).expect("a location"));
    let session = writer(&repository).await;
    set(&session, "/a", array(&[2], &[1])).await;
    let refs = VirtualRefs {
        coordinates: &[0, 1],
        sources: &sources,
        source: &[0, 1],
        offsets: &[0, 0],
        lengths: &[4, 4],
    };
    is!(session.set_virtual_refs(&path("/a"), refs).await, Ok(()));
    commit(&session, "virtual").await;
    for (at, stored) in (0..).zip(stored) {
        let location = session.chunk_location(&path("/a"), &[at]).await;
        is!(location, Ok(Some(ChunkLocation::Virtual { location, .. })) if location == stored);
        holds(&session, "/a", &[at], Some(b"here")).await;
    }
    if trial.is_v1() {
        return;
    }
    let absolute = |location: &str| repository.absolute_location(location).into_owned();
    assert_eq!(absolute(stored[0]), "s3://here/x/a b%.nc");
    assert_eq!(absolute(stored[1]), "s3://here/x/a b%.nc");
    assert_eq!(absolute("vcc://unknown/x/a"), "vcc://unknown/x/a");
    // A container that moves takes along what names it.
    let saved = repository.save_config(archive_at("s3://there/")).await;
    is!(saved, Ok(EditOutcome::Done(_)));
    let builder = trial.builder(&storage).virtual_access(access);
    let session = read_main(&builder.open().await.expect("opened")).await;
    holds(&session, "/a", &[1], Some(b"over")).await;
}
