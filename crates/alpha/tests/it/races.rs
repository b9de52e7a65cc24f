//! Writers that race for the next file of a branch.

use std::sync::Arc;

use icefield_alpha::{Advance, AlphaId, AlphaRepository, Layout, advance};
use icefield_storage::wrap::FaultyStorage;
use icefield_storage::wrap::fault::{Decision, Matcher, Plan, Verb};

use crate::world::memory;

const fn id(byte: u8) -> AlphaId {
    AlphaId::from_bytes([byte; 16])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_racing_writers_exactly_one_wins_each_round() {
    for layout in [Layout::Literal, Layout::Code] {
        let storage = memory();
        let made = advance(&*storage, layout, "main", None, id(0)).await;
        assert!(matches!(made, Ok(Advance::Created { number: 0 })));
        let mut tip = id(0);
        for round in 1..20 {
            let tasks = (0..8).map(|writer| {
                let (storage, to) = (Arc::clone(&storage), id(round * 10 + writer));
                tokio::spawn(async move {
                    let outcome = advance(&*storage, layout, "main", Some(tip), to).await;
                    (outcome.unwrap(), to)
                })
            });
            let tasks: Vec<_> = tasks.collect();
            let (mut winners, mut told) = (Vec::new(), Vec::new());
            for task in tasks {
                match task.await.unwrap() {
                    (Advance::Created { number }, to) => {
                        assert_eq!(number, u64::from(round));
                        winners.push(to);
                    }
                    (Advance::Conflict { found }, _) => told.push(found),
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!((winners.len(), told.len()), (1, 7));
            // The losers are told the snapshot that won.
            assert!(told.iter().all(|found| *found == Some(winners[0])));
            tip = winners[0];
        }
        let repository = AlphaRepository::open(storage).await.unwrap();
        let files = repository
            .refs()
            .await
            .unwrap()
            .branches
            .remove("main")
            .unwrap();
        assert_eq!(files.len(), 20);
        assert_eq!(files[19].file.snapshot, tip);
    }
}

icefield_testkit::both_versions!(an_answer_that_is_lost_is_no_conflict);
async fn an_answer_that_is_lost_is_no_conflict() {
    let inner = memory();
    let plan = Plan::none().on(Matcher::verb(Verb::Put), 0, Decision::FailAfter);
    let faulty = FaultyStorage::new(Arc::clone(&inner), plan);
    let outcome = advance(&faulty, Layout::Literal, "main", None, id(1))
        .await
        .unwrap();
    assert!(
        matches!(outcome, Advance::Unknown { number: 0, .. }),
        "{outcome:?}"
    );
}

icefield_testkit::both_versions!(a_damaged_newest_file_stops_the_branch);
async fn a_damaged_newest_file_stops_the_branch() {
    let storage = memory();
    icefield_testkit::stores::put(&storage, "r/main/ZZZZZZZZ.json", "{}").await;
    let error = advance(&*storage, Layout::Literal, "main", None, id(1))
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("r/main/ZZZZZZZZ.json is damaged"),
        "{error}"
    );
}
