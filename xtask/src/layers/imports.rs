//! The names that the files of a crate take from each other, read out of their `use` lines and paths.
//!
//! The reader knows the shapes of Rust that this workspace uses: modules in files of their own, trees of `use`, names that a
//! file passes on. It expands no macros.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A path of modules from the root of the crate, which is the empty one.
type ModulePath = Vec<String>;

/// A name that is passed on more often than this is not followed further.
const MOST_HOPS: usize = 16;

/// The files of one crate, without its tests, and the names in them.
#[derive(Default)]
pub struct CrateFiles {
    files: BTreeMap<ModulePath, SourceFile>,
}

#[derive(Default)]
struct SourceFile {
    path: PathBuf,
    /// The names that `use` brings into the file, and their paths. A glob has the name `*`.
    imported: Vec<(String, Vec<String>)>,
    /// Paths outside of `use`, as they are written.
    inline: Vec<Vec<String>>,
    /// The items that the file declares.
    declared: BTreeSet<String>,
}

impl CrateFiles {
    /// Reads all sources below the folder of a crate's root file.
    ///
    /// # Errors
    /// If a file or folder cannot be read.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut all = Self::default();
        all.read_folder(folder, &mut Vec::new())?;
        Ok(all)
    }

    fn read_folder(&mut self, folder: &Path, module: &mut ModulePath) -> Result<()> {
        let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
        for entry in entries {
            let path = entry?.path();
            let name = path.file_stem().and_then(|name| name.to_str());
            let name = name.with_context(|| format!("{} has no name", path.display()))?;
            // Tests may use what they like.
            if matches!(name, "tests" | "bin") {
                continue;
            }
            if path.is_dir() {
                module.push(name.to_owned());
                self.read_folder(&path, module)?;
                module.pop();
            } else if path.extension().is_some_and(|it| it == "rs") {
                let text = fs::read_to_string(&path)?;
                let mut own = module.clone();
                if !matches!(name, "lib" | "main" | "mod") {
                    own.push(name.to_owned());
                }
                self.files.insert(own, SourceFile::parse(path, &text));
            }
        }
        Ok(())
    }

    /// Returns which file takes names from which, by their paths. A file that takes a name that another one passes on
    /// depends on the file that declares it.
    pub fn dependencies(&self) -> BTreeMap<&Path, BTreeSet<&Path>> {
        let of_file = |(module, file): (&ModulePath, &SourceFile)| {
            let imported = file.imported.iter().map(|(_, path)| path);
            let all = imported
                .chain(&file.inline)
                .filter_map(|path| self.owner(module, path, MOST_HOPS))
                .filter_map(|owner| self.files.get(&owner))
                .map(|owner| owner.path.as_path())
                .filter(|owner| *owner != file.path)
                .collect();
            // Borrowed from `self`, not from the closure's argument.
            (self.files[module].path.as_path(), all)
        };
        self.files.iter().map(of_file).collect()
    }

    /// Returns the module of the file that declares what a path names, written in a file; `None` outside of the crate.
    fn owner(&self, from: &ModulePath, path: &[String], hops: usize) -> Option<ModulePath> {
        let mut module = from.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => {
                module.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while let Some((first, behind)) = rest.split_first()
                    && first == "super"
                {
                    module.pop()?;
                    rest = behind;
                }
            }
            // A module below the file, or a name that it has imported; all else is another crate.
            first => {
                let is_module = self.files.contains_key(&child(from, first));
                let file = self.files.get(from)?;
                if !is_module && !file.imported.iter().any(|(name, _)| name == first) {
                    return None;
                }
            }
        }
        while let Some((first, behind)) = rest.split_first() {
            let below = child(&module, first);
            if self.files.contains_key(&below) {
                module = below;
                rest = behind;
                continue;
            }
            let Some(hops) = hops.checked_sub(1) else {
                break;
            };
            return Some(self.declaring(&module, first, behind, hops));
        }
        Some(module)
    }

    /// Returns the module that declares a name which is asked of another one.
    fn declaring(
        &self,
        module: &ModulePath,
        name: &str,
        behind: &[String],
        hops: usize,
    ) -> ModulePath {
        let Some(file) = self.files.get(module) else {
            return module.clone();
        };
        if file.declared.contains(name) {
            return module.clone();
        }
        let passed_on = file.imported.iter().find(|(known, _)| known == name);
        if let Some((_, path)) = passed_on {
            let mut whole = path.clone();
            whole.extend_from_slice(behind);
            return self
                .owner(module, &whole, hops)
                .unwrap_or_else(|| module.clone());
        }
        let globs = file.imported.iter().filter(|(known, _)| known == "*");
        for (_, path) in globs {
            let of_glob = self.owner(module, path, hops);
            if let Some(found) = of_glob.filter(|found| found != module)
                && self.files[&found].declared.contains(name)
            {
                return found;
            }
        }
        module.clone()
    }
}

fn child(module: &ModulePath, name: &str) -> ModulePath {
    let mut below = module.clone();
    below.push(name.to_owned());
    below
}

impl SourceFile {
    fn parse(path: PathBuf, text: &str) -> Self {
        let tokens = without_tests(&tokens(text));
        let mut file = Self {
            path,
            ..Self::default()
        };
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let next = tokens.get(at + 1);
            match token.as_str() {
                "use" => at = file.read_use(&tokens, at + 1, &mut Vec::new()),
                "struct" | "enum" | "trait" | "type" | "fn" | "const" | "static" | "union"
                | "mod" => {
                    file.declared.extend(next.cloned());
                    at += 1;
                }
                "macro_rules" => {
                    file.declared.extend(tokens.get(at + 2).cloned());
                    at += 1;
                }
                "crate" | "super" | "self" if next.is_some_and(|it| it == "::") => {
                    let mut path = vec![token.clone()];
                    at += 1;
                    while tokens.get(at).is_some_and(|it| it == "::")
                        && let Some(name) = tokens.get(at + 1).filter(|it| is_name(it))
                    {
                        path.push(name.clone());
                        at += 2;
                    }
                    // `pub(in crate::x)` and a path in a turbofish end here, too.
                    file.inline.push(path);
                }
                _ => at += 1,
            }
        }
        file
    }

    /// Reads one tree of `use`, and returns where it ends.
    fn read_use(&mut self, tokens: &[String], mut at: usize, prefix: &mut Vec<String>) -> usize {
        let depth = prefix.len();
        while let Some(token) = tokens.get(at) {
            match token.as_str() {
                "::" => at += 1,
                "{" => {
                    at += 1;
                    while tokens.get(at).is_some_and(|it| it != "}") {
                        at = self.read_use(tokens, at, prefix);
                        if tokens.get(at).is_some_and(|it| it == ",") {
                            at += 1;
                        }
                    }
                    prefix.truncate(depth);
                    return at + 1;
                }
                "*" => {
                    self.imported.push(("*".to_owned(), prefix.clone()));
                    prefix.truncate(depth);
                    return at + 1;
                }
                "as" => {
                    let alias = tokens.get(at + 1).cloned().unwrap_or_default();
                    self.imported.push((alias, prefix.clone()));
                    prefix.truncate(depth);
                    return at + 2;
                }
                "self" if depth > 0 && prefix.len() == depth => at += 1,
                name if is_name(name) => {
                    prefix.push(name.to_owned());
                    at += 1;
                }
                _ => break,
            }
        }
        if let Some(last) = prefix.last() {
            self.imported.push((last.clone(), prefix.clone()));
        }
        prefix.truncate(depth);
        at
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Cuts Rust into names, `::` and single characters, without comments, texts and numbers.
fn tokens(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(len) = text_len(rest) {
            len
        } else if rest.starts_with("::") {
            found.push("::".to_owned());
            2
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest.find(|it: char| !it.is_alphanumeric() && it != '_');
            let word = &rest[..end.unwrap_or(rest.len())];
            if is_name(word) {
                found.push(word.to_owned());
            }
            word.len()
        } else {
            if !first.is_whitespace() {
                found.push(first.to_string());
            }
            first.len_utf8()
        };
        rest = &rest[len..];
    }
    found
}

/// The length of the text or character that Rust code begins with; `None` if it begins with something else.
fn text_len(code: &str) -> Option<usize> {
    let raw = code.strip_prefix("br").or_else(|| code.strip_prefix('r'));
    if let Some(raw) = raw {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let begin = code.len() - raw.len() + hashes + 1;
            let found = code[begin..].find(&end);
            return Some(found.map_or(code.len(), |at| begin + at + end.len()));
        }
    }
    let quote = code.strip_prefix('b').unwrap_or(code).chars().next()?;
    let start = code.find(quote)? + 1;
    let mut inside = code[start..].char_indices();
    match quote {
        '"' => {
            while let Some((at, letter)) = inside.next() {
                match letter {
                    '\\' => drop(inside.next()),
                    '"' => return Some(start + at + 1),
                    _ => {}
                }
            }
            Some(code.len())
        }
        // A lifetime has no second quote.
        '\'' => match (inside.next()?.1, inside.next()?) {
            ('\\', _) => {
                let end = code[start + 2..].find('\'')?;
                Some(start + 2 + end + 1)
            }
            (_, (at, '\'')) => Some(start + at + 1),
            _ => None,
        },
        _ => None,
    }
}

/// Leaves out what only tests are compiled with: the item behind each `#[cfg(test)]`.
fn without_tests(tokens: &[String]) -> Vec<String> {
    const FOR_TESTS: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let here = tokens[at..].iter().map(String::as_str);
        if !here.take(FOR_TESTS.len()).eq(FOR_TESTS) {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        let mut depth = 0_usize;
        at += FOR_TESTS.len();
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token.as_str() {
                "{" => depth += 1,
                "}" if depth <= 1 => break,
                "}" => depth -= 1,
                ";" if depth == 0 => break,
                _ => {}
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_of_use_are_taken_apart() {
        let text = "pub(crate) use a::{b::{self, C as D}, e::*}; use f; // use g;\nfn h() { crate::i::j(\"use k;\") }";
        let file = SourceFile::parse(PathBuf::new(), text);
        let path = |text: &str| text.split("::").map(str::to_owned).collect::<Vec<_>>();
        let named = |name: &str, text: &str| (name.to_owned(), path(text));
        assert_eq!(
            file.imported,
            [
                named("b", "a::b"),
                named("D", "a::b::C"),
                named("*", "a::e"),
                named("f", "f")
            ]
        );
        assert_eq!(file.inline, [path("crate::i::j")]);
        assert!(file.declared.contains("h"));
    }

    #[test]
    fn texts_characters_and_tests_are_no_code() {
        let text = "const A: &str = r#\"use x::y;\"#; const B: char = '\"'; fn f<'a>() {} #[cfg(test)] mod t { use z::w; } use u::v;";
        let file = SourceFile::parse(PathBuf::new(), text);
        assert_eq!(file.imported.len(), 1, "{:?}", file.imported);
        assert_eq!(file.imported[0].0, "v");
    }
}
