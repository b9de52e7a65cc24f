//! Which generation of the format a repository is of.

use std::sync::Arc;

use icefield::alpha::AlphaRepository;
use icefield::storage::Storage;
use icefield::{Error, Location, RepositoryError};

use crate::failure::{Exit, Failure};
use crate::output;

/// What was opened where a repository should be.
pub(super) enum Found<T> {
    /// One of today.
    Today(T),
    /// One of the alpha generation, which some commands look at, and `icefield import` reads.
    Alpha(AlphaRepository),
}

impl<T> Found<T> {
    /// Looks for a repository of the alpha generation, if what failed is that there is none of today.
    pub(super) async fn of(
        opened: Result<T, impl Into<Error>>,
        storage: Arc<dyn Storage>,
    ) -> Result<Self, Error> {
        let error = match opened {
            Ok(opened) => return Ok(Self::Today(opened)),
            Err(error) => error.into(),
        };
        if let Some(RepositoryError::NotFound { .. }) = error.downcast_ref() {
            // What the store says to this is no news: it was asked before.
            if let Ok(alpha) = AlphaRepository::open(storage).await {
                return Ok(Self::Alpha(alpha));
            }
        }
        Err(error)
    }

    /// Returns what was opened, if it is of today: most commands do nothing else.
    pub(super) fn of_today(self, location: &Location) -> Result<T, Failure> {
        match self {
            Self::Today(opened) => Ok(opened),
            Self::Alpha(_) => Err(is_alpha(location)),
        }
    }
}

/// Fails if there is a repository of the alpha generation where one of today should be made.
pub(super) async fn no_alpha(location: &Location, storage: &dyn Storage) -> Result<(), Failure> {
    match AlphaRepository::detect(storage).await {
        Ok(Some(_)) => Err(is_alpha(location)),
        // What cannot be listed here fails where it is written.
        _ => Ok(()),
    }
}

fn is_alpha(location: &Location) -> Failure {
    let place = output::location(location);
    let problem = format!(
        "{place} is a repository of the alpha generation of the format (September 2024), which is read-only: ls, tree, cat, log, branch list and tag list look at it"
    );
    let hint = format!("`icefield import {place} NEW` makes a repository of version 1 of it");
    Failure::new(Exit::Failure, problem).hint(hint)
}
