use super::encode::{TransactionLogEncoder, initial_transaction_log};
use super::*;
use crate::envelope::{SpecVersion, Writer};

const ID: SnapshotId = SnapshotId::from_bytes([5; 12]);

fn node(byte: u8) -> NodeId {
    NodeId::from_bytes([byte; 8])
}

fn decode(bytes: &[u8]) -> Result<TransactionLog, FormatError> {
    TransactionLog::decode(bytes, ID, &DecodeLimits::default())
}

#[test]
fn a_log_comes_back_sorted() {
    let mut encoder = TransactionLogEncoder::new(ID);
    encoder
        .new_groups([node(2), node(1), node(2)])
        .new_arrays([node(3)]);
    encoder.deleted_groups([node(4)]).deleted_arrays([node(5)]);
    encoder.updated_arrays([node(6)]).updated_groups([node(7)]);
    encoder.begin_chunks(node(3)).unwrap();
    encoder.push_chunk(&[9, 1]).unwrap();
    encoder.push_chunk(&[0, 2]).unwrap();
    encoder.begin_chunks(node(6)).unwrap();
    let log = decode(&encoder.finish(&Writer::default()).unwrap()).unwrap();
    assert_eq!(log.new_groups().collect::<Vec<_>>(), [node(1), node(2)]);
    assert_eq!(log.new_arrays().collect::<Vec<_>>(), [node(3)]);
    assert_eq!(log.deleted_groups().collect::<Vec<_>>(), [node(4)]);
    assert_eq!(log.deleted_arrays().collect::<Vec<_>>(), [node(5)]);
    assert_eq!(log.updated_arrays().collect::<Vec<_>>(), [node(6)]);
    assert_eq!(log.updated_groups().collect::<Vec<_>>(), [node(7)]);
    let chunks: Vec<_> = log.updated_chunks().collect();
    assert_eq!((chunks[0].node_id(), chunks[0].len()), (node(3), 2));
    let coordinates: Vec<_> = chunks[0].chunks().collect();
    assert_eq!(
        coordinates,
        [[9, 1].into(), [0, 2].into()],
        "the order of the file is kept"
    );
    assert!(chunks[1].is_empty());
}

#[test]
fn tables_of_chunks_are_as_the_builder_makes_them() {
    let indices: [&[u32]; 5] = [&[], &[7], &[1, 2], &[u32::MAX, 0, 3], &[4; 9]];
    for count in 1..=indices.len() {
        let mut encoder = TransactionLogEncoder::new(ID);
        let mut arrays = Vec::new();
        for (byte, index) in (1..).zip(&indices[..count]) {
            encoder.begin_chunks(node(byte)).unwrap();
            encoder.push_chunk(index).unwrap();
            encoder.push_chunk(index).unwrap();
            arrays.push((byte, vec![*index; 2]));
        }
        let arrays: Vec<_> = arrays.iter().map(|(byte, it)| (*byte, &it[..])).collect();
        let file = encoder.finish(&Writer::default()).unwrap();
        let mut b = flatbuffers::FlatBufferBuilder::new();
        let arrays = tables(&mut b, &arrays);
        let none = [(); 6].map(|()| Some(b.create_vector::<fb::ObjectId8>(&[])));
        let [
            new_groups,
            new_arrays,
            deleted_groups,
            deleted_arrays,
            updated_arrays,
            updated_groups,
        ] = none;
        let updated_chunks = Some(b.create_vector(&arrays));
        let id = fb::ObjectId12(*ID.as_bytes());
        let args = fb::TransactionLogArgs {
            id: Some(&id),
            new_groups,
            new_arrays,
            deleted_groups,
            deleted_arrays,
            updated_arrays,
            updated_groups,
            updated_chunks,
            moved_nodes: None,
            extra: None,
        };
        let root = fb::TransactionLog::create(&mut b, &args);
        b.finish(root, Some(crate::envelope::IDENTIFIER));
        let name = FormatFile::TransactionLog(ID);
        let plain = Writer::default().seal(
            name,
            SpecVersion::V1,
            FileKind::TransactionLog,
            b.finished_data(),
        );
        assert_eq!(file, plain.unwrap(), "{count}");
    }
}

#[test]
fn encoder_refuses_what_decoding_would() {
    let mut encoder = TransactionLogEncoder::new(ID);
    assert!(matches!(
        encoder.push_chunk(&[1]),
        Err(FormatError::NoArrayBegun { .. })
    ));
    encoder.begin_chunks(node(3)).unwrap();
    encoder.push_chunk(&[1]).unwrap();
    assert!(matches!(
        encoder.push_chunk(&[1, 2]),
        Err(FormatError::RankMismatch { .. })
    ));
    assert!(matches!(
        encoder.begin_chunks(node(3)),
        Err(FormatError::Duplicate { .. })
    ));
    assert!(matches!(
        encoder.begin_chunks(node(2)),
        Err(FormatError::Unsorted { .. })
    ));
    encoder.begin_chunks(node(4)).unwrap();
    assert!(matches!(
        encoder.push_chunk(&[0; 257]),
        Err(FormatError::RankTooLarge { .. })
    ));
    let log = decode(&encoder.finish(&Writer::default()).unwrap()).unwrap();
    assert_eq!(
        log.updated_chunks()
            .map(|array| array.len())
            .collect::<Vec<_>>(),
        [1, 0]
    );
}

type Tables<'a> = Vec<flatbuffers::WIPOffset<fb::ArrayUpdatedChunks<'a>>>;

/// Builds chunks of arrays as the flatbuffers library does it.
fn tables<'a>(
    b: &mut flatbuffers::FlatBufferBuilder<'a>,
    arrays: &[(u8, &[&[u32]])],
) -> Tables<'a> {
    let array = |(node, chunks): &(u8, &[&[u32]])| {
        let chunk = |index: &&[u32]| {
            let coords = Some(b.create_vector(index));
            fb::ChunkIndices::create(b, &fb::ChunkIndicesArgs { coords })
        };
        let chunks: Vec<_> = chunks.iter().map(chunk).collect();
        let chunks = Some(b.create_vector(&chunks));
        let node_id = fb::ObjectId8([*node; 8]);
        let args = fb::ArrayUpdatedChunksArgs {
            node_id: Some(&node_id),
            chunks,
        };
        fb::ArrayUpdatedChunks::create(b, &args)
    };
    arrays.iter().map(array).collect()
}

/// Builds a file without the encoder's checks.
fn raw(ids: &[u8], arrays: &[(u8, &[&[u32]])]) -> Result<TransactionLog, FormatError> {
    let mut b = flatbuffers::FlatBufferBuilder::new();
    let arrays = tables(&mut b, arrays);
    let ids: Vec<_> = ids.iter().map(|byte| fb::ObjectId8([*byte; 8])).collect();
    let ids = Some(b.create_vector(&ids));
    let id = fb::ObjectId12(*ID.as_bytes());
    let args = fb::TransactionLogArgs {
        id: Some(&id),
        new_groups: ids,
        new_arrays: ids,
        deleted_groups: ids,
        deleted_arrays: ids,
        updated_arrays: ids,
        updated_groups: ids,
        updated_chunks: Some(b.create_vector(&arrays)),
        // Fields that spec 2 libraries leave in logs of spec 1.
        moved_nodes: Some(b.create_vector::<flatbuffers::WIPOffset<fb::MoveOperation<'_>>>(&[])),
        extra: None,
    };
    let root = fb::TransactionLog::create(&mut b, &args);
    b.finish(root, None);
    let file = FormatFile::TransactionLog(ID);
    decode(&Writer::default().seal(
        file,
        SpecVersion::V1,
        FileKind::TransactionLog,
        b.finished_data(),
    )?)
}

#[test]
fn unsorted_coordinates_and_mixed_ranks_are_tolerated() {
    let log = raw(&[1, 2], &[(1, &[&[5], &[1], &[5]]), (2, &[])]).unwrap();
    assert_eq!(log.updated_chunks().next().unwrap().len(), 3);
    let mixed = raw(&[], &[(1, &[&[5], &[1, 2]])]).unwrap();
    assert_eq!(mixed.updated_chunks().next().unwrap().len(), 2);
}

#[test]
fn d56_unsorted_and_duplicate_ids() {
    let list = SortedList::NodeIds;
    assert!(matches!(raw(&[2, 1], &[]), Err(FormatError::Unsorted { list: l, .. }) if l == list));
    assert!(matches!(raw(&[1, 1], &[]), Err(FormatError::Duplicate { list: l, .. }) if l == list));
    let list = SortedList::UpdatedChunks;
    let arrays = raw(&[], &[(2, &[]), (1, &[])]);
    assert!(matches!(arrays, Err(FormatError::Unsorted { list: l, .. }) if l == list));
    let arrays = raw(&[], &[(1, &[]), (1, &[])]);
    assert!(matches!(arrays, Err(FormatError::Duplicate { list: l, .. }) if l == list));
}

#[test]
fn d53_log_of_another_snapshot() {
    let file = TransactionLogEncoder::new(SnapshotId::INITIAL)
        .finish(&Writer::default())
        .unwrap();
    assert!(matches!(
        decode(&file),
        Err(FormatError::WrongObject { .. })
    ));
}

#[test]
fn the_log_of_a_first_snapshot_names_nothing() {
    let file = initial_transaction_log(&Writer::default());
    let limits = DecodeLimits::up_to(SpecVersion::V2);
    let log = TransactionLog::decode(&file, SnapshotId::INITIAL, &limits).unwrap();
    assert_eq!(log.spec_version(), SpecVersion::V2);
    let named = log.new_groups().len() + log.new_arrays().len() + log.updated_chunks().len();
    assert_eq!((named, log.moved_nodes().len()), (0, 0));
    assert!(log.root().moved_nodes().is_some());
}
