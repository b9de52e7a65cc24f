//! Granted places on web servers: public ones, without headers, unless the reader says otherwise.

use std::sync::Arc;
use std::time::Duration;

use icefield_format::config::{HttpOptions, VirtualStore};
use icefield_storage::Storage;

use super::bucket::is_true;
use super::prefix::GrantedPrefix;
use crate::{Error, Location, Schemes};

/// The options of a container on a web server that may be used.
#[derive(Default)]
pub(super) struct WebOptions {
    /// Of one attempt.
    pub(super) attempt: Option<Duration>,
    pub(super) connect: Option<Duration>,
    /// How long a connection may be silent.
    pub(super) silence: Option<Duration>,
    /// Only if the reader says so: a header may be a secret that was meant for another server, or make this one do something.
    pub(super) headers: Vec<(String, String)>,
}

impl GrantedPrefix {
    pub(super) async fn open_web(&self, store: &VirtualStore) -> Result<Arc<dyn Storage>, Error> {
        let options = self.web_options(store)?;
        let schemes = Schemes::none();
        #[cfg(feature = "http")]
        let schemes = {
            let mut connect = crate::ConnectHttp {
                public_only: !self.is_on("private"),
                headers: options.headers,
                connect_timeout: options.connect,
                ..Default::default()
            };
            if let Some(time) = options.attempt {
                connect.settings.attempt_timeout = time;
            }
            if let Some(time) = options.silence {
                connect.settings.stall_timeout = time;
            }
            let connect = Arc::new(connect);
            let plain = Arc::clone(&connect);
            schemes.with("http", plain).with("https", connect)
        };
        #[cfg(not(feature = "http"))]
        let _ = (
            options.attempt,
            options.connect,
            options.silence,
            options.headers,
        );
        let (service, host) = (self.location.service(), self.location.host());
        let place = format!("{service}://{host}/{}", self.location.path());
        schemes.storage(&Location::parse(&place)?).await
    }

    pub(super) fn web_options(&self, store: &VirtualStore) -> Result<WebOptions, Error> {
        let nothing = HttpOptions::default();
        let said = match store {
            VirtualStore::Http(said) => said,
            _ => &nothing,
        };
        let mut options = WebOptions::default();
        let mut headers: Vec<(String, String)> = Vec::new();
        let mut header =
            |name: &str, value: &str| headers.push((name.to_owned(), value.to_owned()));
        for (name, value) in &said.headers {
            header(name, value);
        }
        for (name, value) in &said.options {
            let time = || {
                let problem = "it is no time such as 5s or 300ms";
                let time = time_of(value);
                Ok::<_, Error>(Some(time.ok_or_else(|| self.cannot_heed(name, problem))?))
            };
            match name.as_str() {
                "timeout" => options.attempt = time()?,
                "connect_timeout" => options.connect = time()?,
                "read_timeout" => options.silence = time()?,
                "user_agent" => header("user-agent", value),
                "allow_http" if is_true(value) || self.location.scheme() == "https" => {}
                "allow_http" => {
                    let problem = "the place is http://, which it must allow: set it to true";
                    return Err(self.cannot_heed(name, problem));
                }
                _ => {
                    let problem = "it is not supported; take it out of the configuration";
                    return Err(self.cannot_heed(name, problem));
                }
            }
        }
        if self.is_on("headers") {
            options.headers = headers;
        }
        Ok(options)
    }
}

/// A time such as `5s`, `1m 30s`, `300 ms`.
fn time_of(text: &str) -> Option<Duration> {
    let mut total = 0_u64;
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|it: char| !it.is_ascii_digit())?;
        let number: u64 = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start();
        let letters = rest
            .find(|it: char| !it.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "ms" | "msec" | "millis" => 1,
            "s" | "sec" | "secs" | "second" | "seconds" => 1000,
            "m" | "min" | "mins" | "minute" | "minutes" => 60_000,
            "h" | "hr" | "hour" | "hours" => 3_600_000,
            _ => return None,
        };
        total = total.checked_add(number.checked_mul(unit)?)?;
        rest = rest[letters..].trim_start();
    }
    Some(Duration::from_millis(total))
}
