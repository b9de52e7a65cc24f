//! Distributed imports: surveys of sources, a plan from the surveys, and shares that workers do in forks.

use std::sync::Arc;

use icefield::ingest::{ImportError, ImportReport, Share, Source, Survey};
use icefield::{Interrupt, Schemes, SourceLocation, SourceName};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use super::import::{containers, described, importer, locations, opened, planned, reported};
use super::options;
use super::progress::PythonProgress;
use crate::errors::Failure;
use crate::session::Session;
use crate::task::{BEGINS_ANEW, Task, begin_interruptible};

/// A share of a plan: the numbers of the sources that it reads, and its bytes.
type Divided = (Vec<usize>, Vec<u8>);

/// Expands patterns in the names of sources. Other names stay.
#[pyfunction]
pub(crate) fn expand_sources(py: Python<'_>, names: Vec<String>) -> PyResult<Task> {
    let interrupt = Interrupt::new();
    begin_interruptible(py, interrupt.clone(), BEGINS_ANEW, async move {
        let schemes = Schemes::standard();
        let mut sources = Vec::new();
        for text in names {
            let name = SourceName::parse(&text).map_err(icefield::Error::from)?;
            let names = [name];
            let found = interrupt.unless(schemes.expand(&names)).await??;
            match SourceLocation::parse(&text) {
                Ok(literal) if found.first() == Some(&literal) => sources.push(text),
                _ => sources.extend(found.iter().map(|it| it.location.to_string())),
            }
        }
        Ok(sources)
    })
}

/// Surveys some sources of an import for its plan, which a worker may do with a fork. `what` is the same as for `import_files`.
#[pyfunction]
pub(crate) fn survey_sources(
    py: Python<'_>,
    session: &Session,
    sources: Vec<String>,
    what: &str,
) -> PyResult<Task> {
    let access = session.repository()?.virtual_access().clone();
    let what = options(what)?;
    let sources = locations(&sources, &what)?;
    let interrupt = Interrupt::new();
    begin_interruptible(py, interrupt.clone(), BEGINS_ANEW, async move {
        let (sources, _) = opened(&sources, access, &what, &interrupt).await?;
        let import = described(&what, sources, &no_progress())?.interruptible(&interrupt);
        let survey = match what["plan"].as_bool() {
            Some(true) => import.survey_chunks().await,
            _ => import.survey().await,
        };
        let survey = survey.map_err(icefield::Error::from)?;
        let sent = survey.to_bytes().map_err(icefield::Error::from)?;
        Ok(sent.to_vec())
    })
}

/// Plans an import from surveys, stages its documents in a session, adds the containers that it needs to the repository, and
/// divides it into at most `count` shares. Returns the one to do before the others, if there is one, the others, and the fields
/// of `ImportReport` as far as they are known, as a JSON object.
#[pyfunction]
pub(crate) fn divide_import(
    py: Python<'_>,
    session: &Session,
    surveys: Vec<PyBackedBytes>,
    what: &str,
    count: usize,
) -> PyResult<Task> {
    let (repository, session) = (session.repository()?.clone(), session.handle()?);
    let what = options(what)?;
    let interrupt = Interrupt::new();
    begin_interruptible(py, interrupt.clone(), BEGINS_ANEW, async move {
        let import =
            described(&what, surveyed(surveys)?, &no_progress())?.interruptible(&interrupt);
        let shares = match import.shares(&session, count).await {
            Err(ImportError::NothingToDo { skipped, .. }) => {
                let mut report = ImportReport::default();
                report.skipped = skipped;
                let report = reported(&report, None, &containers(&repository).await?);
                return Ok((None, Vec::new(), report.to_string()));
            }
            Err(ImportError::NothingNew { .. }) => {
                let report = reported(
                    &ImportReport::default(),
                    None,
                    &containers(&repository).await?,
                );
                return Ok((None, Vec::new(), report.to_string()));
            }
            shares => shares.map_err(icefield::Error::from)?,
        };
        let importer = importer(&repository, repository.virtual_access().clone()).await?;
        let added = import.add_containers(&importer).await;
        added.map_err(icefield::Error::from)?;
        let sent = |share: &Share| -> Result<Divided, icefield::Error> {
            Ok((share.sources().collect(), share.to_bytes()?.to_vec()))
        };
        let first = shares.first.as_ref().map(sent).transpose()?;
        let others: Vec<Divided> = shares.others.iter().map(sent).collect::<Result<_, _>>()?;
        let report = reported(&shares.report, None, &containers(&repository).await?);
        Ok((first, others, report.to_string()))
    })
}

/// Says what an import of surveys would do, which list chunks. Returns the fields of `ImportPlan` in the module `icefield`, as a
/// JSON object.
#[pyfunction]
pub(crate) fn plan_import(
    py: Python<'_>,
    session: &Session,
    surveys: Vec<PyBackedBytes>,
    what: &str,
) -> PyResult<Task> {
    let session = session.handle()?;
    let what = options(what)?;
    let interrupt = Interrupt::new();
    begin_interruptible(py, interrupt.clone(), BEGINS_ANEW, async move {
        let import =
            described(&what, surveyed(surveys)?, &no_progress())?.interruptible(&interrupt);
        planned(import.plan_in(&session).await)
    })
}

/// The sources of surveys, in order.
fn surveyed(surveys: Vec<PyBackedBytes>) -> Result<Vec<Arc<dyn Source>>, Failure> {
    let mut sources: Vec<Arc<dyn Source>> = Vec::new();
    for survey in surveys {
        let survey = Survey::from_bytes(&survey).map_err(icefield::Error::from)?;
        sources.extend(survey.sources());
    }
    Ok(sources)
}

/// Does a share of an import with its sources, in a fork of its own of what a fork has, which may refer to chunks `beside` which some
/// sources lie. Returns the answer of that, and the fields of `ImportReport` for the share, as a JSON object.
#[pyfunction]
pub(crate) fn run_share(
    py: Python<'_>,
    session: &Session,
    share: PyBackedBytes,
    sources: (Vec<String>, Vec<String>),
    what: &str,
) -> PyResult<Task> {
    let (repository, session) = (session.repository()?.clone(), session.handle()?);
    let what = options(what)?;
    let (sources, beside) = (locations(&sources.0, &what)?, locations(&sources.1, &what)?);
    let interrupt = Interrupt::new();
    begin_interruptible(py, interrupt.clone(), BEGINS_ANEW, async move {
        let share = Share::from_bytes(&share).map_err(icefield::Error::from)?;
        let access = repository.virtual_access().clone();
        let (sources, granted) = opened(&sources, access, &what, &interrupt).await?;
        let (_, granted) = opened(&beside, granted, &what, &interrupt).await?;
        let importer = importer(&repository, granted).await?;
        let fork = importer.open_fork(&session.to_bytes().await?).await?;
        let import = described(&what, sources, &no_progress())?.interruptible(&interrupt);
        let report = import.run_share(&share, &fork).await;
        let report = report.map_err(icefield::Error::from)?;
        let answer = fork.to_answer().await?;
        Ok((answer.to_vec(), reported(&report, None, &[]).to_string()))
    })
}

/// A worker reports no progress.
fn no_progress() -> Arc<PythonProgress> {
    Arc::new(PythonProgress::new(None, "copying"))
}
