//! Credentials from a Python function of the user.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use icefield::storage::remote::{Renewed, Secret, SecretSource};
use icefield::storage::{BoxError, SystemClock};
use icefield::time_of_micros;
use icefield_storage_gcs::{Token, TokenSource};
use icefield_storage_s3::{CredentialSource, Credentials};
use object_store::CredentialProvider;
use object_store::azure::{AzureAccessKey, AzureCredential, split_sas};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;

use super::description::{AzureForm, AzureKey, GcsToken, S3Key, parse};
use crate::errors::Failure;
use crate::process::{self, ProcessOwned};

/// A function of Python that returns keys as JSON.
#[derive(Clone)]
pub(crate) struct CredentialFunction(Arc<ProcessOwned<Py<PyAny>>>);

impl CredentialFunction {
    pub(crate) fn new(function: Py<PyAny>) -> Self {
        Self(Arc::new(ProcessOwned::new(function)))
    }

    /// Calls the function with the GIL, on a thread that may block.
    async fn call<T: DeserializeOwned + Send + 'static>(&self) -> Result<T, BoxError> {
        let this = self.clone();
        let called = process::on_own_thread(move || -> Result<T, Failure> {
            let text = process::in_python(|py| -> Result<String, Failure> {
                let function = this.0.get()?.bind(py);
                let returned = function.call0();
                returned
                    .and_then(|text| text.extract::<String>())
                    .map_err(|error| {
                        let what = "the function of credentials";
                        Failure::of_python(py, "invalid-credentials", what, &error)
                    })
            });
            let text = text.unwrap_or_else(|| Err(process::interpreter_is_ending()))?;
            parse(&text, "what the function of credentials returned")
        });
        Ok(called.await??)
    }
}

impl fmt::Debug for CredentialFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CredentialFunction")
    }
}

#[async_trait]
impl CredentialSource for CredentialFunction {
    async fn fetch(&self) -> Result<Credentials, BoxError> {
        Ok(s3_key(self.call::<S3Key>().await?))
    }
}

#[async_trait]
impl TokenSource for CredentialFunction {
    async fn fetch(&self) -> Result<Token, BoxError> {
        Ok(gcs_token(self.call::<GcsToken>().await?))
    }
}

pub(crate) fn s3_key(key: S3Key) -> Credentials {
    let mut credentials = Credentials::new(key.access_key_id, key.secret_access_key);
    if let Some(token) = key.session_token {
        credentials = credentials.with_session_token(token);
    }
    match key.expires_after.map(time_of_micros) {
        Some(expires) => credentials.with_expiry(expires),
        None => credentials,
    }
}

pub(crate) fn gcs_token(token: GcsToken) -> Token {
    let bearer = Token::new(token.bearer);
    match token.expires_after.map(time_of_micros) {
        Some(expires) => bearer.with_expiry(expires),
        None => bearer,
    }
}

/// A secret for Azure, and its expiry.
#[derive(Clone)]
struct AzureSecret {
    credential: Arc<AzureCredential>,
    expires: Option<SystemTime>,
}

impl Secret for AzureSecret {
    fn expires(&self) -> Option<SystemTime> {
        self.expires
    }

    fn is_same(&self, other: &Self) -> bool {
        self.credential == other.credential
    }
}

#[async_trait]
impl SecretSource<AzureSecret> for CredentialFunction {
    async fn fetch(&self) -> Result<AzureSecret, BoxError> {
        let key = self.call::<AzureKey>().await?;
        Ok(AzureSecret {
            expires: key.expires_after.map(time_of_micros),
            credential: Arc::new(azure_credential(&key)?),
        })
    }
}

fn azure_credential(key: &AzureKey) -> Result<AzureCredential, Failure> {
    let wrong = |what: &str| {
        Failure::new(
            "invalid-credentials",
            format!("the {what} of Azure is none"),
        )
    };
    Ok(match key.form {
        AzureForm::AccessKey => AzureCredential::AccessKey(
            AzureAccessKey::try_new(&key.secret).map_err(|_| wrong("access key"))?,
        ),
        AzureForm::SasToken => {
            AzureCredential::SASToken(split_sas(&key.secret).map_err(|_| wrong("SAS token"))?)
        }
        AzureForm::BearerToken => AzureCredential::BearerToken(key.secret.clone()),
    })
}

/// The credential provider of the Azure client, on top of a function of the user.
struct AzureProvider(Renewed<AzureSecret>);

impl fmt::Debug for AzureProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AzureProvider")
    }
}

#[async_trait]
impl CredentialProvider for AzureProvider {
    type Credential = AzureCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AzureCredential>> {
        match self.0.get().await {
            Ok(secret) => Ok(secret.credential),
            Err(error) => Err(object_store::Error::Generic {
                store: "credentials",
                source: Box::new(error),
            }),
        }
    }
}

pub(crate) fn azure_provider(
    function: CredentialFunction,
) -> Arc<dyn CredentialProvider<Credential = AzureCredential>> {
    Arc::new(AzureProvider(Renewed::new(function, Arc::new(SystemClock))))
}
