//! Which bucket a grant leads to: what of it the repository says, and what only the reader.

use std::net::IpAddr;
use std::time::Duration;

use icefield_format::config::{S3Options, VirtualStore};

use super::bucket::{GrantedBucket, is_true};
use super::prefix::GrantedPrefix;
use crate::Error;

impl GrantedPrefix {
    /// The bucket, with what only the repository knows of it.
    pub(super) fn bucket(&self, store: &VirtualStore) -> Result<GrantedBucket, Error> {
        let text = |name: &str| self.option(name).map(str::to_owned);
        let mut bucket = GrantedBucket {
            service: self.location.service(),
            account: text("account"),
            is_account_granted: self.option("account").is_some(),
            name: self.location.host().to_owned(),
            prefix: self.location.decoded_path().trim_matches('/').to_owned(),
            endpoint: text("endpoint"),
            region: text("region"),
            path_style: self.option("path_style").map(|it| it == "true"),
            preset: text("preset"),
            requester_pays: self.is_on("requester_pays"),
            user_project: text("user_project"),
            is_public: false,
            stall_timeout: None,
            path: self.location.path().to_owned(),
        };
        match bucket.service {
            "s3" => self.complete_s3(store, &mut bucket)?,
            "gs" => self.complete_gcs(store, &mut bucket)?,
            "az" => self.complete_azure(store, &mut bucket)?,
            _ => return Err(self.rule("is of no service that is known".to_owned())),
        }
        // Any process that sees a token can use it; a signature of S3 is good for one request.
        if bucket.service != "s3"
            && bucket.endpoint.as_deref().is_some_and(is_in_clear_text)
            && self.identity.signs(&bucket)
        {
            let problem = "is granted at an endpoint of http://, and credentials do not go through a network in clear \
                           text: name one of https://";
            return Err(self.rule(problem.to_owned()));
        }
        Ok(bucket)
    }

    fn complete_s3(&self, store: &VirtualStore, bucket: &mut GrantedBucket) -> Result<(), Error> {
        let nothing = S3Options::default();
        let (said, is_tigris) = match store {
            VirtualStore::S3(said) | VirtualStore::S3Compatible(said) => (said, false),
            VirtualStore::Tigris(said) => (said, true),
            _ => (&nothing, false),
        };
        if self.location.scheme() == "tigris" && bucket.preset.is_none() {
            bucket.preset = Some("tigris".to_owned());
        }
        self.check_endpoint(said.endpoint_url.as_deref())?;
        let leads_elsewhere =
            bucket.endpoint.is_none() && bucket.preset.as_deref() != Some("tigris");
        if is_tigris && leads_elsewhere {
            return Err(self.must_name("preset", "tigris"));
        }
        if bucket.region.is_none() {
            bucket.region = said.region.clone().filter(|it| is_label(it));
        }
        if bucket.path_style.is_none() {
            bucket.path_style = said.force_path_style.filter(|it| *it);
        }
        bucket.is_public = said.anonymous == Some(true);
        let seconds = said.network_stream_timeout_seconds;
        bucket.stall_timeout = seconds.map(|it| Duration::from_secs(it.into()));
        Ok(())
    }

    fn complete_gcs(&self, store: &VirtualStore, bucket: &mut GrantedBucket) -> Result<(), Error> {
        let VirtualStore::Gcs(options) = store else {
            return Ok(());
        };
        for (name, value) in options {
            match plain_name(name, "google_").as_str() {
                "base_url" | "endpoint" => self.check_endpoint(Some(value))?,
                "skip_signature" => bucket.is_public = is_true(value),
                // The reader says it, or pays nothing.
                "allow_http" | "user_project" => {}
                "bucket" | "bucket_name" if *value == bucket.name => {}
                _ => return Err(self.cannot_heed(name, UNKNOWN)),
            }
        }
        Ok(())
    }

    fn complete_azure(
        &self,
        store: &VirtualStore,
        bucket: &mut GrantedBucket,
    ) -> Result<(), Error> {
        let mut said = None;
        if let VirtualStore::Azure(options) = store {
            for (name, value) in options {
                match plain_name(name, "azure_").trim_start_matches("storage_") {
                    "account" | "account_name" => said = Some(value.as_str()),
                    "endpoint" => self.check_endpoint(Some(value))?,
                    "skip_signature" => bucket.is_public = is_true(value),
                    "allow_http" => {}
                    "container" | "container_name" if *value == bucket.name => {}
                    _ => return Err(self.cannot_heed(name, UNKNOWN)),
                }
            }
        }
        if bucket.account.is_some() {
            return Ok(());
        }
        match said {
            // It may become a part of the name of a server.
            Some(account) if is_label(account) && !self.identity.signs(bucket) => {
                bucket.account = Some(account.to_owned());
                Ok(())
            }
            Some(account) => Err(self.must_name("account", account)),
            None => Err(self.must_name("account", "…")),
        }
    }

    /// An endpoint that the repository's configuration names must be the one that the reader names: every writer
    /// to the repository may have written it.
    fn check_endpoint(&self, said: Option<&str>) -> Result<(), Error> {
        match (self.option("endpoint"), said) {
            (None, Some(said)) => Err(self.must_name("endpoint", said)),
            (Some(granted), Some(said)) if !same_endpoint(granted, said) => {
                Err(self.must_name("endpoint", said))
            }
            _ => Ok(()),
        }
    }
}

const UNKNOWN: &str = "it is not supported; take it out of the configuration";

fn same_endpoint(one: &str, other: &str) -> bool {
    let plain = |it: &str| it.trim_end_matches('/').to_ascii_lowercase();
    plain(one) == plain(other)
}

/// Whether others see what is sent to a URL: neither encrypted nor for this machine alone.
fn is_in_clear_text(url: &str) -> bool {
    let url = url.to_ascii_lowercase();
    let Some(rest) = url.strip_prefix("http://") else {
        return false;
    };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    // Of `localhost:x@host`, the server is behind the `@`.
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let address = host.parse::<IpAddr>();
    host != "localhost" && !address.is_ok_and(|address| address.is_loopback())
}

/// The name of an option without what it may begin with.
fn plain_name(name: &str, beginning: &str) -> String {
    let name = name.to_ascii_lowercase();
    name.strip_prefix(beginning).unwrap_or(&name).to_owned()
}

/// A name that can be a part of the name of a server.
fn is_label(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !text.is_empty() && text.bytes().all(plain)
}
