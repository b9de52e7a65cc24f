//! `--cache`: what was read over a network is not read again.

use icefield_testservers::world::Draft;
use icefield_testservers::{S3Options, S3Server};

use crate::world::{Run, World};

struct Bucket {
    world: World,
    server: S3Server,
    location: String,
}

impl Bucket {
    /// A bucket with a repository in it that has the array `/t` of one tree.
    fn new(spec: &str) -> Self {
        let (world, server) = (World::new(), S3Server::start(S3Options::default()));
        let location = format!("s3://{}/r?endpoint={}", server.bucket(), server.endpoint());
        let it = Self {
            world,
            server,
            location,
        };
        it.world.tree("one", 4, 1);
        it.ok(&["init", &it.location, "--spec", spec]);
        it.ok(&["import", "one", &it.location, "-m", "one"]);
        it
    }

    fn run(&self, args: &[&str], variable: Option<&str>) -> Run {
        let mut command = self.world.command(args);
        command
            .env("AWS_ACCESS_KEY_ID", self.server.access_key())
            .env("AWS_SECRET_ACCESS_KEY", self.server.secret_key());
        match variable {
            Some(text) => command.env("ICEFIELD_CACHE", text),
            None => command.env_remove("ICEFIELD_CACHE"),
        };
        Run::of(command.output().expect("it runs"))
    }

    fn ok(&self, args: &[&str]) -> String {
        let run = self.run(args, None);
        assert_eq!(run.code, 0, "{args:?}: {run:?}");
        run.stdout
    }

    /// Exports the branch and returns the first segments of the keys that the server was asked for.
    fn export(&self, to: &str, args: &[&str], variable: Option<&str>) -> Vec<String> {
        let before = self.server.requests().len();
        let command = [&["export", self.location.as_str(), to][..], args].concat();
        let run = self.run(&command, variable);
        assert_eq!(run.code, 0, "{run:?}");
        let asked = self.server.requests().split_off(before);
        let firsts = asked.iter().map(|request| {
            let key = request.key.strip_prefix("r/").unwrap_or(&request.key);
            key.split('/').next().unwrap_or_default().to_owned()
        });
        let mut firsts: Vec<String> = firsts.collect();
        firsts.sort();
        firsts.dedup();
        firsts
    }

    fn same_as_first(&self, to: &str) {
        assert_eq!(self.world.files("first"), self.world.files(to), "{to}");
    }
}

pub(super) fn the_second_command_reads_from_the_disk(spec: &str) {
    let it = Bucket::new(spec);
    let first = it.export("first", &["--cache", "kept,64MiB"], None);
    assert!(first.contains(&"chunks".to_owned()), "{first:?}");
    assert!(it.world.path("kept/icefield-cache-1/entries").is_dir());
    // By the environment, and by the option in its place.
    for (number, args, variable) in [
        (0, &["--cache", "kept,64MiB"][..], None),
        (1, &[], Some("kept")),
        (2, &["--cache", "kept"], Some("no size,")),
    ] {
        let to = format!("again{number}");
        let asked = it.export(&to, args, variable);
        let mutable = |first: &String| {
            let compared = spec == "1" && first == "snapshots";
            compared || ["config.yaml", "refs", "repo"].contains(&first.as_str())
        };
        assert!(asked.iter().all(mutable), "{asked:?}");
        it.same_as_first(&to);
    }
    // Without a cache, as ever.
    let asked = it.export("bare", &[], Some(""));
    assert!(asked.contains(&"chunks".to_owned()), "{asked:?}");
    it.same_as_first("bare");
}

versions!(the_second_command_reads_from_the_disk);

#[test]
fn what_is_checked_is_what_is_stored() {
    let it = Bucket::new("1");
    it.export("first", &["--cache", "kept"], None);
    let chunk = it
        .server
        .world()
        .keys(it.server.bucket())
        .into_iter()
        .find(|key| key.starts_with("r/chunks/"))
        .expect("there are chunks");
    let damaged = chunk.strip_prefix("r/").unwrap();
    let short = Draft::new("short");
    it.server.world().put(it.server.bucket(), &chunk, short);
    let run = it.run(&["fsck", &it.location, "--cache", "kept"], None);
    assert_eq!(run.code, 5, "{run:?}");
    assert!(run.stdout.contains(damaged), "{run:?}");
}

#[test]
fn a_cache_that_cannot_be_is_named() {
    let it = Bucket::new("1");
    it.world.file("file", "mine");
    let run = it.run(&["log", &it.location, "--cache", "file"], None);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(
        run.stderr.contains("the cache file cannot be made"),
        "{run:?}"
    );
    for text in ["", "c,", "c,much", ",1GiB"] {
        let run = it.run(&["log", &it.location, "--cache", text], None);
        assert_eq!(run.code, 2, "{text:?}: {run:?}");
    }
    let run = it.run(&["log", &it.location], Some("c,much"));
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("no size in bytes"), "{run:?}");
    let run = it.run(&["log", &it.location, "--cache", "c,1kB"], None);
    assert!(run.code != 0 && run.stderr.contains("1048576"), "{run:?}");
}

#[test]
fn a_local_repository_needs_no_cache() {
    let world = World::with_history();
    world.ok(&["export", "r", "out", "--cache", "kept"]);
    assert!(!world.path("kept").exists());
    // Nor is a bad one in its way.
    world.file("file", "mine");
    world.ok(&["log", "r", "--cache", "file"]);
    let mut command = world.command(&["log", "r"]);
    command.env("ICEFIELD_CACHE", "kept,much");
    let run = Run::of(command.output().expect("it runs"));
    assert_eq!(run.code, 0, "{run:?}");
}
