//! What the handles of one process share that are on one repository: the line of edits, so that those which meet go into one
//! write, the backup made ahead, and the state of `repo` that was read or written last.
//!
//! A place is a name that a store gives itself, and two stores may give the same: buckets of two tenants of one server, or a
//! directory that was replaced. So handles join only after each has got one and the same state of `repo` from its own store.
//! They keep to themselves what they read without a request: a state that another handle read serves as the condition of a
//! read, which the store answers to the handle that asks.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use icefield_storage::{Capabilities, PerProcess, Storage, Version};

use super::ahead::Ahead;
use super::object::RepoState;
use super::publish::Queue;

/// Handles share a group only if their stores guarantee the same: one that makes nothing durable must not write for one that does.
type Place = (String, Capabilities);

/// The groups of this process.
static GROUPS: PerProcess<Place, Vec<Weak<Group>>> = PerProcess::new();

/// States that a group knows again.
const KNOWN: usize = 256;

/// Handles of one process on one repository.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) queue: Queue,
    pub(super) ahead: Ahead,
    states: Mutex<States>,
}

#[derive(Debug, Default)]
struct States {
    latest: Option<Arc<RepoState>>,
    /// States that members read or wrote, the newest last.
    known: VecDeque<Mark>,
}

/// By what a state is known again. Two stores whose versions are numbers may give the same one to states of other times.
#[derive(Debug, PartialEq, Eq)]
struct Mark {
    version: Version,
    newest_at: u64,
}

impl Mark {
    fn of(state: &RepoState) -> Self {
        Self {
            version: state.version.clone(),
            newest_at: state.info.log().newest_at(),
        }
    }
}

impl Group {
    fn states(&self) -> MutexGuard<'_, States> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the newest state that a member read or wrote.
    pub(super) fn latest(&self) -> Option<Arc<RepoState>> {
        self.states().latest.clone()
    }

    fn knows(&self, mark: &Mark) -> bool {
        self.states().known.contains(mark)
    }

    /// Takes over a state that a member has just written, or read. Replies come out of order: one that was read does not replace
    /// a newer one.
    fn note(&self, state: &Arc<RepoState>, is_written: bool) {
        let mut states = self.states();
        let mark = Mark::of(state);
        let latest = states.latest.as_deref().map(Mark::of);
        if is_written || latest.is_none_or(|it| it.newest_at <= mark.newest_at) {
            states.latest = Some(Arc::clone(state));
        }
        if !states.known.contains(&mark) {
            states.known.push_back(mark);
        }
        if states.known.len() > KNOWN {
            states.known.pop_front();
        }
    }
}

/// The group of one handle, in the process in which the handle is used.
#[derive(Debug)]
pub(super) struct Membership(Mutex<(u32, Arc<Group>)>);

impl Default for Membership {
    fn default() -> Self {
        Self(Mutex::new((std::process::id(), Arc::default())))
    }
}

impl Membership {
    /// Locks the membership. A process that was forked has none of its parent's groups: their writers are not there.
    fn own(&self) -> MutexGuard<'_, (u32, Arc<Group>)> {
        let mut own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let process = std::process::id();
        if own.0 != process {
            *own = (process, Arc::default());
        }
        own
    }

    /// Returns the group.
    pub(super) fn group(&self) -> Arc<Group> {
        Arc::clone(&self.own().1)
    }

    /// Takes over a state that the handle has just stored.
    pub(super) fn note_written(&self, state: &Arc<RepoState>) {
        self.group().note(state, true);
    }

    /// Takes over a state that the handle has just got from its store. If another group of the place knows it, the handle
    /// changes over to that one.
    pub(super) fn note_read(&self, storage: &dyn Storage, state: &Arc<RepoState>) {
        let mut own = self.own();
        let (process, group) = &mut *own;
        let mark = Mark::of(state);
        if !group.knows(&mark)
            && let Some(place) = storage.place()
        {
            let place = (place, storage.capabilities());
            let other = GROUPS.with(*process, |places| {
                if !places.contains_key(&place) {
                    places.retain(|_, groups| groups.iter().any(|it| it.strong_count() > 0));
                }
                let groups = places.entry(place).or_default();
                groups.retain(|it| it.strong_count() > 0);
                let mut others = groups.iter().filter_map(Weak::upgrade);
                let other = others.find(|it| it.knows(&mark));
                if other.is_none() {
                    // Others find it from now on.
                    group.note(state, false);
                    if !groups.iter().any(|it| it.as_ptr() == Arc::as_ptr(group)) {
                        groups.push(Arc::downgrade(group));
                    }
                }
                other
            });
            if let Some(other) = other.flatten() {
                *group = other;
            }
        }
        group.note(state, false);
    }
}
