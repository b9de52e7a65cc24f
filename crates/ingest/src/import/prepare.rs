//! The plan of an import, made before anything is written: sources in order, their documents, the layout of arrays
//! that grow.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use icefield_core::{NodePath, Session};

use super::builder::Import;
use super::choices::{Encoding, Missing};
use super::layout::{Grown, Part};
use super::opened::Opened;
use super::origin::Origin;
use super::prepared::Prepared;
use super::rearrange::stored_as;
use super::{arrange, selection, times};
use crate::plan::{self, Along, Existing, document_error};
use crate::source::SharedNodes;
use crate::{Hierarchy, ImportError, LayoutError, PlanError, Source, SourceError};

impl Import {
    /// Finds out what to do.
    pub(super) async fn prepare(&self, session: &Session) -> Result<Prepared, ImportError> {
        let (mut prepared, mut shared) = (Prepared::default(), SharedNodes::default());
        let (mut unmet, mut unnamed) = (self.selection.named(), self.selection.renamed());
        for (given, source) in self.sources.iter().enumerate() {
            let mut hierarchy = source.hierarchy().await?;
            // Thousands of files are alike.
            shared.share(&mut hierarchy);
            unmet.retain(|(path, _)| !selection::has(&hierarchy, path));
            let hierarchy = self.chosen(hierarchy)?;
            prepared
                .report
                .omitted
                .extend(hierarchy.unsupported.clone());
            unnamed.retain(|(path, _)| !selection::has(&hierarchy, path));
            let one = self.opened(source, hierarchy)?;
            let (hierarchy, report) = (&one.hierarchy, &mut prepared.report);
            report.warnings.extend(hierarchy.warnings.clone());
            report.ignored.merge(hierarchy.ignored.clone());
            prepared.opened.push(Opened {
                origin: Origin::of(given),
                ..one
            });
        }
        if let Some((path, wish)) = unmet.first().or(unnamed.first()) {
            let path = (*path).clone();
            return Err(PlanError::NotInSources { path, wish }.into());
        }
        if let Encoding::Within(tolerance) = self.encoding
            && !(tolerance >= 0.0 && tolerance.is_finite())
        {
            return Err(PlanError::Tolerance { tolerance }.into());
        }
        if self.append.is_some() && !self.layout.is_kept() && !self.skip_existing {
            return Err(PlanError::from(LayoutError::Append).into());
        }
        let combined = self.combined(session, &mut prepared.opened);
        (prepared.dimension, prepared.first) = combined.await?;
        let dimension = prepared.dimension.clone();
        let dimension = dimension.as_deref();
        if let Some(dimension) = dimension {
            self.arrange(session, dimension, &mut prepared).await?;
        } else if self.encoding == Encoding::Unpacked {
            let none = times::Documents::new();
            prepared.encoded = self.encode(&mut prepared.opened, none).await?;
        }
        if let (Missing::Fill, Some(one)) = (self.missing, prepared.opened.first()) {
            let all = prepared.opened.iter().flat_map(|it| &it.hierarchy.nodes);
            self.check_copied(&*one.source, &all.collect())?;
        }
        self.plan_all(session, dimension, &mut prepared)?;
        Ok(prepared)
    }

    /// Leaves out of the nodes of one source what is not to be imported.
    pub(super) fn chosen(&self, hierarchy: Hierarchy) -> Result<Hierarchy, SourceError> {
        let hierarchy = self.selection.chosen(hierarchy);
        let first = hierarchy.unsupported.first();
        match first.filter(|_| !self.skip_unsupported) {
            Some(first) => Err(first.error()),
            None => Ok(hierarchy),
        }
    }

    /// Gives what is chosen of one source its new names.
    pub(super) fn opened(
        &self,
        source: &Arc<dyn Source>,
        chosen: Hierarchy,
    ) -> Result<Opened, ImportError> {
        let named = self.selection.named_anew(Arc::clone(source), chosen);
        let (source, hierarchy) = named.map_err(|error| self.about(source, error.into()))?;
        if self.missing == Missing::Refuse {
            self.check_copied(&*source, &hierarchy.nodes)?;
        }
        Ok(Opened::new(Origin::of(0), source, hierarchy))
    }

    fn check_copied<P: Borrow<NodePath> + Ord, T>(
        &self,
        source: &dyn Source,
        nodes: &BTreeMap<P, T>,
    ) -> Result<(), SourceError> {
        for copied in self.refers.iter().flatten() {
            if !nodes.contains_key(copied) {
                let reason = "it is to be copied, and there is no such array";
                return Err(SourceError::variable(&source.to_string(), copied, reason));
            }
        }
        Ok(())
    }

    /// Puts the sources in order, has their times in the same units, and says what of each is kept.
    async fn arrange(
        &self,
        session: &Session,
        dimension: &str,
        prepared: &mut Prepared,
    ) -> Result<(), ImportError> {
        if self.concat.as_deref() == Some(dimension) || self.append.is_some() {
            arrange::order(&mut prepared.opened, dimension, self.order).await?;
        }
        prepared.completed = self.complete(session, dimension, &mut prepared.opened)?;
        let targets = match (&self.append, &self.time_units) {
            (Some(_), _) => self.targets(session, &prepared.opened)?,
            (None, Some(units)) if self.concat.as_deref() == Some(dimension) => {
                arrange::with_units(&prepared.opened, dimension, units).await?
            }
            (None, _) => prepared
                .opened
                .first()
                .map(|first| times::documents(&first.hierarchy))
                .unwrap_or_default(),
        };
        if let (Some(_), Some(units)) = (&self.append, &self.time_units) {
            self.check_units(units, dimension, &targets)?;
        }
        for one in &mut prepared.opened {
            one.convert(&targets).await?;
        }
        prepared.targets = targets.clone();
        prepared.encoded = self.encode(&mut prepared.opened, targets).await?;
        // Stored numbers are those of the target now, and can be compared.
        if self.skip_existing && self.append.is_some() {
            self.leave_out_existing(session, dimension, prepared)
                .await?;
        }
        prepared.combined = self.combine_attributes(session, &mut prepared.opened)?;
        if self.unordered {
            return Ok(());
        }
        let group = &self.group;
        let existing = |path: &NodePath| -> Option<NodePath> {
            self.append.as_ref()?;
            let target = plan::target_path(group, path).ok()?;
            session.array(&target).is_ok().then_some(target)
        };
        let overlap = self.overlap;
        let found = arrange::places(&mut prepared.opened, dimension, overlap, session, existing);
        prepared.places = found.await?;
        Ok(())
    }

    /// The documents of the arrays that are appended to, by the paths of the sources.
    pub(super) fn targets(
        &self,
        session: &Session,
        opened: &[Opened],
    ) -> Result<times::Documents, ImportError> {
        let mut targets = times::Documents::new();
        for path in opened.iter().flat_map(|one| one.hierarchy.nodes.keys()) {
            let target = plan::target_path(&self.group, path)?;
            if let Some(document) = session.metadata(&target)? {
                let parsed = serde_json::from_slice(&document).map_err(document_error(&target))?;
                targets.insert(path.clone(), parsed);
            }
        }
        Ok(targets)
    }

    /// Checks that an append does not change the units of the repository.
    fn check_units(
        &self,
        units: &str,
        dimension: &str,
        targets: &times::Documents,
    ) -> Result<(), PlanError> {
        for (path, document) in targets {
            let name = path.as_str().rsplit('/').next();
            let there = document["attributes"]["units"].as_str();
            if name == Some(dimension) && there != Some(units) {
                return Err(PlanError::UnitsStay {
                    path: path.clone(),
                    existing: there.unwrap_or_default().to_owned(),
                    wanted: units.to_owned(),
                });
            }
        }
        Ok(())
    }

    fn plan_all(
        &self,
        session: &Session,
        dimension: Option<&str>,
        prepared: &mut Prepared,
    ) -> Result<(), ImportError> {
        let paths = prepared
            .opened
            .iter()
            .flat_map(|one| one.hierarchy.nodes.keys());
        let mut existing = self.existing(session, paths)?;
        existing.optional = prepared.completed.optional.clone();
        existing.takes_new = self.missing == Missing::Fill;
        for (path, document) in &prepared.combined.documents {
            existing.documents.insert(path.clone(), document.clone());
            prepared.documents.insert(path.clone(), document.clone());
        }
        let mut parts: BTreeMap<NodePath, Vec<Part>> = BTreeMap::new();
        let mut lengths = BTreeMap::new();
        for number in 0..prepared.opened.len() {
            let one = &prepared.opened[number];
            let along = dimension.map(|dimension| Along {
                dimension,
                kept: one.kept.clone(),
            });
            let planned = match &along {
                Some(along) if number > 0 || self.append.is_some() => {
                    plan::append(&one.hierarchy, &self.group, along, &existing)
                }
                along => plan::create(&one.hierarchy, &self.group, along.as_ref(), &existing),
            };
            let mut plan = planned.map_err(|error| self.about(&one.source, error))?;
            if number == 0 && self.append.is_none() {
                self.narrow(&mut existing, &one.hierarchy.nodes)?;
                let mut documents = prepared.completed.documents.clone();
                documents.extend(prepared.encoded.documents.clone());
                stored_as(&mut plan, &self.group, &documents)?;
                let dimension = dimension.unwrap_or_default();
                self.rearrange(&mut plan, &prepared.opened, dimension)?;
            }
            plan.explain(&one.reencoded);
            for growth in std::mem::take(&mut plan.growths) {
                let path = growth.to.clone();
                lengths.entry(path.clone()).or_insert(growth.at);
                parts
                    .entry(path)
                    .or_default()
                    .push(Part::new(number, growth));
            }
            let transfers = std::mem::take(&mut plan.transfers).into_iter();
            prepared.transfers.extend(transfers.map(|it| (number, it)));
            for (path, document) in &plan.documents {
                existing.note(path, document);
            }
            prepared.add(plan);
        }
        for (path, parts) in parts {
            let existing = lengths.get(&path).copied().unwrap_or(0);
            self.grow(
                path,
                existing,
                parts,
                dimension.unwrap_or_default(),
                prepared,
            )?;
        }
        prepared.compare_what_is_put_together();
        Ok(())
    }

    /// Leaves only the arrays that came from the first source: others have nothing to do with the next ones, and do not
    /// grow.
    fn narrow<T>(
        &self,
        existing: &mut Existing,
        first: &BTreeMap<NodePath, T>,
    ) -> Result<(), PlanError> {
        let ours = first
            .keys()
            .map(|path| plan::target_path(&self.group, path));
        let ours = ours.collect::<Result<BTreeSet<_>, _>>()?;
        existing.narrow(&ours);
        Ok(())
    }

    fn grow(
        &self,
        path: NodePath,
        existing: u64,
        parts: Vec<Part>,
        dimension: &str,
        prepared: &mut Prepared,
    ) -> Result<(), ImportError> {
        let Some(document) = prepared.documents.get(&path).cloned() else {
            return Ok(());
        };
        let Some(grown) = Grown::new(path, existing, document, parts) else {
            return Ok(());
        };
        let layout = grown.layout();
        for part in &grown.parts {
            let source = &prepared.opened[part.source].source;
            let checked = self.check_references(&grown, part, &**source, dimension);
            checked.map_err(|error| self.about(source, error.into()))?;
        }
        prepared.grown.push((grown, layout));
        Ok(())
    }

    /// Of what is referred to, the chunks must be those of the array, but for those at seams.
    fn check_references(
        &self,
        grown: &Grown,
        part: &Part,
        source: &dyn Source,
        dimension: &str,
    ) -> Result<(), PlanError> {
        let growth = &part.growth;
        if growth.length() == 0 || !self.refers_to(&growth.from, &growth.array, source) {
            return Ok(());
        }
        if let Some(difference) = &growth.recoded {
            return Err(PlanError::Recoded {
                path: growth.from.clone(),
                difference: difference.clone(),
            });
        }
        match grown.is_aligned(part) {
            true => Ok(()),
            false => Err(PlanError::Misaligned {
                path: growth.from.clone(),
                dimension: dimension.to_owned(),
                begins: growth.at,
                chunk: grown.chunk(),
            }),
        }
    }

    /// Whether the chunks of an array are referred to where they lie.
    pub(super) fn refers_to(
        &self,
        from: &NodePath,
        array: &icefield_core::ArrayMetadata,
        source: &dyn Source,
    ) -> bool {
        let Some(copied) = &self.refers else {
            return false;
        };
        !copied.contains(from)
            && plan::coordinate(from, array).is_none()
            && !source.is_at_hand(from)
    }
}
