//! `icefield config`

use std::io::{self, Write};

use icefield::format::config::SettingError;
use icefield::storage::with_causes;
use icefield::{EditOutcome, Location, Repository, RepositoryConfig};
use serde::Serialize;

use super::Context;
use crate::args::{Config, ConfigGet, ConfigSet, ConfigUnset};
use crate::failure::{Exit, Failure};
use crate::output::escape::printable;
use crate::output::{self, Output};

/// The number of attempts when concurrent writers change the configuration.
const TRIES: usize = 10;

#[derive(Serialize)]
struct ConfigFacts {
    location: String,
    settings: Vec<SettingFacts>,
}

/// A setting and its effective value.
#[derive(Serialize)]
struct SettingFacts {
    name: String,
    /// The value as YAML; null if the setting is not set and the store or the reader decides.
    value: Option<String>,
    source: SettingSource,
    /// False for a setting of another program, which icefield keeps.
    known: bool,
    /// The allowed values; null for a setting that icefield does not know.
    allowed: Option<&'static str>,
}

/// The origin of a value.
#[derive(Clone, Copy, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum SettingSource {
    Stored,
    Default,
}

#[derive(Serialize)]
struct ConfigChangeFacts {
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
            output,
        }) => {
            let edit = |config: &RepositoryConfig| config.with_setting(&name, &value);
            change(context, &location, &name, edit, Output::new(output)).await
        }
        Config::Unset(ConfigUnset {
            location,
            name,
            output,
        }) => {
            let edit = |config: &RepositoryConfig| config.without_setting(&name);
            change(context, &location, &name, edit, Output::new(output)).await
        }
    }
}

async fn get(context: &Context, args: ConfigGet) -> Result<(), Failure> {
    let repository = context.open(&args.location).await?;
    let config = repository.stored_config();
    let mut settings = in_force(&config).map_err(wrong)?;
    if let Some(name) = &args.name {
        // The name may also be a member of a setting, or a setting of another program with a dot in its name.
        let stored = config.setting(name);
        settings.retain(|it| is_part(name, &it.name));
        if settings.is_empty() {
            settings.push(SettingFacts {
                value: stored.map_err(wrong)?,
                name: name.clone(),
                source: SettingSource::Stored,
                known: false,
                allowed: None,
            });
        }
    }
    let facts = ConfigFacts {
        location: output::location(&args.location),
        settings,
    };
    Output::new(args.output).facts(&facts, |facts, out| match &facts.settings[..] {
        [one] if args.name.as_ref() == Some(&one.name) => {
            writeln!(out, "{}", lines(one.value.as_deref().unwrap_or("null")))
        }
        all => all.iter().try_for_each(|one| line(one, out)),
    })
}

/// Returns all settings: first those that icefield knows, in the order of the file, then the others.
fn in_force(config: &RepositoryConfig) -> Result<Vec<SettingFacts>, SettingError> {
    let mut set = config.set_settings()?;
    let known = RepositoryConfig::known_settings().into_iter();
    let mut all: Vec<SettingFacts> = known
        .map(|setting| {
            let at = set.iter().position(|(name, _)| *name == setting.name);
            let stored = at.map(|at| set.remove(at).1);
            SettingFacts {
                source: match stored {
                    Some(_) => SettingSource::Stored,
                    None => SettingSource::Default,
                },
                value: stored.or_else(|| setting.default.map(str::to_owned)),
                name: setting.name,
                known: true,
                allowed: Some(setting.allowed),
            }
        })
        .collect();
    all.extend(set.into_iter().map(|(name, value)| SettingFacts {
        name,
        value: Some(value),
        source: SettingSource::Stored,
        known: false,
        allowed: None,
    }));
    Ok(all)
}

/// Returns whether a setting has the name, or belongs to the part of that name.
fn is_part(name: &str, setting: &str) -> bool {
    let rest = setting.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Writes a setting as one or more lines of YAML.
fn line(one: &SettingFacts, out: &mut dyn Write) -> io::Result<()> {
    let name = printable(&one.name);
    let source = match (one.source, one.known) {
        (SettingSource::Default, _) => "default",
        (SettingSource::Stored, true) => "stored",
        (SettingSource::Stored, false) => "stored, not known to icefield",
    };
    match one.value.as_deref().unwrap_or("null") {
        value if value.contains('\n') => writeln!(out, "{name}: # {source}\n{}", lines(value)),
        value => writeln!(out, "{name}: {} # {source}", printable(value)),
    }
}

/// Escapes each line by itself, which keeps the line ends.
fn lines(value: &str) -> String {
    let lines: Vec<String> = value
        .lines()
        .map(|line| printable(line).to_string())
        .collect();
    lines.join("\n")
}

/// Edits the stored configuration. Concurrent edits are kept.
async fn change(
    context: &Context,
    location: &Location,
    name: &str,
    edit: impl Fn(&RepositoryConfig) -> Result<RepositoryConfig, SettingError>,
    mut out: Output,
) -> Result<(), Failure> {
    let repository = context.open(location).await?;
    let (before, after) = store(&repository, edit).await?;
    let changed = ConfigChangeFacts {
        location: output::location(location),
        name: name.to_owned(),
        before: value(&before, name),
        value: value(&after, name),
    };
    out.facts(&changed, |it, out| {
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
    })
}

/// Stores the edited configuration. Returns the configurations before and after the edit.
async fn store(
    repository: &Repository,
    edit: impl Fn(&RepositoryConfig) -> Result<RepositoryConfig, SettingError>,
) -> Result<(RepositoryConfig, RepositoryConfig), Failure> {
    for _ in 0..TRIES {
        let before = repository.stored_config();
        let after = edit(&before).map_err(wrong)?;
        if before == after || saved(repository, after.clone()).await? {
            return Ok((before, after));
        }
    }
    Err(Failure::new(
        Exit::Conflict,
        "other writers changed the configuration before each attempt to store it",
    )
    .hint("run the command again: it has changed nothing"))
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
        .hint("`icefield config get LOCATION KEY` shows what is stored")),
    }
}

/// Returns a value; `None` also if the whole part of the setting is unset.
fn value(config: &RepositoryConfig, name: &str) -> Option<String> {
    config.setting(name).ok().flatten()
}

fn wrong(error: SettingError) -> Failure {
    let exit = match error {
        SettingError::Format(_) => Exit::Failure,
        _ => Exit::Usage,
    };
    let hint = match error {
        SettingError::Unknown { .. } => "`icefield config get LOCATION` lists all settings",
        _ => "`icefield config get LOCATION KEY --json` shows the allowed values",
    };
    Failure::new(exit, with_causes(&error)).hint(hint)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::FutureExt;
    use icefield::storage::Storage;
    use icefield::storage::wrap::FaultyStorage;
    use icefield::storage::wrap::fault::{Decision, Matcher, Plan, Verb};
    use icefield::{MemoryStorage, RepositoryConfig};

    use super::*;

    async fn open(storage: &Arc<dyn Storage>) -> Repository {
        let opened = Repository::builder(Arc::clone(storage)).open_or_create();
        opened.await.expect("it is there, or is made")
    }

    fn threshold(
        bytes: u16,
    ) -> impl Fn(&RepositoryConfig) -> Result<RepositoryConfig, SettingError> {
        move |before| {
            let inline_chunk_threshold_bytes = Some(bytes);
            Ok(RepositoryConfig {
                inline_chunk_threshold_bytes,
                ..before.clone()
            })
        }
    }

    fn requests(before: &RepositoryConfig) -> Result<RepositoryConfig, SettingError> {
        Ok(RepositoryConfig {
            max_concurrent_requests: Some(5),
            ..before.clone()
        })
    }

    #[tokio::test]
    async fn an_edit_that_was_second_is_made_to_what_the_first_one_has_stored() {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let (one, two) = (open(&storage).await, open(&storage).await);
        let first = store(&one, threshold(7)).await;
        assert!(first.is_ok(), "{first:?}");
        let (before, after) = store(&two, requests).await.expect("stored");
        assert_eq!(before.inline_chunk_threshold_bytes, Some(7));
        assert_eq!(after, open(&storage).await.stored_config());
        assert_eq!(after.inline_chunk_threshold_bytes, Some(7));
        assert_eq!(after.max_concurrent_requests, Some(5));
    }

    #[tokio::test]
    async fn who_is_second_each_time_gives_up_and_has_changed_nothing() {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let repository = open(&storage).await;
        let tries = std::cell::Cell::new(0);
        let disturbed = |before: &RepositoryConfig| {
            tries.set(tries.get() + 1);
            let work = async {
                let other = open(&storage).await;
                store(&other, threshold(tries.get())).await
            };
            let stored = work.now_or_never().expect("nothing waits in memory");
            assert!(stored.is_ok(), "{stored:?}");
            requests(before)
        };
        let failure = store(&repository, disturbed).await.expect_err("refused");
        assert_eq!(failure.exit, Exit::Conflict);
        assert_eq!(usize::from(tries.get()), TRIES);
        let stored = open(&storage).await.stored_config();
        assert_eq!(stored.max_concurrent_requests, None);
    }

    #[tokio::test]
    async fn an_edit_that_may_have_been_stored_is_told_as_such() {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        drop(open(&storage).await);
        let faulty = FaultyStorage::new(Arc::clone(&storage), Plan::none());
        let through: Arc<dyn Storage> = Arc::new(faulty.clone());
        let repository = open(&through).await;
        let of = |verb| Matcher::verb(verb).below("config.yaml");
        let plan = Plan::none().on(of(Verb::Put), 0, Decision::FailAfter);
        faulty.set_plan(plan.on(of(Verb::Get), 0, Decision::FailBefore));
        let failure = store(&repository, threshold(7)).await.expect_err("unknown");
        assert_eq!(failure.exit, Exit::Unknown);
        // It was; doing it again says so.
        let again = store(&repository, threshold(7)).await.expect("stored");
        assert_eq!(again.0.inline_chunk_threshold_bytes, Some(7));
    }
}
