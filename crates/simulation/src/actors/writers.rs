//! Actors that commit to `main`.

use std::time::Duration;

use icefield::{Detector, MergeOutcome, NodePath, Session, VersionSelection};
use icefield_storage::Clock as _;

use crate::facts::RegisterOp;
use crate::member::{Landing, Member, Round, Trouble, length, number, path, require, trouble};
use crate::rules::{ACCOUNTS, BANK, CELLS, FORKS, LEDGER, REGISTER, WINDOW, WINDOW_ARRAY};

/// Sessions that a round opens anew because others were faster, before it is given up.
const TRIES: u32 = 8;

async fn session(member: &Member) -> Round<Session> {
    let repository = member.open().await?;
    repository
        .write_session(Member::main())
        .await
        .map_err(trouble)
}

/// Commits with a rebase where that is possible, or without one.
async fn commit(member: &Member, session: &Session, message: &str) -> Round<Landing> {
    let commit = session.commit(message);
    let outcome = match member.dice.below(3) {
        0 => commit.await,
        1 => commit.rebase_with(Detector::Strict).await,
        _ => commit.rebase_with(Detector::Compatible).await,
    };
    member.land(session, outcome).await
}

/// Moves money from one account to another.
pub(super) async fn transfer(member: &Member) -> Round {
    let arrays = [path(BANK[0])?, path(BANK[1])?];
    for _ in 0..TRIES {
        let session = session(member).await?;
        let account = || {
            (
                member.dice.below(2) as usize,
                member.dice.below(u64::from(ACCOUNTS)) as u32,
            )
        };
        let (from, to) = (account(), account());
        if from == to {
            continue;
        }
        let read =
            async |(array, index): (usize, u32)| number(&session, &arrays[array], index).await;
        let (has, gets) = (read(from).await?.unwrap_or(0), read(to).await?.unwrap_or(0));
        let amount = member.dice.below(has + 1);
        member
            .set(&session, &arrays[from.0], from.1, has - amount)
            .await?;
        member
            .set(&session, &arrays[to.0], to.1, gets + amount)
            .await?;
        if let Landing::Landed(id) = commit(member, &session, "a transfer").await? {
            member.note_commit(id);
            return Ok(());
        }
    }
    Err(Trouble::Later)
}

/// Appends a number that no other writer appends.
pub(super) async fn append(member: &Member, round: u64) -> Round {
    let at = path(LEDGER)?;
    let value = (member.number as u64) << 48 | (round >> 32) << 32 | (round & 0xffff_ffff);
    for _ in 0..TRIES {
        let session = session(member).await?;
        let count = length(&session, &at)?.unwrap_or(0);
        member.resize(&session, &at, count + 1).await?;
        member.set(&session, &at, count as u32, value).await?;
        if let Landing::Landed(id) = commit(member, &session, "an entry").await? {
            member.note_commit(id);
            member
                .facts
                .lock()
                .appended
                .entry(member.number)
                .or_default()
                .push(value);
            return Ok(());
        }
    }
    Err(Trouble::Later)
}

/// Rolls the window by one.
pub(super) async fn roll(member: &Member) -> Round {
    let at = path(WINDOW_ARRAY)?;
    for _ in 0..TRIES {
        let session = session(member).await?;
        let last = number(&session, &at, WINDOW - 1).await?.unwrap_or(0);
        session.shift(&at, &[-1]).await.map_err(trouble)?;
        member.set(&session, &at, WINDOW - 1, last + 1).await?;
        if let Landing::Landed(id) = commit(member, &session, "a roll").await? {
            member.note_commit(id);
            return Ok(());
        }
    }
    Err(Trouble::Later)
}

/// Counts the register up by one.
pub(super) async fn count(member: &Member) -> Round {
    let at = path(REGISTER)?;
    for _ in 0..TRIES {
        let begun = member.clock.monotonic();
        let session = session(member).await?;
        let value = number(&session, &at, 0).await?.unwrap_or(0) + 1;
        member.set(&session, &at, 0, value).await?;
        if let Landing::Landed(id) = commit(member, &session, "a count").await? {
            member.note_commit(id);
            let ended = member.clock.monotonic();
            member.facts.lock().register.push(RegisterOp {
                begun,
                ended,
                value,
                is_write: true,
            });
            return Ok(());
        }
    }
    Err(Trouble::Later)
}

/// Moves money in a session that is open for hours, perhaps for longer than a collection spares what is new.
pub(super) async fn wait_and_commit(member: &Member) -> Round {
    let at = path(BANK[0])?;
    let session = session(member).await?;
    let (has, gets) = (
        number(&session, &at, 0).await?.unwrap_or(0),
        number(&session, &at, 1).await?.unwrap_or(0),
    );
    let amount = member.dice.below(has + 1);
    member.set(&session, &at, 0, has - amount).await?;
    wait(member).await;
    member.set(&session, &at, 1, gets + amount).await?;
    wait(member).await;
    if let Landing::Landed(id) = commit(member, &session, "a slow transfer").await? {
        member.note_commit(id);
    }
    Ok(())
}

async fn wait(member: &Member) {
    let minutes = member.dice.below(20 * 60);
    member.clock.sleep(Duration::from_secs(60 * minutes)).await;
}

/// Lets a fork fill a cell as another process would, beside the session itself.
pub(super) async fn fork(member: &Member, round: u64) -> Round {
    let at = path(FORKS)?;
    let session = session(member).await?;
    let value = (member.number as u64) << 40 | (round + 1);
    let cells = [
        member.dice.below(u64::from(CELLS)) as u32,
        member.dice.below(u64::from(CELLS)) as u32,
    ];
    member.set(&session, &at, cells[0], value).await?;
    let bytes = session
        .fork()
        .map_err(trouble)?
        .to_bytes()
        .await
        .map_err(trouble)?;
    let answer = elsewhere(member, &bytes, &at, cells[1], value).await?;
    let merged = session
        .merge_forks([answer.as_ref()], VersionSelection::Fail)
        .await
        .map_err(trouble)?;
    if matches!(merged, MergeOutcome::Conflicts(_)) {
        require(cells[0] == cells[1], || {
            "a fork collides with what it did not touch".to_owned()
        })?;
        return Ok(());
    }
    if let Landing::Landed(id) = commit(member, &session, "forks").await? {
        member.note_commit(id);
        let mut known = member.facts.lock();
        known.figures.merges += 1;
    }
    Ok(())
}

async fn elsewhere(
    member: &Member,
    fork: &[u8],
    at: &NodePath,
    cell: u32,
    value: u64,
) -> Round<icefield_storage::Bytes> {
    let repository = member.open().await?;
    let fork = repository.open_fork(fork).await.map_err(trouble)?;
    member.set(&fork, at, cell, value).await?;
    fork.to_answer().await.map_err(trouble)
}
