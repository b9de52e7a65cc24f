//! Plays every crash of a recording.
//!
//! For every moment of it, every pending effect (a write to a file, an entry of a directory) is kept, dropped
//! or torn independently of the others: worse than any file system does. Each tree that can come out is checked;
//! some are written to a fresh directory, opened, and worked with.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use icefield_storage::{PutMode, SeededEntropy, StorageExt};

use super::kit::{REF, Rig, Speak, key, open, quick_dir};
use crate::sys::habits::Habits;
use crate::sys::record::{Event, Id, ROOT, Recording, World};
use crate::sys::twin::Twin;
use crate::{Fsync, LocalStorage};

/// States tried for one moment; where there are more, as many are drawn.
const STATES: u64 = 2000;
/// Trees of one scenario that are written to a directory and opened.
const OPENED: usize = 48;

/// The objects of a tree.
pub(super) type Tree = BTreeMap<String, Vec<u8>>;

/// One thing that a crash may or may not undo.
#[derive(Clone, Debug)]
enum Effect {
    Entry {
        dir: Id,
        name: String,
        child: Option<Id>,
    },
    Data {
        file: Id,
        offset: u64,
        bytes: Vec<u8>,
    },
}

/// The fate of a pending effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Kept,
    Dropped,
    /// The size is there, the bytes are not.
    Zeros,
    Half,
}

fn effects(event: &Event) -> Vec<Effect> {
    let entry = |dir: Id, name: &str, child| Effect::Entry {
        dir,
        name: name.to_owned(),
        child,
    };
    match event {
        Event::Make {
            dir, name, child, ..
        } => vec![entry(*dir, name, Some(*child))],
        Event::Link { child, to, new } => vec![entry(*to, new, Some(*child))],
        Event::Unlink { dir, name } => vec![entry(*dir, name, None)],
        Event::Write {
            file,
            offset,
            bytes,
        } => vec![Effect::Data {
            file: *file,
            offset: *offset,
            bytes: bytes.clone(),
        }],
        // The child of a rename is known only to the world in which it happens.
        Event::Rename { .. } | Event::Fsync(_) | Event::Syncfs | Event::Mark(_) => Vec::new(),
    }
}

/// Resolves renames and lists every effect with whether it was pending at the end of `events`.
fn timeline(base: &World, events: &[Event]) -> Vec<(Effect, bool)> {
    let mut world = base.clone();
    let mut line: Vec<(Effect, bool)> = Vec::new();
    for event in events {
        let mut new = effects(event);
        match event {
            Event::Make { child, is_dir, .. } => {
                if *is_dir {
                    world.dirs.insert(*child, BTreeMap::new());
                } else {
                    world.files.insert(*child, Vec::new());
                }
            }
            Event::Rename {
                from,
                name,
                to,
                new: target,
            } => {
                let child = world.dirs[from].get(name).copied();
                assert!(child.is_some(), "a rename of nothing");
                for (dir, name, child) in [(*to, target, child), (*from, name, None)] {
                    let name = name.clone();
                    new.push(Effect::Entry { dir, name, child });
                }
            }
            Event::Fsync(id) => {
                for (effect, pending) in &mut line {
                    let of = match effect {
                        Effect::Entry { dir, .. } => *dir,
                        Effect::Data { file, .. } => *file,
                    };
                    *pending &= of != *id;
                }
            }
            Event::Syncfs => line.iter_mut().for_each(|(_, pending)| *pending = false),
            _ => {}
        }
        for effect in new {
            apply(&mut world, &effect, Fate::Kept);
            line.push((effect, true));
        }
    }
    line
}

fn apply(world: &mut World, effect: &Effect, fate: Fate) {
    match effect {
        _ if fate == Fate::Dropped => {}
        Effect::Entry { dir, name, child } => {
            let entries = world.dirs.entry(*dir).or_default();
            match child {
                Some(child) => entries.insert(name.clone(), *child),
                None => entries.remove(name),
            };
        }
        Effect::Data {
            file,
            offset,
            bytes,
        } => {
            let content = world.files.entry(*file).or_default();
            let start = usize::try_from(*offset).expect("small");
            let bytes = match fate {
                Fate::Zeros => vec![0; bytes.len()],
                Fate::Half => bytes[..bytes.len() / 2].to_vec(),
                _ => bytes.clone(),
            };
            content.resize(content.len().max(start + bytes.len()), 0);
            content[start..start + bytes.len()].copy_from_slice(&bytes);
        }
    }
}

fn tree(world: &World) -> Tree {
    fn walk(world: &World, dir: Id, path: &str, tree: &mut Tree) {
        for (name, child) in world.dirs.get(&dir).into_iter().flatten() {
            if dir == ROOT && name.starts_with('.') {
                continue;
            }
            let path = format!("{path}{name}");
            if world.dirs.contains_key(child) {
                walk(world, *child, &format!("{path}/"), tree);
            } else {
                let bytes = world.files.get(child).cloned().unwrap_or_default();
                tree.insert(path, bytes);
            }
        }
    }
    let mut found = Tree::new();
    walk(world, ROOT, "", &mut found);
    found
}

/// Returns every tree that a crash after `events` may leave.
fn crash(base: &World, events: &[Event], seed: u64) -> BTreeSet<Tree> {
    let line = timeline(base, events);
    // Changes in the hidden directory are never seen; its entries may as well stay.
    let hidden: BTreeSet<Id> = hidden_dirs(base, events);
    let mut blank = base.clone();
    for event in events {
        if let Event::Make {
            child,
            is_dir: true,
            ..
        } = event
        {
            blank.dirs.insert(*child, BTreeMap::new());
        }
    }
    let options: Vec<&[Fate]> = line
        .iter()
        .map(|(effect, pending)| match effect {
            _ if !pending => &[Fate::Kept][..],
            Effect::Entry { dir, .. } if hidden.contains(dir) => &[Fate::Kept][..],
            Effect::Entry { .. } => &[Fate::Kept, Fate::Dropped][..],
            Effect::Data { .. } => &[Fate::Kept, Fate::Dropped, Fate::Zeros, Fate::Half][..],
        })
        .collect();
    let count = options
        .iter()
        .try_fold(1_u64, |count, fates| count.checked_mul(fates.len() as u64))
        .filter(|count| *count <= STATES);
    let mut trees = BTreeSet::new();
    let mut play = |choose: &mut dyn FnMut(usize, &[Fate]) -> Fate| {
        let mut world = blank.clone();
        for (i, ((effect, _), fates)) in line.iter().zip(&options).enumerate() {
            apply(&mut world, effect, choose(i, fates));
        }
        trees.insert(tree(&world));
    };
    if let Some(count) = count {
        for state in 0..count {
            let mut rest = state;
            play(&mut |_, fates| {
                let fate = fates[usize::try_from(rest % fates.len() as u64).expect("small")];
                rest /= fates.len() as u64;
                fate
            });
        }
        return trees;
    }
    // Too many: the ends, each effect alone kept, each alone undone, and a sample.
    play(&mut |_, fates| fates[0]);
    play(&mut |_, fates| fates[fates.len().min(2) - 1]);
    for alone in 0..line.len() {
        for fate in 1..4 {
            play(&mut |i, fates| {
                if i == alone {
                    fates[fate % fates.len()]
                } else {
                    fates[0]
                }
            });
        }
        play(&mut |i, fates| {
            if i == alone {
                fates[0]
            } else {
                fates[fates.len().min(2) - 1]
            }
        });
    }
    let random = SeededEntropy::new(seed);
    for _ in 0..STATES {
        // With every bias, so that nearly everything and nearly nothing is undone as well.
        let bias = random.below(101);
        play(&mut |_, fates| match random.below(100) < bias {
            true => fates[0],
            false => fates[usize::try_from(random.below(fates.len() as u64)).expect("small")],
        });
    }
    trees
}

fn hidden_dirs(base: &World, events: &[Event]) -> BTreeSet<Id> {
    let mut hidden = BTreeSet::new();
    let known = base.dirs[&ROOT].get(".icefield-local");
    if let Some(id) = known {
        hidden.insert(*id);
        hidden.extend(base.dirs[id].values().copied());
    }
    for event in events {
        if let Event::Make {
            dir,
            name,
            child,
            is_dir: true,
        } = event
        {
            let top = *dir == ROOT && name == ".icefield-local";
            if top || hidden.contains(dir) {
                hidden.insert(*child);
            }
        }
    }
    hidden
}

/// The rule for a tree once the scenario has passed the given marks.
pub(super) type Law = dyn Fn(&Tree, &[&str]) -> Result<(), String>;

/// Plays every crash of a recording. Returns the first broken law, or how many trees were tried.
pub(super) fn replay(recording: &Recording, law: &Law) -> Result<usize, String> {
    let mut tried = BTreeSet::new();
    for end in 0..=recording.events.len() {
        let events = &recording.events[..end];
        let marks: Vec<&str> = events
            .iter()
            .filter_map(|event| match event {
                Event::Mark(mark) => Some(mark.as_str()),
                _ => None,
            })
            .collect();
        for tree in crash(&recording.base, events, end as u64) {
            law(&tree, &marks).map_err(|broken| {
                let last = events.last();
                format!("crash after event {end} {last:?}, marks {marks:?}: {broken}\n{tree:?}")
            })?;
            tried.insert(tree);
        }
    }
    reopen(&tried);
    Ok(tried.len())
}

/// Writes trees to a directory, opens it, and goes on working.
fn reopen(trees: &BTreeSet<Tree>) {
    super::kit::run(async {
        for tree in trees.iter().step_by(trees.len().div_ceil(OPENED)) {
            let dir = quick_dir();
            for (path, bytes) in tree {
                let path = dir.path().join(path);
                std::fs::create_dir_all(path.parent().expect("below")).expect("made");
                std::fs::write(path, bytes).expect("written");
            }
            let store = open(dir.path());
            assert_eq!(store.keys().await, tree.keys().cloned().collect::<Vec<_>>());
            for (path, bytes) in tree {
                let (read, version) = store
                    .try_read(&key(path))
                    .await
                    .expect("read")
                    .expect("there");
                assert_eq!(read, bytes);
                if path == REF {
                    store.write(REF, "next", PutMode::Update(version)).await;
                }
            }
            store.write("after", "the crash", PutMode::Create).await;
        }
    });
}

/// Runs a scenario on a recorded store whose directory holds `before` already.
pub(super) fn record<F: Future<Output = ()>>(
    habits: Habits,
    fsync: Fsync,
    before: &[(&str, &str)],
    scenario: impl FnOnce(LocalStorage, Arc<Twin>) -> F,
) -> Recording {
    super::kit::run(async {
        let rig = Rig::with(habits, |builder| builder.fsync(fsync));
        for (path, text) in before {
            rig.again().write(path, text, PutMode::Overwrite).await;
        }
        rig.twin.record(rig.dir.path());
        scenario(rig.store.clone(), Arc::clone(&rig.twin)).await;
        rig.twin.recorded()
    })
}
