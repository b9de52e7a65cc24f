//! The README's tour, and that of windows, as tests: the commands of a page run in a directory of its own.

use anyhow::Result;

use crate::page::{Page, Surroundings};
use crate::workspace;

/// The pages whose commands are run.
const PAGES: [&str; 2] = ["README.md", "docs/windows.md"];

/// Runs the tours of all pages.
///
/// # Errors
/// If a command exits otherwise than its page says, or prints something else.
pub fn run() -> Result<()> {
    let surroundings = Surroundings::with_program()?;
    for (number, name) in PAGES.iter().enumerate() {
        let page = Page::read(name)?;
        let directory = workspace::scratch(&format!("tour/{number}"))?;
        page.walk(&directory, &surroundings)?;
        println!("{} commands of {name} did what it says", page.commands());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_a_tour() {
        for name in PAGES {
            Page::read(name).expect(name);
        }
    }
}
