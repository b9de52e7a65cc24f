//! Where a chunk is put, by its length.

use icefield_format::RepositoryConfig;
use icefield_storage::{PlantedBug, planted};

use crate::PackSettings;

/// Chunks below this length are packed in remote stores, unless a setting says otherwise.
const THRESHOLD: usize = 1 << 20;

/// Bytes of packs in memory, unless a setting or the size of packs says otherwise.
const BUFFERED: usize = 64 << 20;

/// Where a chunk goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Into the manifest.
    Manifest,
    /// Into a pack.
    Pack,
    /// Into an object of its own.
    Object,
}

/// The settings in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackRules {
    /// Longest chunk in bytes that is kept in its manifest.
    inline: usize,
    /// Chunks shorter than this are packed.
    threshold: usize,
    /// Bytes of a full pack.
    pub(super) size: usize,
    /// Bytes of all packs in memory.
    pub(super) buffered: usize,
}

impl PackRules {
    /// Settings of this process go before those of the repository, and those before the store's.
    pub(crate) fn new(config: &RepositoryConfig, settings: &PackSettings, remote: bool) -> Self {
        let by_store = match remote {
            true => THRESHOLD,
            false => 0,
        };
        let set = settings
            .threshold_bytes
            .or_else(|| config.packed_chunk_threshold());
        let size = settings.size_bytes.unwrap_or_else(|| config.pack_size());
        let size = size as usize;
        // One pack is filled while another is on its way.
        let buffered = settings
            .buffered_bytes
            .unwrap_or(BUFFERED.max(size.saturating_mul(2)));
        let size = size.clamp(1, (buffered / 2).max(1));
        Self {
            inline: usize::from(config.inline_chunk_threshold()),
            // A chunk that fills half a pack gains little.
            threshold: set.map_or(by_store, |set| set as usize).min(size / 2 + 1),
            size,
            buffered,
        }
    }

    /// Returns the bytes of a full pack.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Returns whether a chunk is better off in an object of its own: one that fills half a pack gains little.
    pub(crate) fn is_long(&self, length: usize) -> bool {
        length > self.size / 2
    }

    pub(crate) fn place(&self, length: usize) -> Place {
        match length {
            _ if length == self.inline && planted(PlantedBug::InlineLimitOneShort) => Place::Object,
            _ if length <= self.inline => Place::Manifest,
            _ if length < self.threshold => Place::Pack,
            _ => Place::Object,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(config: &str, settings: &PackSettings, remote: bool) -> PackRules {
        let config = RepositoryConfig::decode(config.as_bytes()).expect("a configuration");
        PackRules::new(&config, settings, remote)
    }

    #[test]
    fn the_store_decides_unless_a_setting_does() {
        let (stored, default) = (
            "packed_chunk_threshold_bytes: 2000",
            PackSettings::default(),
        );
        let near = rules("{}", &default, false);
        assert_eq!(near.place(512), Place::Manifest);
        assert_eq!(near.place(513), Place::Object);
        let far = rules("{}", &default, true);
        assert_eq!(far.place(512), Place::Manifest);
        assert_eq!(far.place(513), Place::Pack);
        assert_eq!(far.place((1 << 20) - 1), Place::Pack);
        assert_eq!(far.place(1 << 20), Place::Object);
        for remote in [false, true] {
            let stored_rules = rules(stored, &default, remote);
            assert_eq!(stored_rules.place(1999), Place::Pack);
            assert_eq!(stored_rules.place(2000), Place::Object);
            let off = rules(stored, &PackSettings::off(), remote);
            assert_eq!(off.place(1999), Place::Object);
        }
    }

    #[test]
    fn the_bound_on_memory_makes_room_for_two_packs_of_any_size() {
        let default = PackSettings::default();
        for (stored, size, buffered) in [
            ("{}", 8 << 20, 64 << 20),
            ("pack_size_bytes: 33554432", 32 << 20, 64 << 20),
            ("pack_size_bytes: 67108864", 64 << 20, 128 << 20),
        ] {
            let rules = rules(stored, &default, true);
            assert_eq!((rules.size(), rules.buffered), (size, buffered));
        }
        let small = default.with_buffered_bytes(64 << 20);
        assert_eq!(
            rules("pack_size_bytes: 67108864", &small, true).size(),
            32 << 20
        );
    }

    #[test]
    fn a_pack_is_at_most_half_of_what_may_be_in_memory() {
        let small = PackSettings::default().with_buffered_bytes(8000);
        let small = rules("{}", &small.with_threshold(1 << 20), false);
        assert_eq!(small.size, 4000);
        assert_eq!(small.place(2000), Place::Pack);
        assert_eq!(small.place(2001), Place::Object);
        let nothing = PackSettings::default().with_buffered_bytes(0);
        let nothing = rules(
            "inline_chunk_threshold_bytes: 0",
            &nothing.with_threshold(9),
            true,
        );
        assert_eq!(nothing.place(1), Place::Object);
    }
}
