//! doctor, on good places and bad ones of every backend: as text, as JSON, and as an exit code.

mod azurite;
mod bad;
mod good;

use std::process::Command;

use icefield_testservers::S3Server;
use serde_json::Value;

use crate::world::{Run, World, facts};

/// The report of `doctor` on a location.
struct Diagnosis {
    facts: Value,
    text: Run,
}

/// Asks twice, for facts and for text. `prepare` sets the credentials.
fn examine(args: &[&str], prepare: impl Fn(&mut Command)) -> Diagnosis {
    examine_in(&World::new(), args, prepare)
}

fn examine_in(world: &World, args: &[&str], prepare: impl Fn(&mut Command)) -> Diagnosis {
    let run = |more: &[&str]| {
        let mut command = world.command(&[&["doctor"], args, more].concat());
        // No other keys than those of the test.
        for name in ["AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL"] {
            command.env_remove(name);
        }
        command.env("HOME", world.path("home"));
        prepare(&mut command);
        let output = command.output().expect("it runs");
        Run {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    };
    let (json, text) = (run(&["--json"]), run(&[]));
    assert_eq!(json.code, text.code, "{json:?}, {text:?}");
    let facts = facts(&json.stdout);
    assert_eq!(facts["healthy"], json.code == 0, "{json:?}");
    for shown in [&json.stdout, &json.stderr, &text.stdout, &text.stderr] {
        for secret in ["testtest", "hidden"] {
            assert!(!shown.contains(secret), "a secret is in: {shown}");
        }
    }
    Diagnosis { facts, text }
}

impl Diagnosis {
    /// The checks with their verdicts.
    fn verdicts(&self) -> Vec<String> {
        let checks = self.facts["checks"].as_array().expect("a list");
        let text = |check: &Value, name: &str| check[name].as_str().expect("text").to_owned();
        checks
            .iter()
            .map(|check| format!("{} {}", text(check, "name"), text(check, "verdict")))
            .collect()
    }

    /// Returns the message of a check, which the text output has, too.
    #[track_caller]
    fn said(&self, verdict: &str) -> String {
        let at = self.verdicts().iter().position(|it| it == verdict);
        let at = at.unwrap_or_else(|| panic!("no {verdict:?} in {}", self.facts));
        let said = self.facts["checks"][at]["said"].as_str().expect("text");
        let mark = match verdict.rsplit_once(' ') {
            Some((_, "good")) => "ok  ",
            Some((_, "note")) => "note",
            _ => "BAD ",
        };
        // The rest may name an object, which has a new name each time, or the duration of a request.
        let beginning = said.split("icefield/doctor/").next().expect("a beginning");
        let beginning: String = beginning.chars().take(60).collect();
        let shown = self.text.stdout.lines();
        let line = shown
            .filter(|line| line.trim_start().starts_with(mark.trim_end()))
            .find(|line| line.contains(&beginning));
        assert!(line.is_some(), "{said:?} is not in {}", self.text.stdout);
        said.to_owned()
    }

    #[track_caller]
    fn is_well(&self) {
        assert_eq!(self.text.code, 0, "{}", self.text.stdout);
        assert_eq!(self.text.stderr, "");
    }

    /// Asserts that it ends as a failure, and that the check says what to change.
    #[track_caller]
    fn is_ill(&self, check: &str, words: &[&str]) {
        assert_eq!(self.text.code, 1, "{}", self.text.stdout);
        assert!(
            self.text.stderr.starts_with("error: "),
            "{}",
            self.text.stderr
        );
        let said = self.said(&format!("{check} bad"));
        for word in words {
            assert!(said.contains(word), "{word:?} is not in: {said}");
        }
    }
}

fn s3_url(server: &S3Server, bucket: &str) -> String {
    format!("s3://{bucket}/sea?endpoint={}", server.endpoint())
}

/// Asks with this key.
fn with_key(access: &'static str, secret: &'static str) -> impl Fn(&mut Command) {
    move |command| {
        command
            .env("AWS_ACCESS_KEY_ID", access)
            .env("AWS_SECRET_ACCESS_KEY", secret);
    }
}

fn with_the_key() -> impl Fn(&mut Command) {
    with_key("test", "testtest")
}

fn without_a_key(command: &mut Command) {
    command
        .env_remove("AWS_ACCESS_KEY_ID")
        .env_remove("AWS_SECRET_ACCESS_KEY");
}
