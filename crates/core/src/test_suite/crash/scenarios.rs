//! The scenarios that are interrupted: creation, commits, and every edit of a ref.

use futures::FutureExt;
use futures::future::BoxFuture;
use icefield_format::RepositoryConfig;

use super::{Act, Ground, ReportedOutcome, Scenario, Step};
use crate::test_suite::words::{array, group_with, path, pattern};
use crate::{
    BranchName, CommitOutcome, EditOutcome, RefsError, Repository, RepositoryError, Revision,
    Session, SnapshotId, TagName, UpgradeOptions, WriteMode,
};

/// All scenarios of every version.
pub const ALL: [Scenario; 10] = [
    CREATE,
    CREATE_WITH_CONFIG,
    COMMITS,
    SAVE_CONFIG,
    CREATE_BRANCH,
    RESET_BRANCH,
    DELETE_BRANCH,
    CREATE_TAG,
    DELETE_TAG,
    OPEN_OR_CREATE,
];

/// Creates a repository.
pub const CREATE: Scenario = Scenario {
    name: "create",
    prepare: &[],
    steps: &[Step {
        act: create,
        again: open_or_create,
    }],
    partly: None,
};

/// Opens or creates a repository.
pub const OPEN_OR_CREATE: Scenario = Scenario {
    name: "open or create",
    prepare: &[],
    steps: &[Step::new(open_or_create)],
    partly: None,
};

/// Creates a repository with a configuration.
pub const CREATE_WITH_CONFIG: Scenario = Scenario {
    name: "create with a configuration",
    prepare: &[],
    steps: &[Step {
        act: create_with_config,
        again: ensure_config,
    }],
    partly: Some(create),
};

/// Three commits: new arrays with inline and native chunks, rewritten manifests, a deleted subtree.
pub const COMMITS: Scenario = Scenario {
    name: "commits",
    prepare: &[create],
    steps: &[
        Step::new(commit_arrays),
        Step::new(commit_changes),
        Step::new(commit_deletions),
    ],
    partly: None,
};

/// Amends a commit that was amended before, and commits on top. Spec version 2.
pub const AMEND: Scenario = Scenario {
    name: "amend",
    prepare: &[create, commit_arrays, commit_changes, amend_changes],
    steps: &[Step::new(amend_moves), Step::new(commit_deletions)],
    partly: None,
};

/// Stores a configuration, then another.
pub const SAVE_CONFIG: Scenario = Scenario {
    name: "save the configuration",
    prepare: &[create],
    steps: &[
        Step::new(|ground| save_config(ground, 100)),
        Step::new(|ground| save_config(ground, 200)),
    ],
    partly: None,
};

/// Creates a branch.
pub const CREATE_BRANCH: Scenario = Scenario {
    name: "create a branch",
    prepare: TWO_COMMITS,
    steps: &[Step::new(create_branch)],
    partly: None,
};

/// Moves a branch back.
pub const RESET_BRANCH: Scenario = Scenario {
    name: "reset a branch",
    prepare: &[create, commit_arrays, commit_changes, create_branch],
    steps: &[Step::new(reset_branch)],
    partly: None,
};

/// Deletes a branch.
pub const DELETE_BRANCH: Scenario = Scenario {
    name: "delete a branch",
    prepare: &[create, commit_arrays, commit_changes, create_branch],
    steps: &[Step::new(delete_branch)],
    partly: None,
};

/// Creates a tag.
pub const CREATE_TAG: Scenario = Scenario {
    name: "create a tag",
    prepare: TWO_COMMITS,
    steps: &[Step::new(create_tag)],
    partly: None,
};

/// Deletes a tag.
pub const DELETE_TAG: Scenario = Scenario {
    name: "delete a tag",
    prepare: &[create, commit_arrays, commit_changes, create_tag],
    steps: &[Step::new(delete_tag)],
    partly: None,
};

/// Upgrades a repository of spec version 1, and commits to it.
pub const UPGRADE: Scenario = Scenario {
    name: "upgrade",
    prepare: &[
        create_with_config,
        commit_arrays,
        commit_changes,
        create_branch,
        create_tag,
        create_second_tag,
        delete_tag,
        commit_deletions,
    ],
    steps: &[
        Step {
            act: upgrade,
            again: ensure_upgraded,
        },
        Step::new(commit_last),
    ],
    partly: None,
};

const TWO_COMMITS: &[Act] = &[create, commit_arrays, commit_changes];

type Done = BoxFuture<'static, Result<(), ReportedOutcome>>;

fn create(ground: Ground) -> Done {
    async move { Ok(ground.builder().create().await.map(drop)?) }.boxed()
}

fn open_or_create(ground: Ground) -> Done {
    async move { Ok(ground.builder().open_or_create().await.map(drop)?) }.boxed()
}

fn config(threshold: u16) -> RepositoryConfig {
    RepositoryConfig {
        inline_chunk_threshold_bytes: Some(threshold),
        ..RepositoryConfig::default()
    }
}

fn create_with_config(ground: Ground) -> Done {
    let builder = ground.builder().config(config(64));
    async move { Ok(builder.create().await.map(drop)?) }.boxed()
}

/// A creation that was stopped may have come as far as the repository, but not its configuration.
fn ensure_config(ground: Ground) -> Done {
    async move {
        let builder = ground.builder().config(config(64));
        builder.open_or_create().await?;
        let repository = ground.open().await?;
        match repository.config() == config(64) {
            true => Ok(()),
            false => edited(repository.save_config(config(64)).await),
        }
    }
    .boxed()
}

fn save_config(ground: Ground, threshold: u16) -> Done {
    async move {
        let repository = ground.open().await?;
        edited(repository.save_config(config(threshold)).await)
    }
    .boxed()
}

/// Succeeds if an edit of a ref landed; anything else ends the step.
fn edited(outcome: Result<EditOutcome, RepositoryError>) -> Result<(), ReportedOutcome> {
    match outcome? {
        EditOutcome::Done(_) => Ok(()),
        other => Err(ReportedOutcome::outcome(&other)),
    }
}

async fn session(ground: &Ground) -> Result<Session, ReportedOutcome> {
    let repository = ground.open().await?;
    let session = repository.write_session(BranchName::main()).await?;
    ground.uses(&session);
    Ok(session)
}

/// Commits, and asks what became of it until that is known.
async fn commit(ground: &Ground, session: &Session, message: &str) -> Result<(), ReportedOutcome> {
    let outcome = session.commit(message).metadata("step", message).await?;
    told(ground, session, outcome).await
}

/// Amends, and asks what became of it until that is known.
async fn amend(ground: &Ground, session: &Session, message: &str) -> Result<(), ReportedOutcome> {
    let outcome = session.amend(message).metadata("step", message).await?;
    told(ground, session, outcome).await
}

async fn told(
    ground: &Ground,
    session: &Session,
    outcome: CommitOutcome,
) -> Result<(), ReportedOutcome> {
    let mut outcome = outcome;
    for _ in 0..3 {
        if let CommitOutcome::Unknown { .. } = outcome {
            outcome = session.resolve().await?;
        }
    }
    match outcome {
        CommitOutcome::Committed(id) => {
            ground.acknowledged(id);
            Ok(())
        }
        other => Err(ReportedOutcome::outcome(&other)),
    }
}

async fn set(session: &Session, at: &str, document: String) -> Result<(), ReportedOutcome> {
    let document = document.into();
    session
        .set_metadata(&path(at), document, WriteMode::Overwrite)
        .await?;
    Ok(())
}

async fn write(session: &Session, index: u32, length: usize) -> Result<(), ReportedOutcome> {
    let bytes = pattern(u64::from(index) + length as u64, length).into();
    session
        .set_chunk(&path("/g/a"), &[index], bytes, WriteMode::Overwrite)
        .await?;
    Ok(())
}

fn commit_arrays(ground: Ground) -> Done {
    async move {
        let session = session(&ground).await?;
        set(&session, "/g", group_with(serde_json::json!({"n": 1}))).await?;
        set(&session, "/g/a", array(&[8], &[1])).await?;
        set(&session, "/g/b", array(&[], &[])).await?;
        for (index, length) in [(0, 10), (1, 700), (2, 20), (3, 800)] {
            write(&session, index, length).await?;
        }
        let bytes = pattern(7, 600).into();
        session
            .set_chunk(&path("/g/b"), &[], bytes, WriteMode::Overwrite)
            .await?;
        commit(&ground, &session, "arrays").await
    }
    .boxed()
}

fn commit_changes(ground: Ground) -> Done {
    async move {
        let session = session(&ground).await?;
        write(&session, 1, 30).await?;
        write(&session, 2, 900).await?;
        session.delete_chunk(&path("/g/a"), &[0]).await?;
        set(&session, "/h/c", array(&[2], &[1])).await?;
        commit(&ground, &session, "changes").await
    }
    .boxed()
}

fn commit_deletions(ground: Ground) -> Done {
    async move {
        let session = session(&ground).await?;
        session.delete_node(&path("/g")).await?;
        set(&session, "/g/a", array(&[8], &[1])).await?;
        write(&session, 5, 1000).await?;
        commit(&ground, &session, "deletions").await
    }
    .boxed()
}

fn amend_changes(ground: Ground) -> Done {
    async move {
        let session = session(&ground).await?;
        write(&session, 3, 40).await?;
        write(&session, 6, 900).await?;
        session.delete_node(&path("/h/c")).await?;
        amend(&ground, &session, "changes, amended").await
    }
    .boxed()
}

fn amend_moves(ground: Ground) -> Done {
    async move {
        let session = session(&ground).await?;
        session.move_node(&path("/g/b"), &path("/c")).await?;
        write(&session, 7, 1000).await?;
        amend(&ground, &session, "changes, amended twice").await
    }
    .boxed()
}

fn dev() -> BranchName {
    BranchName::parse("dev").expect("BUG: a valid name")
}

fn tag() -> TagName {
    TagName::parse("v1").expect("BUG: a valid name")
}

async fn before(repository: &Repository) -> Result<SnapshotId, ReportedOutcome> {
    let revision = Revision::from(BranchName::main()).back(1);
    Ok(repository.resolve(&revision).await?)
}

fn create_branch(ground: Ground) -> Done {
    async move {
        let repository = ground.open().await?;
        let target = repository.resolve(&BranchName::main().into()).await?;
        edited(repository.create_branch("dev", target).await)
    }
    .boxed()
}

fn reset_branch(ground: Ground) -> Done {
    async move {
        let repository = ground.open().await?;
        let target = before(&repository).await?;
        edited(repository.reset_branch(&dev(), target, None).await)
    }
    .boxed()
}

fn delete_branch(ground: Ground) -> Done {
    async move {
        let repository = ground.open().await?;
        match repository.delete_branch(&dev()).await {
            Err(RepositoryError::Refs(RefsError::BranchNotFound(_))) => Ok(()),
            outcome => edited(outcome),
        }
    }
    .boxed()
}

fn create_tag(ground: Ground) -> Done {
    async move {
        let repository = ground.open().await?;
        let target = before(&repository).await?;
        edited(repository.create_tag("v1", target).await)
    }
    .boxed()
}

fn delete_tag(ground: Ground) -> Done {
    async move {
        let repository = ground.open().await?;
        edited(repository.delete_tag(&tag()).await)
    }
    .boxed()
}

fn create_second_tag(ground: Ground) -> Done {
    async move {
        let repository = ground.open().await?;
        let target = before(&repository).await?;
        edited(repository.create_tag("v2", target).await)
    }
    .boxed()
}

fn upgrade(ground: Ground) -> Done {
    async move {
        let builder = ground.builder();
        Ok(builder
            .upgrade(&UpgradeOptions::default())
            .await
            .map(drop)?)
    }
    .boxed()
}

/// An upgrade that was stopped may have come to its end.
fn ensure_upgraded(ground: Ground) -> Done {
    async move {
        let builder = ground.builder();
        match builder.upgrade(&UpgradeOptions::default()).await {
            Err(RepositoryError::Refs(RefsError::AlreadyUpgraded { .. })) => Ok(()),
            upgraded => Ok(upgraded.map(drop)?),
        }
    }
    .boxed()
}

fn commit_last(ground: Ground) -> Done {
    async move {
        let session = session(&ground).await?;
        set(&session, "/last", array(&[2], &[1])).await?;
        commit(&ground, &session, "last").await
    }
    .boxed()
}
