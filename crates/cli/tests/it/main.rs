//! The program as a user meets it: run in a directory of its own, judged by its output and its exit code.

mod append;
mod bad_input;
mod commands;
mod damage;
mod exit_codes;
mod import;
mod interrupted;
mod logging;
mod memory;
mod nemo;
mod terminal;
mod world;
