//! Objects below the prefix `icefield/`: their keys, their longest content, their times.

use std::time::Duration;

use icefield_format::layout;
use icefield_storage::Key;

/// Most bytes of a state or lease that are read; a good one has some hundred.
pub(super) const MAX_BYTES: u64 = 64 << 10;

pub(super) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

pub(super) fn own_key(name: &str) -> Key {
    Key::parse(&format!("{}/{name}", layout::OWN))
        .unwrap_or_else(|_| unreachable!("BUG: names of our own make valid keys"))
}
