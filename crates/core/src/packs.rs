//! Small chunks, put together into larger objects.
//!
//! A *pack* is an ordinary chunk object with the bytes of many chunks, one behind the other, in the order in which they were
//! written; their references say where in it they lie. A session and its forks in this process have one [`Packer`], with one *open*
//! pack at a time. A full one is *closed* and goes to the store in the background, while the next is filled. Until a pack is
//! stored, its bytes are in memory, where they are read from, and from where an upload that failed is tried again.
//!
//! References to chunks of packs that are not stored stay in the session: a fork that is serialised waits for the packs that it
//! refers to first, a commit and a flush before a ref can lead to them.

mod packer;
mod rules;
mod state;
mod unwritten;

pub(crate) use packer::{NotStored, Packer, SentPacks};
pub(crate) use rules::{PackRules, Place};
pub(crate) use unwritten::Unwritten;
