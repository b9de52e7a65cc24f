//! The identity that requests have.

use std::sync::Arc;

use object_store::CredentialProvider;
use object_store::azure::AzureCredential;

/// The identity that requests have.
#[derive(Clone, Default)]
pub(super) enum Identity {
    #[default]
    Anonymous,
    Key(String),
    Sas(String),
    Bearer(String),
    Client(Client),
    Renewed(Arc<dyn CredentialProvider<Credential = AzureCredential>>),
}

/// A program that has a name of its own, and is handed tokens for it.
#[derive(Clone)]
pub(super) struct Client {
    pub(super) tenant: String,
    pub(super) id: String,
    pub(super) proof: Proof,
    /// The authority that hands them out. Default: Microsoft.
    pub(super) authority: Option<String>,
}

/// The proof of a program's identity.
#[derive(Clone)]
pub(super) enum Proof {
    Secret(String),
    /// A file with a token of another service, read anew each time.
    TokenFile(String),
}

impl Identity {
    /// Whether a reader of a request can show the same. A key only signs.
    pub(super) fn is_shown_as_it_is(&self) -> bool {
        !matches!(self, Self::Anonymous | Self::Key(_))
    }

    /// Names the kind of identity, and nothing of it.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Anonymous => "anonymous",
            Self::Key(_) => "key",
            Self::Sas(_) => "signature",
            Self::Bearer(_) => "bearer token",
            Self::Client(Client { proof, .. }) => match proof {
                Proof::Secret(_) => "client secret",
                Proof::TokenFile(_) => "token file",
            },
            Self::Renewed(_) => "provider",
        }
    }
}
