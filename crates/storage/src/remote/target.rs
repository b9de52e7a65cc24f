//! Where a request went, for messages, and what was said about it.

use std::error::Error;
use std::fmt;

use super::request::{Fault, FaultKind};
use crate::{BoxError, Key, StorageError};

/// The request that failed, from which backends make their errors.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The action, as a verb: `read`, `write`, `list`.
    pub action: &'static str,
    /// The name of the store in errors.
    pub store: &'a str,
    /// The object; `None` if the request was about no single object.
    pub key: Option<&'a Key>,
}

impl Target<'_> {
    fn name(&self) -> String {
        self.key
            .map_or_else(|| self.store.to_owned(), Key::to_string)
    }

    /// Returns the error of a setting that must be changed.
    pub fn misconfigured(&self, setting: &'static str, problem: &str) -> StorageError {
        StorageError::Misconfigured {
            target: self.store.to_owned(),
            setting,
            problem: problem.to_owned(),
        }
    }

    /// Returns the error of credentials that the store does not accept.
    pub fn not_accepted(&self) -> StorageError {
        self.misconfigured("credentials", "the store does not accept the credentials")
    }

    /// Returns the error of an action that the client is not permitted.
    pub fn denied(&self, source: BoxError) -> StorageError {
        StorageError::PermissionDenied {
            action: self.action,
            target: self.name(),
            source,
        }
    }

    /// Returns the fault of an object that is not there; a request about none means the bucket, whose setting has
    /// this name.
    pub fn missing(&self, setting: &'static str) -> Fault {
        match self.key {
            Some(key) => StorageError::NotFound { key: key.clone() }.into(),
            None => self.no_bucket(setting),
        }
    }

    /// Returns the fault of a bucket that does not exist; `setting` is the name of the setting that named it.
    pub fn no_bucket(&self, setting: &'static str) -> Fault {
        let problem = format!("there is no such {setting}");
        self.misconfigured(setting, &problem).into()
    }

    /// Returns the fault of a kind with its cause.
    pub fn of_kind(&self, kind: FaultKind, source: BoxError) -> Fault {
        let (action, target) = (self.action, self.name());
        let error = match kind {
            FaultKind::Final => StorageError::Failed {
                action,
                target,
                source,
            },
            FaultKind::Throttled => StorageError::Throttled {
                action,
                target,
                source,
            },
            _ => StorageError::Unavailable {
                action,
                target,
                source,
            },
        };
        Fault::new(kind, error)
    }
}

/// The longest text of a cause that is kept: some end with the whole answer of a server.
const LONGEST: usize = 600;

/// The message of a client, as text alone: the `Debug` of its own error may show a whole request.
#[derive(Debug)]
pub struct Cause(String);

impl Cause {
    /// Returns a text as a cause: in one line, and cut if it is long.
    pub fn boxed(text: &str) -> BoxError {
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ");
        Box::new(Self(match text.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }))
    }

    /// Returns an error and its causes as one text, each said once, without the queries of URLs: signatures live there.
    pub fn text(error: &(dyn Error + 'static)) -> String {
        let mut text = String::new();
        for cause in Self::chain(error) {
            let said = cause.to_string();
            if !text.contains(&said) {
                if !text.is_empty() {
                    text.push_str(": ");
                }
                text.push_str(&said);
            }
        }
        without_queries(&text)
    }

    /// Iterates over an error and its causes.
    pub fn chain<'a>(
        error: &'a (dyn Error + 'static),
    ) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
        std::iter::successors(Some(error), |error| Error::source(*error))
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Cause {}

fn without_queries(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, word) in text.split(' ').enumerate() {
        if at > 0 {
            out.push(' ');
        }
        match word.split_once('?') {
            Some((before, _)) if word.contains("://") => {
                out.push_str(before);
                out.push_str("?…");
            }
            _ => out.push_str(word),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_one_line_of_bounded_length() {
        let cause = Cause::boxed("  one\n two\t").to_string();
        assert_eq!(cause, "one two");
        let cause = Cause::boxed(&"é".repeat(700)).to_string();
        assert_eq!(cause.chars().count(), 601);
    }

    #[test]
    fn what_is_said_twice_is_shown_once() {
        let key = Key::parse("a").expect("a key");
        let outer = StorageError::Failed {
            action: "read",
            target: key.to_string(),
            source: Cause::boxed("broken pipe"),
        };
        let text = Cause::text(&outer);
        assert_eq!(text.matches("broken pipe").count(), 1, "{text}");
    }
}
