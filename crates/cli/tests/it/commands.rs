//! What every command prints, as text and as JSON.

mod copies;
mod copy;
mod du;
mod general;
mod history;
mod inspect;
mod look;
mod refs;
