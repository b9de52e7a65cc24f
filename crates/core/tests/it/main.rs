//! Tests of the engine from outside, in one binary.

mod a_publish;
mod b_waiting;
mod b_writers;
mod cache;
mod conflicts;
mod costs;
mod crash;
mod d_chunks;
mod d_history;
mod d_objects;
mod edits;
mod f_lists;
mod forks;
mod h_process;
mod h_values;
mod history;
mod moves;
mod on_top;
mod preload;
mod ranks;
mod serial;
mod sim;
mod splits;
mod suite;
mod support;
mod virtual_chunks;
