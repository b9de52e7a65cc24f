//! `icefield expire`

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use icefield::SnapshotId;
use icefield::maintenance::{self, ExpireError, Expired, Fate, Plan, Reason};
use icefield::storage::with_causes;
use serde::Serialize;

use super::Context;
use crate::args::Expire;
use crate::failure::{Exit, Failure};
use crate::interrupt::on_ctrl_c;
use crate::output::escape::printable;
use crate::output::{self, Output, count};
use crate::progress::StepProgress;

#[derive(Serialize)]
struct ExpireFacts {
    location: String,
    dry_run: bool,
    /// Snapshots older than this may expire; null if age does not count.
    older_than: Option<String>,
    /// The snapshots, newest last.
    snapshots: Vec<SnapshotFate>,
    kept: u64,
    expired: u64,
    /// The number of snapshots that get another parent.
    rewritten: u64,
    deleted_branches: Vec<String>,
    deleted_tags: Vec<String>,
    /// Snapshots that keep their parent, because the changes since an older one are unknown.
    stuck: Vec<UnchangedParent>,
}

#[derive(Serialize)]
struct UnchangedParent {
    id: SnapshotId,
    parent: SnapshotId,
    reason: String,
}

#[derive(Serialize)]
struct SnapshotFate {
    id: SnapshotId,
    written_at: String,
    message: String,
    stays: bool,
    reasons: BTreeSet<Reason>,
    /// The refs of the repository at the time of the plan.
    refs: Vec<String>,
}

pub(super) async fn run(context: &Context, args: Expire) -> Result<(), Failure> {
    let repository = context.open(&args.location).await?;
    let mut policy = args.keep.clone().unwrap_or_default();
    policy.last = args.keep_last.unwrap_or_default();
    policy.older_than = args
        .older_than
        .map(|when| when.at(repository.clock().now()));
    let older_than = policy.older_than.map(output::time);
    let mut expire = maintenance::Expire::new(policy)
        .delete_expired_branches(args.delete_expired_branches)
        .delete_expired_tags(args.delete_expired_tags)
        .interruptible(&on_ctrl_c());
    if !args.branch.is_empty() {
        expire = expire.branches(args.branch);
    }
    let bar = StepProgress::new();
    let planned = match args.dry_run {
        true => expire
            .plan(&repository, &bar)
            .await
            .map(|it| (it, Vec::new())),
        false => {
            (expire.run(&repository, &bar).await).map(|Expired { plan, stuck, .. }| (plan, stuck))
        }
    };
    bar.clear();
    let (plan, stuck) = planned.map_err(failed)?;
    let mut refs: BTreeMap<SnapshotId, Vec<String>> = BTreeMap::new();
    for (name, id) in plan.pointers() {
        refs.entry(id).or_default().push(name);
    }
    let facts = ExpireFacts {
        location: output::location(&args.location),
        dry_run: args.dry_run,
        older_than,
        kept: plan.snapshots.len() as u64 - plan.released(),
        expired: plan.released(),
        rewritten: plan.new_parents.len() as u64,
        deleted_branches: plan.branches.iter().map(ToString::to_string).collect(),
        deleted_tags: plan.tags.iter().map(ToString::to_string).collect(),
        snapshots: listed(plan, &mut refs),
        stuck: (stuck.into_iter())
            .map(|it| UnchangedParent {
                id: it.id,
                parent: it.parent,
                reason: it.reason,
            })
            .collect(),
    };
    Output::new(args.output).facts(&facts, text)?;
    match facts.stuck.len() as u64 {
        0 => Ok(()),
        stuck => {
            let snapshots = count(
                stuck,
                "snapshot keeps its parent",
                "snapshots keep their parents",
            );
            let said = format!("{snapshots}: the objects that record the changes are lost");
            Err(Failure::new(Exit::Damage, said)
                .hint("`icefield fsck LOCATION` names the lost objects"))
        }
    }
}

fn listed(plan: Plan, refs: &mut BTreeMap<SnapshotId, Vec<String>>) -> Vec<SnapshotFate> {
    let mut fates: Vec<Fate> = plan.snapshots;
    // The stable sort keeps each snapshot behind its parent if times are equal.
    fates.sort_by_key(|fate| fate.written_at);
    let snapshot = |fate: Fate| SnapshotFate {
        id: fate.id,
        written_at: output::time(fate.written_at),
        stays: fate.stays(),
        message: fate.message,
        reasons: fate.reasons,
        refs: refs.remove(&fate.id).unwrap_or_default(),
    };
    fates.into_iter().map(snapshot).collect()
}

fn text(facts: &ExpireFacts, out: &mut dyn Write) -> io::Result<()> {
    if facts.dry_run {
        for one in facts.snapshots.iter().rev() {
            let fate = if one.stays { "stays" } else { "goes " };
            let (id, time, why) = (one.id, &one.written_at, why(one, facts));
            let message = one.message.lines().next().unwrap_or_default();
            writeln!(
                out,
                "{fate} {id} {time} ({}) {}",
                printable(&why),
                printable(message)
            )?;
        }
    }
    let would = |done: &str, planned: &str| match facts.dry_run {
        true => planned.to_owned(),
        false => done.to_owned(),
    };
    for (kind, names) in [
        ("branch", &facts.deleted_branches),
        ("tag", &facts.deleted_tags),
    ] {
        for name in names {
            let done = would("deleted", "would delete");
            writeln!(out, "{done} {kind} {}", printable(name))?;
        }
    }
    for one in &facts.stuck {
        let (id, parent, reason) = (one.id, one.parent, printable(&one.reason));
        writeln!(out, "stuck {id} behind {parent}: {reason}")?;
    }
    let expired = count(facts.expired, "snapshot", "snapshots");
    let verb = would("expired", "would expire");
    let (kept, rewritten) = (facts.kept, facts.rewritten);
    let stay = if kept == 1 { "stays" } else { "stay" };
    writeln!(
        out,
        "{expired} {verb}, {kept} {stay}; {rewritten} with another parent"
    )
}

/// Returns the reason why a snapshot stays or goes.
fn why(one: &SnapshotFate, facts: &ExpireFacts) -> String {
    if !one.stays {
        return match &facts.older_than {
            Some(bound) => format!("older than {bound}"),
            None => "no rule keeps it".to_owned(),
        };
    }
    let reasons = one.reasons.iter().map(|reason| match reason {
        Reason::First => "first of the repository".to_owned(),
        Reason::Ref => one.refs.join(", "),
        Reason::Young => match &facts.older_than {
            Some(bound) => format!("not older than {bound}"),
            None => "young".to_owned(),
        },
        Reason::Last => "one of the last of a branch".to_owned(),
        Reason::Hourly => "last of an hour".to_owned(),
        Reason::Daily => "last of a day".to_owned(),
        Reason::Weekly => "last of a week".to_owned(),
        Reason::Monthly => "last of a month".to_owned(),
        Reason::Yearly => "last of a year".to_owned(),
        Reason::NotAsked => "not in the branches asked for alone".to_owned(),
        Reason::Stuck => "behind one that keeps its parent".to_owned(),
        _ => "kept".to_owned(),
    });
    reasons.collect::<Vec<_>>().join("; ")
}

fn failed(error: ExpireError) -> Failure {
    let said = with_causes(&error);
    match error {
        ExpireError::Refs(error) => error.into(),
        ExpireError::Repository(error) => error.into(),
        ExpireError::Storage(error) => icefield::RepositoryError::from(error).into(),
        ExpireError::FutureBound { bound, now, clock } => {
            let (bound, now) = (output::time(bound), output::time(now));
            let said = format!("the bound {bound} lies in the future: {clock} shows {now}");
            Failure::new(Exit::Usage, said).hint("give a bound that has passed")
        }
        ExpireError::ClocksApart(apart) => {
            Failure::new(Exit::Failure, said).hint(super::gc::clocks(&apart))
        }
        ExpireError::NoRules => Failure::new(Exit::Usage, said)
            .hint("--older-than WHEN, --keep-last N and --keep PERIODS are rules; --dry-run shows their effect"),
        ExpireError::PutBack => Failure::new(Exit::Damage, said)
            .hint("`icefield fsck` names the snapshots that `repo` does not list"),
        ExpireError::NoBound => Failure::new(Exit::Usage, said),
        ExpireError::Interrupted(_) => Failure::new(Exit::Interrupted, said),
        ExpireError::Busy { .. } => Failure::new(Exit::Conflict, said),
        ExpireError::Unknown { .. } => Failure::new(Exit::Unknown, said),
        _ => Failure::new(Exit::Failure, said),
    }
}
