//! Random interleavings of sessions against a serial model: every committed history must be one that the
//! sessions could have made one after another.
//!
//! The model is a map of nodes. A session records its operations. When it commits, amends or is flushed, the new state must
//! be what comes of its operations at some place between its base and the tip before it, those of the others in the order of
//! their commits. Where a solver gave something up, no chunk and no node may hold what neither side wrote.
//!
//! With an [`Upkeep`], tags, expirations, collections and an upgrade come in between. None of them may change what a ref shows or
//! lose a commit that has not expired, and in version 2 the operations log must tell all of them.

mod hooks;
mod interleaving;
mod model;
mod perform;
mod run;
mod stage;
mod upkeep;

use std::sync::Arc;

use icefield_storage::Storage;

pub use hooks::Upkeep;
pub use interleaving::{Interleaving, Report};

use interleaving::Run;

impl Interleaving {
    /// Plays it on an empty store.
    ///
    /// # Panics
    /// If what the repository shows is not what the model says.
    pub async fn play(&self, storage: Arc<dyn Storage>, upkeep: Option<Arc<dyn Upkeep>>) -> Report {
        Run::new(self).play(storage, upkeep).await
    }
}
