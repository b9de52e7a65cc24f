//! The names of the sources of an import.

use std::io::Read as _;

use icefield::{SourceLocation, SourceName, names_in};

use crate::args::Import;
use crate::commands::Context;
use crate::failure::{Exit, Failure};

/// The largest accepted list of names, in bytes.
const MAX_LIST: u64 = 1 << 30;

/// Returns the sources of the command line, of standard input and of a list, with patterns expanded.
pub(super) async fn sources(
    context: &Context,
    args: &Import,
) -> Result<Vec<SourceLocation>, Failure> {
    let mut names = Vec::new();
    for name in &args.sources {
        match name.as_str() {
            "-" => names.extend(listed(&text("standard input", std::io::stdin().lock())?)?),
            _ => names.push(name.clone()),
        }
    }
    if let Some(path) = &args.files_from {
        let name = path.display().to_string();
        let file = std::fs::File::open(path).map_err(|error| unreadable(&name, &error))?;
        names.extend(listed(&text(&name, file)?)?);
    }
    if names.is_empty() {
        let problem = "there is nothing to import: the list names no source";
        return Err(Failure::new(Exit::Usage, problem));
    }
    Ok(context.schemes.expand(&names).await?)
}

fn listed(text: &str) -> Result<Vec<SourceName>, Failure> {
    let names = names_in(text).map(|name| SourceName::parse(name).map_err(icefield::Error::from));
    Ok(names.collect::<Result<_, _>>()?)
}

fn text(name: &str, from: impl std::io::Read) -> Result<String, Failure> {
    let mut text = String::new();
    let read = from.take(MAX_LIST).read_to_string(&mut text);
    read.map_err(|error| unreadable(name, &error))?;
    Ok(text)
}

fn unreadable(name: &str, error: &std::io::Error) -> Failure {
    let exit = match error.kind() {
        std::io::ErrorKind::NotFound => Exit::NotFound,
        _ => Exit::Failure,
    };
    Failure::new(
        exit,
        format!("the list of sources {name} cannot be read: {error}"),
    )
}
