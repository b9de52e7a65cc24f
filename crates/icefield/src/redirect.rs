//! `redirect+https://` locations: a web server that tells where the repository is.

mod public;

use std::sync::Arc;

use async_trait::async_trait;
use icefield_storage::Storage;
use icefield_storage_object_store::redirect_of;

use crate::location::without_options;
use crate::{Connect, Error, Location, LocationError, Schemes};

/// Opens the location to which a web server redirects: the server is asked once, without credentials, and answers with
/// a redirect to a location of one of the registered schemes.
///
/// The publisher of a dataset can move it to another bucket, or put a new state in the place of an old one, under one
/// address. The owner of that address also controls which store is asked; so by default nothing of the environment goes
/// there, no key and no token, and local files are out of reach.
#[derive(Clone, Debug)]
pub struct ConnectRedirect {
    /// The schemes that a redirect may lead to.
    targets: Schemes,
    /// Redirects lead to public servers only, and no option does more than say where they are.
    public_only: bool,
}

impl ConnectRedirect {
    /// Returns the connection to public buckets and web servers, over TLS. A redirect to an address of this machine, or
    /// of the network around it, is refused, so that a stranger cannot make this program send requests there. The
    /// addresses of a name are not looked up. Of the options of a location only `endpoint`, `region`, `path_style`,
    /// `preset` and `anonymous` may be given.
    pub fn anonymous() -> Self {
        let targets = Schemes::none();
        #[cfg(feature = "s3")]
        let targets = targets.with("s3", Arc::new(crate::ConnectS3::anonymous()));
        #[cfg(feature = "gcs")]
        let targets = targets.with("gs", Arc::new(crate::ConnectGcs::anonymous()));
        #[cfg(feature = "azure")]
        let targets = targets.with("az", Arc::new(crate::ConnectAzure::anonymous()));
        let targets = targets.with("https", Arc::new(crate::ConnectHttp::default()));
        Self {
            targets,
            public_only: true,
        }
    }

    /// Returns the connection to locations of these schemes, opened as they open them: with credentials only if these
    /// bring some. A redirect never leads to another redirect. The schemes decide which servers and options they
    /// accept.
    pub fn to(targets: Schemes) -> Self {
        Self {
            targets,
            public_only: false,
        }
    }

    fn check(&self, url: &str, target: &str) -> Result<Location, LocationError> {
        let refused = |problem: String| LocationError::Redirect {
            url: without_options(url).to_owned(),
            target: without_options(target).to_owned(),
            problem,
        };
        // A text without a scheme would be a path.
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
        if self.public_only {
            public::check(&location).map_err(refused)?;
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
    fn only_public_servers_are_led_to() {
        let connect = ConnectRedirect::anonymous();
        for good in [
            "s3://sea/repo?endpoint=https://s3.example.org:9000/",
            "s3://sea/repo?endpoint=https%3A%2F%2Fs3.example.org",
            "gs://sea/repo?endpoint=https://8.8.8.8",
            "az://sea/box?endpoint=https://[2606:4700::1111]:443/acc",
            "https://data.example.org./repo?x=1",
        ] {
            assert!(connect.check("https://here/x", good).is_ok(), "{good}");
        }
        for (bad, said) in [
            ("s3://sea/x?endpoint=http://s3.example.org", "https://"),
            ("s3://sea/x?endpoint=http://169.254.169.254", "https://"),
            ("s3://sea/x?endpoint=https://169.254.169.254", "not public"),
            ("az://sea/x?endpoint=https://127.0.0.1", "not public"),
            ("gs://sea/x?endpoint=https%3A%2F%2F127.0.0.1", "not public"),
            ("gs://sea/x?%65ndpoint=https://127.0.0.1", "none"),
            ("gs://sea/x?endpoint=https://me:hidden@h.org", "a user"),
            ("s3://sea/x?trust_conditions", "trust_conditions"),
            ("s3://sea/x?trust_conditions=false", "trust_conditions"),
            ("gs://sea/x?user_project=p", "user_project"),
            ("s3://sea/x?requester_pays", "requester_pays"),
            ("https://localhost/x", "not public"),
            ("HTTPS://2130706433/x", "not public"),
            ("https://me:hidden@host.org/x", "a user"),
            ("https:///x", "no server"),
            ("az://localhost\\/x", "no name of one"),
            ("s3://sea/x?region=a.b", "no name of one"),
        ] {
            let error = connect.check("https://here/x", bad).expect_err(bad);
            let error = error.to_string();
            assert!(error.contains(said), "{bad}: {error}");
            assert!(!error.contains("hidden"), "{error}");
        }
        // The caller that names the schemes decides.
        let targets = Schemes::none().with("s3", Arc::new(crate::ConnectS3::anonymous()));
        let local = "s3://sea/x?endpoint=http://127.0.0.1:9000&trust_conditions";
        assert!(ConnectRedirect::to(targets).check("x", local).is_ok());
    }

    #[test]
    fn only_listed_schemes_are_led_to() {
        let connect = ConnectRedirect::anonymous();
        for good in [
            "s3://sea/repo?region=eu-west-1",
            "https://host.org/repo",
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
