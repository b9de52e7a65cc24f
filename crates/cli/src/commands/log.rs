//! `icefield log`

mod graph;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use icefield::alpha::{self, AlphaId, AlphaRepository};
use icefield::{RefList, Repository, SnapshotInfo};
use jiff::Timestamp;
use serde::Serialize;

use self::graph::{Graph, ordered};
use super::found::FoundRepository;
use super::{Context, dangling};
use crate::args::Log;
use crate::failure::Failure;
use crate::output::escape::{first_line, printable};
use crate::output::{self, Output};

#[derive(Serialize)]
struct LogFacts {
    location: String,
    snapshots: Vec<SnapshotFacts>,
}

/// Facts about one snapshot.
#[derive(Debug, Serialize)]
pub(super) struct SnapshotFacts {
    pub(super) id: String,
    pub(super) parent_id: Option<String>,
    pub(super) written_at: String,
    pub(super) message: String,
    pub(super) metadata: BTreeMap<String, serde_json::Value>,
    /// Branches and tags that point to the snapshot.
    pub(super) refs: Vec<String>,
}

impl SnapshotFacts {
    pub(super) fn named(mut self, names: &RefNames) -> Self {
        self.refs = names.0.get(&self.id).cloned().unwrap_or_default();
        self
    }
}

impl From<SnapshotInfo> for SnapshotFacts {
    fn from(info: SnapshotInfo) -> Self {
        Self {
            refs: Vec::new(),
            id: info.id.to_string(),
            parent_id: info.parent_id.map(|id| id.to_string()),
            written_at: output::time(info.written_at),
            message: info.message,
            metadata: info.metadata,
        }
    }
}

impl SnapshotFacts {
    /// Returns the facts of a snapshot of the alpha generation. Its times are text; a text that is no time is shown as it is.
    fn of_alpha(snapshot: &alpha::Snapshot, parent_id: Option<AlphaId>) -> Self {
        let time: Result<Timestamp, _> = snapshot.written_at.parse();
        let written_at = match time {
            Ok(time) => output::time(time.into()),
            Err(_) => snapshot.written_at.clone(),
        };
        Self {
            refs: Vec::new(),
            id: snapshot.id.to_string(),
            parent_id: parent_id.map(|id| id.to_string()),
            written_at,
            message: snapshot.message.clone(),
            metadata: snapshot.properties.clone().into_iter().collect(),
        }
    }
}

/// The names of refs by the snapshot that they point to.
pub(super) struct RefNames(BTreeMap<String, Vec<String>>);

impl RefNames {
    /// Returns the names in a list of refs, or none if refs cannot be listed: they only decorate the history.
    fn of_list(listed: Result<Self, impl fmt::Display>) -> Self {
        listed.unwrap_or_else(|error| {
            tracing::debug!(%error, "refs cannot be listed");
            Self(BTreeMap::new())
        })
    }

    /// Returns the names in a list of refs.
    pub(super) fn of(refs: &RefList) -> Self {
        Self::among(&refs.branches, &refs.tags)
    }

    fn among<I: fmt::Display, E>(
        branches: &BTreeMap<impl fmt::Display, Result<I, E>>,
        tags: &BTreeMap<impl fmt::Display, Result<I, E>>,
    ) -> Self {
        let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let branches = branches.iter().map(|(name, tip)| (name.to_string(), tip));
        let tags = (tags.iter()).map(|(name, tip)| (format!("tag:{name}"), tip));
        for (name, tip) in branches.chain(tags) {
            if let Ok(id) = tip {
                names.entry(id.to_string()).or_default().push(name);
            }
        }
        Self(names)
    }
}

pub(super) async fn run(context: &Context, args: Log) -> Result<(), Failure> {
    if args.graph {
        return draw(context, args).await;
    }
    let revision = &args.at.revision;
    let (names, mut history) = match context.open_any(&args.location).await? {
        FoundRepository::Today(repository) => {
            let id = context.find(&repository, revision).await?;
            let refs = repository.refs().await;
            let names = RefNames::of_list(refs.map(|it| RefNames::of(&it)));
            let history = repository.ancestry(id).map_ok(SnapshotFacts::from);
            let history = history.map_err(|error| dangling(revision, error));
            (names, history.boxed())
        }
        FoundRepository::Alpha(repository) => {
            let tip = revision.resolve_alpha(&repository).await?;
            let tips = repository.tips().await;
            let names = RefNames::of_list(tips.map(|it| RefNames::among(&it.branches, &it.tags)));
            (names, alpha_history(repository, tip))
        }
    };
    let mut out = Output::new(args.output);
    let mut snapshots = Vec::new();
    let mut left = args.limit.unwrap_or(usize::MAX);
    while left > 0
        && let Some(facts) = history.try_next().await?
    {
        left -= 1;
        let facts = facts.named(&names);
        if out.is_json() {
            snapshots.push(facts);
        } else {
            // Prints each line as soon as it is known: a history may be long, or damaged further down.
            writeln!(out.writer(), "{}", described(&facts))?;
            out.flush()?;
        }
    }
    match out.is_json() {
        true => {
            let history = LogFacts {
                location: output::location(&args.location),
                snapshots,
            };
            out.facts(&history, |_, _| Ok(()))
        }
        false => out.flush(),
    }
}

/// Prints the histories of all refs as a graph, or as JSON in the order of the graph.
async fn draw(context: &Context, args: Log) -> Result<(), Failure> {
    let repository = context.open(&args.location).await?;
    let refs = repository.refs().await?;
    let names = RefNames::of(&refs);
    let mut snapshots = ordered(reached(&repository, refs).await?);
    snapshots.truncate(args.limit.unwrap_or(usize::MAX));
    let mut graph = Graph::default();
    let mut lines = Vec::new();
    let mut history = LogFacts {
        location: output::location(&args.location),
        snapshots: Vec::new(),
    };
    for snapshot in snapshots {
        let (join, strokes) = graph.draw(snapshot.id, snapshot.parent_id);
        let facts = SnapshotFacts::from(snapshot).named(&names);
        lines.extend(join);
        lines.push(format!("{strokes}  {}", described(&facts)));
        history.snapshots.push(facts);
    }
    Output::new(args.output).facts(&history, |_, out| {
        lines.iter().try_for_each(|line| writeln!(out, "{line}"))
    })
}

/// Returns every snapshot that a ref reaches, each once.
async fn reached(repository: &Repository, refs: RefList) -> Result<Vec<SnapshotInfo>, Failure> {
    let (mut known, mut snapshots) = (BTreeSet::new(), Vec::new());
    let branches = refs.branches.into_values();
    for tip in branches.chain(refs.tags.into_values()) {
        let mut history = repository.ancestry(tip?);
        while let Some(snapshot) = history.try_next().await?
            && known.insert(snapshot.id)
        {
            snapshots.push(snapshot);
        }
    }
    Ok(snapshots)
}

/// Walks a history of the alpha generation, newest first. A snapshot does not name the file of its parent, so the walk reads the
/// parent, too. If that fails, the snapshot still comes first, with the id of the parent that it lists.
fn alpha_history<'a>(
    repository: AlphaRepository,
    tip: alpha::Snapshot,
) -> BoxStream<'a, Result<SnapshotFacts, Failure>> {
    let next = Some(Ok(tip));
    stream::unfold((repository, next), |(repository, next)| async move {
        let snapshot = match next? {
            Ok(snapshot) => snapshot,
            Err(error) => return Some((Err(Failure::from(error)), (repository, None))),
        };
        let parent = repository.parent(&snapshot).await;
        let id = match &parent {
            Ok(parent) => parent.as_ref().map(|it| it.id),
            Err(_) => snapshot.listed_parent(),
        };
        let facts = SnapshotFacts::of_alpha(&snapshot, id);
        Some((Ok(facts), (repository, parent.transpose())))
    })
    .boxed()
}

/// Returns the line of one snapshot.
fn described(facts: &SnapshotFacts) -> String {
    let refs = match facts.refs.is_empty() {
        true => String::new(),
        false => format!("({}) ", printable(&facts.refs.join(", "))),
    };
    let (id, time) = (&facts.id, printable(&facts.written_at));
    format!("{id}  {time}  {refs}{}", first_line(&facts.message))
}
