//! Digests, in sixteen bytes, of the input that a chunk was made of.

use sha2::Digest as _;

/// The digest of what a chunk was made of.
pub(crate) type WorkKey = [u8; 16];

/// A digest of parts, each with its length, so that no two lists of parts have the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Digest(sha2::Sha256);

impl Digest {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    pub(crate) fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    pub(crate) fn number(mut self, number: u64) -> Self {
        self.0.update(number.to_le_bytes());
        self
    }

    pub(crate) fn index(self, index: &[u32]) -> Self {
        let rank = self.number(index.len() as u64);
        index
            .iter()
            .fold(rank, |digest, at| digest.number(u64::from(*at)))
    }

    pub(crate) fn key(self) -> WorkKey {
        let mut key = [0; 16];
        let all = self.0.finalize();
        key.iter_mut()
            .zip(all.iter())
            .for_each(|(to, from)| *to = *from);
        key
    }

    pub(crate) fn hex(self) -> String {
        self.key()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_one_another() {
        let one = Digest::new().text("ab").text("c").key();
        let other = Digest::new().text("a").text("bc").key();
        assert_ne!(one, other);
        assert_eq!(one, Digest::new().text("ab").text("c").key());
        assert_ne!(
            Digest::new().index(&[1]).key(),
            Digest::new().index(&[1, 0]).key()
        );
    }
}
