//! What maintenance does to repositories, on the in-memory store.

mod check;
