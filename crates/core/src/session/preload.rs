//! Fetching manifests before a read asks for them.
//!
//! `manifest.preload` of the configuration names arrays by conditions, and a bound on their references in all. Where it
//! is there, opening a session begins to fetch the manifests of these arrays into the cache of decoded objects. Arrays
//! are taken in the order of their paths, whole; one that would exceed the bound is passed over. Readers wait for what is
//! under way instead of fetching it again; what fails is fetched again where it is needed, and fails there.

use std::future::ready;
use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_refs::FetchError;

use super::Session;
use super::preload_rules::{Choice, PreloadReport, PreloadRules};
use crate::SessionError;

/// Manifests that are fetched at a time.
const AT_A_TIME: usize = 8;

impl Session {
    /// Fetches the manifests of arrays that the configuration says are to be fetched early, and waits for them: reading
    /// chunks of these arrays asks for chunks alone then. Where the configuration says nothing, it is those of small
    /// arrays that are named as coordinates are. Uncommitted edits do not matter.
    ///
    /// # Errors
    /// The first manifest that cannot be read. What was fetched stays in memory.
    pub async fn preload(&self) -> Result<PreloadReport, SessionError> {
        let (report, chosen) = self.to_preload()?;
        let objects = &self.shared().objects;
        stream::iter(chosen)
            .map(|id| objects.manifest(id))
            .buffered(AT_A_TIME)
            .try_for_each(|_| ready(Ok(())))
            .await?;
        Ok(report)
    }

    /// Begins to fetch what the configuration says is to be fetched early, in the background. Nothing that fails there
    /// is an error of the session; outside of a runtime, which could go on with it, nothing is fetched.
    pub(crate) fn begin_preload(self) -> Self {
        if self.shared().configs.in_force().preload.is_some()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let session = self.clone();
            runtime.spawn(async move {
                let Ok((_, chosen)) = session.to_preload() else {
                    return;
                };
                let objects = &session.shared().objects;
                let fetched = stream::iter(chosen).map(|id| objects.manifest(id));
                let note = |fetched: Result<_, FetchError>| {
                    if let Err(error) = fetched {
                        tracing::debug!(%error, "a manifest was not fetched early");
                    }
                    ready(())
                };
                fetched.buffered(AT_A_TIME).for_each(note).await;
            });
        }
        self
    }

    fn to_preload(&self) -> Result<Choice, SessionError> {
        let base = Arc::clone(&self.state()?.base);
        let shared = self.shared();
        let (in_force, room) = (shared.configs.in_force(), shared.settings.cache_bytes);
        Ok(match &in_force.preload {
            Some(rules) => rules.choose(base.snapshot(), room),
            None => PreloadRules::usual().choose(base.snapshot(), room),
        })
    }
}
