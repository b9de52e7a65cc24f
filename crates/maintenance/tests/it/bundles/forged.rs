//! Forged bundles, each with the digest that it should have.

use bytes::Bytes;

/// The index of a bundle of everything.
pub(super) const INDEX: &str = r#"{"format":"icefield-bundle","version":1,"spec_version":1,"source":"x","branches":{},"tags":{},
        "deleted_tags":[],"since":null,"requires":[],"depth":null,"shortened":[]}"#;

/// The entries of a bundle between its index and its end.
#[derive(Clone, Debug)]
pub(super) struct Entries {
    pub(super) index: Vec<u8>,
    pub(super) all: Vec<(String, Vec<u8>)>,
}

impl Entries {
    /// Takes a file apart whose names are short.
    pub(super) fn of(file: &Bytes) -> Self {
        let mut all = Vec::new();
        let mut at = 0;
        while file[at] != 0 {
            let header = &file[at..at + 512];
            let name = header[..100].split(|byte| *byte == 0).next().unwrap();
            let size = std::str::from_utf8(&header[124..135]).unwrap();
            let size = usize::from_str_radix(size.trim_matches(['\0', ' ']), 8).unwrap();
            let bytes = file[at + 512..at + 512 + size].to_vec();
            all.push((String::from_utf8(name.to_vec()).unwrap(), bytes));
            at += 512 + size.next_multiple_of(512);
        }
        let (_, index) = all.remove(0);
        assert_eq!(all.pop().unwrap().0, "icefield-bundle-end.json");
        Self { index, all }
    }

    /// Puts the file together again.
    pub(super) fn file(&self) -> Bytes {
        let entries: Vec<_> = (self.all.iter())
            .map(|(name, bytes)| (&**name, &bytes[..]))
            .collect();
        forged_with(&self.index, &entries)
    }

    /// The names below a prefix, in their order.
    pub(super) fn names(&self, prefix: &str) -> Vec<String> {
        let names = self.all.iter().map(|(name, _)| name.clone());
        names.filter(|name| name.starts_with(prefix)).collect()
    }

    pub(super) fn bytes(&mut self, name: &str) -> &mut Vec<u8> {
        let found = self.all.iter_mut().find(|it| it.0 == name);
        &mut found.unwrap_or_else(|| panic!("no {name}")).1
    }

    pub(super) fn remove(&mut self, name: &str) {
        let before = self.all.len();
        self.all.retain(|it| it.0 != name);
        assert_eq!(self.all.len() + 1, before, "{name}");
    }

    /// Adds an entry where its name belongs among those of its kind.
    pub(super) fn insert(&mut self, name: &str, bytes: &[u8]) {
        let prefix = &name[..=name.find('/').unwrap()];
        let first = self.all.iter().position(|it| it.0.starts_with(prefix));
        let mut at = first.unwrap();
        while self.all[at].0.starts_with(prefix) && *self.all[at].0 < *name {
            at += 1;
        }
        self.all.insert(at, (name.to_owned(), bytes.to_vec()));
    }
}

/// A file of entries, as an attacker would write it.
pub(super) fn forged(entries: &[(&str, &[u8])]) -> Bytes {
    forged_with(INDEX.as_bytes(), entries)
}

fn forged_with(index: &[u8], entries: &[(&str, &[u8])]) -> Bytes {
    use sha2::{Digest, Sha256};
    let mut file = Vec::new();
    let all = [&[("icefield-bundle.json", index)], entries].concat();
    for (name, bytes) in &all {
        entry(&mut file, name, bytes);
    }
    let digest: String = Sha256::digest(&file)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let bytes: usize = all.iter().map(|(_, bytes)| bytes.len()).sum();
    let end = format!(
        r#"{{"objects":{},"bytes":{bytes},"sha256":"{digest}"}}"#,
        all.len()
    );
    entry(&mut file, "icefield-bundle-end.json", end.as_bytes());
    file.resize(file.len() + 1024, 0);
    file.into()
}

pub(super) fn entry(file: &mut Vec<u8>, name: &str, bytes: &[u8]) {
    let mut block = [0; 512];
    block[..name.len()].copy_from_slice(name.as_bytes());
    block[124..135].copy_from_slice(format!("{:011o}", bytes.len()).as_bytes());
    block[156] = b'0';
    block[257..263].copy_from_slice(b"ustar\0");
    block[148..156].fill(b' ');
    let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    file.extend(block);
    file.extend(bytes);
    file.resize(file.len().next_multiple_of(512), 0);
}
