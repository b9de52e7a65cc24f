//! The object `repo` of spec 2: a whole one, or the flatbuffer of one; then edits of what it says.

#![no_main]

use icefield_format::{
    FileKind, FormatError, NewSnapshotInfo, OpsLogError, RepoEditError, RepoInfo, SnapshotId, SpecVersion, UpdateKind, Writer,
};
use icefield_fuzz::{Seeds, as_file_of, limits, number_of, seed};
use libfuzzer_sys::fuzz_target;

fn again(info: &RepoInfo) -> Option<RepoInfo> {
    match info.encode(&Writer::default()) {
        Ok(file) => Some(RepoInfo::decode(&file, &limits()).expect("what was written can be read")),
        Err(FormatError::UnknownUpdate { .. }) => None,
        Err(error) => panic!("cannot be written: {error}"),
    }
}

fuzz_target!(
    init: seed(&Seeds::RepoInfo),
    |input: &[u8]| {
        let file = as_file_of(SpecVersion::V2, input, FileKind::RepoInfo);
        let Ok(info) = RepoInfo::decode(&file, &limits()) else {
            return;
        };
        let (mut known, mut longest) = (0, 0);
        for snapshot in info.snapshots().snapshots() {
            let _ = snapshot.metadata(1 << 16);
            assert_eq!(info.snapshots().get(&snapshot.id()).map(|it| it.id()), Some(snapshot.id()));
            known += 1;
            if known < 8 {
                longest = longest.max(info.snapshots().ancestry(&snapshot.id()).count());
            }
        }
        assert!(longest <= info.snapshots().len(), "an ancestry ends");
        let _ = (info.metadata(1 << 16), info.config());
        if let Some(again) = again(&info) {
            assert_eq!(again, info);
        }
        // A commit on top of it.
        let id = SnapshotId::from_bytes([number_of(input, 1) as u8; 12]);
        let metadata = Default::default();
        let mut edit = info.edit();
        let new = NewSnapshotInfo {
            id,
            parent: info.branch("main"),
            flushed_at: 1,
            message: "",
            metadata: &metadata,
            pruned_ancestor_tx_logs: &[],
        };
        match edit.add_snapshot(new) {
            Ok(_) => {}
            Err(RepoEditError::SnapshotExists(_)) => return,
            Err(error) => panic!("{error}"),
        }
        edit.set_branch("main", id).expect("the snapshot is there");
        let update = UpdateKind::NewDetachedSnapshot { snapshot: id };
        let at = info.log().newest_at().saturating_add(1);
        let next = match edit.finish([(update, at)], "backup", 1 + input.len() % 3) {
            Ok(next) => next,
            Err(RepoEditError::Log(OpsLogError::NotLater { newest: u64::MAX, .. })) => return,
            Err(error) => panic!("{error}"),
        };
        assert_eq!(again(&next).expect("an edit leaves no update that cannot be written"), next);
    }
);
