//! The stored configuration.

use icefield_format::RepositoryConfig;
use icefield_format::config::CompressionConfig;

use super::Trial;
use super::words::*;
use crate::{ChunkLocation, EditOutcome, RefsError, Refusal, Repository, RepositoryError};

const CONFIG: &str = "config.yaml";

fn threshold(bytes: u16) -> RepositoryConfig {
    RepositoryConfig {
        inline_chunk_threshold_bytes: Some(bytes),
        ..RepositoryConfig::default()
    }
}

/// Returns whether a chunk of so many bytes becomes an object of its own.
async fn is_native(repository: &Repository, length: usize) -> bool {
    let session = writer(repository).await;
    set(&session, "/probe", array(&[1], &[1])).await;
    write(&session, "/probe", &[0], pattern(1, length)).await;
    let location = session.chunk_location(&path("/probe"), &[0]).await;
    matches!(location, Ok(Some(ChunkLocation::Native { .. })))
}

pub(super) async fn a_default_configuration_is_not_stored(trial: Trial) {
    let (storage, repository) = trial.create().await;
    assert!(repository.config().is_default());
    if trial.is_v1() {
        assert!(!keys(&storage).await.contains(&CONFIG.to_owned()));
    }
    let with_default = trial.store().await;
    let builder = trial.builder(&with_default);
    is!(
        builder.config(RepositoryConfig::default()).create().await,
        Ok(_)
    );
    assert_eq!(keys(&with_default).await, keys(&storage).await);
}

pub(super) async fn a_configuration_is_stored_and_obeyed(trial: Trial) {
    let storage = trial.store().await;
    let created = trial.builder(&storage).config(threshold(16)).create().await;
    assert!(is_native(&created.expect("created"), 17).await);
    let repository = trial.open(&storage).await;
    assert_eq!(repository.config().inline_chunk_threshold(), 16);
    assert!(!is_native(&repository, 16).await);
    assert!(is_native(&repository, 17).await);
    let opened = trial
        .builder(&storage)
        .open_or_create()
        .await
        .expect("opened");
    assert_eq!(opened.config(), repository.config());
}

pub(super) async fn settings_of_the_call_go_before_stored_ones(trial: Trial) {
    let storage = trial.store().await;
    let mut stored = threshold(16);
    stored.compression = Some(CompressionConfig {
        level: Some(7),
        ..CompressionConfig::default()
    });
    let created = trial
        .builder(&storage)
        .config(stored.clone())
        .create()
        .await;
    is!(created, Ok(_));
    let builder = trial.builder(&storage).config(threshold(100));
    let repository = builder.open().await.expect("opened");
    assert_eq!(repository.config().inline_chunk_threshold(), 100);
    assert_eq!(repository.config().compression_level(), Some(7));
    assert!(!is_native(&repository, 100).await);
    let again = trial.open(&storage).await;
    assert_eq!(again.config(), stored, "opening stores nothing");
}

pub(super) async fn a_configuration_can_be_changed(trial: Trial) {
    let (storage, repository) = trial.create().await;
    for bytes in [10, 20, 0] {
        done(repository.save_config(threshold(bytes)).await);
        assert_eq!(repository.config().inline_chunk_threshold(), bytes);
        let again = trial.open(&storage).await;
        assert_eq!(again.config(), threshold(bytes));
    }
    assert!(is_native(&repository, 1).await);
    super::walk::assert_sound(&storage).await;
}

pub(super) async fn b28_a_lost_update_of_the_configuration_is_refused(trial: Trial) {
    let (storage, one) = trial.create().await;
    let two = trial.open(&storage).await;
    done(one.save_config(threshold(10)).await);
    refused(
        two.save_config(threshold(20)).await,
        &Refusal::AlreadyExists,
    );
    assert_eq!(two.config().inline_chunk_threshold(), 512);
    let (two, three) = (trial.open(&storage).await, trial.open(&storage).await);
    done(two.save_config(threshold(20)).await);
    for late in [&one, &three] {
        is!(
            late.save_config(threshold(30)).await,
            Ok(EditOutcome::Refused(_)),
        );
    }
    assert_eq!(trial.open(&storage).await.config(), threshold(20));
}

pub(super) async fn unknown_keys_of_the_configuration_are_kept(trial: Trial) {
    if !trial.is_v1() {
        return;
    }
    let (storage, _) = trial.create().await;
    let text = "inline_chunk_threshold_bytes: 8\nof_a_later_version: [1, two]\n\
        caching:\n  num_chunk_refs: 5\n  also_later: {a: b}\n";
    put(&storage, CONFIG, text).await;
    let repository = trial.open(&storage).await;
    let mut config = repository.config();
    assert_eq!(config.inline_chunk_threshold(), 8);
    config.inline_chunk_threshold_bytes = Some(9);
    done(repository.save_config(config.clone()).await);
    let stored = &objects(&storage).await[CONFIG];
    let text = std::str::from_utf8(stored).expect("YAML is text");
    for kept in [
        "of_a_later_version",
        "two",
        "also_later",
        "num_chunk_refs: 5",
    ] {
        assert!(text.contains(kept), "{kept} went: {text}");
    }
    assert_eq!(trial.open(&storage).await.config(), config);
}

pub(super) async fn a_damaged_configuration_is_named(trial: Trial) {
    if !trial.is_v1() {
        return;
    }
    let (storage, _) = trial.create().await;
    for text in ["", "[1, 2", "- a\n", "inline_chunk_threshold_bytes: many\n"] {
        put(&storage, CONFIG, text).await;
        is!(
            trial.builder(&storage).open().await,
            Err(RepositoryError::Refs(error @ RefsError::Config { .. }))
                if error.to_string() == "config.yaml is not a valid configuration"
        );
    }
}
