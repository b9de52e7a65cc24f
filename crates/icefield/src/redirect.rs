//! `redirect+https://` locations: a web server that tells where the repository is.

use std::sync::Arc;

use async_trait::async_trait;
use icefield_storage::Storage;
use icefield_storage_object_store::redirect_of;

use crate::location::without_options;
use crate::{Connect, Error, Location, LocationError, Schemes};

/// Opens what a web server points to: it is asked once, without credentials, and answers with a redirect to a
/// location of one of the registered schemes.
///
/// The publisher of a dataset can move it to another bucket, or put a new state in the place of an old one, under one
/// address. Whoever controls that address also controls which store is asked; so by default nothing of the
/// environment goes there, no key and no token, and local files are out of reach.
#[derive(Clone, Debug)]
pub struct ConnectRedirect {
    /// What a redirect may lead to.
    targets: Schemes,
}

impl ConnectRedirect {
    /// Returns the connection to buckets and web servers that anybody can read.
    pub fn anonymous() -> Self {
        let targets = Schemes::none();
        #[cfg(feature = "s3")]
        let targets = targets.with("s3", Arc::new(crate::ConnectS3::anonymous()));
        #[cfg(feature = "gcs")]
        let targets = targets.with("gs", Arc::new(crate::ConnectGcs::anonymous()));
        #[cfg(feature = "azure")]
        let targets = targets.with("az", Arc::new(crate::ConnectAzure::anonymous()));
        Self::to(targets.with("https", Arc::new(crate::ConnectHttp::default())))
    }

    /// Returns the connection to locations of these schemes, opened as they open them: with credentials only if these
    /// bring some. A redirect never leads to another redirect.
    pub fn to(targets: Schemes) -> Self {
        Self { targets }
    }

    fn check(&self, url: &str, target: &str) -> Result<Location, LocationError> {
        let refused = |problem: String| LocationError::Redirect {
            url: without_options(url).to_owned(),
            target: without_options(target).to_owned(),
            problem,
        };
        // What has no scheme would be a path.
        let has_scheme = target.contains("://");
        let location = match Location::parse(target) {
            Ok(location) if has_scheme => location,
            Ok(_) => return Err(refused("it names no scheme".to_owned())),
            Err(_) => return Err(refused("it is no location".to_owned())),
        };
        let scheme = location.scheme();
        if scheme.starts_with("redirect+") {
            return Err(refused(
                "one redirect may not lead to another; open that one".to_owned(),
            ));
        }
        if !self.targets.names().any(|name| name == scheme) {
            let allowed: Vec<&str> = self.targets.names().collect();
            return Err(refused(format!(
                "a redirect may only lead to a location of {}",
                allowed.join(", ")
            )));
        }
        Ok(location)
    }
}

#[async_trait]
impl Connect for ConnectRedirect {
    async fn connect(&self, location: &Location) -> Result<Arc<dyn Storage>, Error> {
        let text = location.as_str();
        // `redirect+https:` asks `https:`.
        let url = text.split_once('+').map_or(text, |(_, url)| url);
        let target = redirect_of(url).await?;
        let target = self.check(url, &target)?;
        self.targets.storage(&target).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_schemes_are_led_to() {
        let connect = ConnectRedirect::anonymous();
        for good in [
            "s3://sea/repo?region=eu-west-1",
            "https://host/repo",
            "gs://sea/repo",
        ] {
            assert!(connect.check("https://here/x", good).is_ok(), "{good}");
        }
        for (bad, said) in [
            ("/etc", "no scheme"),
            ("../x", "no scheme"),
            ("", "no location"),
            ("file:///etc", "only lead to"),
            ("memory:", "no scheme"),
            ("http://host/repo", "only lead to"),
            ("redirect+https://host/x", "another"),
            ("gopher://host/x", "only lead to"),
        ] {
            let error = connect.check("https://here/x?token=hidden", bad);
            let error = error.expect_err(bad).to_string();
            assert!(error.contains(said), "{bad}: {error}");
            assert!(error.contains("https://here/x"), "{error}");
            assert!(!error.contains("hidden"), "{error}");
        }
        let error = connect.check("https://here/x", "ftp://me:hidden@host/x?key=hidden");
        let error = error.expect_err("no such scheme").to_string();
        assert!(!error.contains("hidden"), "{error}");
    }
}
