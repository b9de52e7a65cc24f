//! A place as its grant names it.

use std::sync::Arc;

use async_trait::async_trait;
use icefield_core::{OpenContainer, VirtualAccess, VirtualLocation};
use icefield_format::config::{VirtualChunkContainer, VirtualStore};
use icefield_storage::{BoxError, Storage};

use super::identity::{Anonymous, Environment, Identity};
use crate::location::{file_url, scheme_of, without_options};
use crate::{Error, Location, LocationError, Schemes};

/// The options of a grant, by the service of its prefix. Of the environment's credentials only [`grant`](super::grant) speaks.
fn known_options(service: &str) -> &'static [&'static str] {
    match service {
        "s3" => &[
            "region",
            "endpoint",
            "path_style",
            "preset",
            "requester_pays",
            CREDENTIALS,
        ],
        "gs" => &["endpoint", "user_project", CREDENTIALS],
        "az" => &["account", "endpoint", CREDENTIALS],
        "http" | "https" => &["private", "headers"],
        _ => &[],
    }
}

const CREDENTIALS: &str = "credentials";

/// Returns the URL of a folder that is named by its path. Symbolic links are resolved, as an import resolves those of
/// its sources: the locations that it stores lie below the folder's real path.
fn folder_location(path: &str) -> Result<VirtualLocation, Error> {
    let refused = |problem: String| LocationError::Rule {
        url: path.to_owned(),
        problem: format!("cannot be granted: {problem}"),
    };
    let folder = std::fs::canonicalize(path).map_err(|error| {
        refused(format!(
            "{error}; give a folder, or a URL such as file:///data"
        ))
    })?;
    let text = folder
        .to_str()
        .ok_or_else(|| refused("its real path is not UTF-8".to_owned()))?;
    let location = VirtualLocation::parse_prefix(&file_url(text));
    location.map_err(|rule| refused(rule.to_string()).into())
}

/// A place as its grant names it.
#[derive(Clone, Debug)]
pub(super) struct GrantedPrefix {
    pub(super) location: VirtualLocation,
    pub(super) options: Vec<(String, String)>,
    pub(super) identity: Arc<dyn Identity>,
}

impl GrantedPrefix {
    pub(super) fn parse(text: &str, identity: Option<Arc<dyn Identity>>) -> Result<Self, Error> {
        let by_path = scheme_of(text).is_none();
        let (prefix, query) = match by_path {
            true => (text, ""),
            false => text.split_once('?').unwrap_or((text, "")),
        };
        let rule = |problem: String| LocationError::Rule {
            url: without_options(prefix).to_owned(),
            problem,
        };
        let location = match by_path {
            true => folder_location(prefix)?,
            false => VirtualLocation::parse_prefix(prefix)
                .map_err(|it| rule(format!("cannot be granted: {it}")))?,
        };
        let known = known_options(location.service()).iter();
        let known: Vec<&str> = known
            .copied()
            .filter(|name| identity.is_none() || *name != CREDENTIALS)
            .collect();
        let mut options: Vec<(String, String)> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, "true"));
            if !known.contains(&name) {
                let known = match known.is_empty() {
                    true => "there are none".to_owned(),
                    false => format!("there are {}", known.join(", ")),
                };
                let problem = format!("has the option {name:?}, which is none; {known}");
                return Err(rule(problem).into());
            }
            let is_switch = [
                CREDENTIALS,
                "private",
                "headers",
                "path_style",
                "requester_pays",
            ];
            if is_switch.contains(&name) && !matches!(value, "true" | "false") {
                let problem = format!("says {name}={value}; it is `true` or `false`");
                return Err(rule(problem).into());
            }
            options.retain(|(option, _)| option != name);
            options.push((name.to_owned(), value.to_owned()));
        }
        let mut place = Self {
            location,
            options,
            identity: Arc::new(Anonymous),
        };
        match identity {
            Some(identity) => place.identity = identity,
            None if place.is_on(CREDENTIALS) => place.identity = Arc::new(Environment),
            None => {}
        }
        Ok(place)
    }

    pub(super) fn add_to(self, access: VirtualAccess) -> Result<VirtualAccess, Error> {
        let url = self.location.to_string();
        let granted = access.grant(&url, Arc::new(self));
        granted.map_err(|it| {
            let problem = format!("cannot be granted: {it}");
            LocationError::Rule { url, problem }.into()
        })
    }

    pub(super) fn option(&self, name: &str) -> Option<&str> {
        let found = self.options.iter().find(|(option, _)| option == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(super) fn is_on(&self, name: &str) -> bool {
        self.option(name) == Some("true")
    }

    /// The error of something that only the reader can say.
    pub(super) fn must_name(&self, option: &str, value: &str) -> Error {
        let value = value.escape_debug();
        self.rule(format!(
            "is not all that the reader has to say: the repository's configuration says that it is at {value}; if that \
             is right, grant it with ?{option}={value}"
        ))
    }

    /// The error of an option of the container that cannot be heeded.
    pub(super) fn cannot_heed(&self, option: &str, problem: &str) -> Error {
        let option = option.escape_debug();
        self.rule(format!(
            "has a virtual chunk container whose option {option} cannot be used: {problem}"
        ))
    }

    pub(super) fn rule(&self, problem: String) -> Error {
        let url = self.location.to_string();
        LocationError::Rule { url, problem }.into()
    }

    pub(super) async fn open_store(
        &self,
        store: &VirtualStore,
    ) -> Result<Arc<dyn Storage>, BoxError> {
        Ok(match self.location.service() {
            "file" => self.open_directory().await?,
            "http" | "https" => self.open_web(store).await?,
            _ => self.identity.open(&self.bucket(store)?).await?,
        })
    }

    pub(super) async fn open_directory(&self) -> Result<Arc<dyn Storage>, Error> {
        let schemes = Schemes::none();
        #[cfg(feature = "local")]
        let schemes = schemes.with(
            "file",
            Arc::new(crate::standard::ConnectLocal {
                read_only: true,
                ..Default::default()
            }),
        );
        let path = format!("/{}", self.location.decoded_path());
        schemes.storage(&Location::of_path(path)).await
    }
}

#[async_trait]
impl OpenContainer for GrantedPrefix {
    async fn open(&self, container: &VirtualChunkContainer) -> Result<Arc<dyn Storage>, BoxError> {
        self.open_store(&container.store).await
    }
}
