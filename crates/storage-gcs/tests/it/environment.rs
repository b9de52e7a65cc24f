//! The environment, as a process of its own has it.

use std::process::Command;

use icefield_storage::{StorageError, StorageExt};
use icefield_storage_gcs::GcsBuilder;

use crate::support::*;

/// Where the process of its own looks: an endpoint on loopback, or `-` for what the environment says.
const PROBE: &str = "ICEFIELD_TEST_GCS_PROBE";

/// In that process. Says what it found; anywhere else it does nothing.
#[tokio::test]
#[ignore = "the other tests of this file run it in a child process, whose environment variables it reads"]
async fn probe() {
    let Ok(endpoint) = std::env::var(PROBE) else {
        return;
    };
    let mut builder = GcsBuilder::new("bucket").settings(settings());
    if endpoint != "-" {
        builder = builder.endpoint(endpoint);
    }
    match builder.environment().open().await {
        Ok(storage) => {
            let read = storage.try_read(&key("a")).await;
            println!("READ {read:?}");
        }
        Err(error @ StorageError::Misconfigured { setting, .. }) => {
            println!("WRONG {setting}: {error:?} {error}");
        }
        Err(error) => println!("FAILED {error:?}"),
    }
}

/// Returns what the probe printed.
fn probed(endpoint: &str, variables: &[(&str, &str)]) -> String {
    let mut probe = Command::new(std::env::current_exe().expect("this program"));
    probe.args(["environment::probe", "--exact", "--ignored", "--nocapture"]);
    for name in ["GOOGLE_APPLICATION_CREDENTIALS", "STORAGE_EMULATOR_HOST"] {
        probe.env_remove(name);
    }
    probe.env(PROBE, endpoint);
    let output = probe.envs(variables.iter().copied()).output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn an_emulator_in_the_environment_is_asked() {
    let server = server();
    let host = server.endpoint().replace("http://", "");
    let said = probed("-", &[("STORAGE_EMULATOR_HOST", &host)]);
    assert!(said.contains("READ Ok(None)"), "{said}");
    assert!(!server.requests().is_empty());
    assert!(server.requests().iter().all(|request| !request.authorized));
}

/// No server listens there, and none is to be asked.
const NOWHERE: &str = "http://127.0.0.1:9";

#[test]
fn a_file_of_credentials_that_is_none_is_named_and_not_shown() {
    let folder = std::env::temp_dir().join(format!("icefield-gcs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("account.json");
    for content in [
        "SECRET, and no JSON",
        "{\"type\": \"of no provider\", \"private_key\": \"SECRET\"}",
        "{\"type\": \"service_account\", \"private_key\": \"SECRET\"}",
    ] {
        std::fs::write(&path, content).expect("written");
        let path = path.to_str().expect("text");
        let said = probed(NOWHERE, &[("GOOGLE_APPLICATION_CREDENTIALS", path)]);
        assert!(said.contains("WRONG credentials"), "{content}: {said}");
        assert!(!said.contains("SECRET"), "{content}: {said}");
    }
    let said = probed(
        NOWHERE,
        &[("GOOGLE_APPLICATION_CREDENTIALS", "/no/such/file")],
    );
    assert!(said.contains("WRONG credentials"), "{said}");
    std::fs::remove_dir_all(&folder).expect("removed");
}
