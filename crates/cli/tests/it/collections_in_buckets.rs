//! Collections in buckets: patterns are matched against what the server lists.

use std::process::Command;
use std::sync::Arc;

use icefield_testservers::world::Draft;
use icefield_testservers::{GcsOptions, GcsServer, S3Options, S3Server, World as Objects};
use serde_json::Value;

use crate::collections::times;
use crate::world::{Run, World, array, facts, group};

const ALL: [&str; 6] = [
    "2000/air_01.nc",
    "2000/air_02.nc",
    "2000/air_03.nc",
    "2001/air_01.nc",
    "2001/air_02.nc",
    "2001/air_03.nc",
];

/// A server with a bucket, and how the program reaches it.
struct Bucket {
    /// The URL of the folder `data`, without a slash at its end.
    data: String,
    options: String,
    keys: Vec<(&'static str, String)>,
    objects: Arc<Objects>,
    name: String,
    requests: Box<dyn Fn() -> usize>,
}

impl Bucket {
    fn of_s3(server: &Arc<S3Server>) -> Self {
        let (counted, name) = (Arc::clone(server), server.bucket().to_owned());
        Self {
            data: format!("s3://{name}/data"),
            options: format!("?endpoint={}", server.endpoint()),
            keys: vec![
                ("AWS_ACCESS_KEY_ID", server.access_key().to_owned()),
                ("AWS_SECRET_ACCESS_KEY", server.secret_key().to_owned()),
            ],
            objects: Arc::clone(server.world()),
            name,
            requests: Box::new(move || counted.requests().len()),
        }
    }

    fn of_gcs(server: &Arc<GcsServer>) -> Self {
        let (counted, name) = (Arc::clone(server), server.bucket().to_owned());
        Self {
            data: format!("gs://{name}/data"),
            options: format!("?anonymous&endpoint={}", server.endpoint()),
            keys: Vec::new(),
            objects: Arc::clone(server.world()),
            name,
            requests: Box::new(move || counted.requests().len()),
        }
    }

    fn put(&self, key: &str, bytes: impl Into<Vec<u8>>) {
        self.objects.put(&self.name, key, Draft::new(bytes.into()));
    }

    /// A file for each month of two years, beside others, and a directory with many that match nothing.
    fn fill(&self) {
        for year in 0..2 {
            for month in 1..=3 {
                let first = f64::from(year) * 100.0 + f64::from(month) * 10.0;
                self.put(&format!("data/200{year}/air_{month:02}.nc"), times(first));
            }
        }
        self.put("data/readme.txt", "no file of data");
        self.put("data/2000/air_04.nc.md5", "no file of data");
        for number in 0..2500 {
            self.put(&format!("data/logs/{number:05}/air.log"), "nothing");
        }
        let tree = |name: &str, first: u8| {
            self.put(
                &format!("data/trees/{name}/zarr.json"),
                group(serde_json::json!({})).to_string(),
            );
            let document = array(&[2], &[2], &["t"]).to_string();
            self.put(&format!("data/trees/{name}/x/zarr.json"), document);
            self.put(&format!("data/trees/{name}/x/c/0"), [first, first + 1]);
        };
        tree("one", 1);
        tree("two", 3);
    }

    fn at(&self, pattern: &str) -> String {
        format!("{}/{pattern}{}", self.data, self.options)
    }

    fn command(&self, world: &World, args: &[&str]) -> Command {
        let mut command = world.command(args);
        command
            .env("AWS_REGION", "us-east-1")
            .envs(self.keys.clone());
        command
    }

    fn run(&self, world: &World, args: &[&str]) -> Run {
        Run::of(self.command(world, args).output().unwrap())
    }

    fn facts(&self, world: &World, args: &[&str]) -> Value {
        let run = self.run(world, &[args, &["--json"]].concat());
        assert_eq!(run.code, 0, "{args:?}: {run:?}");
        facts(&run.stdout)
    }

    /// The sources of a plan, below `data`.
    fn planned(&self, world: &World, pattern: &str, along: &str) -> Vec<String> {
        let args = ["import", pattern, "r", "--concat", along, "--dry-run"];
        let plan = self.facts(world, &args);
        let sources = plan["sources"].as_array().unwrap().iter();
        let name = |it: &Value| it["name"].as_str().unwrap().to_owned();
        let below = |name: String| match name.rsplit_once("/data/") {
            Some((_, below)) => below.split('?').next().unwrap().to_owned(),
            None => name,
        };
        sources.map(name).map(below).collect()
    }

    fn assert_patterns_stand_for_objects(&self) {
        self.fill();
        let world = World::new();
        world.ok(&["init", "r"]);
        for pattern in [
            "*/air_*.nc",
            "**/*.nc",
            "200[01]/air_0?.nc",
            "20*/*[1-3].nc",
        ] {
            assert_eq!(
                self.planned(&world, &self.at(pattern), "time"),
                ALL,
                "{pattern}"
            );
        }
        // Directories that match nothing are not listed.
        let before = (self.requests)();
        assert_eq!(
            self.planned(&world, &self.at("2000/*.nc"), "time"),
            ALL[..3]
        );
        assert!(
            (self.requests)() - before < 40,
            "{}",
            (self.requests)() - before
        );
        // Hierarchies are sources, and what lies in them is none.
        for pattern in ["trees/*", "**/t[wo]*", "trees/**"] {
            let found = self.planned(&world, &self.at(pattern), "t");
            let expected = match pattern {
                "**/t[wo]*" => vec!["trees/two"],
                _ => vec!["trees/one", "trees/two"],
            };
            assert_eq!(found, expected, "{pattern}");
        }
        for pattern in ["*/*.nc4", "none/*", "readme.txt/*"] {
            let named = self.at(pattern);
            let run = self.run(&world, &["import", &named, "r", "--concat", "time"]);
            assert_eq!(run.code, 4, "{run:?}");
            assert!(
                run.stderr.contains("matches") && run.stderr.contains(pattern),
                "{run:?}"
            );
            for (_, secret) in &self.keys {
                assert!(!run.stderr.contains(secret.as_str()), "{run:?}");
            }
        }
        let twice = [&self.at("2000/*.nc"), &self.at("**/air_01.nc")].map(|it| it.to_owned());
        let run = self.run(
            &world,
            &["import", &twice[0], &twice[1], "r", "--concat", "time"],
        );
        assert!(
            run.code == 1 && run.stderr.contains("named twice"),
            "{run:?}"
        );
    }

    /// An import from the bucket equals an import of the same files from the disk.
    fn assert_imports_as_from_the_disk(&self) {
        let world = World::new();
        for year in 0..2 {
            for month in 1..=3 {
                let first = f64::from(year) * 100.0 + f64::from(month) * 10.0;
                world.file(&format!("data/200{year}/air_{month:02}.nc"), times(first));
            }
        }
        world.ok(&["init", "disk"]);
        world.ok(&["import", "data/**/*.nc", "disk", "--concat", "time"]);
        world.ok(&["export", "disk", "disk.zarr"]);
        let names = self.at("**/*.nc");
        world.ok(&["init", "copied"]);
        self.facts(&world, &["import", &names, "copied", "--concat", "time"]);
        world.ok(&["export", "copied", "copied.zarr"]);
        assert_eq!(world.files("copied.zarr"), world.files("disk.zarr"));
        world.ok(&["init", "referred"]);
        let report = self.facts(
            &world,
            &[
                "import",
                &names,
                "referred",
                "--concat",
                "time",
                "--virtual",
            ],
        );
        assert!(report["virtual_chunks"].as_u64().unwrap() > 0, "{report}");
    }
}

#[test]
fn patterns_stand_for_objects_of_a_bucket_of_s3() {
    let server = Arc::new(S3Server::start(S3Options::default()));
    let bucket = Bucket::of_s3(&server);
    bucket.assert_patterns_stand_for_objects();
    bucket.assert_imports_as_from_the_disk();
}

#[test]
fn patterns_stand_for_objects_of_a_bucket_of_gcs() {
    let server = Arc::new(GcsServer::start(GcsOptions::default()));
    let bucket = Bucket::of_gcs(&server);
    bucket.assert_patterns_stand_for_objects();
    bucket.assert_imports_as_from_the_disk();
}
