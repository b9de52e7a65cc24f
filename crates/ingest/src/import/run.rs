//! Imports are run: what the sources hold is staged in a session, then committed once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use icefield_core::{
    BranchName, CommitError, CommitOutcome, NodePath, Repository, Session, SessionError, WriteMode,
};

use super::builder::Import;
use super::prepared::Prepared;
use super::report::{ImportReport, Imported};
use super::resume::Journal;
use super::{containers, refer, transfer};
use crate::assemble::{self, Assembly};
use crate::operation;
use crate::plan::{self, Existing, Transfer};
use crate::{ImportError, Source};

/// Whether chunks of an earlier attempt were collected: the commit finds that out, or what compares with them.
fn is_collected(error: &ImportError) -> bool {
    let (ImportError::Commit(CommitError::Session(error)) | ImportError::Session(error)) = error
    else {
        return false;
    };
    matches!(
        error,
        SessionError::Collected { .. } | SessionError::ChunkMissing { .. }
    )
}

impl Import {
    /// Imports to a branch, in one commit. On any error, and if it is stopped, the branch is where it was; chunks that
    /// were copied in vain are garbage, or serve the next attempt of a [resumable](Import::resumable) import.
    ///
    /// # Errors
    /// [`ImportError`] with the name of the source, node or chunk that does not fit. A commit that lost its race is no
    /// error: see [`Imported::commit`](crate::Imported::commit).
    pub async fn run(
        &self,
        repository: &Repository,
        branch: BranchName,
        message: &str,
    ) -> Result<Imported, ImportError> {
        let Some(resumption) = &self.resumption else {
            let session = repository.write_session(branch).await?;
            return self.run_in(repository, &session, message, None).await;
        };
        let (journal, session) =
            Journal::open(repository, branch, resumption, &self.sources).await?;
        let journal = Arc::new(journal);
        let imported = self
            .run_in(repository, &session, message, Some(&journal))
            .await;
        match &imported {
            Ok(Imported {
                commit: CommitOutcome::Committed(_),
                ..
            }) => journal.remove().await,
            // A mark of the attempt is in the commit only if something was written down before.
            Ok(Imported {
                commit: CommitOutcome::Unknown { .. },
                ..
            }) => {}
            // The next attempt begins anew.
            Err(error) if is_collected(error.of_one_source()) => journal.remove().await,
            // The branch moved, or it broke off: what was done is of use the next time.
            _ => {
                if let Err(error) = journal.write(&session).await {
                    tracing::debug!(%error, "the last chunks of the import will be imported anew");
                }
            }
        }
        imported
    }

    async fn run_in(
        &self,
        repository: &Repository,
        session: &Session,
        message: &str,
        journal: Option<&Arc<Journal>>,
    ) -> Result<Imported, ImportError> {
        self.interrupt.check()?;
        self.add_containers(repository).await?;
        let staged = self.stage_all(session, journal);
        let report = self.interrupt.unless(staged).await??;
        let mut commit = session.commit(message);
        if let Some(journal) = journal
            && let Some((name, attempt)) = journal.attempt().await
        {
            commit = commit.metadata(name, attempt);
        }
        let commit = operation::commit(commit, &*self.progress, &self.interrupt).await?;
        let commit = commit.ok_or_else(|| {
            let name = self.sources[0].to_string();
            match &self.append {
                Some(dimension) => ImportError::NothingNew {
                    name,
                    dimension: dimension.clone(),
                },
                None => ImportError::AddsNothing {
                    name,
                    group: self.group.clone(),
                },
            }
        })?;
        Ok(Imported { report, commit })
    }

    /// Puts the edits into a writable session without committing them. After an error the session holds a part of them:
    /// discard it ([`Session::discard_changes`]).
    ///
    /// # Errors
    /// As [`Import::run`].
    pub async fn stage(&self, session: &Session) -> Result<ImportReport, ImportError> {
        // Whatever is dropped leaves uncommitted edits and garbage.
        self.interrupt.unless(self.stage_all(session, None)).await?
    }

    async fn stage_all(
        &self,
        session: &Session,
        journal: Option<&Arc<Journal>>,
    ) -> Result<ImportReport, ImportError> {
        let adapted = self.adapted(session)?;
        let this = adapted.as_ref().unwrap_or(self);
        let mut prepared = this.prepare(session).await?;
        let seams = prepared.seams(session, prepared.dimension(), self.limits)?;
        let mut report = self.stage_documents(session, &mut prepared).await?;
        let moved = self.move_chunks(session, &prepared, seams, journal);
        report.add(moved.await?);
        Ok(report)
    }

    /// Stages the documents of nodes. Returns what is known before any chunk is moved.
    pub(super) async fn stage_documents(
        &self,
        session: &Session,
        prepared: &mut Prepared,
    ) -> Result<ImportReport, ImportError> {
        for (path, document) in std::mem::take(&mut prepared.documents) {
            session
                .set_metadata(&path, document, WriteMode::Overwrite)
                .await?;
        }
        let mut report = std::mem::take(&mut prepared.report);
        report.gaps = std::mem::take(&mut prepared.places.gaps);
        report.lacking = std::mem::take(&mut prepared.completed.lacking);
        report.attributes = std::mem::take(&mut prepared.combined.differing);
        for one in &prepared.opened {
            for path in &one.converted {
                if !report.converted_arrays.contains(path) {
                    report.converted_arrays.push(path.clone());
                }
            }
            for path in one.reencoded.keys() {
                if !report.reencoded_arrays.contains(path) {
                    report.reencoded_arrays.push(path.clone());
                }
            }
        }
        Ok(report)
    }

    /// Moves chunks into arrays whose documents are staged, and puts together those at seams. Returns how many.
    pub(super) async fn move_chunks(
        &self,
        session: &Session,
        prepared: &Prepared,
        (mut seams, compared): (Vec<Assembly>, Vec<Assembly>),
        journal: Option<&Arc<Journal>>,
    ) -> Result<ImportReport, ImportError> {
        let mut report = ImportReport::default();
        for (one, moved) in prepared.opened.iter().zip(prepared.moved()) {
            let transfers = prepared.transfers(&moved);
            let moved = self.move_all(session, &one.source, transfers, journal);
            let (copied, referred) = moved
                .await
                .map_err(|error| self.about(&one.source, error))?;
            report.chunks += copied.chunks;
            report.bytes += copied.bytes;
            report.compared_chunks += copied.compared;
            report.resumed_chunks += copied.recalled;
            report.ignored.merge(copied.ignored);
            report.virtual_chunks += referred.chunks;
            report.virtual_bytes = report.virtual_bytes.saturating_add(referred.bytes);
        }
        if let Some(journal) = journal {
            for assembly in &mut seams {
                let (chunks, bytes) = assembly.recall(session, journal).await?;
                report.chunks += chunks;
                report.bytes += bytes;
                report.resumed_chunks += chunks;
            }
        }
        let assembled = assemble::run(session, seams, self.limits, &*self.progress).await?;
        report.chunks += assembled.chunks;
        report.bytes += assembled.bytes;
        report.assembled_chunks = assembled.chunks;
        report.decoded_chunks = assembled.decoded;
        report.ignored.merge(assembled.ignored);
        // With what was put together.
        let compared = assemble::run(session, compared, self.limits, &*self.progress).await?;
        report.compared_chunks += compared.compared;
        report.ignored.merge(compared.ignored);
        report.rounded_arrays = prepared.encoded.rounded();
        Ok(report)
    }

    /// Adds the containers that the stored configuration lacks for chunks that are referred to. [`Import::run`] does so
    /// itself. Nothing is added if chunks are copied.
    ///
    /// # Errors
    /// [`ImportError::Container`], [`ImportError::ConfigChanged`], and the errors of the store.
    pub async fn add_containers(&self, repository: &Repository) -> Result<(), ImportError> {
        match self.refers {
            Some(_) => containers::add_missing(repository, &self.sources).await,
            None => Ok(()),
        }
    }

    /// Moves the chunks of one source that stay as they are.
    #[tracing::instrument(level = "debug", skip_all, fields(source = %source))]
    async fn move_all(
        &self,
        session: &Session,
        source: &Arc<dyn Source>,
        transfers: Vec<Transfer>,
        journal: Option<&Arc<Journal>>,
    ) -> Result<(transfer::Copied, refer::Referred), ImportError> {
        let (copies, referred) = match &self.refers {
            None => (transfers, refer::Referred::default()),
            Some(_) => {
                let refers = |it: &Transfer| self.refers_to(&it.from, &it.array, &**source);
                refer::run(&**source, session, transfers, refers).await?
            }
        };
        let copied = self.transfer(source, session, copies, journal).await?;
        Ok((copied, referred))
    }

    async fn transfer(
        &self,
        source: &Arc<dyn Source>,
        session: &Session,
        transfers: Vec<Transfer>,
        journal: Option<&Arc<Journal>>,
    ) -> Result<transfer::Copied, ImportError> {
        if transfers.is_empty() {
            return Ok(transfer::Copied::default());
        }
        let told = (&*self.progress, journal.map(|journal| &**journal));
        transfer::run(source, session, transfers, self.limits, told).await
    }

    /// The nodes of the repository where the import goes.
    pub(super) fn existing<'a>(
        &self,
        session: &Session,
        paths: impl Iterator<Item = &'a NodePath>,
    ) -> Result<Existing, ImportError> {
        let mut kinds = BTreeMap::new();
        for path in self.group.ancestors() {
            if let Some(kind) = session.node_kind(&path)? {
                kinds.insert(path, kind);
            }
        }
        for node in session.nodes(&self.group)? {
            kinds.insert(node.path, node.kind);
        }
        let mut documents = BTreeMap::new();
        for path in paths.collect::<BTreeSet<_>>() {
            let path = plan::target_path(&self.group, path)?;
            if kinds.contains_key(&path)
                && let Some(document) = session.metadata(&path)?
            {
                documents.insert(path, document);
            }
        }
        Ok(Existing {
            kinds,
            documents,
            ..Existing::default()
        })
    }
}
