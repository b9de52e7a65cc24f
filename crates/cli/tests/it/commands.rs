//! What every command prints, as text and as JSON.

mod copy;
mod fsck;
mod general;
mod history;
mod inspect;
mod look;
mod refs;
