//! Actors that read, and check what they see.

use futures::TryStreamExt as _;
use icefield::{Repository, Revision, Session, TagName};
use icefield_storage::Clock as _;

use crate::facts::RegisterOp;
use crate::member::{FLOOR, Member, Round, Trouble, number, path, trouble};
use crate::rules::{self, REGISTER};

/// Snapshots that a reader goes back, at most.
const BACK: u64 = 6;

/// Reads the register.
pub(super) async fn read_register(member: &Member) -> Round {
    let begun = member.clock.monotonic();
    let repository = member.open().await?;
    let session = repository
        .read_session(Member::main())
        .await
        .map_err(trouble)?;
    let value = number(&session, &path(REGISTER)?, 0).await?.unwrap_or(0);
    let ended = member.clock.monotonic();
    member.facts.lock().register.push(RegisterOp {
        begun,
        ended,
        value,
        is_write: false,
    });
    Ok(())
}

/// Reads at the tip of `main`, at a tag, or at an older snapshot, and checks the rules there.
pub(super) async fn read(member: &Member) -> Round {
    let repository = member.open().await?;
    let opened = member.clock.monotonic();
    let session = open(member, &repository).await?;
    match rules::check(&session).await {
        Ok(()) => {
            member.facts.lock().figures.reads += 1;
            Ok(())
        }
        // A collection may take what no ref has named any more for longer than it spares.
        Err(Trouble::Broken(_)) if member.clock.monotonic() - opened > FLOOR => Err(Trouble::Later),
        Err(trouble) => Err(trouble),
    }
}

async fn open(member: &Member, repository: &Repository) -> Round<Session> {
    let tags: Vec<String> = member.facts.lock().tags.keys().cloned().collect();
    match member.dice.below(3) {
        0 if !tags.is_empty() => {
            let name = &tags[member.dice.below(tags.len() as u64) as usize];
            let name = TagName::parse(name).map_err(|error| Trouble::Broken(error.to_string()))?;
            repository.read_session(name).await.map_err(trouble)
        }
        1 => {
            let tip = repository
                .resolve(&Revision::from(Member::main()))
                .await
                .map_err(trouble)?;
            let history: Vec<_> = repository
                .ancestry(tip)
                .try_collect()
                .await
                .map_err(trouble)?;
            let back = member.dice.below(BACK.min(history.len() as u64)) as usize;
            repository
                .read_session(history[back].id)
                .await
                .map_err(trouble)
        }
        _ => repository
            .read_session(Member::main())
            .await
            .map_err(trouble),
    }
}
