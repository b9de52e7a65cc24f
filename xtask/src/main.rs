//! The commands of the workspace: `cargo xtask COMMAND`. One file per command.

#![allow(
    unreachable_pub,
    reason = "a program has no public surface; `pub` marks what a module offers its siblings"
)]

mod api;
mod archives;
mod bench;
mod budget;
mod built;
mod check;
mod codegen;
mod cookbook;
mod debian;
mod demo;
mod dist;
mod fuzz;
mod gateway;
mod interop;
mod kill;
mod layers;
mod ledger;
mod nczarr;
mod netcdf;
mod once;
mod package;
mod page;
mod planted;
mod process;
mod python;
mod root;
mod schedule;
mod servers;
mod simulate;
mod soak;
mod stage;
mod summary;
mod test;
mod tools;
mod torture;
mod tour;
mod web;
mod wheel;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use stage::Asked;

/// Builds, tests and shows icefield.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Imports three months of ocean data into a repository and travels through its versions.
    Demo,
    /// Sets up what the tests need and runs every one of them.
    Test(Asked),
    /// Checks format, lints, docs, features, layers, generated code and packages.
    Check(Asked),
    /// Generates the flatbuffers code from `schemas/`.
    Codegen {
        /// Fails if the committed code differs, and writes nothing.
        #[arg(long)]
        check: bool,
    },
    /// Runs the benchmarks; arguments after `--` go to criterion.
    Bench {
        /// Measures every workload beside the reference implementation and plain files instead, and writes
        /// `docs/PERFORMANCE.md`; arguments after `--` go to the report in `benches/reference`.
        #[arg(long)]
        peer: bool,
        /// With `--peer`, measures this workload alone, and writes no page. Can be repeated.
        #[arg(long, requires = "peer", value_name = "WORKLOAD")]
        only: Vec<String>,
        /// Arguments for criterion, for instance a filter.
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Measures imports of archives beside VirtualiZarr, xarray and dask; arguments after `--` go to `benches/archives/run.py`.
    BenchArchives {
        /// Arguments for the script, for instance `--case references`.
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Checks the direction of every dependency, the size of the facade and the circles of files.
    Layers {
        /// Prints the circles of files in each crate, and checks nothing.
        #[arg(long)]
        circles: bool,
    },
    /// Compares the public API of each published library with the lists in `docs/api`.
    Api {
        /// Writes the lists anew instead.
        #[arg(long)]
        accept: bool,
    },
    /// Makes the wheel of the Python package, and checks it.
    Wheel {
        /// Builds it optimised, for systems with an old glibc; without this, it is packed from the build that the tests use.
        #[arg(long)]
        release: bool,
    },
    /// Makes what a release consists of, and tries it: program, wheel, source distribution, checksums.
    Dist,
    /// Runs every fuzz target for a while.
    Fuzz {
        /// Seconds per target.
        #[arg(long, default_value_t = 10)]
        seconds: u32,
    },
    /// Kills writers, readers and collectors at random, and judges the repositories that they leave behind.
    Torture(torture::Asked),
    /// Plants faults one by one, and requires that the test that claims each fails.
    Planted(planted::Asked),
    /// Lets a process commit, read, fork and collect for long, and requires that nothing of it grows.
    Soak(soak::Asked),
    /// Plays scenarios of the simulated fleet from seeds.
    Simulate(simulate::Asked),
}

fn main() -> ExitCode {
    let outcome = match Args::parse().command {
        Command::Demo => demo::command(),
        Command::Test(asked) => test::run(&asked),
        Command::Check(asked) => check::run(&asked),
        Command::Codegen { check } => codegen::run(check),
        Command::Bench {
            peer: true,
            only,
            args,
        } => bench::peer(&only, &args),
        Command::Bench { args, .. } => bench::run(&args),
        Command::BenchArchives { args } => bench::archives(&args),
        Command::Api { accept: true } => api::accept(),
        Command::Api { accept: false } => api::command(),
        Command::Layers { circles: true } => layers::print_circles(),
        Command::Layers { circles: false } => layers::run(),
        Command::Wheel { release } => wheel::command(release),
        Command::Dist => dist::command(),
        Command::Fuzz { seconds } => fuzz::run(seconds),
        Command::Torture(asked) => torture::command(&asked),
        Command::Planted(asked) => planted::command(&asked),
        Command::Soak(asked) => soak::command(&asked),
        Command::Simulate(asked) => simulate::command(&asked),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
