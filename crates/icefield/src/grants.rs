//! Grants of access to virtual chunks, in the words of a user.
//!
//! ```text
//! s3://archive/2015?region=eu-west-1                what lies below that prefix, unsigned
//! s3://archive/2015?credentials                     … signed with the keys that the environment has
//! az://container/x?account=name                     containers of Azure need their account
//! file:///data
//! https://host/data                                 servers that anybody can reach
//! http://localhost:8000/data?private                … and those of this machine and the network around it
//! ```

use std::sync::Arc;

use async_trait::async_trait;
use icefield_core::{OpenContainer, VirtualAccess, VirtualLocation};
use icefield_format::config::{S3Options, VirtualChunkContainer, VirtualStore};
use icefield_storage::{BoxError, Storage};

use crate::location::without_options;
use crate::{Error, Location, LocationError, Schemes};

/// Grants a repository access to what lies below a prefix, such as `s3://archive/2015?region=eu-west-1`. What the grant does not say of the
/// place, the repository's configuration may say, but for where credentials are sent: an endpoint, and for Azure an
/// account, must be in the grant if it comes with credentials.
///
/// # Errors
/// [`Invalid`](crate::ErrorKind::Invalid) if it is no location of virtual chunks, or has an option that is none.
pub fn grant(access: VirtualAccess, text: &str) -> Result<VirtualAccess, Error> {
    let (prefix, query) = text.split_once('?').unwrap_or((text, ""));
    let rule = |problem: String| LocationError::Rule {
        url: without_options(prefix).to_owned(),
        problem,
    };
    let location = VirtualLocation::parse_prefix(prefix);
    let location = location.map_err(|it| rule(format!("cannot be granted: {it}")))?;
    let mut place = Place {
        location,
        credentials: false,
        private: false,
        account: None,
        options: Vec::new(),
    };
    let known = known_options(place.location.service());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, "true"));
        if !known.contains(&name) {
            let known = known.join(", ");
            let problem = format!("has the option {name:?}, which is none; there are {known}");
            return Err(rule(problem).into());
        }
        match (name, value) {
            ("credentials", "true") => place.credentials = true,
            ("private", "true") => place.private = true,
            ("credentials" | "private", "false") => {}
            ("credentials" | "private", _) => {
                let problem = format!("says {name}={value}; it is `true` or `false`");
                return Err(rule(problem).into());
            }
            ("account", value) => place.account = Some(value.to_owned()),
            _ => place.options.push((name.to_owned(), value.to_owned())),
        }
    }
    let granted = access.grant(prefix, Arc::new(place));
    granted.map_err(|it| rule(format!("cannot be granted: {it}")).into())
}

fn known_options(service: &str) -> &'static [&'static str] {
    match service {
        "s3" => &[
            "region",
            "endpoint",
            "path_style",
            "preset",
            "requester_pays",
            "credentials",
        ],
        "gs" => &["endpoint", "user_project", "credentials"],
        "az" => &["account", "endpoint", "credentials"],
        "http" | "https" => &["private"],
        _ => &[],
    }
}

/// A place as its grant names it.
#[derive(Clone, Debug)]
struct Place {
    location: VirtualLocation,
    credentials: bool,
    private: bool,
    account: Option<String>,
    options: Vec<(String, String)>,
}

#[async_trait]
impl OpenContainer for Place {
    async fn open(&self, container: &VirtualChunkContainer) -> Result<Arc<dyn Storage>, BoxError> {
        let location = self.complete(&container.store)?;
        Ok(self.schemes().storage(&location).await?)
    }
}

impl Place {
    fn option(&self, name: &str) -> Option<&str> {
        let found = self.options.iter().find(|(option, _)| option == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The location of the store, with what only the repository knows of it.
    fn complete(&self, store: &VirtualStore) -> Result<Location, Error> {
        let (host, path) = (self.location.host(), self.location.path());
        let service = self.location.service();
        let mut options = self.options.clone();
        let place = match service {
            "file" => {
                let path = format!("/{}", self.location.decoded_path());
                return Ok(Location::of_path(path));
            }
            "http" | "https" => format!("{service}://{host}/{path}"),
            "az" => {
                let account = self.azure_account(store)?;
                format!("az://{account}/{host}/{path}")
            }
            "s3" => {
                self.add_s3(store, &mut options)?;
                format!("s3://{host}/{path}")
            }
            _ => format!("{service}://{host}/{path}"),
        };
        let options: Vec<String> = options
            .iter()
            .map(|(name, value)| format!("{name}={}", encoded(value)))
            .collect();
        let text = match options.is_empty() {
            true => place,
            false => format!("{place}?{}", options.join("&")),
        };
        Ok(Location::parse(&text)?)
    }

    fn add_s3(
        &self,
        store: &VirtualStore,
        options: &mut Vec<(String, String)>,
    ) -> Result<(), Error> {
        let said: Option<&S3Options> = match store {
            VirtualStore::S3(said)
            | VirtualStore::S3Compatible(said)
            | VirtualStore::Tigris(said) => Some(said),
            _ => None,
        };
        if self.location.scheme() == "tigris" && self.option("preset").is_none() {
            options.push(("preset".to_owned(), "tigris".to_owned()));
        }
        let Some(said) = said else {
            return Ok(());
        };
        let endpoint = said.endpoint_url.as_deref();
        match (self.option("endpoint"), endpoint) {
            (None, Some(endpoint)) => {
                return Err(self.must_name("endpoint", endpoint));
            }
            (Some(granted), Some(endpoint)) if !same_endpoint(granted, endpoint) => {
                return Err(self.must_name("endpoint", endpoint));
            }
            _ => {}
        }
        if self.option("region").is_none()
            && let Some(region) = said.region.as_deref().filter(|it| is_label(it))
        {
            options.push(("region".to_owned(), region.to_owned()));
        }
        if self.option("path_style").is_none() && said.force_path_style == Some(true) {
            options.push(("path_style".to_owned(), "true".to_owned()));
        }
        Ok(())
    }

    fn azure_account(&self, store: &VirtualStore) -> Result<String, Error> {
        if let Some(account) = &self.account {
            return Ok(account.clone());
        }
        let said = match store {
            VirtualStore::Azure(options) => options.get("account"),
            _ => None,
        };
        match said {
            Some(account) if !self.credentials && is_label(account) => Ok(account.clone()),
            Some(account) => Err(self.must_name("account", account)),
            None => Err(self.must_name("account", "…")),
        }
    }

    /// The error of something that only the reader can say.
    fn must_name(&self, option: &str, value: &str) -> Error {
        let value = value.escape_debug();
        let problem = format!(
            "is not all that the reader has to say: the repository's configuration says that it is at {value}; if that \
             is right, grant it with ?{option}={value}"
        );
        let url = self.location.to_string();
        LocationError::Rule { url, problem }.into()
    }

    fn schemes(&self) -> Schemes {
        match self.credentials {
            true => Schemes::standard(),
            false => self.without_credentials(),
        }
    }

    /// The schemes, with nothing of the environment.
    fn without_credentials(&self) -> Schemes {
        let schemes = Schemes::none();
        #[cfg(feature = "local")]
        let schemes = schemes.with(
            "file",
            Arc::new(crate::ConnectLocal {
                read_only: true,
                ..Default::default()
            }),
        );
        #[cfg(feature = "s3")]
        let schemes = schemes.with("s3", Arc::new(crate::ConnectS3::anonymous()));
        #[cfg(feature = "gcs")]
        let schemes = schemes.with("gs", Arc::new(crate::ConnectGcs::anonymous()));
        #[cfg(feature = "azure")]
        let schemes = schemes.with("az", Arc::new(crate::ConnectAzure::anonymous()));
        #[cfg(feature = "http")]
        let schemes = {
            let connect = Arc::new(crate::ConnectHttp {
                public_only: !self.private,
                ..Default::default()
            });
            let plain = Arc::clone(&connect);
            schemes.with("http", plain).with("https", connect)
        };
        schemes
    }
}

fn same_endpoint(one: &str, other: &str) -> bool {
    let plain = |it: &str| it.trim_end_matches('/').to_ascii_lowercase();
    plain(one) == plain(other)
}

fn is_label(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !text.is_empty() && text.bytes().all(plain)
}

fn encoded(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~:/".contains(&byte);
    let mut text = String::new();
    for byte in value.bytes() {
        match plain(byte) {
            true => text.push(char::from(byte)),
            false => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> Place {
        let (prefix, _) = text.split_once('?').unwrap_or((text, ""));
        let access = grant(VirtualAccess::none(), text).expect("a grant");
        assert_eq!(access.prefixes().count(), 1);
        let (_, query) = text.split_once('?').unwrap_or((text, ""));
        let options = query.split('&').filter(|it| it.contains('='));
        let options = options.filter_map(|it| it.split_once('='));
        Place {
            location: VirtualLocation::parse_prefix(prefix).expect("a prefix"),
            credentials: query.contains("credentials"),
            private: query.contains("private"),
            account: None,
            options: options.map(|(a, b)| (a.to_owned(), b.to_owned())).collect(),
        }
    }

    fn s3(endpoint: Option<&str>, region: Option<&str>) -> VirtualStore {
        VirtualStore::S3(S3Options {
            endpoint_url: endpoint.map(str::to_owned),
            region: region.map(str::to_owned),
            ..Default::default()
        })
    }

    #[test]
    fn a_grant_is_opened_where_it_says() {
        let complete = |text: &str, store: &VirtualStore| {
            let location = place(text).complete(store);
            location.map(|it| it.as_str().to_owned())
        };
        let nothing = s3(None, None);
        assert_eq!(complete("s3://b/x", &nothing).expect("granted"), "s3://b/x");
        let europe = s3(None, Some("eu-west-1"));
        assert_eq!(
            complete("s3://b/x", &europe).expect("granted"),
            "s3://b/x?region=eu-west-1"
        );
        let own = complete("s3://b/x?region=us-east-2", &europe);
        assert_eq!(own.expect("granted"), "s3://b/x?region=us-east-2");
        assert_eq!(
            complete("file:///a%20b", &nothing).expect("granted"),
            "/a b"
        );
        let tricky = s3(None, Some("evil.org/"));
        assert_eq!(complete("s3://b/x", &tricky).expect("granted"), "s3://b/x");
    }

    /// The configuration of a repository may name an attacker's endpoint.
    #[test]
    fn g99_an_endpoint_must_be_named_by_the_reader() {
        let evil = s3(Some("https://evil.org"), None);
        for text in [
            "s3://b/x",
            "s3://b/x?credentials",
            "s3://b/x?endpoint=https://good.org",
            "s3://b/x?endpoint=https://evil.org.good.org",
        ] {
            let error = place(text).complete(&evil).expect_err(text).to_string();
            assert!(error.contains("?endpoint=https://evil.org"), "{error}");
        }
        let named = place("s3://b/x?endpoint=https://evil.org/").complete(&evil);
        assert!(named.is_ok());
    }

    #[test]
    fn what_is_no_grant_is_refused() {
        for text in [
            "",
            "archive",
            "s3://",
            "ftp://host/x",
            "s3://me:secret@b/x",
            "s3://b/x?secret_key=x",
            "s3://b/x?credentials=maybe",
            "https://host/x?credentials",
            "file:///x?private",
        ] {
            let error = grant(VirtualAccess::none(), text).expect_err(text);
            assert!(!error.to_string().contains("me:secret"), "{error}");
        }
    }
}
