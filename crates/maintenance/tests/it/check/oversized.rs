//! Files that are larger than any may be: found by their size, and not read.

use std::sync::Arc;

use icefield_format::{DecodeLimits, SnapshotId, layout};
use icefield_storage::Storage;
use icefield_storage::wrap::CountingStorage;
use icefield_testkit::{both_versions, stores};

use super::check;
use super::world::World;

both_versions!(an_oversized_file_is_damage_and_is_not_read);
async fn an_oversized_file_is_damage_and_is_not_read() {
    let most = DecodeLimits::default().max_file();
    for folder in ["snapshots", "manifests", "transactions"] {
        let world = World::new().await;
        let tip = world.commits[2];
        let key = match folder {
            "snapshots" => layout::snapshot_key(tip),
            "transactions" => layout::transaction_log_key(tip),
            _ => {
                let keys = stores::keys_below(&world.storage, "manifests/").await;
                keys[0].clone()
            }
        };
        // The pages of it are never touched.
        stores::put(&world.storage, &key, vec![0; most as usize + 1]).await;
        let counting = CountingStorage::new(Arc::clone(&world.storage));
        let storage: Arc<dyn Storage> = Arc::new(counting.clone());
        let report = check(&storage).await;
        let found = report.findings.iter().find(|it| it.key == key);
        let found = found.unwrap_or_else(|| panic!("{key}: {:?}", report.findings));
        assert!(found.rule.contains(&most.to_string()), "{found:?}");
        let read = counting.snapshot().of(folder).bytes_read;
        assert!(read < most, "{folder}: {read}");
        assert_ne!(tip, SnapshotId::INITIAL);
    }
}
