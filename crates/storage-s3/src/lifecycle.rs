//! The effects that the life-cycle rules of a bucket would have on a repository in it.

use aws_sdk_s3::types::{
    ExpirationStatus, LifecycleRule, LifecycleRuleFilter, Transition, TransitionStorageClass,
};
use icefield_storage::Advice;
use icefield_storage::remote::Fault;

use crate::bucket::{Bucket, Labels};
use crate::fault::answer_of;

/// Where a repository keeps its chunks.
const CHUNKS: &str = "chunks/";
/// Where it keeps everything else.
const METADATA: [&str; 6] = [
    "config.yaml",
    "manifests/",
    "refs/",
    "repo",
    "snapshots/",
    "transactions/",
];

impl Bucket {
    /// Reads the rules of the bucket, and says what matters of them.
    pub(crate) async fn read_advice(&self) -> Result<Vec<Advice>, Fault> {
        let generation = self.generation();
        let request = self
            .client
            .get_bucket_lifecycle_configuration()
            .bucket(&self.bucket)
            .customize()
            .mutate_request(self.stamp());
        match request.send().await {
            Ok(found) => Ok(self.advise(found.rules())),
            Err(error) => match answer_of(&error).map(|answer| (answer.status, answer.code)) {
                Some((_, code)) if code == "NoSuchLifecycleConfiguration" => Ok(self.advise(&[])),
                // Many servers have no such rules.
                Some((405 | 501, _)) => Ok(Vec::new()),
                Some((_, code)) if code == "NotImplemented" => Ok(Vec::new()),
                Some((401 | 403, _)) => Ok(vec![Advice::hint(
                    "the life-cycle rules of the bucket may not be read (s3:GetLifecycleConfiguration): see to it that \
                     none of them deletes or archives what is below the prefix of the repository",
                )]),
                _ => Err(self.fault("read the life-cycle rules of", None, generation, error)),
            },
        }
    }

    fn advise(&self, rules: &[LifecycleRule]) -> Vec<Advice> {
        let root = match self.prefix.is_all() {
            true => String::new(),
            false => format!("{}/", self.prefix),
        };
        let mut advice = Vec::new();
        let mut ends_uploads = false;
        for rule in rules {
            if *rule.status() != ExpirationStatus::Enabled {
                continue;
            }
            let met = met_by(rule, &root, &self.metadata, &self.chunks);
            if met.is_empty() {
                continue;
            }
            let days = rule.abort_incomplete_multipart_upload();
            ends_uploads |= days.is_some_and(|it| it.days_after_initiation().is_some());
            let name = match rule.id() {
                Some(id) => format!("the life-cycle rule {id:?} of the bucket"),
                None => "a life-cycle rule of the bucket".to_owned(),
            };
            if let Some(expiration) = rule.expiration()
                && let Some(when) = when(expiration.days(), expiration.date().is_some())
            {
                advice.push(Advice::warning(format!(
                    "{name} deletes {met} {when}: versions that need them cannot be read any more. Take the rule away, \
                     or keep it from what is below the prefix of the repository"
                )));
            }
            for transition in rule.transitions() {
                if let Some(class) = archive(transition)
                    && let Some(when) = when(transition.days(), transition.date().is_some())
                {
                    advice.push(Advice::warning(format!(
                        "{name} moves {met} to {class} {when}, from where they cannot be read until they are restored"
                    )));
                }
            }
        }
        if !ends_uploads {
            advice.push(Advice::hint(
                "no life-cycle rule of the bucket ends uploads in parts that a killed process left: they cost, and are \
                 not seen. A rule AbortIncompleteMultipartUpload after some days removes them",
            ));
        }
        advice
    }
}

/// Which objects of a repository a rule meets, in words; empty if none.
fn met_by(rule: &LifecycleRule, root: &str, metadata: &Labels, chunks: &Labels) -> &'static str {
    let filter = rule.filter();
    let both = filter.and_then(LifecycleRuleFilter::and);
    #[expect(deprecated, reason = "old rules have their prefix there")]
    let prefix = filter
        .and_then(LifecycleRuleFilter::prefix)
        .or_else(|| both?.prefix())
        .or_else(|| rule.prefix())
        .unwrap_or_default();
    let tag = filter.and_then(LifecycleRuleFilter::tag);
    let tags = both.map(|both| both.tags()).unwrap_or_default();
    let wanted = || tag.into_iter().chain(tags);
    // A prefix of a rule is text, not a folder.
    let meets = |folder: &str| folder.starts_with(prefix) || prefix.starts_with(folder);
    let has = |labels: &Labels| {
        wanted().all(|tag| labels.tags.get(tag.key()).map(String::as_str) == Some(tag.value()))
    };
    let in_chunks = meets(&format!("{root}{CHUNKS}")) && has(chunks);
    let elsewhere = METADATA.iter().any(|name| meets(&format!("{root}{name}"))) && has(metadata);
    match (in_chunks, elsewhere) {
        (true, true) => "chunks and metadata",
        (true, false) => "chunks",
        (false, true) => "metadata",
        (false, false) => "",
    }
}

fn when(days: Option<i32>, date: bool) -> Option<String> {
    match (days, date) {
        (Some(1), _) => Some("a day after they are written".to_owned()),
        (Some(days), _) => Some(format!("{days} days after they are written")),
        (None, true) => Some("from a date on".to_owned()),
        (None, false) => None,
    }
}

/// The name of a class of storage that objects have to be restored from.
fn archive(transition: &Transition) -> Option<&str> {
    let class = transition.storage_class()?;
    let slow = matches!(
        class,
        TransitionStorageClass::Glacier | TransitionStorageClass::DeepArchive
    );
    slow.then(|| class.as_str())
}

#[cfg(test)]
mod tests {
    use aws_sdk_s3::types::{LifecycleRuleAndOperator, Tag};

    use super::*;

    fn labels(tags: &[(&str, &str)]) -> Labels {
        Labels {
            storage_class: None,
            tags: tags
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        }
    }

    fn rule(prefix: &str, tags: &[(&str, &str)]) -> LifecycleRule {
        let tag = |(name, value): &(&str, &str)| {
            let tag = Tag::builder().key(*name).value(*value).build();
            tag.expect("both are there")
        };
        let both = LifecycleRuleAndOperator::builder()
            .prefix(prefix)
            .set_tags(Some(tags.iter().map(tag).collect()))
            .build();
        let filter = LifecycleRuleFilter::builder().and(both).build();
        let rule = LifecycleRule::builder()
            .status(ExpirationStatus::Enabled)
            .filter(filter);
        rule.build().expect("it has a status")
    }

    #[test]
    fn a_rule_meets_by_prefix_and_all_of_its_tags() {
        let (cold, none) = (labels(&[("tier", "cold"), ("by", "us")]), labels(&[]));
        for (prefix, tags, met) in [
            ("", &[][..], "chunks and metadata"),
            ("se", &[], "chunks and metadata"),
            ("sea/", &[], "chunks and metadata"),
            ("sea/chunks", &[], "chunks"),
            ("sea/chunks/0", &[], "chunks"),
            ("sea/manifests/", &[], "metadata"),
            ("seaweed/", &[], ""),
            ("other", &[], ""),
            ("", &[("tier", "cold")], "chunks"),
            ("", &[("tier", "cold"), ("by", "us")], "chunks"),
            ("", &[("tier", "cold"), ("by", "them")], ""),
            ("", &[("tier", "warm")], ""),
            ("sea/manifests/", &[("tier", "cold")], ""),
        ] {
            let found = met_by(&rule(prefix, tags), "sea/", &none, &cold);
            assert_eq!(found, met, "{prefix:?} {tags:?}");
        }
        assert_eq!(met_by(&rule("chunks/", &[]), "", &none, &cold), "chunks");
    }
}
