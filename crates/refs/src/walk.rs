//! Going from snapshots to those that came before them.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use futures::future::join_all;
use futures::stream::{self, Stream, TryStreamExt};
use icefield_format::SnapshotId;

use crate::graph::{Graph, Node};
use crate::{FetchError, RefsError, SnapshotInfo};

/// The speed of a walk: how many snapshots it reads in one round of requests, and after how many rounds with room for
/// more it begins to guess the next ones.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    together: usize,
    steps: usize,
    back_to: Option<SnapshotId>,
}

impl Pace {
    /// Reads up to this many snapshots in one round, all of them known to be needed.
    #[must_use]
    pub const fn together(together: usize) -> Self {
        Self {
            together,
            steps: usize::MAX,
            back_to: None,
        }
    }

    /// Reads sixteen snapshots in one round; after sixteen rounds with room for more, it fills them up with guesses.
    /// For whole histories.
    #[must_use]
    pub const fn long() -> Self {
        Self {
            together: 16,
            steps: 16,
            back_to: None,
        }
    }

    /// Guesses no snapshot that is older than this one.
    #[must_use]
    pub const fn back_to(mut self, id: SnapshotId) -> Self {
        self.back_to = Some(id);
        self
    }
}

/// A walk over a graph. It visits each snapshot that it is sent to once; its caller decides whether it goes on to the
/// parent.
#[derive(Debug)]
pub struct HistoryWalk<G: Graph> {
    graph: G,
    pace: Pace,
    sent: HashSet<SnapshotId>,
    /// Where it was sent and has not looked in memory yet.
    next: VecDeque<SnapshotId>,
    /// Snapshots that are not in memory.
    needed: VecDeque<SnapshotId>,
    #[expect(
        clippy::type_complexity,
        reason = "behind an alias, the derived `Debug` does not see the types of the graph"
    )]
    found: VecDeque<(SnapshotId, Result<G::Node, G::Error>)>,
    /// Snapshots that were read on a guess.
    ahead: HashMap<SnapshotId, G::Node>,
    guesses: Option<VecDeque<SnapshotId>>,
    rounds: usize,
}

impl<G: Graph> HistoryWalk<G> {
    /// Returns a walk that is sent nowhere yet.
    pub fn new(graph: G, pace: Pace) -> Self {
        Self {
            graph,
            pace,
            sent: HashSet::new(),
            next: VecDeque::new(),
            needed: VecDeque::new(),
            found: VecDeque::new(),
            ahead: HashMap::new(),
            guesses: None,
            rounds: 0,
        }
    }

    /// Sends the walk to a snapshot. False if it was sent there before.
    pub fn go(&mut self, to: SnapshotId) -> bool {
        let is_new = self.sent.insert(to);
        if is_new {
            self.next.push_back(to);
        }
        is_new
    }

    /// Returns the next snapshot, or the reason why it cannot be read. `None` once the walk has visited everything.
    pub async fn next(&mut self) -> Option<(SnapshotId, Result<G::Node, G::Error>)> {
        loop {
            if let Some(found) = self.found.pop_front() {
                return Some(found);
            }
            while let Some(id) = self.next.pop_front() {
                let ahead = &mut self.ahead;
                match self.graph.held(id).or_else(|| ahead.remove(&id)) {
                    Some(node) => return Some((id, Ok(node))),
                    None => self.needed.push_back(id),
                }
            }
            if self.needed.is_empty() {
                return None;
            }
            self.round().await;
        }
    }

    /// Reads several snapshots at once. Only those that are needed must be there.
    async fn round(&mut self) {
        let together = self.pace.together.max(1);
        let mut wanted: Vec<_> = self.needed.iter().take(together).copied().collect();
        let certain = wanted.len();
        if certain < together {
            self.rounds += 1;
        }
        if certain < together && self.rounds > self.pace.steps {
            if self.guesses.is_none() {
                let guesses = self.graph.guess().await;
                let end = guesses.iter().position(|id| Some(*id) == self.pace.back_to);
                let end = end.unwrap_or(guesses.len());
                self.guesses = Some(guesses.into_iter().take(end).collect());
            }
            while wanted.len() < together
                && let Some(id) = self.guesses.as_mut().and_then(VecDeque::pop_front)
            {
                let is_known = self.sent.contains(&id) || self.ahead.contains_key(&id);
                if !is_known && !wanted.contains(&id) && self.graph.held(id).is_none() {
                    wanted.push(id);
                }
            }
        }
        let graph = &self.graph;
        let reads = wanted
            .into_iter()
            .map(|id| async move { (id, graph.read(id).await) });
        let read = join_all(reads).await;
        self.needed.drain(..certain);
        for (at, (id, node)) in read.into_iter().enumerate() {
            match node {
                node if at < certain => self.found.push_back((id, node)),
                Ok(node) => drop(self.ahead.insert(id, node)),
                Err(_) => {}
            }
        }
    }
}

/// Walks a history, newest first. The stream ends after the first error; one that comes upon itself ends with
/// [`RefsError::Cycle`].
pub fn ancestors<G: Graph>(
    graph: G,
    start: SnapshotId,
    pace: Pace,
) -> impl Stream<Item = Result<G::Node, G::Error>> + Send {
    let mut walk = HistoryWalk::new(graph, pace);
    walk.go(start);
    stream::unfold(Some((walk, None)), |state| async move {
        let (mut walk, cycle) = state?;
        if let Some(id) = cycle {
            return Some((Err(RefsError::Cycle(id).into()), None));
        }
        match walk.next().await? {
            (_, Ok(node)) => {
                let cycle = node.parent().filter(|parent| !walk.go(*parent));
                Some((Ok(node), Some((walk, cycle))))
            }
            (_, Err(error)) => Some((Err(error), None)),
        }
    })
}

/// Walks a history from `tip` back to `base`, newest first, which itself is left out and not read. If the history ends
/// without it, the stream ends with [`RefsError::NotInHistory`].
pub fn way<G: Graph>(
    graph: G,
    tip: SnapshotId,
    base: SnapshotId,
) -> impl Stream<Item = Result<G::Node, G::Error>> + Send {
    let history = Box::pin(ancestors(graph, tip, Pace::long().back_to(base)));
    let begin = (history, Some(tip));
    stream::try_unfold(begin, move |(mut history, next)| async move {
        let Some(id) = next else {
            return Err(RefsError::NotInHistory { base, tip }.into());
        };
        if id == base {
            return Ok(None);
        }
        let node = history.try_next().await?;
        Ok(node.map(|node| {
            let parent = node.parent();
            (node, (history, parent))
        }))
    })
}

/// Returns whether `ancestor` is in the history of `of`. A snapshot is in its own history.
///
/// # Errors
/// The errors of the graph.
pub async fn reaches<G: Graph>(
    graph: G,
    of: SnapshotId,
    ancestor: SnapshotId,
) -> Result<bool, G::Error> {
    let mut next = Some(of);
    let mut history = std::pin::pin!(ancestors(graph, of, Pace::long().back_to(ancestor)));
    while next.is_some_and(|id| id != ancestor) {
        next = history.try_next().await?.and_then(|node| node.parent());
    }
    Ok(next.is_some())
}

/// Walks two histories at once, and returns the snapshot from which they went apart: the newest that is in both. `joined`
/// tells which other snapshots a commit joined with its parent; one of those that is gone leads nowhere.
///
/// A child is newer than all that it comes from, so that the first snapshot that is taken up from both sides has no
/// descendant that is common, too.
///
/// None if they have nothing in common.
///
/// # Errors
/// Errors of the graph.
pub async fn meeting_point<G: Graph<Node = SnapshotInfo, Error = RefsError>>(
    graph: G,
    ours: SnapshotId,
    theirs: SnapshotId,
    joined: impl Fn(&SnapshotInfo) -> Vec<SnapshotId>,
) -> Result<Option<SnapshotId>, RefsError> {
    let mut walk = HistoryWalk::new(graph, Pace::together(2));
    // From which of the two each was reached.
    let mut reached: HashMap<SnapshotId, [bool; 2]> = HashMap::new();
    for (side, id) in [ours, theirs].into_iter().enumerate() {
        walk.go(id);
        reached.entry(id).or_default()[side] = true;
    }
    let mut infos = HashMap::new();
    let mut waiting = BTreeSet::new();
    let mut only_joined: HashSet<SnapshotId> = HashSet::new();
    let mut gone = HashMap::new();
    loop {
        while let Some((id, info)) = walk.next().await {
            match info {
                Ok(info) => {
                    waiting.insert((info.written_at, id));
                    infos.insert(id, info);
                }
                Err(error @ RefsError::Fetch(FetchError::Missing { .. }))
                    if only_joined.contains(&id) =>
                {
                    gone.insert(id, error);
                }
                Err(error) => return Err(error),
            }
        }
        let Some((_, id)) = waiting.pop_last() else {
            return Ok(None);
        };
        let from = reached[&id];
        if from == [true; 2] {
            return Ok(Some(id));
        }
        let info = &infos[&id];
        let joined = joined(info);
        only_joined.extend(joined.iter().filter(|id| !reached.contains_key(*id)));
        if let Some(parent) = &info.parent_id {
            only_joined.remove(parent);
            if let Some(error) = gone.remove(parent) {
                return Err(error);
            }
        }
        for parent in joined.into_iter().chain(info.parent_id) {
            let sides = reached.entry(parent).or_default();
            let both = [sides[0] | from[0], sides[1] | from[1]];
            let grew = std::mem::replace(sides, both) != both;
            match infos.get(&parent) {
                None => drop(walk.go(parent)),
                // Older than its child by its clock only: once more, with what is known now.
                Some(info) if grew => drop(waiting.insert((info.written_at, parent))),
                Some(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
