//! The builder that opens a web server for reading.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use icefield_storage::remote::{RemoteSettings, RemoteStorage};
use icefield_storage::{Clock, Entropy, KeyForm, StorageError, SystemClock, SystemEntropy};

use crate::AdapterOptions;
use crate::client::{
    Straight, check_no_user, is_plain, leads_inside, not_made, options, shown, tried_once,
};
use crate::index::{self, IndexEntry};

/// The settings with which the files below a URL of a web server are opened, for reading.
///
/// ```no_run
/// use icefield_storage_object_store::HttpBuilder;
///
/// # fn main() -> Result<(), icefield_storage::StorageError> {
/// let storage = HttpBuilder::new("https://data.example.org/ocean").public_only().open()?;
/// # let _ = storage;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "nothing is opened before `open`"]
pub struct HttpBuilder {
    url: String,
    options: AdapterOptions,
    public_only: bool,
    headers: Vec<(String, String)>,
    connect_timeout: Option<Duration>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl HttpBuilder {
    /// Returns the settings of a web server's directory. The URL may have a query, which each request repeats and which
    /// errors leave out, because it may hold a secret.
    pub fn new(url: impl Into<String>) -> Self {
        let options = AdapterOptions::read_only().with(|options| {
            options.attributes = false;
            options.lists = false;
            options.address = "url";
        });
        Self {
            url: url.into(),
            options,
            public_only: false,
            headers: Vec::new(),
            connect_timeout: None,
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
        }
    }

    /// Sets the spelling of names in keys: [`KeyForm::Raw`] for a bucket of S3 that is served as a web site.
    pub fn key_form(mut self, key_form: KeyForm) -> Self {
        self.options.key_form = key_form;
        self
    }

    /// Connects only to public servers: addresses of this machine and of the network around it are refused, and so are
    /// names that lead there, looked up anew for each connection.
    pub fn public_only(mut self) -> Self {
        self.public_only = true;
        self
    }

    /// Sends a header with each request, such as an `Authorization`. It is sent to no other server.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the longest time that making a connection may take. Default 5 s.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = Some(timeout);
        self
    }

    /// Sets the retries, time-outs, sizes of parts and number of requests in flight.
    pub fn settings(mut self, settings: RemoteSettings) -> Self {
        self.options.settings = settings;
        self
    }

    /// Sets the clock that waits between retries. Default: [`SystemClock`].
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the source of randomness for pauses between retries. Default: [`SystemEntropy`].
    pub fn entropy(mut self, entropy: Arc<dyn Entropy>) -> Self {
        self.entropy = entropy;
        self
    }

    /// Opens the server. Sends no request.
    ///
    /// # Errors
    /// [`StorageError::Misconfigured`] if the URL is invalid.
    pub fn open(mut self) -> Result<RemoteStorage, StorageError> {
        let (straight, plain) = self.straight()?;
        let name = shown(&self.url);
        // Keys are appended to the path, behind a slash of their own.
        let url = match self.url.split_once('?') {
            Some((path, query)) => format!("{}?{query}", path.trim_end_matches('/')),
            None => self.url.trim_end_matches('/').to_owned(),
        };
        let store = object_store::http::HttpBuilder::new()
            .with_url(url)
            .with_retry(tried_once())
            .with_client_options(options(plain))
            .with_http_connector(straight)
            .build()
            .map_err(|_| not_made(&name, "url"))?;
        // A query may say which of two repositories it is, and is a secret: such a store is known by its handle.
        self.options.place = (name == self.url).then(|| format!("http:{name}"));
        self.options.name = Some(name);
        let (clock, entropy) = (self.clock, self.entropy);
        Ok(self.options.open_with(Arc::new(store), clock, entropy))
    }

    /// Reads the page on which the server lists the directory at the URL, in the form of nginx, Apache or Python's
    /// `http.server`: the sorted names of its entries. Links that lead elsewhere are left out.
    ///
    /// # Errors
    /// [`StorageError::Misconfigured`] if the URL is invalid, [`StorageError::Unsupported`] if the answer is no such
    /// page, [`StorageError::Unavailable`] if there is no answer.
    pub async fn index(self) -> Result<Vec<IndexEntry>, StorageError> {
        let (straight, plain) = self.straight()?;
        index::read(&self.url, &straight, plain, &*self.clock).await
    }

    /// How clients of this server are made, and whether it is reached without TLS.
    fn straight(&self) -> Result<(Straight, bool), StorageError> {
        let name = shown(&self.url);
        let plain = is_plain(&self.url, &name, "url")?;
        check_no_user(&self.url, &name, "url")?;
        if self.public_only && leads_inside(&self.url) {
            return Err(StorageError::Misconfigured {
                target: name,
                setting: "url",
                problem: "it leads into this machine or the network around it, where only who names it on purpose may go"
                    .to_owned(),
            });
        }
        let mut headers = HeaderMap::new();
        for (name_of_it, value) in &self.headers {
            let header = (
                HeaderName::from_bytes(name_of_it.as_bytes()),
                HeaderValue::from_str(value),
            );
            let (Ok(header), Ok(mut value)) = header else {
                return Err(StorageError::Misconfigured {
                    target: name,
                    setting: "headers",
                    problem: "one of them cannot be sent".to_owned(),
                });
            };
            value.set_sensitive(true);
            headers.insert(header, value);
        }
        let straight = Straight {
            public_only: self.public_only,
            headers,
            connect_timeout: self.connect_timeout,
        };
        Ok((straight, plain))
    }
}

impl fmt::Debug for HttpBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpBuilder")
            .field("store", &shown(&self.url))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use icefield_storage::Storage;

    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        let builder = HttpBuilder::new("https://me:SECRET@host/data/");
        assert!(!format!("{builder:?}").contains("SECRET"));
        let error = builder.open().expect_err("a user");
        assert!(
            matches!(error, StorageError::Misconfigured { setting: "url", .. }),
            "{error:?}"
        );
        assert!(!format!("{error:?} {error}").contains("SECRET"));
        for (name, value) in [("a b", "SECRET"), ("x", "SECRET\n")] {
            let error = HttpBuilder::new("https://host/x").header(name, value);
            let error = error.open().expect_err("no header");
            assert!(!format!("{error:?} {error}").contains("SECRET"));
        }
        let builder = HttpBuilder::new("https://host/data/?token=SECRET").header("a", "SECRET");
        assert!(!format!("{builder:?}").contains("SECRET"));
        let storage = builder.open().expect("opened");
        assert_eq!(storage.to_string(), "https://host/data/");
        assert!(!format!("{storage:?}").contains("SECRET"));
    }

    /// Names are looked up by a resolver of our own; these are none.
    #[test]
    fn g98_addresses_of_the_inside_are_refused_in_every_spelling() {
        for inside in [
            "http://127.0.0.1/x",
            "http://0x7f.1/",
            "http://2130706433/",
            "http://127.1/",
            "http:///127.0.0.1/x",
            "http://%31%32%37.0.0.1/",
            "http://LOCALHOST./",
            "http://[::1]:80/",
            "http://[::ffff:127.0.0.1]/",
            "http://169.254.169.254/latest",
            "http:///me:secret@host.org/x",
        ] {
            let opened = HttpBuilder::new(inside).public_only().open();
            let refused = matches!(
                opened,
                Err(StorageError::Misconfigured { setting: "url", .. })
            );
            assert!(refused, "{inside}");
        }
        let open = HttpBuilder::new("https://host.org/x").public_only().open();
        assert!(open.is_ok());
    }

    #[test]
    fn urls_that_differ_in_their_query_are_two_places() {
        let place = |url| HttpBuilder::new(url).open().expect(url).place();
        let (one, other) = (
            HttpBuilder::new("https://host/x?repo=SECRET").open(),
            HttpBuilder::new("https://host/x?repo=other").open(),
        );
        let (one, other) = (one.expect("a URL").place(), other.expect("a URL").place());
        assert_ne!(one, other);
        let one = one.expect("its handle");
        assert!(one.starts_with("object-store:"), "{one}");
        assert!(!one.contains("SECRET"), "{one}");
        assert_eq!(place("https://host/x"), place("https://host/x"));
    }

    #[test]
    fn what_is_no_url_is_refused() {
        for url in ["", "ftp://host", "host/data"] {
            let opened = HttpBuilder::new(url).open();
            assert!(
                matches!(
                    opened,
                    Err(StorageError::Misconfigured { setting: "url", .. })
                ),
                "{url:?}"
            );
        }
    }
}
