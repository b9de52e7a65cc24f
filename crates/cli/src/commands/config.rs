//! `icefield config`

use icefield::format::config::{Setting, SettingError};
use icefield::{EditOutcome, Location, Repository, RepositoryConfig};
use serde::Serialize;

use super::Context;
use crate::args::{Config, ConfigGet, ConfigSet, ConfigUnset};
use crate::failure::{Exit, Failure};
use crate::output::escape::printable;
use crate::output::{self, Output};

/// Times that the configuration is read again because somebody else has changed it.
const TRIES: usize = 10;

#[derive(Serialize)]
struct Facts {
    location: String,
    settings: Vec<Known>,
}

/// A setting by name.
#[derive(Serialize)]
struct Known {
    name: String,
    /// As YAML; null if it is not set, and the default is in force.
    value: Option<String>,
    /// What it may be; null for what this program does not know.
    allowed: Option<&'static str>,
}

#[derive(Serialize)]
struct Changed {
    location: String,
    name: String,
    before: Option<String>,
    value: Option<String>,
}

pub(super) async fn run(context: &Context, args: Config) -> Result<(), Failure> {
    match args {
        Config::Get(args) => get(context, args).await,
        Config::Set(ConfigSet {
            location,
            name,
            value,
            facts,
        }) => {
            let edit = |config: &RepositoryConfig| config.with_setting(&name, &value);
            change(context, &location, &name, edit, Output::new(facts)).await
        }
        Config::Unset(ConfigUnset {
            location,
            name,
            facts,
        }) => {
            let edit = |config: &RepositoryConfig| config.without_setting(&name);
            change(context, &location, &name, edit, Output::new(facts)).await
        }
    }
}

async fn get(context: &Context, args: ConfigGet) -> Result<(), Failure> {
    let repository = context.open(&args.location).await?;
    let config = repository.stored_config();
    let known = RepositoryConfig::known_settings();
    let allowed = |name: &str| known.iter().find(|it| it.name == name).map(|it| it.allowed);
    let settings = match &args.name {
        Some(name) => vec![Known {
            value: config.setting(name).map_err(wrong)?,
            allowed: allowed(name),
            name: name.clone(),
        }],
        None => {
            let mut set = config.set_settings().map_err(wrong)?;
            let in_order = known.iter().map(|Setting { name, allowed }| {
                let at = set.iter().position(|(set, _)| set == name);
                Known {
                    value: at.map(|at| set.remove(at).1),
                    allowed: Some(allowed),
                    name: name.clone(),
                }
            });
            let mut all: Vec<Known> = in_order.collect();
            all.extend(set.into_iter().map(|(name, value)| Known {
                name,
                value: Some(value),
                allowed: None,
            }));
            all
        }
    };
    let facts = Facts {
        location: output::location(&args.location),
        settings,
    };
    Output::new(args.facts).facts(&facts, |facts, out| {
        for one in &facts.settings {
            match (&one.value, args.name.is_some()) {
                (Some(value), true) => writeln!(out, "{}", lines(value))?,
                (Some(value), false) if value.contains('\n') => {
                    writeln!(out, "{}:\n{}", printable(&one.name), lines(value))?;
                }
                (Some(value), false) => {
                    writeln!(out, "{}: {}", printable(&one.name), printable(value))?;
                }
                (None, _) => {}
            }
        }
        Ok(())
    })
}

/// Each line by itself, or the ends of lines would be escaped.
fn lines(value: &str) -> String {
    let lines: Vec<String> = value
        .lines()
        .map(|line| printable(line).to_string())
        .collect();
    lines.join("\n")
}

/// Edits what is stored. Somebody else's edit in between is kept.
async fn change(
    context: &Context,
    location: &Location,
    name: &str,
    edit: impl Fn(&RepositoryConfig) -> Result<RepositoryConfig, SettingError>,
    mut out: Output,
) -> Result<(), Failure> {
    let repository = context.open(location).await?;
    for _ in 0..TRIES {
        let before = repository.stored_config();
        let after = edit(&before).map_err(wrong)?;
        let changed = Changed {
            location: output::location(location),
            name: name.to_owned(),
            before: value(&before, name),
            value: value(&after, name),
        };
        if before == after || saved(&repository, after).await? {
            return out.facts(&changed, |it, out| {
                let shown = |value: &Option<String>| match value {
                    Some(value) => printable(value.lines().next().unwrap_or_default()).to_string(),
                    None => "not set".to_owned(),
                };
                let name = printable(&it.name);
                writeln!(
                    out,
                    "{name}: {} (was: {})",
                    shown(&it.value),
                    shown(&it.before)
                )
            });
        }
    }
    Err(Failure::new(
        Exit::Conflict,
        "the configuration was changed by others each time that it was to be stored",
    ))
}

async fn saved(repository: &Repository, config: RepositoryConfig) -> Result<bool, Failure> {
    match repository.save_config(config).await? {
        EditOutcome::Done(_) => Ok(true),
        EditOutcome::Refused(_) => {
            repository.reload_config().await?;
            Ok(false)
        }
        EditOutcome::Unknown(unknown) => Err(Failure::new(
            Exit::Unknown,
            format!("it is not known whether the configuration was stored: {unknown}"),
        )
        .hint("`icefield config get LOCATION NAME` shows what is stored")),
    }
}

/// `None` also for what is gone together with the rest of its part.
fn value(config: &RepositoryConfig, name: &str) -> Option<String> {
    config.setting(name).ok().flatten()
}

fn wrong(error: SettingError) -> Failure {
    let exit = match error {
        SettingError::Format(_) => Exit::Failure,
        _ => Exit::Usage,
    };
    Failure::new(exit, error.to_string())
        .hint("`icefield config get LOCATION --json` lists every setting and what it may be")
}
