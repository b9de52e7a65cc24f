//! Commands whose branch another commit moves between their opening and their commit.

use std::process::{Command, Stdio};
use std::time::Duration;

use icefield_testservers::{Fault, Gate, Rule, S3Options, S3Server, Verb};

use crate::world::{Run, World, facts};

/// A world with a repository of spec version 2 in a bucket, whose requests can be held.
struct Race {
    world: World,
    server: S3Server,
    location: String,
}

impl Race {
    fn new() -> Self {
        let (world, server) = (World::new(), S3Server::start(S3Options::default()));
        let (bucket, endpoint) = (server.bucket(), server.endpoint());
        let location = format!("s3://{bucket}/sea?endpoint={endpoint}");
        world.tree("one", 4, 1);
        let race = Self {
            world,
            server,
            location,
        };
        race.ok(&["init"], &["--spec", "2"]);
        race.ok(&["import", "one"], &["-m", "one"]);
        race
    }

    /// A command with the location of the repository between its words.
    fn command(&self, before: &[&str], after: &[&str]) -> Command {
        let words = [before, &[&self.location], after].concat();
        let mut command = self.world.command(&words);
        command.env("AWS_ACCESS_KEY_ID", self.server.access_key());
        command.env("AWS_SECRET_ACCESS_KEY", self.server.secret_key());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn ok(&self, before: &[&str], after: &[&str]) -> String {
        let run = Run::of(self.command(before, after).output().unwrap());
        assert_eq!(run.code, 0, "{before:?} {after:?}: {run:?}");
        run.stdout
    }

    /// Runs a command whose first publication is held until another command is done.
    fn lost(&self, args: &[&str], first: &[&str]) -> Run {
        let gate = Gate::new();
        let rule = Rule::new(Fault::Hold(gate.clone()));
        let rule = rule.on(Verb::Write).key("sea/repo").times(1);
        let held = self.server.switches().inject(rule);
        let mut child = self.command(&args[..1], &args[1..]).spawn().unwrap();
        while held.fired() == 0 && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(held.fired(), 1, "it ended before it published anything");
        self.ok(&first[..1], &first[1..]);
        gate.open();
        Run::of(child.wait_with_output().unwrap())
    }

    fn messages(&self) -> Vec<String> {
        let log = facts(&self.ok(&["log"], &["--json"]));
        let snapshots = log["snapshots"].as_array().unwrap().iter();
        let messages = snapshots.map(|it| it["message"].as_str().unwrap().to_owned());
        messages.take(3).collect()
    }
}

#[test]
fn a_move_follows_another_of_the_same_node_on_request() {
    let race = Race::new();
    let theirs = ["mv", "x", "theirs"];
    let lost = race.lost(&["mv", "x", "ours"], &theirs);
    assert_eq!(lost.code, 3, "{lost:?}");
    assert!(lost.stderr.contains("/theirs"), "{lost:?}");
    assert!(lost.stderr.contains("`--follow-moves`"), "{lost:?}");
    assert_eq!(race.ok(&["ls"], &[]), "below/\ntheirs\n");

    let back = ["mv", "theirs", "x"];
    let landed = race.lost(&["mv", "theirs", "ours", "--follow-moves"], &back);
    assert_eq!(landed.code, 0, "{landed:?}");
    assert_eq!(race.ok(&["ls"], &[]), "below/\nours\n");
    let messages = ["Move /theirs to /ours", "Move /theirs to /x"];
    assert_eq!(race.messages()[..2], messages);
    race.ok(&["fsck"], &[]);
}

#[test]
fn manifests_are_rewritten_where_another_commit_has_moved_their_array() {
    let race = Race::new();
    let theirs = ["mv", "x", "theirs"];
    let landed = race.lost(&["rewrite-manifests", "--all", "--json"], &theirs);
    assert_eq!(landed.code, 0, "{landed:?}");
    let rewritten = facts(&landed.stdout);
    let arrays = rewritten["arrays"].as_array().unwrap().iter();
    let paths: Vec<_> = arrays.map(|it| &it["path"]).collect();
    assert_eq!(paths, ["/below/y", "/theirs"]);
    assert_eq!(
        race.messages()[..2],
        ["Rewrite manifests", "Move /x to /theirs"]
    );
    race.ok(&["fsck"], &[]);
}
