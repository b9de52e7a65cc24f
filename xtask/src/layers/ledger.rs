//! The facts that only the ledger knows: facts of one spec version that no crate above `icefield-refs` may name.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::workspace;

/// Crates that know the format itself.
const KNOWING: &[&str] = &[
    "icefield-format",
    "icefield-refs",
    "icefield-testkit",
    "xtask",
];

/// A text that gives away that a file knows more than it should.
struct Fact {
    text: &'static str,
    instead: &'static str,
    /// Files that may, because they read or name files that no ledger vouches for.
    spared: &'static [&'static str],
}

const FACTS: &[Fact] = &[
    Fact {
        text: ".parent_id()",
        instead: "`Ledger::graph` and its walks tell parents",
        // They show `repo` as it is stored, or compare files with it.
        spared: &[
            "crates/maintenance/src/bundle/repo.rs",
            "crates/maintenance/src/check/histories.rs",
            "crates/maintenance/src/check/lost.rs",
            "crates/maintenance/src/check/objects.rs",
            "crates/maintenance/src/check/unlisted.rs",
            "crates/maintenance/src/downgrade/rewriter.rs",
            "crates/python/src/inspect/repo_info.rs",
        ],
    },
    Fact {
        text: "SnapshotInfo::of(",
        instead: "`Ledger::snapshot` describes a snapshot",
        spared: &[
            "crates/maintenance/src/bundle/inspect.rs",
            "crates/maintenance/src/bundle/unbundle/unpack.rs",
        ],
    },
    Fact {
        text: "::reparented(",
        instead: "`Edit::Reparent` gives another parent",
        spared: &[],
    },
    Fact {
        text: "layout::REPO",
        instead: "`Ledger::open` and `Ledger::was_upgraded` look for it",
        // Bundles hold it, errors, findings and reports name it, and a cache tells by it what it must not keep.
        spared: &[
            "crates/maintenance/src/bundle.rs",
            "crates/maintenance/src/bundle/member.rs",
            "crates/maintenance/src/check/refs.rs",
            "crates/maintenance/src/check/repo.rs",
            "crates/maintenance/src/check/run/conclude.rs",
            "crates/maintenance/src/check/strays.rs",
            "crates/maintenance/src/copy/receive.rs",
            "crates/maintenance/src/downgrade/examine.rs",
            "crates/python/src/inspect/repo_info.rs",
            "crates/storage-cache/src/policy.rs",
        ],
    },
    Fact {
        text: "layout::CONFIG",
        instead: "`Ledger::config` reads it, and `Edit::SetConfig` stores it",
        // Copies and bundles move the file as it is; a cache asks for it to tell a near store.
        spared: &[
            "crates/maintenance/src/bundle.rs",
            "crates/maintenance/src/bundle/member.rs",
            "crates/maintenance/src/check/refs.rs",
            "crates/maintenance/src/check/strays.rs",
            "crates/maintenance/src/copy/settings.rs",
            "crates/storage-cache/src/cached.rs",
        ],
    },
];

/// Checks the sources of a crate, without those of its tests.
pub(super) fn facts(name: &str, manifest: &Path) -> Result<Vec<String>> {
    let mut broken = Vec::new();
    if KNOWING.contains(&name) {
        return Ok(broken);
    }
    let mut folders = vec![manifest.with_file_name("src")];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        for entry in entries {
            let path = entry?.path();
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            if matches!(&*stem, "tests" | "test_suite") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
                let root = workspace::root();
                let file = path.strip_prefix(&root).unwrap_or(&path);
                let file = file.to_string_lossy().replace('\\', "/");
                broken.extend(known_to(&file, &text));
            }
        }
    }
    Ok(broken)
}

/// The facts that a file names and should not.
fn known_to(file: &str, text: &str) -> impl Iterator<Item = String> {
    let named = FACTS
        .iter()
        .filter(move |fact| text.contains(fact.text) && !fact.spared.contains(&file));
    named.map(move |fact| format!("{file} names `{}`: {}", fact.text, fact.instead))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_out_of_a_snapshot_file_is_refused() {
        let text = "let parent = snapshot.parent_id();";
        assert_eq!(known_to("crates/core/src/new.rs", text).count(), 1);
        let info = "let parent = info.parent_id;";
        assert_eq!(known_to("crates/core/src/new.rs", info).count(), 0);
    }

    #[test]
    fn what_is_spared_exists_and_needs_it() {
        for fact in FACTS {
            for file in fact.spared {
                let text = fs::read_to_string(workspace::root().join(file)).unwrap();
                assert!(
                    text.contains(fact.text),
                    "{file} does not name {}",
                    fact.text
                );
            }
        }
    }
}
