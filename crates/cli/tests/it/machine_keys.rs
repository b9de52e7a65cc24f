//! Keys that are in no variable: from the service of a container, and from a program that a profile names.

use std::process::Command;

use icefield_testservers::{FileServer, S3Options, S3Server};
use serde_json::json;

use crate::world::World;

/// The keys of a server, as services and programs hand them out.
fn keys(server: &S3Server) -> String {
    let keys = json!({
        "Version": 1,
        "AccessKeyId": server.access_key(),
        "SecretAccessKey": server.secret_key(),
        "Token": "token",
        "Expiration": "2999-01-01T00:00:00Z",
    });
    keys.to_string()
}

/// Makes a repository with what is set, and reads it.
fn works(world: &World, location: &str, set: impl Fn(&mut Command)) {
    for command in ["init", "log"] {
        let mut run = world.command(&[command, location]);
        set(&mut run);
        let output = run.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{command}: {said}");
    }
}

#[test]
fn a_container_hands_out_keys() {
    let (world, s3, service) = (World::new(), server(), FileServer::in_memory());
    service.put("keys", keys(&s3));
    let url = service.url("keys");
    works(&world, &location(&s3), |run| {
        run.env("AWS_CONTAINER_CREDENTIALS_FULL_URI", &url);
    });
    assert!(s3.requests().iter().all(|it| it.authorized));
    assert!(!service.requests().is_empty());
}

#[test]
fn a_profile_names_a_program() {
    let (world, s3) = (World::new(), server());
    std::fs::write(world.path("keys.json"), keys(&s3)).expect("written");
    let profile = format!(
        "[profile sea]\ncredential_process = cat {}\n",
        world.path("keys.json").display()
    );
    std::fs::write(world.path("config"), profile).expect("written");
    works(&world, &location(&s3), |run| {
        run.env("AWS_CONFIG_FILE", world.path("config"));
        run.env("AWS_PROFILE", "sea");
    });
    assert!(s3.requests().iter().all(|it| it.authorized));
}

#[test]
fn what_is_set_up_and_fails_is_said() {
    let (world, s3) = (World::new(), server());
    let profile = "[profile sea]\ncredential_process = false\n";
    std::fs::write(world.path("config"), profile).expect("written");
    let mut run = world.command(&["log", &location(&s3)]);
    run.env("AWS_CONFIG_FILE", world.path("config"));
    run.env("AWS_PROFILE", "sea");
    let output = run.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    assert!(said.contains("credentials"), "{said}");
    assert!(
        s3.requests().is_empty(),
        "a command without a key sends no request"
    );
}

fn server() -> S3Server {
    S3Server::start(S3Options::default())
}

fn location(server: &S3Server) -> String {
    format!("s3://{}/r?endpoint={}", server.bucket(), server.endpoint())
}
