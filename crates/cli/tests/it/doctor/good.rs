//! Places that are in order.

use icefield_testservers::{FileServer, GcsOptions, GcsServer, LifecycleRule, S3Options, S3Server};

use super::*;

const ALL_GOOD: [&str; 6] = [
    "read good",
    "list good",
    "write good",
    "clock good",
    "conditions good",
    "delete good",
];

/// Asserts that a place which was tried keeps everything, and holds no repository.
fn keeps_everything(place: &Diagnosis) {
    place.is_well();
    let verdicts = place.verdicts();
    assert_eq!(verdicts[..6], ALL_GOOD, "{}", place.facts);
    assert_eq!(verdicts[6..], ["repository note"]);
    keeps_commits(place);
}

fn keeps_commits(place: &Diagnosis) {
    assert_eq!(place.facts["guarantees"]["safe_commits"], true);
    assert!(place.facts["latency_us"][0].is_u64());
    let text = &place.text.stdout;
    assert!(
        text.contains("commits have one winner, and an acknowledged one stays"),
        "{text}"
    );
}

#[test]
fn a_local_disk() {
    let world = World::with_history();
    let place = examine_in(&world, &["r", "--write"], |_| {});
    place.is_well();
    let locks = place.said("locks good");
    assert!(
        locks.contains("mounted at") && locks.contains("on this machine"),
        "{locks}"
    );
    let but_for_locks = |place: &Diagnosis| {
        let verdicts = place.verdicts().into_iter();
        verdicts.filter(|it| it != "locks good").collect::<Vec<_>>()
    };
    assert_eq!(but_for_locks(&place)[..6], ALL_GOOD);
    assert_eq!(but_for_locks(&place)[6..], ["repository good"]);
    assert!(!world.files("r").keys().any(|name| name.contains("doctor")));
    let nothing = examine(&["nothing", "--write"], |_| {});
    nothing.is_well();
    assert!(nothing.said("locks good").contains("mounted at"));
    assert_eq!(but_for_locks(&nothing)[..6], ALL_GOOD);
    assert_eq!(but_for_locks(&nothing)[6..], ["repository note"]);
    keeps_commits(&nothing);
}

#[test]
fn a_bucket_of_s3() {
    let server = S3Server::start(S3Options::default());
    let url = s3_url(&server, server.bucket());
    let place = examine(&[&url], with_the_key());
    assert!(place.said("rules note").contains("AbortIncomplete"));
    let rule = LifecycleRule {
        end_uploads_after: Some(7),
        ..LifecycleRule::default()
    };
    server
        .switches()
        .set(|it| it.lifecycle = vec![rule.clone()]);
    keeps_everything(&examine(&[&url, "--write"], with_the_key()));
    let left = server.world().keys(server.bucket());
    assert_eq!(left, Vec::<String>::new(), "nothing stays there");
    // Unasked, nothing is written.
    let before = server.requests().len();
    examine(&[&url], with_the_key()).is_well();
    let requests = &server.requests()[before..];
    assert!(
        requests
            .iter()
            .all(|it| ["GET", "HEAD"].contains(&&*it.method)),
        "{requests:?}"
    );
    // As a place for a repository it is as good as doctor says.
    let world = World::new();
    let mut init = world.command(&["init", &url]);
    with_the_key()(&mut init);
    assert!(init.output().expect("it runs").status.success());
    let place = examine(&[&url], with_the_key());
    place.is_well();
    assert!(place.verdicts().contains(&"repository good".to_owned()));
}

#[test]
fn a_bucket_of_gcs() {
    let server = GcsServer::start(GcsOptions::default());
    let url = gcs_url(&server, server.bucket());
    keeps_everything(&examine(&[&url, "--write"], |_| {}));
    let left = server.world().keys(server.bucket());
    assert_eq!(left, Vec::<String>::new(), "nothing stays there");
}

pub(super) fn gcs_url(server: &GcsServer, bucket: &str) -> String {
    format!("gs://{bucket}/sea?anonymous&endpoint={}", server.endpoint())
}

#[test]
fn a_web_server() {
    let world = World::with_history();
    let server = FileServer::of_directory(world.path(""));
    let place = examine(&[&server.url("r"), "--write"], |_| {});
    place.is_well();
    assert_eq!(
        place.verdicts(),
        [
            "read good",
            "list note",
            "write note",
            "repository good",
            "refs note"
        ]
    );
    let said = place.said("list note");
    assert!(said.contains("by name"), "{said}");
    assert!(place.said("write note").contains("for reading only"));
    assert_eq!(place.facts["guarantees"]["writable"], false);
    let text = &place.text.stdout;
    assert!(text.contains("nothing can be written here"), "{text}");
}

/// A location without permission to list can still be read: with a policy of `s3:GetObject` alone, Amazon even says of
/// what is not there that it is forbidden.
#[test]
fn a_bucket_that_may_be_read_and_not_listed() {
    let server = S3Server::start(S3Options::default());
    let url = s3_url(&server, server.bucket());
    let world = World::new();
    let mut init = world.command(&["init", &url]);
    with_the_key()(&mut init);
    assert!(init.output().expect("it runs").status.success());
    for forbidden in [false, true] {
        server.switches().set(|it| {
            it.deny_list = true;
            it.missing_is_forbidden = forbidden;
        });
        let place = examine(&[&url], with_the_key());
        place.is_well();
        assert_eq!(
            place.verdicts(),
            [
                "read good",
                "list note",
                "rules note",
                "repository good",
                "refs note"
            ]
        );
        let said = place.said("list note");
        assert!(said.contains("no permission to list"), "{said}");
    }
}

/// `/proc` is the one such file system that every Linux has.
#[cfg(target_os = "linux")]
#[test]
fn a_file_system_whose_locks_may_end_at_this_machine() {
    let place = examine(&["/proc/none"], |_| {});
    place.is_well();
    assert_eq!(
        place.verdicts(),
        ["read good", "list good", "locks note", "repository note"]
    );
    let locks = place.said("locks note");
    for word in ["proc, mounted at /proc", "not known", "locks=trusted"] {
        assert!(locks.contains(word), "{word:?} is not in: {locks}");
    }
    assert_eq!(place.facts["guarantees"]["safe_commits"], false);
    let text = &place.text.stdout;
    assert!(text.contains("two writers could both win"), "{text}");
    let refused = World::new().run(&["init", "/proc/none"]);
    assert_ne!(refused.code, 0, "{refused:?}");
    for word in ["which of two writers was first", "locks=trusted"] {
        assert!(
            refused.stderr.contains(word),
            "{word:?} is not in: {refused:?}"
        );
    }
    // With `locks=trusted`, the file system decides how far the command gets.
    let url = "file:///proc/none?locks=trusted";
    let place = examine(&[url], |_| {});
    assert_eq!(place.facts["guarantees"]["safe_commits"], true);
    assert!(place.said("locks note").contains("says that they do"));
    let refused = World::new().run(&["init", url]);
    assert_ne!(refused.code, 0, "{refused:?}");
    assert!(!refused.stderr.contains("writers"), "{refused:?}");
}
