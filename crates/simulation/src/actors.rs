//! The work of each process, round after round.

mod maintenance;
mod readers;
mod refs;
mod writers;

use crate::fleet::Ended;
use crate::member::{Member, Round, Trouble};
use crate::scenario::Role;

/// Does all rounds of an actor.
pub(crate) async fn act(role: Role, rounds: u32, life: u32, member: Member) -> Ended {
    // A process that was started again does fewer rounds, so that the run ends.
    for round in 0..rounds.saturating_sub(life) {
        member.think().await;
        let number = u64::from(life) << 32 | u64::from(round);
        match once(role, number, &member).await {
            Ok(()) => {}
            Err(Trouble::Later) => member.facts.lock().figures.failed += 1,
            Err(Trouble::Broken(rule)) => return Err(rule),
        }
    }
    Ok(())
}

async fn once(role: Role, round: u64, member: &Member) -> Round {
    match role {
        Role::Bank => writers::transfer(member).await,
        Role::Ledger => writers::append(member, round).await,
        Role::Window => writers::roll(member).await,
        Role::Register => match member.dice.below(2) {
            0 => writers::count(member).await,
            _ => readers::read_register(member).await,
        },
        Role::Slow => writers::wait_and_commit(member).await,
        Role::Forks => writers::fork(member, round).await,
        Role::Reader => readers::read(member).await,
        Role::Refs => refs::administrate(member, round).await,
        Role::Settings => refs::configure(member).await,
        Role::Collector => maintenance::collect(member).await,
        Role::Expirer => maintenance::expire(member).await,
        Role::Copier => maintenance::copy(member).await,
        Role::Upgrader => maintenance::upgrade(member).await,
    }
}
