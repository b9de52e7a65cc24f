//! Completion scripts and manual pages, generated from the definition of the arguments.

use crate::args::{Completions, Man};
use crate::failure::Failure;

/// Prints a completion script.
#[cfg(feature = "pages")]
pub(crate) fn completions(args: &Completions) -> Result<(), Failure> {
    use std::io::Write as _;

    use clap_complete::Shell;

    use crate::args::ShellName;

    let shell = match args.shell {
        ShellName::Bash => Shell::Bash,
        ShellName::Zsh => Shell::Zsh,
        ShellName::Fish => Shell::Fish,
        ShellName::Powershell => Shell::PowerShell,
    };
    // The generator panics if it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program(), "icefield", &mut script);
    let mut out = std::io::stdout().lock();
    out.write_all(&script)?;
    Ok(out.flush()?)
}

/// Writes one manual page for the program and one for each command.
#[cfg(feature = "pages")]
pub(crate) fn man(args: &Man) -> Result<(), Failure> {
    let directory = &args.directory;
    std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(program(), directory))
        .map_err(|error| Failure::from(error).of_file(directory))
}

#[cfg(feature = "pages")]
fn program() -> clap::Command {
    <crate::args::Args as clap::CommandFactory>::command()
}

#[cfg(not(feature = "pages"))]
pub(crate) fn completions(_: &Completions) -> Result<(), Failure> {
    Err(left_out())
}

#[cfg(not(feature = "pages"))]
pub(crate) fn man(_: &Man) -> Result<(), Failure> {
    Err(left_out())
}

#[cfg(not(feature = "pages"))]
fn left_out() -> Failure {
    use crate::failure::Exit;

    let message = "this program was built without the descriptions for shells and `man`";
    Failure::new(Exit::Failure, message).hint("build it with the feature `pages`")
}
