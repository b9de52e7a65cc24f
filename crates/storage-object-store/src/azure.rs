//! The builder that opens a container of Azure Blob Storage.

mod environment;
mod identity;

use std::fmt;
use std::sync::Arc;

use icefield_storage::remote::{RemoteSettings, RemoteStorage};
use icefield_storage::{
    Clock, Entropy, ObjectClass, Prefix, StorageError, SystemClock, SystemEntropy,
};
use object_store::azure::{AzureCredential, MicrosoftAzureBuilder, split_sas};
use object_store::{CredentialProvider, StaticCredentialProvider};

use crate::AdapterOptions;
use crate::client::{
    Straight, check_no_user, is_open, is_plain, not_made, options, shown, tried_once,
};
use crate::names::KeepsNames;
pub use environment::AzureEnvironment;

use identity::{Client, Identity, Proof};

/// Bytes of the largest blob that one request makes: 5000 MiB, less what the rest of the request may need.
const PUT_BYTES: u64 = 4999 << 20;
/// Deletions that fit into one batch.
const BATCH: usize = 256;

/// The settings with which a container of Azure Blob Storage is opened.
///
/// ```no_run
/// use icefield_storage_object_store::{AzureBuilder, AzureEnvironment};
///
/// # fn main() -> Result<(), icefield_storage::StorageError> {
/// let storage = AzureBuilder::new("account", "container").environment(AzureEnvironment::read()).open()?;
/// # let _ = storage;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "nothing is opened before `open`"]
pub struct AzureBuilder {
    account: String,
    container: String,
    endpoint: Option<String>,
    identity: Identity,
    /// The account that the key of the environment is of.
    key_of: Option<String>,
    /// The identity comes from the environment.
    ambient: bool,
    options: AdapterOptions,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl AzureBuilder {
    /// Returns the settings of a container: anonymous, with all its keys.
    pub fn new(account: impl Into<String>, container: impl Into<String>) -> Self {
        let options = AdapterOptions::default().with(|options| {
            options.exact_versions = true;
            options.quoted_etags = true;
            options.backslashes = false;
            options.put_bytes = PUT_BYTES;
            options.delete_keys = BATCH;
            options.address = "endpoint";
            options.ordered_lists = true;
        });
        Self {
            account: account.into(),
            container: container.into(),
            endpoint: None,
            identity: Identity::default(),
            key_of: None,
            ambient: false,
            options,
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
        }
    }

    /// Sets the URL of the account, `http://…` or `https://…`; an emulator's ends with the name of the account.
    /// Default: Microsoft's.
    pub fn endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoint = Some(endpoint.into());
        self
    }

    /// Signs no request: for public containers. The default.
    pub fn anonymous(mut self) -> Self {
        self.ambient = false;
        self.identity = Identity::Anonymous;
        self.key_of = None;
        self
    }

    /// Takes the identity from the environment, if none is set yet. A key or a signature that the environment assigns
    /// to another account is an error when the container is opened, and is never sent.
    pub fn environment(mut self, environment: AzureEnvironment) -> Self {
        if let Identity::Anonymous = self.identity {
            self.identity = environment.identity;
            self.ambient = true;
            if let Identity::Key(_) | Identity::Sas(_) = self.identity {
                self.key_of = environment.account;
            }
        }
        self
    }

    /// Uses the identity of an application of a tenant, proved by a secret. Tokens are renewed.
    pub fn client_secret(
        mut self,
        tenant: impl Into<String>,
        client: impl Into<String>,
        secret: impl Into<String>,
    ) -> Self {
        self.ambient = false;
        self.identity = Identity::Client(Client {
            tenant: tenant.into(),
            id: client.into(),
            proof: Proof::Secret(secret.into()),
            authority: None,
        });
        self
    }

    /// Signs with a key of the account, in base 64. The key gives access to all containers of the account;
    /// [`open`](Self::open) refuses one that is not base 64.
    pub fn access_key(mut self, key: impl Into<String>) -> Self {
        self.ambient = false;
        self.identity = Identity::Key(key.into());
        self
    }

    /// Sends a shared access signature, as the query of a URL: `sv=…&sig=…`. Writes need one that permits to create,
    /// write and delete, and lists one that permits to list.
    pub fn sas_token(mut self, token: impl Into<String>) -> Self {
        self.ambient = false;
        self.identity = Identity::Sas(token.into());
        self
    }

    /// Sends a bearer token. It is not renewed; [`credentials`](Self::credentials) takes a provider that renews.
    pub fn bearer_token(mut self, token: impl Into<String>) -> Self {
        self.ambient = false;
        self.identity = Identity::Bearer(token.into());
        self
    }

    /// Asks `provider` for credentials before each request; the provider keeps those that are still valid.
    pub fn credentials(
        mut self,
        provider: Arc<dyn CredentialProvider<Credential = AzureCredential>>,
    ) -> Self {
        self.ambient = false;
        self.identity = Identity::Renewed(provider);
        self
    }

    /// Limits the store to keys below a prefix, and hides the prefix.
    pub fn prefix(mut self, prefix: Prefix) -> Self {
        self.options.prefix = prefix;
        self
    }

    /// Sets the access tier of new blobs of one kind: `Hot`, `Cool`, `Cold`. Default: the account's.
    pub fn access_tier(mut self, class: ObjectClass, tier: impl Into<String>) -> Self {
        match class {
            ObjectClass::Metadata => self.options.metadata_storage_class = Some(tier.into()),
            ObjectClass::Chunk => self.options.chunk_storage_class = Some(tier.into()),
        }
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

    /// Sets the source of randomness for pauses between retries and for write ids. Default: [`SystemEntropy`].
    pub fn entropy(mut self, entropy: Arc<dyn Entropy>) -> Self {
        self.entropy = entropy;
        self
    }

    /// Opens the container. Sends no request.
    ///
    /// # Errors
    /// [`StorageError::Misconfigured`] for an empty name, an invalid endpoint or an invalid key.
    pub fn open(mut self) -> Result<RemoteStorage, StorageError> {
        let name = self.name();
        for (setting, text) in [("account", &self.account), ("container", &self.container)] {
            if text.is_empty() || text.contains(['/', '?', '#', ' ']) {
                return Err(StorageError::Misconfigured {
                    target: name,
                    setting,
                    problem: "this is no name of one".to_owned(),
                });
            }
        }
        if self.key_of.as_ref().is_some_and(|it| *it != self.account) {
            return Err(StorageError::Misconfigured {
                target: name,
                setting: "AZURE_STORAGE_ACCOUNT_NAME",
                problem: "the key in the environment is of another account".to_owned(),
            });
        }
        let plain = match &self.endpoint {
            Some(url) => {
                check_no_user(url, &name, "endpoint")?;
                is_plain(url, &name, "endpoint")?
            }
            None => false,
        };
        if self.ambient
            && self.identity.is_shown_as_it_is()
            && self.endpoint.as_deref().is_some_and(is_open)
        {
            return Err(StorageError::Misconfigured {
                target: name,
                setting: "endpoint",
                problem: "it is http://, and what the environment says would go there in clear text: make it \
                          https://, or ask as `anonymous`"
                    .to_owned(),
            });
        }
        let mut azure = MicrosoftAzureBuilder::new()
            .with_account(&self.account)
            .with_container_name(&self.container)
            .with_retry(tried_once())
            .with_client_options(options(plain))
            .with_http_connector(KeepsNames(Straight::default()));
        if let Some(endpoint) = &self.endpoint {
            azure = azure.with_endpoint(endpoint.trim_end_matches('/').to_owned());
        }
        azure = match &self.identity {
            // A credential all the same, or it would look for one in the machine.
            Identity::Anonymous => azure.with_skip_signature(true).with_credentials(Arc::new(
                StaticCredentialProvider::new(AzureCredential::BearerToken(String::new())),
            )),
            Identity::Key(key) => azure.with_access_key(key),
            Identity::Sas(token) => {
                let pairs = split_sas(token).map_err(|_| not_made(&name, "sas_token"))?;
                azure.with_sas_authorization(pairs)
            }
            Identity::Bearer(token) => azure.with_bearer_token_authorization(token),
            Identity::Client(client) => {
                azure = azure
                    .with_tenant_id(&client.tenant)
                    .with_client_id(&client.id);
                if let Some(authority) = &client.authority {
                    azure = azure.with_authority_host(authority.trim_end_matches('/'));
                }
                match &client.proof {
                    Proof::Secret(secret) => azure.with_client_secret(secret),
                    Proof::TokenFile(path) => azure.with_federated_token_file(path),
                }
            }
            Identity::Renewed(provider) => azure.with_credentials(Arc::clone(provider)),
        };
        let setting = match self.identity {
            Identity::Key(_) => "access_key",
            _ => "endpoint",
        };
        let store = azure.build().map_err(|_| not_made(&name, setting))?;
        // Microsoft's own blobs honour conditions; of another server that is not known.
        self.options.known_conditions = self.endpoint.is_none();
        self.options.place = Some(format!(
            "azure:{}:{}/{}/{}",
            self.endpoint.as_deref().unwrap_or("microsoft"),
            self.account,
            self.container,
            self.options.prefix
        ));
        self.options.name = Some(name);
        let (clock, entropy) = (self.clock, self.entropy);
        Ok(self.options.open_in_pages(Arc::new(store), clock, entropy))
    }

    fn name(&self) -> String {
        let Self {
            account, container, ..
        } = self;
        match self.options.prefix.is_all() {
            true => format!("az://{account}/{container}"),
            false => format!("az://{account}/{container}/{}", self.options.prefix),
        }
    }
}

impl fmt::Debug for AzureBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AzureBuilder")
            .field("store", &self.name())
            .field("endpoint", &self.endpoint.as_deref().map(shown))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use icefield_storage::Storage;

    #[test]
    fn secrets_are_not_shown() {
        let key = "c2VjcmV0LXNlY3JldA==";
        for builder in [
            AzureBuilder::new("acc", "box").access_key(key),
            AzureBuilder::new("acc", "box").sas_token(format!("sv=1&sig={key}")),
            AzureBuilder::new("acc", "box").bearer_token(key),
        ] {
            assert!(!format!("{builder:?}").contains(key));
            let storage = builder.open().expect("opened");
            assert!(!format!("{storage:?}{storage}").contains(key));
            assert_eq!(storage.to_string(), "az://acc/box");
            assert!(storage.capabilities().safe_commits());
            assert!(storage.capabilities().exact_versions);
        }
    }

    #[test]
    fn wrong_settings_are_named() {
        let setting = |builder: AzureBuilder| match builder.open() {
            Err(StorageError::Misconfigured { setting, .. }) => setting,
            other => panic!("{other:?}"),
        };
        let azure = || AzureBuilder::new("acc", "box");
        assert_eq!(setting(AzureBuilder::new("", "box")), "account");
        assert_eq!(setting(AzureBuilder::new("acc", "a/b")), "container");
        assert_eq!(setting(azure().endpoint("ftp://x")), "endpoint");
        let with_user = azure().endpoint("https://me:SECRET@host/acc");
        assert!(!format!("{with_user:?}").contains("SECRET"));
        let error = with_user.open().expect_err("a user");
        assert!(!format!("{error:?}").contains("SECRET"), "{error:?}");
        assert_eq!(setting(azure().endpoint("http://me@host")), "endpoint");
        assert_eq!(setting(azure().access_key("not base 64!")), "access_key");
        assert_eq!(setting(azure().sas_token("no pairs")), "sas_token");
    }
}
