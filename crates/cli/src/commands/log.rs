//! `icefield log`

use std::collections::BTreeMap;

use futures::TryStreamExt;
use icefield::{RefList, Repository, SnapshotId, SnapshotInfo};
use serde::Serialize;

use super::{Context, dangling};
use crate::args::Log;
use crate::failure::Failure;
use crate::output::escape::{first_line, printable};
use crate::output::{self, Output};

#[derive(Serialize)]
struct History {
    location: String,
    snapshots: Vec<SnapshotFacts>,
}

/// Facts about one snapshot.
#[derive(Debug, Serialize)]
pub(super) struct SnapshotFacts {
    pub(super) id: SnapshotId,
    pub(super) parent_id: Option<SnapshotId>,
    pub(super) written_at: String,
    pub(super) message: String,
    pub(super) metadata: BTreeMap<String, serde_json::Value>,
    /// Branches and tags that point here.
    pub(super) refs: Vec<String>,
}

impl SnapshotFacts {
    pub(super) fn new(info: SnapshotInfo, names: &Names) -> Self {
        Self {
            refs: names.0.get(&info.id).cloned().unwrap_or_default(),
            id: info.id,
            parent_id: info.parent_id,
            written_at: output::time(info.written_at),
            message: info.message,
            metadata: info.metadata,
        }
    }
}

/// Which refs point to which snapshot.
pub(super) struct Names(BTreeMap<SnapshotId, Vec<String>>);

impl Names {
    /// Reads them. They only decorate: where refs cannot be listed, there are none.
    pub(super) async fn read(repository: &Repository) -> Self {
        match repository.refs().await {
            Ok(refs) => Self::of(&refs),
            Err(error) => {
                tracing::debug!(%error, "refs cannot be listed");
                Self(BTreeMap::new())
            }
        }
    }

    /// Returns those of a list of refs.
    pub(super) fn of(refs: &RefList) -> Self {
        let mut names: BTreeMap<SnapshotId, Vec<String>> = BTreeMap::new();
        let branches = (refs.branches.iter()).map(|(name, tip)| (name.to_string(), tip));
        let tags = (refs.tags.iter()).map(|(name, tip)| (format!("tag:{name}"), tip));
        for (name, tip) in branches.chain(tags) {
            if let Ok(id) = tip {
                names.entry(*id).or_default().push(name);
            }
        }
        Self(names)
    }
}

pub(super) async fn run(context: &Context, args: Log) -> Result<(), Failure> {
    let (repository, id) = context.open_at(&args.location, &args.at.revision).await?;
    let names = Names::read(&repository).await;
    let mut out = Output::new(args.facts);
    let mut history = repository.ancestry(id);
    let mut snapshots = Vec::new();
    let mut left = args.limit.unwrap_or(usize::MAX);
    while left > 0
        && let Some(info) =
            (history.try_next().await).map_err(|error| dangling(&args.at.revision, error))?
    {
        left -= 1;
        let facts = SnapshotFacts::new(info, &names);
        if out.is_json() {
            snapshots.push(facts);
        } else {
            // Each line as soon as it is known: a history may be long, or damaged further down.
            print(&facts, &mut out)?;
        }
    }
    match out.is_json() {
        true => {
            let history = History {
                location: output::location(&args.location),
                snapshots,
            };
            out.facts(&history, |_, _| Ok(()))
        }
        false => out.flush(),
    }
}

fn print(facts: &SnapshotFacts, out: &mut Output) -> Result<(), Failure> {
    let refs = match facts.refs.is_empty() {
        true => String::new(),
        false => format!("({}) ", printable(&facts.refs.join(", "))),
    };
    let (id, time) = (facts.id, &facts.written_at);
    writeln!(
        out.writer(),
        "{id}  {time}  {refs}{}",
        first_line(&facts.message)
    )?;
    out.flush()
}
