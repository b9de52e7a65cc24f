//! Places where something is wrong: what, and what to change.

use std::time::Duration;

use icefield_testservers::{
    Answer, Fault, FileServer, GcsOptions, GcsServer, LifecycleRule, Rule, S3Options, S3Server,
};

use super::good::gcs_url;
use super::*;

#[test]
fn locations_that_are_none() {
    for (location, words) in [
        ("s3://bucket/x?region=a&secret=b", "never part of a URL"),
        ("s3://bucket?endpoint=localhost:1", "endpoint"),
        ("gs://bucket?endpoint=localhost:1", "endpoint"),
        ("az://account", "names no container"),
        ("http://me:hidden@127.0.0.1/x", "user"),
        ("gopher://x", "no backend"),
    ] {
        let place = examine(&[location], |_| {});
        assert_eq!(place.verdicts(), ["location bad"], "{location}");
        place.is_ill("location", &[words]);
    }
}

#[test]
fn a_bucket_that_is_not_there() {
    let server = S3Server::start(S3Options::default());
    let place = examine(
        &[&s3_url(&server, "no-such-bucket"), "--write"],
        with_the_key(),
    );
    place.is_ill("read", &["bucket", "there is no such bucket"]);
    let server = GcsServer::start(GcsOptions::default());
    let place = examine(&[&gcs_url(&server, "no-such-bucket"), "--write"], |_| {});
    place.is_ill("read", &["bucket", "there is no such bucket"]);
}

#[test]
fn credentials_that_are_not_accepted() {
    let server = S3Server::start(S3Options::default());
    let url = s3_url(&server, server.bucket());
    let place = examine(&[&url], with_key("test", "hidden-wrong"));
    place.is_ill("read", &["credentials"]);
    let place = examine(&[&url], with_key("another-user", "hidden"));
    place.is_ill("read", &["credentials"]);
    let place = examine(&[&url], without_a_key);
    place.is_ill("read", &["no permission to read", "credentials"]);
    let expired = Answer::expired_token().with_status(400);
    server.switches().inject(Rule::new(Fault::Refuse(expired)));
    let place = examine(&[&url], with_the_key());
    place.is_ill("read", &["credentials", "expired"]);
    let tokens = vec!["hidden".to_owned()];
    let server = GcsServer::start(GcsOptions {
        tokens,
        ..GcsOptions::default()
    });
    let place = examine(&[&gcs_url(&server, server.bucket())], |_| {});
    place.is_ill("read", &["credentials"]);
}

#[test]
fn another_region() {
    let server = S3Server::start(S3Options::default());
    let rule = Rule::new(Fault::Refuse(Answer::wrong_region()));
    server.switches().inject(rule);
    let place = examine(&[&s3_url(&server, server.bucket())], with_the_key());
    place.is_ill("read", &["region"]);
}

#[test]
fn a_store_that_ignores_conditions() {
    let server = S3Server::start(S3Options::default());
    server.switches().inject(Rule::new(Fault::IgnoreConditions));
    let url = s3_url(&server, server.bucket());
    let place = examine(&[&url, "--write"], with_the_key());
    place.is_ill("conditions", &["conditional writes", "use another store"]);
    assert!(place.verdicts().contains(&"write good".to_owned()));
    // Also where the user has vouched for it.
    let place = examine(
        &[&format!("{url}&trust_conditions"), "--write"],
        with_the_key(),
    );
    place.is_ill("conditions", &["a second writer was not refused"]);
    let left = server.world().keys(server.bucket());
    assert_eq!(left, Vec::<String>::new(), "nothing stays there");
}

#[test]
fn a_rule_that_deletes_what_is_old() {
    let server = S3Server::start(S3Options::default());
    let rule = LifecycleRule {
        name: "tidy up".to_owned(),
        prefix: "sea/chunks".to_owned(),
        delete_after: Some(90),
        ..LifecycleRule::default()
    };
    server
        .switches()
        .set(|it| it.lifecycle = vec![rule.clone()]);
    let place = examine(&[&s3_url(&server, server.bucket())], with_the_key());
    place.is_ill("rules", &["\"tidy up\"", "deletes chunks 90 days"]);
}

#[test]
fn a_clock_that_is_twenty_minutes_off() {
    // S3 refuses what is signed with such a time.
    let server = S3Server::start(S3Options::default());
    let rule = Rule::new(Fault::Refuse(Answer::time_too_skewed()));
    server.switches().inject(rule);
    let place = examine(&[&s3_url(&server, server.bucket())], with_the_key());
    place.is_ill("read", &["clock"]);
    // Others do not mind, and put their own time on what is written.
    let off = Duration::from_secs(1200);
    let server = GcsServer::start(GcsOptions::default());
    let url = gcs_url(&server, server.bucket());
    server.world().move_clock_forward(off);
    let place = examine(&[&url, "--write"], |_| {});
    place.is_ill("clock", &["s behind the store's", "set it right"]);
    let ahead = place.facts["clock_ahead_s"].as_i64().expect("a number");
    assert!((-1210..=-1190).contains(&ahead), "{ahead}");
    server.world().move_clock_back(off * 2);
    let place = examine(&[&url, "--write"], |_| {});
    place.is_ill("clock", &["s ahead of the store's", "set it right"]);
}

#[test]
fn a_bucket_that_may_only_be_read() {
    let server = S3Server::start(S3Options::default());
    server.switches().set(|it| it.anonymous_read = true);
    let url = format!("{}&anonymous", s3_url(&server, server.bucket()));
    examine(&[&url], without_a_key).is_well();
    let place = examine(&[&url, "--write"], without_a_key);
    place.is_ill(
        "write",
        &["no permission to write", "credentials", "403 AccessDenied"],
    );
}

#[cfg(unix)]
#[test]
fn a_directory_that_may_only_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::with_history();
    let mode = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(world.path("r"), permissions).expect("ours");
    };
    mode(0o555);
    let denied = std::fs::write(world.path("r/try"), "x").is_err();
    let place = examine_in(&world, &["r", "--write"], |_| {});
    mode(0o755);
    if !denied {
        use std::io::Write as _;
        // Past the capture of libtest.
        let _closed = writeln!(
            std::io::stderr(),
            "SKIPPED a_directory_that_may_only_be_read: this user may write everywhere"
        );
        return;
    }
    place.is_ill("write", &["no permission"]);
}

#[test]
fn a_place_that_nobody_serves() {
    // A port that was free a moment ago.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    drop(listener);
    let place = examine(&[&format!("http://127.0.0.1:{port}/x")], |_| {});
    place.is_ill("read", &["127.0.0.1"]);
    let server = FileServer::in_memory();
    let place = examine(&[&server.url("nothing")], |_| {});
    place.is_well();
    assert!(place.verdicts().contains(&"repository note".to_owned()));
}

#[test]
fn a_repository_that_does_not_open() {
    let world = World::with_history();
    world.file("r/repo", "anything");
    let place = examine_in(&world, &["r"], |_| {});
    place.is_ill("repository", &["`repo` is damaged"]);
}
