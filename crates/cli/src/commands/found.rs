//! The generation of the format of a repository.

use std::sync::Arc;

use icefield::alpha::AlphaRepository;
use icefield::storage::Storage;
use icefield::{Error, Location, RepositoryError};

use crate::failure::{Exit, Failure};
use crate::output;

/// A repository of either generation of the format.
pub(super) enum FoundRepository<T> {
    /// Spec version 1 or 2.
    Today(T),
    /// The alpha generation, which `icefield import` and some read-only commands read.
    Alpha(AlphaRepository),
}

impl<T> FoundRepository<T> {
    /// Looks for a repository of the alpha generation if there is none of spec version 1 or 2.
    pub(super) async fn of(
        opened: Result<T, impl Into<Error>>,
        storage: Arc<dyn Storage>,
    ) -> Result<Self, Error> {
        let error = match opened {
            Ok(opened) => return Ok(Self::Today(opened)),
            Err(error) => error.into(),
        };
        if let Some(RepositoryError::NotFound { .. }) = error.downcast_ref() {
            // An error of the store here adds nothing to the one before.
            if let Ok(alpha) = AlphaRepository::open(storage).await {
                return Ok(Self::Alpha(alpha));
            }
        }
        Err(error)
    }

    /// Returns the opened repository, or a failure if it is of the alpha generation.
    pub(super) fn of_today(self, location: &Location) -> Result<T, Failure> {
        match self {
            Self::Today(opened) => Ok(opened),
            Self::Alpha(_) => Err(is_alpha(location)),
        }
    }
}

/// Fails if the location holds a repository of the alpha generation.
pub(super) async fn no_alpha(location: &Location, storage: &dyn Storage) -> Result<(), Failure> {
    match AlphaRepository::detect(storage).await {
        Ok(Some(_)) => Err(is_alpha(location)),
        // A store that cannot be listed fails at the first write.
        _ => Ok(()),
    }
}

fn is_alpha(location: &Location) -> Failure {
    let place = output::location(location);
    let problem = format!(
        "{place} is a repository of the alpha generation of the format (September 2024), which is read-only: ls, tree, cat, log, branch list and tag list read it"
    );
    let hint = format!("`icefield import {place} NEW` converts it to a repository of version 1");
    Failure::new(Exit::Failure, problem).hint(hint)
}
