//! Which test claims to find which fault: `xtask/planted.txt`.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::workspace;

/// The file, below the root.
pub const FILE: &str = "xtask/planted.txt";

/// One line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The name of the fault.
    pub bug: String,
    /// The package of the test.
    pub package: String,
    /// `lib` for unit tests, else the name of the test target.
    pub target: String,
    /// Which tests of that target run.
    pub filter: String,
}

impl Claim {
    /// What is run, whatever fault is planted.
    pub fn test(&self) -> (&str, &str, &str) {
        (&self.package, &self.target, &self.filter)
    }
}

/// Reads all claims.
///
/// # Errors
/// If the file cannot be read or understood.
pub fn all() -> Result<Vec<Claim>> {
    let path = workspace::root().join(FILE);
    let text = fs::read_to_string(&path);
    parse(&text.with_context(|| format!("cannot read {}", path.display()))?)
}

fn parse(text: &str) -> Result<Vec<Claim>> {
    let mut claims = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [] => {}
            [bug, package, target, filter] => claims.push(Claim {
                bug: bug.to_owned(),
                package: package.to_owned(),
                target: target.to_owned(),
                filter: filter.to_owned(),
            }),
            _ => bail!(
                "{FILE}:{}: a line is a fault, a package, a test target and a filter",
                at + 1
            ),
        }
    }
    Ok(claims)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names in the list of faults, by its spelling: this program does not depend on the crate.
    fn declared() -> Vec<String> {
        let path = workspace::root().join("crates/storage/src/planted.rs");
        let text = fs::read_to_string(path).unwrap();
        let list = text.split("\nbugs! {").nth(1).unwrap();
        let list = list.split("\n}").next().unwrap();
        let lines = list.lines().filter(|line| !line.trim().starts_with("//"));
        let names = lines.filter_map(|line| line.split('"').nth(1));
        names.map(str::to_owned).collect()
    }

    #[test]
    fn every_fault_is_claimed_once_and_no_other_is() {
        let mut claimed: Vec<String> = all().unwrap().into_iter().map(|it| it.bug).collect();
        let mut declared = declared();
        assert!(declared.len() >= 30, "{}", declared.len());
        claimed.sort();
        declared.sort();
        assert_eq!(claimed, declared);
    }

    #[test]
    fn lines_are_four_words() {
        let claims = parse("# nothing\na b it c::d # why\n\n").unwrap();
        assert_eq!(claims.len(), 1);
        assert_eq!(claims[0].test(), ("b", "it", "c::d"));
        let refused = parse("a b it\n").unwrap_err().to_string();
        assert!(refused.contains("planted.txt:1"), "{refused}");
    }
}
