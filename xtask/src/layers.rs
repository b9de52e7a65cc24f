//! `cargo xtask layers`: the architecture as a table, and the check that every crate keeps to it.

mod circles;
mod imports;
mod ledger;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{process, workspace};

/// A crate and what it may depend on among ours.
struct Layer {
    name: &'static str,
    /// In its library or program, and in its tests.
    uses: &'static [&'static str],
    /// In its tests and examples only.
    tests_use: &'static [&'static str],
    published: bool,
}

/// Which crate may use which, lowest layer first. A new crate gets a row here, and a reason in its change.
const LAYERS: &[Layer] = &[
    Layer {
        name: "icefield-format",
        uses: &[],
        tests_use: &[],
        published: true,
    },
    Layer {
        // Its wrappers are tested around a store.
        name: "icefield-storage",
        uses: &[],
        tests_use: &["icefield-storage-memory"],
        published: true,
    },
    Layer {
        name: "icefield-storage-memory",
        uses: &["icefield-storage"],
        tests_use: &["icefield-testkit"],
        published: true,
    },
    Layer {
        name: "icefield-storage-local",
        uses: &["icefield-storage"],
        tests_use: &["icefield-testkit"],
        published: true,
    },
    Layer {
        name: "icefield-storage-s3",
        uses: &["icefield-storage"],
        tests_use: &["icefield-testservers"],
        published: true,
    },
    Layer {
        name: "icefield-storage-gcs",
        uses: &["icefield-storage"],
        tests_use: &["icefield-testservers"],
        published: true,
    },
    Layer {
        name: "icefield-storage-object-store",
        uses: &["icefield-storage"],
        tests_use: &["icefield-testservers"],
        published: true,
    },
    Layer {
        // Which objects never change, the format says.
        name: "icefield-storage-cache",
        uses: &["icefield-storage", "icefield-format"],
        tests_use: &["icefield-core", "icefield-storage-memory"],
        published: true,
    },
    Layer {
        name: "icefield-testkit",
        uses: &["icefield-storage", "icefield-format"],
        tests_use: &["icefield-storage-memory"],
        published: false,
    },
    Layer {
        // It knows the clock of the storage contract, and no backend: the backends are tested with it.
        name: "icefield-testservers",
        uses: &["icefield-storage"],
        tests_use: &[],
        published: false,
    },
    Layer {
        name: "icefield-refs",
        uses: &["icefield-storage", "icefield-format"],
        tests_use: &["icefield-testkit", "icefield-storage-memory"],
        published: true,
    },
    Layer {
        // No backend that leaves the process, not even in tests: those run from the facade.
        name: "icefield-core",
        uses: &["icefield-refs", "icefield-storage", "icefield-format"],
        tests_use: &["icefield-testkit", "icefield-storage-memory"],
        published: true,
    },
    Layer {
        name: "icefield-zarr-store",
        uses: &["icefield-core", "icefield-storage", "icefield-format"],
        tests_use: &["icefield-testkit", "icefield-storage-memory"],
        published: true,
    },
    Layer {
        // Trees of other tools: beside the view of a session, and knowing nothing of repositories.
        name: "icefield-zarr-fs",
        uses: &["icefield-storage"],
        tests_use: &["icefield-storage-memory"],
        published: true,
    },
    Layer {
        // A data model and its spellings: text and JSON in, text and JSON out.
        name: "icefield-nczarr",
        uses: &[],
        tests_use: &[],
        published: true,
    },
    Layer {
        name: "icefield-ingest",
        uses: &[
            "icefield-nczarr",
            "icefield-zarr-fs",
            "icefield-zarr-store",
            "icefield-core",
            "icefield-storage",
            "icefield-format",
        ],
        tests_use: &[
            "icefield-testkit",
            "icefield-storage-memory",
            "icefield-storage-local",
        ],
        published: true,
    },
    Layer {
        // The arrays of a window are read and written through the session; only small arrays are ever decoded.
        name: "icefield-rolling",
        uses: &["icefield-zarr-store", "icefield-core"],
        tests_use: &[
            "icefield-testkit",
            "icefield-storage",
            "icefield-storage-memory",
        ],
        published: true,
    },
    Layer {
        // No ingest: a history is taken over, not a hierarchy.
        name: "icefield-alpha",
        uses: &["icefield-core", "icefield-storage", "icefield-format"],
        tests_use: &["icefield-testkit", "icefield-storage-memory"],
        published: true,
    },
    Layer {
        // Refs as well: it lists them with their states, and edits them under those.
        name: "icefield-maintenance",
        uses: &[
            "icefield-core",
            "icefield-refs",
            "icefield-storage",
            "icefield-format",
        ],
        tests_use: &["icefield-testkit", "icefield-storage-memory"],
        published: true,
    },
    Layer {
        name: "icefield",
        uses: &[
            "icefield-maintenance",
            "icefield-alpha",
            "icefield-ingest",
            "icefield-rolling",
            "icefield-zarr-store",
            "icefield-core",
            "icefield-storage",
            "icefield-storage-memory",
            "icefield-storage-local",
            "icefield-storage-s3",
            "icefield-storage-gcs",
            "icefield-storage-object-store",
            "icefield-storage-cache",
            "icefield-format",
        ],
        tests_use: &["icefield-testkit", "icefield-testservers"],
        published: true,
    },
    Layer {
        // As the command line: all through the facade, which says what versions, grants and failures are.
        name: "icefield-gateway",
        uses: &["icefield"],
        // The wrapper with faults, which the facade does not have.
        tests_use: &["icefield-storage"],
        published: true,
    },
    Layer {
        // If it needs more than the facade, the facade is missing something.
        name: "icefield-cli",
        uses: &["icefield", "icefield-gateway"],
        // The wrapper with faults, which the facade does not have, and servers to run against.
        tests_use: &[
            "icefield-testkit",
            "icefield-testservers",
            "icefield-storage",
        ],
        published: true,
    },
    Layer {
        // As the command line: all through the facade. It is published as a wheel, not as a crate.
        name: "icefield-python",
        // It is given more than the facade's URLs say: keys that a function hands out, headers, retries. The command line
        // comes along, as a command of the wheel.
        uses: &[
            "icefield",
            "icefield-cli",
            "icefield-gateway",
            "icefield-storage-gcs",
            "icefield-storage-object-store",
            "icefield-storage-s3",
        ],
        tests_use: &[],
        published: false,
    },
    Layer {
        name: "icefield-harness",
        uses: &[
            "icefield",
            "icefield-testkit",
            "icefield-ingest",
            "icefield-zarr-fs",
            "icefield-zarr-store",
            "icefield-core",
            "icefield-refs",
            "icefield-storage",
            "icefield-storage-memory",
            "icefield-storage-local",
            "icefield-storage-s3",
            "icefield-testservers",
            "icefield-format",
        ],
        tests_use: &[],
        published: false,
    },
    Layer {
        // A program that judges the others. It takes faults from the contract's test support.
        name: "icefield-simulation",
        uses: &["icefield", "icefield-storage"],
        tests_use: &[],
        published: false,
    },
    Layer {
        name: "icefield-benches",
        uses: &[
            "icefield",
            "icefield-testkit",
            "icefield-maintenance",
            "icefield-rolling",
            "icefield-ingest",
            "icefield-zarr-store",
            "icefield-core",
            "icefield-refs",
            "icefield-storage",
            "icefield-storage-memory",
            "icefield-storage-local",
            "icefield-storage-s3",
            "icefield-storage-gcs",
            "icefield-storage-object-store",
            "icefield-testservers",
            "icefield-format",
        ],
        tests_use: &[],
        published: false,
    },
    Layer {
        name: "xtask",
        uses: &[],
        tests_use: &[],
        published: false,
    },
];

/// The dependencies that a pure codec must not pull in: runtimes, stores, the network.
const NOT_IN_FORMAT: &[&str] = &[
    "async-std",
    "futures-executor",
    "h2",
    "hyper",
    "mio",
    "object_store",
    "reqwest",
    "rustls",
    "smol",
    "tokio",
];

/// The facade with its default features, the ones without a cloud, stays below this many crates.
const FACADE_LIMIT: usize = 96;

/// Prints the circles of files in each crate.
///
/// # Errors
/// If sources cannot be read.
pub fn print_circles() -> Result<()> {
    circles::print()
}

/// Checks every rule and reports all that are broken.
///
/// # Errors
/// If one is.
pub fn run() -> Result<()> {
    let mut broken = Vec::new();
    for package in workspace::packages()? {
        broken.extend(broken_rules(package)?);
    }
    broken.extend(facade_size()?);
    broken.extend(format_alone()?);
    broken.extend(circles::check()?);
    if broken.is_empty() {
        return Ok(());
    }
    for rule in &broken {
        eprintln!("layers: {rule}");
    }
    bail!("{} rules of the layers are broken", broken.len())
}

fn broken_rules(package: &Value) -> Result<Vec<String>> {
    let name = package["name"].as_str().context("a package has no name")?;
    let Some(layer) = LAYERS.iter().find(|layer| layer.name == name) else {
        return Ok(vec![format!(
            "`{name}` has no row in the table of xtask/src/layers.rs"
        )]);
    };
    let mut broken = directions(layer, package)?;
    if let Some(manifest) = package["manifest_path"].as_str() {
        broken.extend(ledger::facts(name, Path::new(manifest))?);
    }
    if workspace::published(package) != layer.published {
        let should = if layer.published { "drop" } else { "have" };
        broken.push(format!("`{name}` should {should} `publish = false`"));
    }
    if layer.published {
        broken.extend(presentation(name, package)?);
    }
    Ok(broken)
}

/// Checks that a crate depends only on what its row allows.
fn directions(layer: &Layer, package: &Value) -> Result<Vec<String>> {
    let mut broken = Vec::new();
    let dependencies = package["dependencies"].as_array();
    for dependency in dependencies.context("a package has no dependencies")? {
        let used = dependency["name"].as_str().unwrap_or_default();
        let in_tests = dependency["kind"] == "dev";
        // A crate may name itself in its tests, to switch a feature on.
        if !LAYERS.iter().any(|other| other.name == used) || (in_tests && used == layer.name) {
            continue;
        }
        let allowed = layer.uses.contains(&used) || (in_tests && layer.tests_use.contains(&used));
        if !allowed {
            let (name, place) = (layer.name, if in_tests { " in its tests" } else { "" });
            broken.push(format!("`{name}` must not depend on `{used}`{place}"));
        }
    }
    Ok(broken)
}

/// Checks what a stranger sees first: a description, a licence, and a README whose example compiles.
fn presentation(name: &str, package: &Value) -> Result<Vec<String>> {
    let mut broken = Vec::new();
    for field in ["description", "license", "repository"] {
        if package[field].as_str().is_none_or(str::is_empty) {
            broken.push(format!("`{name}` has no {field}"));
        }
    }
    let manifest = package["manifest_path"].as_str();
    let manifest = Path::new(manifest.context("a package has no manifest")?);
    let directory = manifest.parent().unwrap_or(manifest);
    let readme = package["readme"].as_str().unwrap_or("README.md");
    let Ok(text) = fs::read_to_string(directory.join(readme)) else {
        broken.push(format!("`{name}` has no README"));
        return Ok(broken);
    };
    let library = directory.join("src/lib.rs");
    if library.is_file() {
        let mut lines = text.lines();
        if !lines.any(|line| ["```rust", "```rust,no_run"].contains(&line.trim_end())) {
            broken.push(format!(
                "the README of `{name}` has no example: a block that starts with ```rust"
            ));
        }
        let source = fs::read_to_string(&library)
            .with_context(|| format!("cannot read {}", library.display()))?;
        if !source.contains("include_str!(\"../README.md\")") {
            broken.push(format!(
                "`{name}` does not compile its README's example: add `#[cfg(doctest)] \
                 #[doc = include_str!(\"../README.md\")] struct Readme;` to its lib.rs"
            ));
        }
    } else if text.lines().count() < 5 {
        broken.push(format!("the README of `{name}` says nothing"));
    }
    Ok(broken)
}

fn facade_size() -> Result<Option<String>> {
    let mut cargo = process::cargo();
    cargo.args(["tree", "--package", "icefield"]);
    let tree = tree(&mut cargo)?;
    let size = crates(&tree).len();
    println!("the facade with default features is {size} crates (limit {FACADE_LIMIT})");
    Ok((size >= FACADE_LIMIT).then(|| format!("the facade has grown to {size} crates")))
}

/// Builds a crate that uses only `icefield-format`, outside the workspace so that no other member can
/// lend it features, and looks at what it drags in.
fn format_alone() -> Result<Vec<String>> {
    let root = workspace::root();
    let target = workspace::target()?;
    let scratch = workspace::scratch("layers")?;
    fs::create_dir(scratch.join("src"))?;
    let manifest = scratch.join("Cargo.toml");
    let text = format!(
        "[package]\nname = \"only-format\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\nicefield-format = {{ path = {:?} }}\n\n\
         [profile.dev]\nopt-level = 1\ndebug = \"line-tables-only\"\n\n\
         [profile.dev.package.\"*\"]\nopt-level = 3\ndebug = false\n\n\
         [workspace]\n",
        root.join("crates/format")
    );
    fs::write(&manifest, text)?;
    fs::write(
        scratch.join("src/main.rs"),
        "//! Uses the format and nothing else.\nuse icefield_format as _;\nfn main() {}\n",
    )?;
    // The same versions as ours, and no reason to ask the registry.
    fs::copy(root.join("Cargo.lock"), scratch.join("Cargo.lock"))?;

    let mut cargo = process::cargo();
    cargo.arg("tree").arg("--manifest-path").arg(&manifest);
    let tree = tree(&mut cargo)?;
    let used = crates(&tree);
    println!(
        "a crate that uses only icefield-format is {} crates",
        used.len()
    );
    let mut cargo = process::cargo();
    cargo.arg("check").arg("--manifest-path").arg(&manifest);
    process::run(cargo.arg("--quiet").arg("--target-dir").arg(&target))?;
    Ok(NOT_IN_FORMAT
        .iter()
        .filter(|name| used.iter().any(|(used, _)| used == *name))
        .map(|name| format!("`icefield-format` pulls in `{name}`"))
        .collect())
}

fn tree(cargo: &mut std::process::Command) -> Result<String> {
    process::output(cargo.args(["--edges", "normal", "--prefix", "none", "--format", "{p}"]))
}

/// Returns name and version of each crate in the output of `cargo tree`, once.
fn crates(tree: &str) -> BTreeSet<(&str, &str)> {
    tree.lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            words.next().zip(words.next())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn complaints(name: &str, kind: Value, used: &str) -> usize {
        let layer = LAYERS.iter().find(|layer| layer.name == name).unwrap();
        let package = json!({ "dependencies": [{ "name": used, "kind": kind }] });
        directions(layer, &package).unwrap().len()
    }

    #[test]
    fn a_dependency_upwards_is_refused() {
        assert_eq!(complaints("icefield-refs", Value::Null, "icefield-core"), 1);
        assert_eq!(
            complaints("icefield-refs", Value::Null, "icefield-format"),
            0
        );
        assert_eq!(
            complaints("icefield-format", json!("build"), "icefield-storage"),
            1
        );
    }

    #[test]
    fn a_test_dependency_is_no_dependency() {
        let backend = "icefield-storage-memory";
        assert_eq!(complaints("icefield-core", json!("dev"), backend), 0);
        assert_eq!(complaints("icefield-core", Value::Null, backend), 1);
        assert_eq!(
            complaints("icefield-core", json!("dev"), "icefield-storage-local"),
            1
        );
    }

    #[test]
    fn a_crate_without_a_row_is_reported() {
        let broken = broken_rules(&json!({ "name": "icefield-new" })).unwrap();
        assert_eq!(broken.len(), 1);
    }

    #[test]
    fn each_crate_of_a_tree_counts_once() {
        let tree = "a v1.0.0 (/somewhere)\nb v2.0.0\nb v2.0.0 (*)\nb v1.0.0\n";
        assert_eq!(crates(tree).len(), 3);
    }
}
