//! Datasets that other programs wrote, and what must be read from them.

mod fixtures;
mod odd;
mod vectors;
