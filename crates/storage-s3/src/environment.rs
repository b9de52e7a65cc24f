//! The usual variables and the profiles in `~/.aws`, read when the user asks for them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::credentials::Credentials;

/// The settings of a user's environment: variables and profiles.
///
/// ```
/// use icefield_storage_s3::Environment;
///
/// let variables = |name: &str| (name == "AWS_REGION").then(|| "eu-west-1".to_owned());
/// assert_eq!(Environment::of(variables).region.as_deref(), Some("eu-west-1"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// `AWS_ACCESS_KEY_ID` and its companions, or the key of the profile.
    pub credentials: Option<Credentials>,
    /// `AWS_REGION`, `AWS_DEFAULT_REGION`, or the region of the profile.
    pub region: Option<String>,
    /// `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, or the endpoint of the profile.
    pub endpoint: Option<String>,
}

impl Environment {
    /// Reads the variables of this process and the files that they name.
    pub fn read() -> Self {
        Self::of(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    /// Reads variables from a function, for tests and for programs with settings of their own.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let home = variable("HOME").or_else(|| variable("USERPROFILE"));
        let file = |name: &str, default: &str| -> Option<PathBuf> {
            let named = variable(name).map(PathBuf::from);
            named.or_else(|| Some(Path::new(home.as_ref()?).join(".aws").join(default)))
        };
        let profile = variable("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
        let mut values = BTreeMap::new();
        let files = [
            (file("AWS_CONFIG_FILE", "config"), true),
            (file("AWS_SHARED_CREDENTIALS_FILE", "credentials"), false),
        ];
        for (path, is_config) in files {
            let text = path.and_then(|path| std::fs::read_to_string(path).ok());
            let section = match is_config && profile != "default" {
                true => format!("profile {profile}"),
                false => profile.clone(),
            };
            values.extend(section_of(&text.unwrap_or_default(), &section));
        }
        let value = |name: &str| values.get(name).cloned();
        let keys = |access: Option<String>, secret: Option<String>, token: Option<String>| {
            let credentials = Credentials::new(access?, secret?);
            Some(match token {
                Some(token) => credentials.with_session_token(token),
                None => credentials,
            })
        };
        Self {
            credentials: keys(
                variable("AWS_ACCESS_KEY_ID"),
                variable("AWS_SECRET_ACCESS_KEY"),
                variable("AWS_SESSION_TOKEN"),
            )
            .or_else(|| {
                keys(
                    value("aws_access_key_id"),
                    value("aws_secret_access_key"),
                    value("aws_session_token"),
                )
            }),
            region: variable("AWS_REGION")
                .or_else(|| variable("AWS_DEFAULT_REGION"))
                .or_else(|| value("region")),
            endpoint: variable("AWS_ENDPOINT_URL_S3")
                .or_else(|| variable("AWS_ENDPOINT_URL"))
                .or_else(|| value("endpoint_url")),
        }
    }
}

/// The values of one section of an INI file.
fn section_of(text: &str, wanted: &str) -> BTreeMap<String, String> {
    let mut inside = false;
    let mut values = BTreeMap::new();
    for line in text.lines() {
        if let Some(name) = line.trim().strip_prefix('[') {
            let name = name.split(']').next().unwrap_or_default();
            inside = name.split_whitespace().eq(wanted.split_whitespace());
        } else if inside
            && !line.starts_with([' ', '\t', '#', ';'])
            && let Some((name, value)) = line.split_once('=')
        {
            values.insert(name.trim().to_owned(), value.trim().to_owned());
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_go_before_the_profile() {
        let folder = std::env::temp_dir().join(format!("icefield-s3-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let (config, keys) = (folder.join("config"), folder.join("credentials"));
        let text = "[default]\nregion = eu-north-1\n[profile  sea]\nregion=us-west-2\nendpoint_url = http://x\n";
        std::fs::write(&config, text).expect("written");
        let text = "[sea]\naws_access_key_id = AK\naws_secret_access_key = SK\n# region = no\n[other]\naws_access_key_id = no\n";
        std::fs::write(&keys, text).expect("written");
        let read = |more: &[(&str, &str)]| {
            let more: Vec<(String, String)> = more
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            let (config, keys) = (config.clone(), keys.clone());
            Environment::of(move |name| match name {
                "AWS_CONFIG_FILE" => Some(config.display().to_string()),
                "AWS_SHARED_CREDENTIALS_FILE" => Some(keys.display().to_string()),
                _ => more.iter().find(|it| it.0 == name).map(|it| it.1.clone()),
            })
        };
        let sea = read(&[("AWS_PROFILE", "sea")]);
        assert_eq!(sea.region.as_deref(), Some("us-west-2"));
        assert_eq!(sea.endpoint.as_deref(), Some("http://x"));
        assert_eq!(sea.credentials.expect("there").access_key, "AK");
        let plain = read(&[]);
        assert_eq!(plain.region.as_deref(), Some("eu-north-1"));
        assert!(plain.credentials.is_none());
        let both = read(&[
            ("AWS_PROFILE", "sea"),
            ("AWS_REGION", "mars"),
            ("AWS_ACCESS_KEY_ID", "EK"),
            ("AWS_SECRET_ACCESS_KEY", "ES"),
            ("AWS_SESSION_TOKEN", "ET"),
        ]);
        assert_eq!(both.region.as_deref(), Some("mars"));
        let credentials = both.credentials.expect("there");
        assert_eq!(credentials.access_key, "EK");
        let shown = format!("{credentials:?}");
        assert!(!shown.contains("ES") && !shown.contains("ET"), "{shown}");
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
