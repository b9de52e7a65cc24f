//! The object `repo` of spec version 2: its refs, its configuration and status, and the operations log through its
//! backups.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::SystemTime;

use icefield_format::{Availability, DecodeLimits, RepoInfo, layout};
use icefield_refs::{FollowedLog, PageProblem, time_of_micros};
use icefield_storage::{Storage, with_causes};

use super::error::CheckError;
use super::finding::{Finding, FindingKind};
use super::objects::Parents;
use super::refs::{Found, Target};
use super::root::ObjectRoot;

/// How far the newest entry of a log may be ahead of the clock.
const TOLERANCE: std::time::Duration = std::time::Duration::from_secs(600);

/// Reads the refs of a state, and checks what else the object holds.
pub(super) async fn read(
    storage: &Arc<dyn Storage>,
    root: &ObjectRoot,
    now: SystemTime,
) -> Result<Found, CheckError> {
    let mut found = Found::nothing(match &root.info {
        Some(info) => Parents::Listed(Arc::clone(info)),
        None => Parents::Unknown,
    });
    if let Some(wrong) = &root.wrong {
        let rule = match &root.earlier {
            Some(earlier) => format!(
                "{}; overwritten/{} is the newest sound backup, {}, which this check goes by",
                wrong.rule,
                earlier.name,
                passed_over(earlier.passed_over)
            ),
            None => format!("{}; overwritten/ has no sound backup of it", wrong.rule),
        };
        let mut finding = Finding::new(wrong.kind, layout::REPO, rule);
        if root.earlier.is_none() {
            finding = finding.advise(
                "put a copy of the object back: branches, tags and histories are written nowhere else",
            );
        }
        found.findings.push(finding);
    }
    if root.has_refs {
        let rule = "programs take this for a repository of spec version 2, and do not read them";
        let finding = Finding::new(FindingKind::RefsBesideRepo, layout::REFS, rule);
        found.findings.push(finding);
    }
    let Some(info) = &root.info else {
        found.may_have_more = true;
        return Ok(found);
    };
    refs(&mut found, info);
    content(&mut found, info);
    let followed = FollowedLog::of(&**storage, info).await?;
    log(&mut found, root, info, &followed, now);
    let first = followed.oldest_at;
    if followed.broken.is_none()
        && followed.out_of_order.is_empty()
        && let Some(name) = root.backups.older_than(&**storage, first).await?
    {
        let rule = "it is a sound backup, and older than the first entry of the operations log";
        let key = layout::overwritten_key(&name);
        found
            .findings
            .push(Finding::new(FindingKind::RepoAnew, key, rule));
    }
    Ok(found)
}

fn passed_over(count: usize) -> String {
    match count {
        0 => "the newest of all".to_owned(),
        1 => "after one that is none".to_owned(),
        more => format!("after {more} that are none"),
    }
}

fn refs(found: &mut Found, info: &RepoInfo) {
    let branches = info
        .branches()
        .map(|(name, id)| (format!("branch:{name}"), id));
    let tags = info.tags().map(|(name, id)| (format!("tag:{name}"), id));
    for (name, snapshot) in branches.chain(tags) {
        found.count += 1;
        found.targets.push(Target {
            name,
            key: layout::REPO.to_owned(),
            snapshot,
        });
    }
    for (name, _) in info.tags().filter(|(name, _)| info.is_deleted_tag(name)) {
        let rule = format!("the tag {name} is there, and its name is among those of deleted tags");
        let label = format!("tag:{name}");
        let finding = Finding::new(FindingKind::TagDeletedToo, layout::REPO, rule);
        found.findings.push(finding.by(label));
    }
}

fn content(found: &mut Found, info: &RepoInfo) {
    match info.config() {
        Ok(config) => found.config = Some(config.unwrap_or_default()),
        Err(error) => {
            let finding = Finding::new(
                FindingKind::ConfigDamaged,
                layout::REPO,
                with_causes(&error),
            );
            found.findings.push(finding.advise(
                "the repository does not open with it: a backup in overwritten/ may have one that can be read",
            ));
        }
    }
    let mut find = |kind, rule: String| {
        found.findings.push(Finding::new(kind, layout::REPO, rule));
    };
    if let Err(error) = info.metadata(DecodeLimits::default().max_metadata) {
        find(FindingKind::RepoMetadataDamaged, with_causes(&error));
    }
    let status = info.status();
    let word = match status.availability {
        Availability::Online => None,
        Availability::ReadOnly => Some("it is read-only".to_owned()),
        Availability::Offline => Some("it is offline".to_owned()),
        other => Some(format!("its status is {other:?}, which is not known")),
    };
    if let Some(word) = word {
        let reason = status.reason.as_deref().map(|it| format!(": {it}"));
        find(
            FindingKind::RepoNotOnline,
            word + &reason.unwrap_or_default(),
        );
    }
    let set = info.flags().set().map(|(flag, _)| flag);
    let unknown: BTreeSet<u16> = set
        .filter(|it| it.name().is_none())
        .map(|it| it.0)
        .collect();
    if !unknown.is_empty() {
        find(
            FindingKind::FlagUnknown,
            format!("it sets the flags {unknown:?}"),
        );
    }
}

fn log(
    found: &mut Found,
    root: &ObjectRoot,
    info: &RepoInfo,
    followed: &FollowedLog,
    now: SystemTime,
) {
    let mut find = |kind, key: String, rule: String, count: usize| {
        let finding = Finding::new(kind, key, rule);
        found.findings.push(finding.times(count as u64));
    };
    let repo = || layout::REPO.to_owned();
    if let Some((page, problem)) = &followed.broken {
        let why = match problem {
            PageProblem::Missing => "it does not exist".to_owned(),
            PageProblem::Damaged(error) => with_causes(error),
            PageProblem::Repeated => "the log has been there before".to_owned(),
        };
        let rule = format!(
            "the log goes on in it after {} entries, and {why}",
            followed.entries
        );
        find(
            FindingKind::OpsLogBroken,
            layout::overwritten_key(page),
            rule,
            1,
        );
    }
    let there = root.backups.all.iter();
    let there: BTreeSet<&str> = there.map(|(name, _)| &**name).collect();
    for name in followed
        .named
        .iter()
        .filter(|name| !there.contains(name.as_str()))
    {
        let rule = "an entry of the operations log names it, and it does not exist";
        find(
            FindingKind::BackupMissing,
            layout::overwritten_key(name),
            rule.to_owned(),
            1,
        );
    }
    if let Some(first) = followed.out_of_order.first() {
        let rule = format!(
            "the entry {:?} is not older than the one after it",
            first.kind
        );
        find(
            FindingKind::OpsLogTimes,
            repo(),
            rule,
            followed.out_of_order.len(),
        );
    }
    let newest = time_of_micros(info.log().newest_at());
    if let Ok(ahead) = newest.duration_since(now)
        && ahead > TOLERANCE
    {
        let rule = format!("its newest entry is {} s ahead", ahead.as_secs());
        find(FindingKind::OpsLogAhead, repo(), rule, 1);
    }
    if !followed.unknown_kinds.is_empty() {
        let rule = format!(
            "its log has updates of the kinds {:?}",
            followed.unknown_kinds
        );
        find(
            FindingKind::UpdateUnknown,
            repo(),
            rule,
            followed.unknown_kinds.len(),
        );
    }
}
