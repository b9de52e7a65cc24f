//! `scheme://bucket/prefix?name=value&…`: where a repository is in an object store.

use icefield_storage::Prefix;
use icefield_storage::remote::RemoteSettings;

use crate::location::{decode, without_options};
use crate::{Location, LocationError};

/// The parts of such a URL, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BucketUrl {
    pub(crate) bucket: String,
    pub(crate) prefix: Prefix,
    options: Vec<(String, String)>,
    url: String,
}

impl BucketUrl {
    /// Reads a location. `known` are the names of the options that its scheme has.
    pub(crate) fn parse(location: &Location, known: &[&str]) -> Result<Self, LocationError> {
        let url = location.as_str().to_owned();
        let malformed = |problem: &str| LocationError::Rule {
            url: without_options(&url).to_owned(),
            problem: problem.to_owned(),
        };
        let rest = &url[location.scheme().len() + 1..];
        let Some(rest) = rest.strip_prefix("//") else {
            return Err(malformed("names no bucket: write scheme://bucket/prefix"));
        };
        if rest.contains('#') {
            return Err(malformed("has a `#`: write %23 for one in a name"));
        }
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
        if bucket.is_empty() {
            return Err(malformed("names no bucket: write scheme://bucket/prefix"));
        }
        if bucket.contains(['@', ':']) {
            return Err(malformed(
                "has a user or a port in the place of the bucket; an endpoint is an option: ?endpoint=https://host:port",
            ));
        }
        let prefix = decode(prefix.strip_suffix('/').unwrap_or(prefix)).map_err(malformed)?;
        let prefix = Prefix::parse(&prefix).map_err(|error| malformed(&error.to_string()))?;
        let mut options: Vec<(String, String)> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, "true"));
            if !known.contains(&name) {
                let known = known.join(", ");
                return Err(malformed(&format!(
                    "has the option {name:?}, which is none; there are {known}. Keys and secrets are never part of a URL"
                )));
            }
            if options.iter().any(|(seen, _)| seen == name) {
                return Err(malformed(&format!("has the option {name:?} twice")));
            }
            let value = decode_value(value).ok_or_else(|| {
                malformed(&format!("has an option {name:?} that cannot be decoded"))
            })?;
            options.push((name.to_owned(), value));
        }
        Ok(Self {
            bucket: bucket.to_owned(),
            prefix,
            options,
            url,
        })
    }

    /// The value of an option.
    pub(crate) fn option(&self, name: &str) -> Option<&str> {
        let found = self.options.iter().find(|(option, _)| option == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The value of an option that is a switch.
    pub(crate) fn switch(&self, name: &str) -> Result<Option<bool>, LocationError> {
        match self.option(name) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(other) => {
                Err(self.wrong(&format!("says {name}={other}; it is `true` or `false`")))
            }
        }
    }

    /// The settings that hold for all networks, as far as this URL sets them.
    pub(crate) fn settings(
        &self,
        mut settings: RemoteSettings,
    ) -> Result<RemoteSettings, LocationError> {
        if self.switch("trust_conditions")? == Some(true) {
            settings = settings.trusting_conditions();
        }
        if let Some(sorts) = self.switch("sort_lists")? {
            settings.sort_lists = sorts;
        }
        Ok(settings)
    }

    /// The error that this URL breaks a rule.
    pub(crate) fn wrong(&self, problem: &str) -> LocationError {
        LocationError::Rule {
            url: without_options(&self.url).to_owned(),
            problem: problem.to_owned(),
        }
    }
}

fn decode_value(value: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((byte, tail)) = rest.split_first() {
        rest = tail;
        bytes.push(match byte {
            b'%' => {
                let (digits, tail) = rest.split_at_checked(2)?;
                rest = tail;
                u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?
            }
            byte => *byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[&str] = &["region", "endpoint", "anonymous"];

    fn parse(text: &str) -> Result<BucketUrl, LocationError> {
        BucketUrl::parse(&Location::parse(text).expect("a location"), KNOWN)
    }

    #[test]
    fn parts_are_decoded() {
        let url = parse("s3://sea/a%20b/c%3F/?region=eu&endpoint=http%3A%2F%2Fh:1&anonymous");
        let url = url.expect("valid");
        assert_eq!(
            (url.bucket.as_str(), url.prefix.as_str()),
            ("sea", "a b/c?")
        );
        assert_eq!(url.option("endpoint"), Some("http://h:1"));
        assert_eq!(url.switch("anonymous"), Ok(Some(true)));
        assert_eq!(parse("s3://sea").expect("valid").prefix, Prefix::all());
        assert_eq!(parse("s3://sea/").expect("valid").prefix, Prefix::all());
        // As people write it, not encoded.
        let plain = parse("s3://sea/x?endpoint=http://127.0.0.1:9000").expect("valid");
        assert_eq!(plain.option("endpoint"), Some("http://127.0.0.1:9000"));
    }

    #[test]
    fn what_is_wrong_is_said_and_no_secret_with_it() {
        for (text, said) in [
            ("s3:", "bucket"),
            ("s3:sea", "bucket"),
            ("s3:///x", "bucket"),
            ("s3://sea/a//b", "segment"),
            ("s3://sea/../b", "segment"),
            ("s3://sea/%zz", "hexadecimal"),
            ("s3://sea/x#y", "%23"),
            ("s3://sea/x?secret_key=hidden", "never part"),
            ("s3://sea/x?region=a&region=b", "twice"),
            ("s3://sea/x?region=%z", "decoded"),
            ("s3://me:hidden@sea/x", "user"),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(said), "{text}: {error}");
            assert!(!error.contains("hidden"), "{text}: {error}");
        }
        let error = parse("s3://sea?anonymous=maybe")
            .expect("valid")
            .switch("anonymous");
        assert!(error.is_err());
    }
}
