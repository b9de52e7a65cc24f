//! The usual variables, read when the user asks for them.

use std::fmt;

use super::identity::{Client, Identity, Proof};

/// Settings of Azure Blob Storage as a user's environment has them. `Debug` shows no secret.
#[derive(Clone, Default)]
pub struct AzureEnvironment {
    /// The account that a key or a signature is of.
    pub(super) account: Option<String>,
    pub(super) identity: Identity,
}

impl AzureEnvironment {
    /// Reads the variables of this process.
    pub fn read() -> Self {
        Self::of(|name| std::env::var(name).ok())
    }

    /// Reads variables from a function. Of several ways to be known, the first of these is taken:
    ///
    /// 1. `AZURE_STORAGE_ACCOUNT_KEY`, `AZURE_STORAGE_KEY` or `AZURE_STORAGE_ACCESS_KEY`
    /// 2. `AZURE_STORAGE_SAS_TOKEN` or `AZURE_STORAGE_SAS_KEY`
    /// 3. `AZURE_STORAGE_TOKEN`: a bearer token
    /// 4. `AZURE_TENANT_ID` and `AZURE_CLIENT_ID`, with `AZURE_FEDERATED_TOKEN_FILE` or `AZURE_CLIENT_SECRET`;
    ///    `AZURE_AUTHORITY_HOST` is where they are shown
    ///
    /// `AZURE_STORAGE_ACCOUNT_NAME` or `AZURE_STORAGE_ACCOUNT` says of which account the first two are.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let one_of = |names: &[&str]| {
            let values = names.iter().filter_map(|name| variable(name));
            values.into_iter().find(|value| !value.is_empty())
        };
        let client = || {
            let secret = || one_of(&["AZURE_CLIENT_SECRET"]).map(Proof::Secret);
            let file = one_of(&["AZURE_FEDERATED_TOKEN_FILE"]).map(Proof::TokenFile);
            Some(Client {
                tenant: one_of(&["AZURE_TENANT_ID"])?,
                id: one_of(&["AZURE_CLIENT_ID"])?,
                proof: file.or_else(secret)?,
                authority: one_of(&["AZURE_AUTHORITY_HOST"]),
            })
        };
        let keys = [
            "AZURE_STORAGE_ACCOUNT_KEY",
            "AZURE_STORAGE_KEY",
            "AZURE_STORAGE_ACCESS_KEY",
        ];
        let signatures = ["AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SAS_KEY"];
        let identity = one_of(&keys).map(Identity::Key);
        let identity = identity
            .or_else(|| one_of(&signatures).map(Identity::Sas))
            .or_else(|| one_of(&["AZURE_STORAGE_TOKEN"]).map(Identity::Bearer))
            .or_else(|| client().map(Identity::Client));
        Self {
            account: one_of(&["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"]),
            identity: identity.unwrap_or_default(),
        }
    }
}

impl fmt::Debug for AzureEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AzureEnvironment")
            .field("account", &self.account)
            .field("identity", &self.identity.kind())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use icefield_storage::StorageError;

    use super::super::AzureBuilder;
    use super::*;

    const KEY: &str = "U0VDUkVU";

    fn of(variables: &[(&str, &str)]) -> AzureEnvironment {
        AzureEnvironment::of(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn every_way_to_be_known_is_taken_and_none_is_shown() {
        let client = [("AZURE_TENANT_ID", "t"), ("AZURE_CLIENT_ID", "c")];
        let secret = ("AZURE_CLIENT_SECRET", "SECRET");
        let file = ("AZURE_FEDERATED_TOKEN_FILE", "/no/such/file");
        let sas = "sv=2024&sig=SECRET";
        for (variables, kind) in [
            (vec![], "anonymous"),
            (vec![("AZURE_STORAGE_KEY", "")], "anonymous"),
            (vec![("AZURE_STORAGE_ACCOUNT_KEY", KEY)], "key"),
            (vec![("AZURE_STORAGE_KEY", KEY)], "key"),
            (vec![("AZURE_STORAGE_ACCESS_KEY", KEY)], "key"),
            (vec![("AZURE_STORAGE_SAS_TOKEN", sas)], "signature"),
            (vec![("AZURE_STORAGE_SAS_KEY", sas)], "signature"),
            (
                vec![("AZURE_STORAGE_SAS_TOKEN", sas), ("AZURE_STORAGE_KEY", KEY)],
                "key",
            ),
            (vec![("AZURE_STORAGE_TOKEN", "SECRET")], "bearer token"),
            (client.to_vec(), "anonymous"),
            ([&client[..], &[secret]].concat(), "client secret"),
            ([&client[..], &[file]].concat(), "token file"),
            (vec![client[1], secret], "anonymous"),
        ] {
            let environment = of(&variables);
            assert_eq!(environment.identity.kind(), kind, "{variables:?}");
            let builder = AzureBuilder::new("acc", "box").environment(environment.clone());
            let shown = format!("{environment:?} {builder:?}");
            let storage = builder.open().expect("opened");
            let shown = format!("{shown} {storage:?} {storage}");
            for secret in [KEY, "SECRET"] {
                assert!(!shown.contains(secret), "{shown}");
            }
        }
    }

    #[test]
    fn a_key_is_shown_to_its_own_account_only() {
        let open = |variables: &[(&str, &str)]| {
            let builder = AzureBuilder::new("mine", "box").environment(of(variables));
            builder.open()
        };
        let key = ("AZURE_STORAGE_KEY", KEY);
        for name in ["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"] {
            assert!(open(&[key, (name, "mine")]).is_ok());
            let error = open(&[key, (name, "other")]).expect_err("another account's");
            assert!(
                matches!(
                    error,
                    StorageError::Misconfigured {
                        setting: "AZURE_STORAGE_ACCOUNT_NAME",
                        ..
                    }
                ),
                "{error:?}"
            );
            assert!(!format!("{error} {error:?}").contains(KEY));
            // An identity that shows nothing, or nothing of an account's, may ask any.
            assert!(open(&[(name, "other")]).is_ok());
            let token = ("AZURE_STORAGE_TOKEN", "SECRET");
            assert!(open(&[token, (name, "other")]).is_ok());
        }
    }

    #[test]
    fn what_can_be_read_on_the_way_is_not_sent_in_clear_text() {
        let open = |variable: &str, endpoint: &str| {
            AzureBuilder::new("acc", "box")
                .environment(of(&[(variable, KEY)]))
                .endpoint(endpoint)
                .open()
        };
        let token = "AZURE_STORAGE_TOKEN";
        for endpoint in ["http://host.org/acc", "http://10.0.0.1:80", "http://127.1"] {
            let error = open(token, endpoint).expect_err(endpoint);
            let text = error.to_string();
            assert!(
                text.contains("anonymous") && text.contains("https"),
                "{text}"
            );
            assert!(!format!("{error:?}").contains(KEY), "{error:?}");
            // A key only signs, and a caller that gives a token by hand has decided.
            assert!(open("AZURE_STORAGE_KEY", endpoint).is_ok());
            let by_hand = AzureBuilder::new("acc", "box").bearer_token(KEY);
            let by_hand = by_hand.environment(of(&[(token, KEY)]));
            assert!(by_hand.endpoint(endpoint).open().is_ok());
            let changed = AzureBuilder::new("acc", "box").environment(of(&[(token, KEY)]));
            assert!(
                changed
                    .clone()
                    .anonymous()
                    .endpoint(endpoint)
                    .open()
                    .is_ok()
            );
            assert!(changed.bearer_token(KEY).endpoint(endpoint).open().is_ok());
        }
        for endpoint in [
            "https://host.org",
            "http://localhost:1/acc",
            "http://[::1]:1",
        ] {
            assert!(open(token, endpoint).is_ok(), "{endpoint}");
        }
    }

    #[test]
    fn what_was_set_by_hand_stays() {
        let environment = of(&[
            ("AZURE_STORAGE_KEY", "no base 64!"),
            ("AZURE_STORAGE_ACCOUNT", "x"),
        ]);
        let by_hand = AzureBuilder::new("acc", "box").access_key(KEY);
        assert!(by_hand.environment(environment.clone()).open().is_ok());
        let anonymous = AzureBuilder::new("acc", "box").environment(environment);
        assert!(anonymous.anonymous().open().is_ok());
    }
}
