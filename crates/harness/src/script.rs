//! A list of operations on a repository, as JSON, so that a test in another language can say what to write.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use base64::Engine;
use icefield_core::{BranchName, CommitOutcome, EditOutcome, Repository, Session, TagName};
use icefield_zarr_store::ZarrStore;
use serde::Deserialize;
use serde_json::Value;

/// One operation. Keys are Zarr keys; refs are branch names or snapshot ids.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Operation {
    /// Creates the repository.
    Create,
    /// Opens a writable session; later sets, deletes and commits go to it.
    Session {
        /// The branch.
        branch: String,
    },
    /// Sets a key, to a text or to bytes in base 64.
    Set {
        /// The Zarr key.
        key: String,
        /// The value as text.
        text: Option<String>,
        /// The value as bytes in base 64.
        base64: Option<String>,
    },
    /// Deletes a key.
    Delete {
        /// The Zarr key.
        key: String,
    },
    /// Commits the session.
    Commit {
        /// The message.
        message: String,
        /// The metadata.
        #[serde(default)]
        metadata: BTreeMap<String, Value>,
    },
    /// Creates a branch.
    Branch {
        /// Its name.
        name: String,
        /// A branch or a snapshot id.
        from: String,
    },
    /// Creates a tag.
    Tag {
        /// Its name.
        name: String,
        /// A branch or a snapshot id.
        from: String,
    },
    /// Deletes a branch.
    DeleteBranch {
        /// Its name.
        name: String,
    },
    /// Deletes a tag.
    DeleteTag {
        /// Its name.
        name: String,
    },
}

/// Applies operations in order. Returns the ids of the commits.
///
/// # Errors
/// The first operation that fails, with its number.
pub async fn apply(location: &Path, operations: Vec<Operation>) -> anyhow::Result<Vec<String>> {
    let storage = crate::storage(location)?;
    let mut repository = match operations.first() {
        Some(Operation::Create) => Repository::create(Arc::clone(&storage)).await?,
        _ => Repository::open(Arc::clone(&storage)).await?,
    };
    let mut session: Option<Session> = None;
    let mut commits = Vec::new();
    for (number, operation) in operations.into_iter().enumerate() {
        let step = format!("operation {number}: {operation:?}");
        match operation {
            Operation::Create if number == 0 => {}
            Operation::Create => repository = Repository::create(Arc::clone(&storage)).await?,
            Operation::Session { branch } => {
                let branch: BranchName = branch.parse()?;
                session = Some(repository.write_session(branch).await.context(step)?);
            }
            Operation::Set { key, text, base64 } => {
                let value = match (text, base64) {
                    (Some(text), None) => text.into_bytes(),
                    (None, Some(text)) => base64::engine::general_purpose::STANDARD.decode(text)?,
                    _ => bail!("{step}: give either text or base64"),
                };
                store(&session)?
                    .set(&key, value.into())
                    .await
                    .context(step)?;
            }
            Operation::Delete { key } => store(&session)?.delete(&key).await.context(step)?,
            Operation::Commit { message, metadata } => {
                let session = session.as_ref().context("no session is open")?;
                let mut commit = session.commit(message);
                for (name, value) in metadata {
                    commit = commit.metadata(name, value);
                }
                match commit.await.context(step)? {
                    CommitOutcome::Committed(id) => commits.push(id.to_string()),
                    other => bail!("not committed: {other:?}"),
                }
            }
            Operation::Branch { name, from } => {
                let target = target(&repository, &from).await?;
                done(
                    repository
                        .create_branch(&name, target)
                        .await
                        .context(step)?,
                )?;
            }
            Operation::Tag { name, from } => {
                let target = target(&repository, &from).await?;
                done(repository.create_tag(&name, target).await.context(step)?)?;
            }
            Operation::DeleteBranch { name } => {
                let name: BranchName = name.parse()?;
                done(repository.delete_branch(&name).await.context(step)?)?;
            }
            Operation::DeleteTag { name } => {
                let name: TagName = name.parse()?;
                done(repository.delete_tag(&name).await.context(step)?)?;
            }
        }
    }
    Ok(commits)
}

fn store(session: &Option<Session>) -> anyhow::Result<ZarrStore> {
    Ok(ZarrStore::new(
        session.clone().context("no session is open")?,
    ))
}

async fn target(repository: &Repository, from: &str) -> anyhow::Result<icefield_core::SnapshotId> {
    let start = repository.start_of_word(from).await?;
    Ok(repository.resolve(&start.into()).await?)
}

fn done(outcome: EditOutcome) -> anyhow::Result<()> {
    match outcome {
        EditOutcome::Done(_) => Ok(()),
        other => bail!("not done: {other:?}"),
    }
}
