//! A list of operations on a repository, as JSON, so that a test in another language can say what to write.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use base64::Engine;
use icefield::Location;
use icefield::format::SpecVersion;
use icefield_core::{
    BranchName, CommitOutcome, Conflict, Detector, EditOutcome, NodePath, RebaseOutcome,
    Repository, Session, TagName,
};
use icefield_storage::Storage;
use icefield_zarr_store::ZarrStore;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One operation. Keys are Zarr keys; refs are branch names or snapshot ids.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Operation {
    /// Creates the repository.
    Create {
        /// The version of the format; 1 if it is not given.
        #[serde(default)]
        spec: Option<u8>,
    },
    /// Opens a writable session; later sets, deletes and commits go to it.
    Session {
        /// The branch.
        branch: String,
        /// A name, if there are several.
        #[serde(default)]
        name: String,
    },
    /// Goes back to a session that is open.
    Use {
        /// Its name.
        name: String,
    },
    /// Writes the session as a snapshot of no branch, and tags it.
    Flush {
        /// The message.
        message: String,
        /// The tag that adopts it.
        tag: String,
    },
    /// Carries the session over to the tip of its branch, by the rules of the reference implementation, with no
    /// answer to any conflict.
    Rebase {
        /// Whether our own rules hold instead.
        #[serde(default)]
        strict: bool,
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
    /// Gives a node of the session another path. Spec version 2.
    Move {
        /// Its path, with a leading `/` or without.
        from: String,
        /// The path from now on, likewise.
        to: String,
    },
    /// Commits the session.
    Commit {
        /// The message.
        message: String,
        /// The metadata.
        #[serde(default)]
        metadata: BTreeMap<String, Value>,
    },
    /// Amends the tip that the session is based on.
    Amend {
        /// The message.
        message: String,
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

/// The effects of a script.
#[derive(Debug, Default, Serialize)]
pub struct Applied {
    /// The ids of the commits.
    pub commits: Vec<String>,
    /// The conflicts of each rebase.
    pub rebases: Vec<Vec<Found>>,
}

/// One conflict.
#[derive(Debug, Serialize)]
pub struct Found {
    /// The name of the rule.
    pub kind: &'static str,
    /// The node.
    pub path: String,
    /// The chunks.
    pub chunks: Vec<Vec<u32>>,
}

impl Found {
    fn of(conflict: &Conflict) -> Self {
        let chunks = conflict.chunks().into_iter().flatten();
        let path = match conflict {
            // As the reference names it.
            Conflict::NewNodeInInvalidGroup { array, .. } => array,
            other => other.path(),
        };
        Self {
            kind: conflict.kind(),
            path: path.to_string(),
            chunks: chunks.map(|index| index.to_vec()).collect(),
        }
    }
}

async fn create(storage: &Arc<dyn Storage>, spec: Option<u8>) -> anyhow::Result<Repository> {
    let version = match spec {
        None | Some(1) => SpecVersion::V1,
        Some(2) => SpecVersion::V2,
        Some(other) => anyhow::bail!("there is no spec version {other}"),
    };
    let builder = Repository::builder(Arc::clone(storage));
    Ok(builder.spec_version(version).create().await?)
}

/// Applies operations in order.
///
/// # Errors
/// The first operation that fails, with its number.
pub async fn apply(location: &Location, operations: Vec<Operation>) -> anyhow::Result<Applied> {
    let storage = crate::storage(location).await?;
    let mut repository = match operations.first() {
        Some(Operation::Create { spec }) => create(&storage, *spec).await?,
        _ => Repository::open(Arc::clone(&storage)).await?,
    };
    let mut session: Option<Session> = None;
    let mut sessions: BTreeMap<String, Session> = BTreeMap::new();
    let mut applied = Applied::default();
    for (number, operation) in operations.into_iter().enumerate() {
        let step = format!("operation {number}: {operation:?}");
        match operation {
            Operation::Create { .. } if number == 0 => {}
            Operation::Create { spec } => repository = create(&storage, spec).await?,
            Operation::Session { branch, name } => {
                let branch: BranchName = branch.parse()?;
                let opened = repository.write_session(branch).await.context(step)?;
                sessions.insert(name, opened.clone());
                session = Some(opened);
            }
            Operation::Use { name } => {
                session = Some(sessions.get(&name).context(step)?.clone());
            }
            Operation::Flush { message, tag } => {
                let session = session.as_ref().context("no session is open")?;
                let id = session.flush(message).await.context(step.clone())?;
                done(repository.create_tag(&tag, id).await.context(step)?)?;
                applied.commits.push(id.to_string());
            }
            Operation::Rebase { strict } => {
                let session = session.as_ref().context("no session is open")?;
                let detector = match strict {
                    true => Detector::Strict,
                    false => Detector::Compatible,
                };
                let outcome = session.rebase(&detector).await.context(step)?;
                applied.rebases.push(match outcome {
                    RebaseOutcome::Rebased { .. } => Vec::new(),
                    RebaseOutcome::Conflicts { conflicts, .. } => {
                        conflicts.iter().map(Found::of).collect()
                    }
                    RebaseOutcome::BranchGone => bail!("the branch is gone"),
                });
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
            Operation::Move { from, to } => {
                let session = session.as_ref().context("no session is open")?;
                let [from, to] = [from, to]
                    .map(|path| NodePath::parse(&format!("/{}", path.trim_start_matches('/'))));
                session.move_node(&from?, &to?).await.context(step)?;
            }
            Operation::Commit { message, metadata } => {
                let session = session.as_ref().context("no session is open")?;
                let mut commit = session.commit(message);
                for (name, value) in metadata {
                    commit = commit.metadata(name, value);
                }
                match commit.await.context(step)? {
                    CommitOutcome::Committed(id) => applied.commits.push(id.to_string()),
                    other => bail!("not committed: {other:?}"),
                }
            }
            Operation::Amend { message } => {
                let session = session.as_ref().context("no session is open")?;
                match session.amend(message).await.context(step)? {
                    CommitOutcome::Committed(id) => applied.commits.push(id.to_string()),
                    other => bail!("not amended: {other:?}"),
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
    Ok(applied)
}

/// Writes to a fork that another process made: reads it from a file, and puts it back there.
///
/// # Errors
/// A fork that cannot be read, a write that is refused.
pub async fn write_fork(
    location: &Location,
    fork: &Path,
    index: u32,
    byte: u8,
) -> anyhow::Result<()> {
    let repository = crate::open(location).await?;
    let session = repository.open_fork(&std::fs::read(fork)?).await?;
    let array = NodePath::parse("/x")?;
    let bytes = vec![byte; 700].into();
    session
        .set_chunk(&array, &[index], bytes, icefield_core::WriteMode::Overwrite)
        .await?;
    std::fs::write(fork, session.to_bytes().await?)?;
    Ok(())
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
