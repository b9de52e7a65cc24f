//! `icefield rewrite-manifests`

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use icefield::format::Snapshot;
use icefield::{
    BasicSolver, CommitError, Error, ManifestId, ManifestRewrite, Repository, SnapshotId,
};
use serde::Serialize;

use super::Context;
use crate::args::RewriteManifests;
use crate::failure::Failure;
use crate::interrupt::on_ctrl_c;
use crate::output::escape::printable;
use crate::output::table::Columns;
use crate::output::{self, Output, count};

#[derive(Serialize)]
struct Rewritten {
    location: String,
    branch: String,
    /// `None` if there was nothing to rewrite.
    snapshot_id: Option<SnapshotId>,
    /// Arrays that got other manifests.
    arrays: Vec<ArrayFacts>,
    /// The manifests of these arrays.
    before: Manifests,
    after: Manifests,
}

#[derive(Serialize)]
struct ArrayFacts {
    path: String,
    before: Manifests,
    after: Manifests,
}

#[derive(Clone, Copy, Default, Serialize)]
struct Manifests {
    manifests: u64,
    bytes: u64,
}

impl Manifests {
    fn of<'a>(ids: impl Iterator<Item = &'a ManifestId>, snapshot: &Snapshot) -> Self {
        ids.fold(Self::default(), |sum, id| Self {
            manifests: sum.manifests + 1,
            bytes: sum.bytes + snapshot.manifest_file(id).map_or(0, |it| it.size_bytes),
        })
    }

    fn sum(all: impl Iterator<Item = Self>) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            manifests: sum.manifests + one.manifests,
            bytes: sum.bytes + one.bytes,
        })
    }
}

pub(super) async fn run(context: &Context, args: RewriteManifests) -> Result<(), Failure> {
    let repository = context.open(&args.location).await?;
    let session = repository.write_session(args.branch.clone()).await?;
    let message = match args.message {
        Some(message) => message,
        None => "Rewrite manifests".to_owned(),
    };
    let which = match args.all {
        true => ManifestRewrite::All,
        false => ManifestRewrite::Misplaced,
    };
    let commit = session.commit(message).rewrite_manifests(which);
    let commit = commit.rebase_with(BasicSolver::default());
    let snapshot_id = match commit.interruptible(&on_ctrl_c()).await {
        Err(CommitError::NothingToCommit) => None,
        outcome => Some(icefield::committed(outcome.map_err(Error::from)?)?),
    };
    let arrays = match snapshot_id {
        Some(id) => changed(&repository, id).await?,
        None => Vec::new(),
    };
    let facts = Rewritten {
        location: output::location(&args.location),
        branch: args.branch.to_string(),
        snapshot_id,
        before: Manifests::sum(arrays.iter().map(|array| array.before)),
        after: Manifests::sum(arrays.iter().map(|array| array.after)),
        arrays,
    };
    Output::new(args.output).facts(&facts, text)
}

/// Compares a snapshot with its parent, which shows the effect of the commit alone, without the commits that it was rebased over.
async fn changed(repository: &Repository, id: SnapshotId) -> Result<Vec<ArrayFacts>, Failure> {
    let after = repository.snapshot(id).await?;
    let Some(parent) = repository.snapshot_info(id).await?.parent_id else {
        return Ok(Vec::new());
    };
    let before = repository.snapshot(parent).await?;
    let (mut old, new) = (manifests(&before), manifests(&after));
    let arrays = new.into_iter().filter_map(|(path, ids)| {
        let earlier = old.remove(&path).unwrap_or_default();
        (earlier != ids).then(|| ArrayFacts {
            path,
            before: Manifests::of(earlier.iter(), &before),
            after: Manifests::of(ids.iter(), &after),
        })
    });
    Ok(arrays.collect())
}

/// Returns the manifests of each array, by path.
fn manifests(snapshot: &Snapshot) -> BTreeMap<String, BTreeSet<ManifestId>> {
    let arrays = snapshot.nodes().filter_map(|node| {
        let ids = node.array()?.manifests().map(|manifest| manifest.id());
        Some((node.path().to_owned(), ids.collect()))
    });
    arrays.collect()
}

fn text(facts: &Rewritten, out: &mut dyn Write) -> io::Result<()> {
    let Some(id) = facts.snapshot_id else {
        return writeln!(out, "all manifests are split by the rules: nothing to do");
    };
    let mut table = Columns::new(&[
        "array",
        ">manifests before",
        ">after",
        ">bytes before",
        ">after",
    ]);
    for array in &facts.arrays {
        table.row([
            array.path.clone(),
            array.before.manifests.to_string(),
            array.after.manifests.to_string(),
            output::bytes(array.before.bytes),
            output::bytes(array.after.bytes),
        ]);
    }
    table.write(out)?;
    writeln!(
        out,
        "committed {id} to {}: {} of {} in place of {}",
        printable(&facts.branch),
        count(facts.after.manifests, "manifest", "manifests"),
        count(facts.arrays.len() as u64, "array", "arrays"),
        facts.before.manifests,
    )
}
