//! `icefield ncdump`

use std::io::{BufWriter, Write};

use icefield::ingest::nczarr::cdl::{self, DataPrinter, PrintError, PrintOptions, Step};
use icefield::ingest::{NetcdfError, VariableReader, dataset_of};
use icefield::storage::with_causes;
use icefield::{Location, NodePath, Session};

use super::Context;
use crate::args::Ncdump;
use crate::failure::{Exit, Failure};

pub(super) async fn run(context: &Context, args: Ncdump) -> Result<(), Failure> {
    let (session, _) = context.session(&args.location, &args.at.revision).await?;
    let dataset = dataset_of(&session).map_err(failed)?;
    let name = args.name.clone().unwrap_or_else(|| name_of(&args.location));
    let mut options = PrintOptions::named(&name);
    options.header_only = args.header;
    options.coordinates_only = args.coordinates;
    options.special_attributes = args.special;
    options.variables = args.variables;
    let mut out = BufWriter::new(std::io::stdout());
    for step in cdl::steps(&dataset, &options).map_err(refused)? {
        let path = match step {
            Step::Text(text) => {
                out.write_all(&text)?;
                continue;
            }
            Step::Data(path) => path,
        };
        let Some(variable) = dataset.variable(&path) else {
            continue;
        };
        let printer = DataPrinter::new(&dataset, &path, &options).map_err(refused)?;
        let mut reader = opened(&session, &path, variable.data_type)?;
        values(&mut out, printer, &mut reader).await?;
    }
    Ok(out.flush()?)
}

fn opened(
    session: &Session,
    path: &str,
    data_type: icefield::ingest::nczarr::DataType,
) -> Result<VariableReader, Failure> {
    let parsed = NodePath::parse(path);
    let parsed = parsed.map_err(|rule| Failure::new(Exit::Damage, format!("{path}: {rule}")))?;
    VariableReader::new(session, &parsed, data_type).map_err(failed)
}

async fn values(
    out: &mut (impl Write + Send),
    mut printer: DataPrinter,
    reader: &mut VariableReader,
) -> Result<(), Failure> {
    while let Some(values) = reader.next().await.map_err(failed)? {
        printer.push(out, &values).map_err(refused)?;
    }
    printer.finish(out).map_err(refused)
}

/// Returns the name that `ncdump` gives a dataset: the name of the file without its extension.
fn name_of(location: &Location) -> String {
    let text = match location.path() {
        Some(path) => match path.canonicalize() {
            Ok(whole) => whole.to_string_lossy().into_owned(),
            Err(_) => path.to_string_lossy().into_owned(),
        },
        None => {
            let text = location.as_str().split('?').next().unwrap_or_default();
            text.to_owned()
        }
    };
    let name = text.trim_end_matches('/').rsplit(['/', ':']).next();
    let name = name.unwrap_or_default();
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    match stem {
        "" => "dataset".to_owned(),
        stem => stem.to_owned(),
    }
}

pub(super) fn failed(error: NetcdfError) -> Failure {
    match error {
        NetcdfError::Session(error) => error.into(),
        NetcdfError::Variable { .. } => Failure::new(Exit::Damage, with_causes(&error))
            .hint("`icefield fsck` tells what else is damaged"),
        error => Failure::new(Exit::Failure, with_causes(&error)),
    }
}

fn refused(error: PrintError) -> Failure {
    let exit = match error {
        PrintError::Write(error) => return error.into(),
        PrintError::NoVariable { .. } => Exit::NotFound,
        _ => Exit::Failure,
    };
    Failure::new(exit, with_causes(&error))
}
