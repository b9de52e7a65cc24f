//! Bodies that change on the way, lists that lag, and a store that takes one write a second.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use icefield_storage::remote::RemoteSettings;
use icefield_storage::{Bytes, Clock, Deletion, PutMode, PutOutcome, SeededEntropy, StorageExt};
use icefield_storage_s3::Checksum;
use icefield_testservers::{
    Behaviour, Fault, FaultProxy, ProxyFault, ProxyRule, Rule, Verb, World,
};

use crate::support::*;

fn pattern(length: u32) -> Bytes {
    (0..length).map(|at| (at * 7 % 251) as u8).collect()
}

#[tokio::test]
async fn f83_bytes_that_changed_on_the_way_are_found_out_where_there_is_a_checksum() {
    let server = server();
    let proxy = FaultProxy::start(&server.endpoint());
    let checked = at(&server, proxy.endpoint()).checksum(Checksum::Crc32c);
    let checked = checked.open().expect("sound");
    for length in [1000, 3_000_000] {
        written(put(&checked, "a", pattern(length), PutMode::Overwrite).await);
        proxy.inject(
            ProxyRule::new(ProxyFault::FlipByte(17))
                .method("GET")
                .times(1),
        );
        let error = checked.read(&key("a")).await.expect_err("not these bytes");
        assert!(error.is_retryable(), "{error:?}");
        proxy.clear();
        assert!(checked.read(&key("a")).await.expect("read").0 == pattern(length));
    }
    // Without one no error is raised: a chunk is for its codecs to check, a file of the format for the code
    // that decodes it.
    let plain = at(&server, proxy.endpoint()).open().expect("sound");
    written(put(&plain, "a", pattern(1000), PutMode::Overwrite).await);
    proxy.inject(
        ProxyRule::new(ProxyFault::FlipByte(17))
            .method("GET")
            .times(1),
    );
    let (read, _) = plain.read(&key("a")).await.expect("read");
    assert!(read != pattern(1000) && read.len() == 1000);
}

#[tokio::test]
async fn f86_what_a_list_does_not_show_is_there_all_the_same() {
    let server = server();
    let storage = open(&server);
    written(put(&storage, "a", "one", PutMode::Create).await);
    let lag = Rule::new(Fault::StaleList(1)).on(Verb::List);
    server.switches().inject(lag);
    let listed = async || {
        let list = storage.list_all(&Default::default()).await.expect("listed");
        list.into_iter()
            .map(|it| it.key.to_string())
            .collect::<Vec<_>>()
    };
    assert!(listed().await.is_empty());
    assert_eq!(storage.read(&key("a")).await.expect("read").0, "one");
    let second = put(&storage, "a", "two", PutMode::Create).await;
    assert!(matches!(second, Ok(PutOutcome::Refused)), "{second:?}");
    let _ = storage
        .delete_one(Deletion::from(key("a")))
        .await
        .expect("deleted");
    assert_eq!(listed().await, ["a"]);
    let read = storage.try_read(&key("a")).await.expect("answered");
    assert!(read.is_none());
    written(put(&storage, "a", "three", PutMode::Create).await);
}

/// A clock by which the store lives, too: a pause of the client lets the store's time pass at once. Nothing here
/// is ever late, so what is waited for as long as for a time-out does not come.
#[derive(Debug)]
struct Shared {
    world: Arc<World>,
    start: SystemTime,
}

impl Clock for Shared {
    fn now(&self) -> SystemTime {
        self.world.now()
    }

    fn monotonic(&self) -> Duration {
        let since = self.world.now().duration_since(self.start);
        since.unwrap_or_default()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        // The shortest time-out of the default settings; no pause is as long.
        if duration > RemoteSettings::default().retry.longest_pause {
            return Box::pin(std::future::pending());
        }
        self.world.move_clock_forward(duration);
        Box::pin(tokio::task::yield_now())
    }
}

/// Amazon has no such limit; servers that have one say 503 or 429.
#[tokio::test]
async fn f91_one_write_a_second_is_spaced_and_all_writes_land() {
    const WRITES: u64 = 50;
    let server = server();
    let world = Arc::clone(server.world());
    let start = world.now();
    server
        .switches()
        .set(|it: &mut Behaviour| it.one_write_a_second = true);
    let storage = builder(&server)
        .settings(RemoteSettings::default().trusting_conditions())
        .clock(Arc::new(Shared { world, start }))
        .entropy(Arc::new(SeededEntropy::new(91)))
        .open()
        .expect("sound");
    let asked = || {
        let requests = server.requests();
        requests.iter().filter(|it| it.verb == Verb::Write).count()
    };
    let mut version = written(put(&storage, "a", "0", PutMode::Create).await);
    let mut most = 0;
    for number in 1..WRITES {
        let before = asked();
        let update = PutMode::Update(version);
        version = written(put(&storage, "a", number.to_string(), update).await);
        most = most.max(asked() - before);
    }
    assert_eq!(server.world().writes(), WRITES);
    assert_eq!(storage.read(&key("a")).await.expect("read").0, "49");
    assert!(most <= 12, "{most} attempts of one write");
    println!(
        "{WRITES} writes to one object: {} attempts, {most} at most for one",
        asked()
    );
}
