//! The protocol between writers and the collection of garbage, as small objects under the prefix `icefield/`.
//!
//! ```text
//! icefield/leases/ID        a session older than a quarter of an hour; renewed while it is used
//! icefield/gc/state.json    the last or the running collection
//! ```
//! Chunks are in the store before a commit refers to them. A collection takes for garbage what nothing refers to and
//! what was written before its *cutoff*, and these rules keep the two apart:
//!
//! 1. A collection writes that it opens, with the cutoff that it would like; then it reads the leases, and writes that it
//!    runs, with the older of that cutoff and the start of every live lease. Only then does it look for garbage.
//! 2. A session that is older than a quarter of an hour renews its lease, and then reads that state, before it commits.
//!    If the cutoff is later than its start, then that collection did not see the lease: as long as it is not done,
//!    nothing is committed. If a cutoff of an earlier one is, then only once every chunk of the session was seen to
//!    exist.
//!
//! A collection that opens later finds the lease. Times are those of the store, and come from [fresh objects](store_time):
//! state and leases are replaced, and say in their content when that was. What lies ahead of the store's time is neither
//! believed nor waited for: it is dated anew, and then counts like what was written just now.

mod lease;
mod object;
mod state;
mod time;

pub use lease::Lease;
pub use state::{CollectionPhase, CollectionState, LEASED_AFTER, STATE_VERSION, STOPPED_AFTER};
pub use time::{
    CLOCK_MARGIN, CLOCK_TOLERANCE, ClocksApart, StoreTimeError, agreed_time, probes, store_time,
    time_of,
};
