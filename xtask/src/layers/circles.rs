//! Circles of files inside a crate: files that take names from each other, directly or around others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::imports::CrateFiles;
use crate::workspace;

/// The crates that have circles: the files of the largest one, and their number. No change makes either greater, and one that
/// makes them smaller lowers the row. The goal is 4 files, and 10 circles in all crates together.
const CIRCLES: &[(&str, usize, usize)] = &[("icefield-core", 2, 1), ("icefield-storage", 2, 1)];

/// Returns what is wrong with the circles of the workspace.
///
/// # Errors
/// If sources cannot be read.
pub fn check() -> Result<Vec<String>> {
    let mut broken = Vec::new();
    for package in workspace::packages()? {
        let name = package["name"].as_str().context("a package has no name")?;
        let mut found = Vec::new();
        for folder in source_folders(package) {
            found.extend(circles(folder)?);
        }
        let row = CIRCLES.iter().find(|(known, ..)| *known == name);
        let (files, number) = row.map_or((0, 0), |(_, files, number)| (*files, *number));
        let largest = found.iter().max_by_key(|circle| circle.len());
        let is_larger = largest.filter(|circle| circle.len() > files);
        if let Some(circle) = is_larger {
            broken.push(format!(
                "`{name}` has a circle of {} files that take names from each other, and {files} are allowed: {}",
                circle.len(),
                circle.join(", ")
            ));
        } else if found.len() > number {
            broken.push(format!(
                "`{name}` has {} circles of files, and {number} are allowed: `cargo xtask layers --circles` lists them",
                found.len()
            ));
        }
        if largest.map_or(0, Vec::len) < files || found.len() < number {
            broken.push(format!(
                "`{name}` has fewer or smaller circles of files than its row in xtask/src/layers/circles.rs: lower that to {} and {}",
                largest.map_or(0, Vec::len),
                found.len()
            ));
        }
    }
    Ok(broken)
}

/// Prints all circles of the workspace.
///
/// # Errors
/// If sources cannot be read.
pub fn print() -> Result<()> {
    for package in workspace::packages()? {
        for folder in source_folders(package) {
            for circle in circles(folder)? {
                println!(
                    "{:3}  {}  {}",
                    circle.len(),
                    package["name"],
                    circle.join(" ")
                );
            }
        }
    }
    Ok(())
}

/// The folders of a package's library and of its program, each once.
fn source_folders(package: &Value) -> BTreeSet<&Path> {
    let targets = package["targets"].as_array().into_iter().flatten();
    targets
        .filter(|target| {
            let kinds = target["kind"].as_array().into_iter().flatten();
            let mut kinds = kinds.filter_map(Value::as_str);
            kinds.any(|kind| matches!(kind, "lib" | "cdylib" | "bin" | "proc-macro"))
        })
        .filter_map(|target| Path::new(target["src_path"].as_str()?).parent())
        .filter(|folder| folder.ends_with("src"))
        .collect()
}

/// Returns the circles among the files below a folder, by their paths from there.
fn circles(folder: &Path) -> Result<Vec<Vec<String>>> {
    let files = CrateFiles::read(folder)?;
    let dependencies = files.dependencies();
    let name = |path: &Path| {
        let path = path.strip_prefix(folder).unwrap_or(path);
        path.display().to_string()
    };
    Ok(components(&dependencies)
        .into_iter()
        .map(|circle| circle.into_iter().map(name).collect())
        .collect())
}

/// The strongly connected components of more than one file: those that reach each other.
fn components<'a>(edges: &BTreeMap<&'a Path, BTreeSet<&'a Path>>) -> Vec<Vec<&'a Path>> {
    let reached = |from: &'a Path| {
        let mut seen = BTreeSet::new();
        let mut open = vec![from];
        while let Some(next) = open.pop() {
            for target in edges.get(next).into_iter().flatten() {
                if seen.insert(*target) {
                    open.push(target);
                }
            }
        }
        seen
    };
    let reach: BTreeMap<&Path, BTreeSet<&Path>> =
        edges.keys().map(|file| (*file, reached(file))).collect();
    let mut placed = BTreeSet::new();
    let mut found = Vec::new();
    for (file, targets) in &reach {
        let circle: Vec<&Path> = targets
            .iter()
            .copied()
            .filter(|target| reach.get(target).is_some_and(|back| back.contains(file)))
            .collect();
        if circle.len() > 1 && placed.insert(circle[0]) {
            found.push(circle);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A crate in a folder of its own, which is removed at the end.
    struct Planted(std::path::PathBuf);

    impl Planted {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
            for (file, text) in files {
                let path = folder.join(file);
                fs::create_dir_all(path.parent().expect("it has a folder")).expect("a folder");
                fs::write(path, text).expect("a file");
            }
            Self(folder)
        }
    }

    impl Drop for Planted {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_planted_circle_is_found_also_through_names_that_are_passed_on() {
        let planted = Planted::new(
            "icefield-circle",
            &[
                (
                    "lib.rs",
                    "mod a; mod b; mod c; mod d; pub use a::A; pub use c::C;",
                ),
                ("a.rs", "use crate::b::B; pub struct A(B);"),
                ("b.rs", "pub struct B; fn f() -> crate::C { crate::C }"),
                (
                    "c.rs",
                    "mod below; use super::A; pub struct C; pub fn g(_: A) {}",
                ),
                ("c/below.rs", "pub struct Alone;"),
                (
                    "d.rs",
                    "use crate::{A, C}; #[cfg(test)] mod tests { use crate::d; }",
                ),
            ],
        );
        let found = circles(&planted.0).expect("it can be read");
        assert_eq!(found, [vec!["a.rs", "b.rs", "c.rs"]]);
    }

    #[test]
    fn files_that_depend_one_way_are_no_circle() {
        let planted = Planted::new(
            "icefield-no-circle",
            &[
                ("lib.rs", "mod a; mod b; pub use a::A;"),
                ("a.rs", "use crate::b::B; pub struct A(B);"),
                ("b.rs", "// use crate::a::A;\npub struct B;"),
            ],
        );
        assert!(circles(&planted.0).expect("it can be read").is_empty());
    }
}
