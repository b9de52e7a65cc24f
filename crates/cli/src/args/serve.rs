//! `icefield serve`

use std::path::PathBuf;

use clap::Args as ArgGroup;
use icefield::Location;

use super::common::OutputFormat;
use super::parse::with_causes;

pub(super) const SERVE: &str = "\
http://HOST:PORT/REF/ is the version REF as Zarr v3, /-/v2/REF/ as Zarr v2; /-/explore/ is a page for browsers. With several
repositories, all of this lies below /NAME/. A path with the id of a snapshot never changes; `main` follows the branch.

By default only programs of this computer reach the server. On other addresses it asks for a token (--token-file, or
ICEFIELD_TOKEN in the environment) unless --public is given. It speaks HTTP; for HTTPS put a proxy in front.";

#[derive(Debug, ArgGroup)]
pub(crate) struct Serve {
    /// The repositories: LOCATION, or NAME=LOCATION.
    #[arg(required = true, value_name = "LOCATION", value_parser = with_causes(NamedLocation::parse))]
    pub(crate) locations: Vec<NamedLocation>,
    /// The port; 0 takes a free one.
    #[arg(long, default_value_t = 8000)]
    pub(crate) port: u16,
    /// The address to listen on, or a name by which clients call this server (repeatable).
    #[arg(long, value_name = "ADDRESS|NAME")]
    pub(crate) host: Vec<String>,
    /// Let every client read that reaches the server.
    #[arg(long, conflicts_with = "token_file")]
    pub(crate) public: bool,
    /// The file whose first line is the token that readers have to send. Without it, ICEFIELD_TOKEN may hold the token.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// A website whose pages may read, such as https://viewer.example.org, or `*` for all (repeatable).
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) cors: Vec<String>,
    /// Also serve the files of the repositories, below /-/repo/, for programs that read the format themselves.
    #[arg(long)]
    pub(crate) raw: bool,
    /// A port for programs that read from S3 only: a bucket is a repository by its name, NAME-v2 its Zarr v2, a key REF/path.
    #[arg(long, value_name = "PORT")]
    pub(crate) s3_port: Option<u16>,
    /// A port of its own for the metrics, where they need no token.
    #[arg(long, value_name = "PORT")]
    pub(crate) metrics_port: Option<u16>,
    /// Log each request to standard error, as a line of JSON.
    #[arg(long)]
    pub(crate) access_log: bool,
    /// There is none: a proxy has the certificate.
    #[arg(long, hide = true, alias = "tls-cert", alias = "cert", num_args = 0..=1, value_name = "FILE")]
    pub(crate) certificate: Option<Option<PathBuf>>,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

/// A location with the name that its URLs have.
#[derive(Clone, Debug)]
pub(crate) struct NamedLocation {
    pub(crate) name: String,
    pub(crate) location: Location,
}

impl NamedLocation {
    /// Reads `NAME=LOCATION`, or a location, whose name is the last part of its path.
    fn parse(text: &str) -> Result<Self, icefield::LocationError> {
        let named = text.split_once('=');
        let named = named
            .filter(|(name, _)| !name.is_empty() && !name.contains(['/', ':', '?', '\\', '.']));
        if let Some((name, location)) = named {
            return Ok(Self {
                name: name.to_owned(),
                location: Location::parse(location)?,
            });
        }
        let location = Location::parse(text)?;
        let plain = match location.path() {
            Some(path) => path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned()),
            None => {
                let path = text.split(['?', '#']).next().unwrap_or_default();
                path.trim_end_matches('/')
                    .rsplit(['/', ':'])
                    .next()
                    .map(str::to_owned)
            }
        };
        let name = plain.filter(|name| !name.is_empty());
        Ok(Self {
            name: name.unwrap_or_else(|| location.scheme().to_owned()),
            location,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_has_the_name_of_its_folder_or_the_one_that_it_is_given() {
        for (text, name) in [
            ("data/ocean", "ocean"),
            ("data/ocean/", "ocean"),
            ("sea=data/ocean", "sea"),
            ("./a=b", "a=b"),
            ("s3://bucket/a/ocean?region=eu", "ocean"),
            ("s3://bucket", "bucket"),
            ("memory:", "memory"),
            ("/", "file"),
        ] {
            assert_eq!(NamedLocation::parse(text).unwrap().name, name, "{text}");
        }
    }
}
