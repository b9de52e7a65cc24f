//! `icefield serve`

mod traces;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use icefield::storage::SystemClock;
use icefield::{RevisionSpec, SnapshotId};
use icefield_gateway::{Access, Gateway, Origins, Served, Server, Settings, StorageMeter};
use serde::Serialize;
use traces::Traces;

use super::Context;
use super::found::FoundRepository;
use crate::args::{NamedLocation, Serve};
use crate::failure::{Exit, Failure};
use crate::output::escape::printable;
use crate::output::{self, Output};

/// The variable that may hold the token.
const TOKEN: &str = "ICEFIELD_TOKEN";
/// Characters of the shortest token.
const TOKEN_LENGTH: usize = 16;

#[derive(Serialize)]
struct ServeFacts {
    address: SocketAddr,
    url: String,
    explorer: String,
    metrics: String,
    s3: Option<String>,
    needs_token: bool,
    grants: Vec<String>,
    repositories: Vec<ServedFacts>,
}

#[derive(Serialize)]
struct ServedFacts {
    name: String,
    location: String,
    url: String,
    /// The snapshot of `main`, and where it stays.
    snapshot_id: Option<SnapshotId>,
    pinned_url: Option<String>,
    branches: BTreeMap<String, String>,
}

pub(super) async fn run(context: &Context, grants: &[String], args: Serve) -> Result<(), Failure> {
    if args.certificate.is_some() {
        let problem = "this server has no certificates: it speaks HTTP";
        let hint = "put a proxy that ends TLS in front, such as caddy or nginx, and name it with --host NAME";
        return Err(Failure::new(Exit::Usage, problem).hint(hint));
    }
    let (address, names) = listen_on(&args.host)?;
    let settings = Settings {
        access: access(&args, address, &names)?,
        origins: origins(&args.cors),
        hosts: names.clone(),
        repository_files: args.raw,
        hides_locations: args.public,
        ..Settings::default()
    };
    let traces = Traces::start()?;
    let needs_token = matches!(settings.access, Access::Token(_));
    if needs_token && args.s3_port.is_some() {
        let problem = "the S3 port knows no token, so that every client could read there";
        let hint = "leave out --s3-port, or say --public";
        return Err(Failure::new(Exit::Usage, problem).hint(hint));
    }
    let meter = StorageMeter::default();
    let mut served = Vec::new();
    for location in &args.locations {
        served.push(open(context, location, &meter).await?);
    }
    let opened = served.clone();
    let gateway = Gateway::with(served, settings, &meter, Arc::new(SystemClock));
    let gateway = gateway.map_err(|error| Failure::new(Exit::Usage, error.to_string()))?;
    let server = bind(SocketAddr::new(address, args.port), |address| {
        Server::bind(address, gateway.clone())
    })
    .await?;
    let metrics = match args.metrics_port {
        None => None,
        Some(port) => {
            let address = SocketAddr::new(address, port);
            Some(
                bind(address, |address| {
                    Server::bind_metrics(address, gateway.clone())
                })
                .await?,
            )
        }
    };
    let s3 = match args.s3_port {
        None => None,
        Some(port) => {
            let address = SocketAddr::new(address, port);
            Some(bind(address, |address| Server::bind_s3(address, gateway.clone())).await?)
        }
    };
    let bound = server.address()?;
    let url = url_of(bound, &names);
    let metrics_url = match &metrics {
        None => format!("{url}/-/metrics"),
        Some(server) => format!("{}/-/metrics", url_of(server.address()?, &[])),
    };
    let facts = ServeFacts {
        address: bound,
        explorer: format!("{url}/-/explore/"),
        metrics: metrics_url,
        s3: match &s3 {
            None => None,
            Some(server) => Some(url_of(server.address()?, &names)),
        },
        needs_token,
        grants: grants.to_vec(),
        repositories: facts(&opened, &gateway, &url).await?,
        url,
    };
    Output::new(args.output).facts(&facts, show)?;
    let logged = |server: Server| {
        let server = traces.attach(server);
        match args.access_log {
            true => server.access_log(Arc::new(|line| {
                // A log that cannot be written does not end the server.
                let _ = writeln!(io::stderr().lock(), "{line}");
            })),
            false => server,
        }
    };
    let (stop, stopped) = tokio::sync::watch::channel(false);
    tokio::spawn(async move {
        told_to_stop().await;
        let _ = stop.send(true);
    });
    let wait = |mut stopped: tokio::sync::watch::Receiver<bool>| async move {
        let _ = stopped.wait_for(|stopped| *stopped).await;
    };
    let beside = [metrics, s3.map(logged)].into_iter().flatten();
    let beside: Vec<_> = beside
        .map(|server| tokio::spawn(server.run(wait(stopped.clone()))))
        .collect();
    logged(server).run(wait(stopped)).await;
    for server in beside {
        let _ = server.await;
    }
    traces.finish().await;
    Ok(())
}

async fn open(
    context: &Context,
    named: &NamedLocation,
    meter: &StorageMeter,
) -> Result<Served, Failure> {
    let storage = context.cached_storage(&named.location).await?;
    let opened = context
        .builder(meter.over(Arc::clone(&storage)))
        .open()
        .await;
    let found = FoundRepository::of(opened, storage).await?;
    Ok(Served {
        name: named.name.clone(),
        location: output::location(&named.location),
        repository: found.of_today(&named.location)?,
    })
}

async fn facts(
    served: &[Served],
    gateway: &Gateway,
    url: &str,
) -> Result<Vec<ServedFacts>, Failure> {
    let main = RevisionSpec::parse("main").map_err(icefield::Error::from)?;
    let mut facts = Vec::new();
    for (served, (_, base)) in served.iter().zip(gateway.bases()) {
        let id = main.resolve(&served.repository).await.ok();
        // A web server does not list what it has.
        let refs = served.repository.refs().await.unwrap_or_default();
        let branches = refs.branches.into_iter().filter_map(|(name, tip)| {
            let id = tip.ok()?;
            Some((name.as_str().to_owned(), format!("{url}{base}{id}/")))
        });
        facts.push(ServedFacts {
            name: served.name.clone(),
            location: served.location.clone(),
            url: format!("{url}{base}"),
            snapshot_id: id,
            pinned_url: id.map(|id| format!("{url}{base}{id}/")),
            branches: branches.collect(),
        });
    }
    Ok(facts)
}

fn show(facts: &ServeFacts, out: &mut dyn Write) -> io::Result<()> {
    for served in &facts.repositories {
        writeln!(
            out,
            "serving {} at {}",
            printable(&served.location),
            served.url
        )?;
        if let Some(pinned) = &served.pinned_url {
            writeln!(out, "  main as it is now   {pinned}")?;
        }
        writeln!(out, "  main as it moves    {}main/", served.url)?;
    }
    writeln!(out, "explorer {}", facts.explorer)?;
    if let Some(s3) = &facts.s3 {
        writeln!(out, "S3       {s3}")?;
    }
    for grant in &facts.grants {
        writeln!(out, "readers may read {} through it", printable(grant))?;
    }
    if facts.needs_token {
        writeln!(out, "readers need the token")?;
    }
    writeln!(out, "Ctrl-C ends it")
}

/// Divides the values of `--host` into the address to listen on and names.
fn listen_on(hosts: &[String]) -> Result<(IpAddr, Vec<String>), Failure> {
    let mut address = None;
    let mut names = Vec::new();
    for host in hosts {
        let plain = host
            .strip_prefix('[')
            .and_then(|it| it.strip_suffix(']'))
            .unwrap_or(host);
        match plain.parse::<IpAddr>() {
            Ok(found) if address.is_none() => address = Some(found),
            Ok(_) => {
                let problem = "--host has two addresses, and one server listens on one";
                let hint = "0.0.0.0 is all of IPv4, [::] all of both";
                return Err(Failure::new(Exit::Usage, problem).hint(hint));
            }
            Err(_) => names.push(host.clone()),
        }
    }
    Ok((address.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)), names))
}

fn access(args: &Serve, address: IpAddr, names: &[String]) -> Result<Access, Failure> {
    if args.public {
        return Ok(Access::Open);
    }
    let token = match &args.token_file {
        Some(file) => Some(token_in(file)?),
        None => std::env::var(TOKEN).ok().filter(|token| !token.is_empty()),
    };
    match token {
        Some(token) if token.len() < TOKEN_LENGTH => {
            let problem = format!("the token has fewer than {TOKEN_LENGTH} characters");
            let hint = "make one with `openssl rand -hex 24`";
            Err(Failure::new(Exit::Usage, problem).hint(hint))
        }
        Some(token) => Ok(Access::Token(token)),
        None => {
            // A name is one that others call the server by, through a proxy on this computer.
            let mut names = names.iter();
            let name = names.find(|name| !name.eq_ignore_ascii_case("localhost"));
            let reached = match name {
                Some(name) => name.clone(),
                None if address.is_loopback() => return Ok(Access::Open),
                None => address.to_string(),
            };
            let problem = format!("other computers reach {reached}, and no token is set");
            let hint = "give --token-file FILE, or --public if every client may read";
            Err(Failure::new(Exit::Usage, problem).hint(hint))
        }
    }
}

fn token_in(file: &Path) -> Result<String, Failure> {
    let text = fs::read_to_string(file).map_err(|error| Failure::from(error).of_file(file))?;
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

fn origins(cors: &[String]) -> Origins {
    if cors.iter().any(|origin| origin == "*") {
        return Origins::Any;
    }
    let origins = cors
        .iter()
        .map(|origin| origin.trim_end_matches('/').to_owned());
    match cors.is_empty() {
        true => Origins::None,
        false => Origins::Only(origins.collect()),
    }
}

async fn bind(
    address: SocketAddr,
    bind: impl AsyncFnOnce(SocketAddr) -> io::Result<Server>,
) -> Result<Server, Failure> {
    bind(address).await.map_err(|error| {
        let failure = |problem: String| Failure::new(Exit::Failure, problem);
        match error.kind() {
            io::ErrorKind::AddrInUse => failure(format!(
                "port {} of {} is in use",
                address.port(),
                address.ip()
            ))
            .hint("--port 0 takes a free one"),
            io::ErrorKind::PermissionDenied => failure(format!(
                "port {} may not be opened: {error}",
                address.port()
            ))
            .hint("take a port from 1024 on"),
            _ => failure(format!("{address} cannot be listened on: {error}")),
        }
    })
}

/// The URL by which people call the server.
fn url_of(address: SocketAddr, names: &[String]) -> String {
    let port = address.port();
    match (names.first(), address.ip()) {
        (Some(name), ip) if !ip.is_loopback() => format!("http://{name}:{port}"),
        (_, ip) if ip.is_unspecified() => format!("http://127.0.0.1:{port}"),
        _ => format!("http://{address}"),
    }
}

/// Waits for Ctrl-C or for the signal that asks a service to end. A second Ctrl-C ends the process at once.
async fn told_to_stop() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminate.recv() => return,
                _ = tokio::signal::ctrl_c() => {}
            }
        } else {
            let _ = tokio::signal::ctrl_c().await;
        }
    }
    #[cfg(not(unix))]
    let _ = tokio::signal::ctrl_c().await;
    tokio::spawn(async {
        if tokio::signal::ctrl_c().await.is_ok() {
            std::process::exit(Exit::Interrupted as i32);
        }
    });
}
