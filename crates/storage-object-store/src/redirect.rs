//! Locations that a web server points to.

use std::time::Duration;

use icefield_storage::{BoxError, StorageError};

use crate::client::{self, is_plain, not_made, shown};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Asks a web server where something is: returns the text of the `Location` header of its answer, which is of status
/// 301, 302, 303, 307 or 308. Sends one request, without credentials, and does not go there.
///
/// # Errors
/// [`StorageError::Misconfigured`] if the URL is none, has a user in it, or does not answer with a redirect;
/// [`StorageError::Unavailable`] if there is no answer.
pub async fn redirect_of(url: &str) -> Result<String, StorageError> {
    let name = shown(url);
    let wrong = |problem: String| StorageError::Misconfigured {
        target: name.clone(),
        setting: "url",
        problem,
    };
    let plain = is_plain(url, &name, "url")?;
    let authority = url.split('/').nth(2).unwrap_or_default();
    if authority.contains('@') {
        let problem = "it has a user in it: a redirect is asked for without credentials";
        return Err(wrong(problem.to_owned()));
    }
    client::choose_tls();
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(client::CONNECT)
        .timeout(PATIENCE)
        .https_only(!plain)
        .build()
        .map_err(|_| not_made(&name, "url"))?;
    let answer = client.get(url).send().await.map_err(|error| {
        let source: BoxError = error.without_url().into();
        StorageError::Unavailable {
            action: "ask for a redirect at",
            target: name.clone(),
            source,
        }
    })?;
    let status = answer.status().as_u16();
    match status {
        301 | 302 | 303 | 307 | 308 => {}
        429 | 500..=599 => {
            return Err(StorageError::Unavailable {
                action: "ask for a redirect at",
                target: name,
                source: format!("the server answered {status}").into(),
            });
        }
        _ => {
            return Err(wrong(format!(
                "the server answered {status}, where a redirect was asked for"
            )));
        }
    }
    let location = answer.headers().get(reqwest::header::LOCATION);
    let location = location.and_then(|location| location.to_str().ok());
    match location {
        Some(location) if !location.is_empty() => Ok(location.to_owned()),
        _ => Err(wrong(format!(
            "the server answered {status} and names no place to go to"
        ))),
    }
}
