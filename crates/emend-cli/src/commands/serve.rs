//! `emend serve`: the review service of a project over HTTP.

use std::io::{ErrorKind, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use emend_agent::approval::Policy;
use emend_agent::environment::FilePath;
use emend_agent::error_code::Code;
use emend_agent::service::jobs::Jobs;
use emend_agent::service::store::{Commit, LineLogStore, NewEvent};
use emend_agent::service::{
    Budget, MemServiceStore, Service, ServiceHost, ServiceParts, ServiceStore, SessionRecord, SessionStatus, Spent,
    Timestamp, WorkMode,
};
use emend_agent::workspace::Mode;
use emend_host::{OsRandom, Sandbox, SqliteServiceStore};
use emend_llm::{Random, Shared};
use emend_server::{ServerConfig, ServerLimits, ServerParts, ServerState, Stop, Token};
use futures::channel::oneshot;
use serde_json::json;
use tokio::net::TcpListener;

use super::attach::join;
use crate::args::{AttachArgs, CanvasKind, LogName, ServeArgs, StoreChoice};
use crate::failure::Failure;
use crate::place::Place;
use crate::project::{Project, ProjectOptions};
use crate::served_sessions::{self, IN_CONVERSATION, check_room};
use crate::service_host::{ProjectHost, ProjectSaver};
use crate::settings::{Model, Settings, Source, Sourced};
use crate::signals::StopSignals;
use crate::{approve, budget, meter, provider, session_config, setup, visible};

pub(crate) async fn serve(args: ServeArgs) -> Result<ExitCode, Failure> {
    let place = Settings::place(&args.root, &args.settings)?;
    let settings = Settings::load(&place, &args.settings)?;
    session_config::check(&settings)?;
    let notes = approve::notes(&settings);
    let (token, is_new) = token(args.token_file.as_deref())?;
    log(args.log);
    let web = web_app(&settings)?;
    let (service, project) = service(&place, settings, &args).await?;
    let limits = limits(args.rate_limit, args.max_streams)?;
    let listener = TcpListener::bind((args.host, args.port)).await.map_err(|error| {
        let message =
            format!("cannot listen on {}: {error}; choose another --port", SocketAddr::new(args.host, args.port));
        Failure::new(Code::Configuration, message)
    })?;
    let address = listener.local_addr()?;
    let config = ServerConfig {
        token: token.clone(),
        address,
        allowed_hosts: args.allow_host,
        allowed_origins: args.allow_origin,
        web: web.clone(),
        limits,
    };
    let clock = Shared::clone(&project.clock);
    let state = ServerState::new(ServerParts { service, clock, random: Shared::new(OsRandom), config });
    announce(&place, address, (&token, is_new), web.is_some())?;
    for note in notes {
        writeln!(visible::stderr(), "emend: {note}")?;
    }
    run(state, listener, &project).await
}

/// An open conversation that becomes a session of a server.
pub(crate) struct Conversation {
    pub(crate) project: Project,
    pub(crate) settings: Settings,
    pub(crate) place: Place,
    pub(crate) session_id: String,
    pub(crate) title: String,
    pub(crate) model: Model,
    /// Use of models so far.
    pub(crate) spent: Spent,
    pub(crate) budget: Budget,
    /// Address to listen on.
    pub(crate) host: IpAddr,
}

/// Prepares `/serve`: returns the address that its argument names if the conversation can become a session of a server, or
/// the line to show after `/serve archive ID`. A failure leaves the conversation open.
pub(crate) async fn prepare(
    project: &Project,
    settings: &Settings,
    session_id: &str,
    argument: &str,
) -> Result<Prepared, Failure> {
    let store = served_sessions::open(project.directory())?;
    let max = settings.service.max_sessions;
    if let Some(id) = argument.strip_prefix("archive ") {
        let (id, at) = (id.trim(), Timestamp(project.clock.now_ms()));
        let is_known = match &store {
            Some(store) => served_sessions::set_status(store, id, (SessionStatus::Archived, max), at).await?,
            None => false,
        };
        return match is_known {
            true => Ok(Prepared::Archived(format!("archived {id}"))),
            false => Err(Failure::new(Code::NotFound, format!("the project's server has no session {id:?}"))),
        };
    }
    let address = address_of(argument)?;
    web_app(settings)?;
    if let Some(store) = &store {
        check_room(store, max, session_id, IN_CONVERSATION).await?;
    }
    Ok(Prepared::Address(address))
}

/// The outcome of [`prepare`].
pub(crate) enum Prepared {
    /// Address to listen on.
    Address(IpAddr),
    /// Line about a session that was archived.
    Archived(String),
}

/// Returns the address that the argument of `/serve` names: this computer's own, that in the local network, or another.
fn address_of(argument: &str) -> Result<IpAddr, Failure> {
    match argument {
        "" => Ok(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        "lan" => local_network_address().ok_or_else(|| {
            let message =
                "this computer is in no local network; give the address to listen on, e.g. /serve 192.168.1.5";
            Failure::new(Code::Configuration, message)
        }),
        other => other.trim_matches(['[', ']']).parse().map_err(|_| {
            let message = format!(
                "expected `lan`, an IP address of this computer or `archive ID`, not {other:?}; nothing was done"
            );
            Failure::new(Code::InvalidArgument, message)
        }),
    }
}

/// Returns the address from which this computer sends to other networks. Nothing is sent: connecting a datagram socket
/// only looks up the route. The destination is an address for documents.
fn local_network_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    socket.local_addr().ok().map(|address| address.ip()).filter(|ip| !ip.is_unspecified())
}

/// Serves a conversation to this terminal, to browsers and to other terminals, until the user of this terminal leaves.
pub(crate) async fn serve_conversation(conversation: Conversation) -> Result<(), Failure> {
    let Conversation { mut project, settings, place, session_id, title, model, spent, budget, host } = conversation;
    let web = web_app(&settings)?;
    let has_app = web.is_some();
    let listener = TcpListener::bind((host, 0)).await.map_err(|error| {
        Failure::new(Code::Configuration, format!("cannot listen on {host}: {error}; the conversation is saved"))
    })?;
    let mode = if settings.review.value { WorkMode::Review } else { WorkMode::Direct };
    // Sessions of the service choose their mode themselves.
    project.workspace = Shared::new(project.workspace.in_mode(Mode::Staged));
    let project = Arc::new(project);
    let policy = approve::policy(&settings)?;
    let plan =
        Plan { settings, policy, start: project.start.clone(), default_model: model.clone(), is_canvas_in_git: false };
    let (max_sessions, plan_budget) = (plan.settings.service.max_sessions, budget::of_runs(&plan.settings));
    let service = over(&project, plan, open_store(&project, StoreChoice::Sqlite(None))?).await?;
    let record = SessionRecord {
        session_id: session_id.clone(),
        title,
        model: model.to_string(),
        mode,
        spent,
        budget,
        job_budget: plan_budget,
        ..Default::default()
    };
    check_room(&**service.store(), max_sessions, &session_id, IN_CONVERSATION).await?;
    adopt(&service, &project, record).await?;
    let store = Shared::clone(service.store());
    let token = Token::random(&OsRandom);
    let address = listener.local_addr()?;
    let limits = limits(ServerLimits::default().requests_per_second, None)?;
    let (allowed_hosts, allowed_origins) = (Vec::new(), Vec::new());
    let config = ServerConfig { token: token.clone(), address, allowed_hosts, allowed_origins, web, limits };
    let clock = Shared::clone(&project.clock);
    let state = ServerState::new(ServerParts { service, clock, random: Shared::new(OsRandom), config });
    announce(&place, address, (&token, true), has_app)?;
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = emend_server::serve(state, listener, async move {
        let _ = stopped.await;
    });
    let url = format!("http://{address}/?token={}", token.reveal());
    let served_id = session_id.clone();
    let here = AttachArgs { url, token_file: None, session: Some(session_id), new: false };
    let joined = async {
        let left = join(&here).await;
        drop(stop);
        left
    };
    let (_, left) = futures::join!(serving, joined);
    project.save()?;
    if let Some(record) = store.session(&served_id).await? {
        meter::keep_served(&project, &served_id, record.spent, record.budget)?;
    }
    left?;
    writeln!(visible::listing(), "the server has stopped; the conversation is saved")?;
    Ok(())
}

/// Makes a conversation a session of a service, or the session what the conversation is now.
async fn adopt(service: &Service, project: &Project, record: SessionRecord) -> Result<(), Failure> {
    let at = Timestamp(project.clock.now_ms());
    let known = service.store().session(&record.session_id).await?;
    let kind = if known.is_some() { "session.updated" } else { "session.created" };
    let session = match known {
        Some(known) => SessionRecord {
            model: record.model,
            mode: record.mode,
            spent: record.spent,
            budget: record.budget,
            job_budget: known.job_budget.within(&record.job_budget),
            status: SessionStatus::Active,
            updated_at: at,
            ..known
        },
        None => SessionRecord { created_at: at, updated_at: at, ..record },
    };
    let data = json!({ "title": session.title, "status": session.status, "mode": session.mode });
    let events = vec![NewEvent { kind: kind.to_owned(), job_id: None, data }];
    service.store().commit(Commit { at, session, events, ..Commit::default() }).await?;
    Ok(())
}

/// Number of connections beyond those of streams.
const OTHER_CONNECTIONS: usize = 512;

/// Returns the limits of HTTP.
fn limits(rate: u32, max_streams: Option<usize>) -> Result<ServerLimits, Failure> {
    let defaults = ServerLimits::default();
    let of_environment = match std::env::var("EMEND_MAX_STREAMS") {
        Ok(text) if !text.trim().is_empty() => Some(text.trim().parse().map_err(|_| {
            Failure::new(Code::Configuration, format!("EMEND_MAX_STREAMS: expected a whole number, not {text:?}"))
        })?),
        _ => None,
    };
    let streams_max: usize = max_streams.or(of_environment).unwrap_or(defaults.streams_max);
    // A semaphore cannot count more.
    let streams_max = streams_max.min(1 << 20);
    let connections_max = streams_max + OTHER_CONNECTIONS;
    raise_limit_of_files(connections_max);
    Ok(ServerLimits {
        requests_per_second: rate,
        requests_at_once: rate.saturating_mul(2),
        streams_max,
        connections_max,
        ..defaults
    })
}

/// Lets this process open enough files for its connections, as far as the system permits. Each connection is one.
#[cfg(unix)]
fn raise_limit_of_files(n_connections: usize) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    /// Files of the project, the stores and commands.
    const OTHERS: u64 = 512;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = n_connections as u64 + OTHERS;
    let wanted = maximum.map_or(wanted, |maximum| wanted.min(maximum));
    if current.is_some_and(|current| current < wanted) {
        // Without it, connections beyond the limit wait.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
}

#[cfg(not(unix))]
fn raise_limit_of_files(_: usize) {}

/// Opens the service over the state that the project shares with other commands, and ends the jobs of a killed server.
async fn service(place: &Place, settings: Settings, args: &ServeArgs) -> Result<(Service, Arc<Project>), Failure> {
    let policy = approve::policy(&settings)?;
    let writable = || settings.sandbox_write.iter().map(|place| PathBuf::from(&place.value)).collect();
    let sandbox = settings.sandbox.value.then(|| Sandbox { writable: writable() });
    let (variables, read_only) = (setup::variables(&settings), settings.read_only.value);
    let has_index = settings.index.value.0;
    let (mode, works_beside, state_home) = (Mode::Staged, false, None);
    let options = ProjectOptions { mode, sandbox, variables, read_only, works_beside, has_index, state_home };
    let (project, stores) = open_project(place, options, args.store.clone(), args.job_lease).await?;
    let default_model = settings.model.value.clone().or_else(provider::newest).unwrap_or(Model::Offline);
    let is_canvas_in_git = args.canvas == CanvasKind::Git;
    let plan = Plan { settings, policy, start: project.start.clone(), default_model, is_canvas_in_git };
    let service = over(&project, plan, stores).await?;
    Ok((service, project))
}

/// The store of a service and its jobs.
struct Stores {
    store: Shared<dyn ServiceStore>,
    jobs: Shared<dyn Jobs>,
    /// Whether several servers share both, and the project.
    is_shared: bool,
}

/// Opens the project, alone or beside other servers.
async fn open_project(
    place: &Place,
    options: ProjectOptions,
    store: StoreChoice,
    job_lease: u32,
) -> Result<(Arc<Project>, Stores), Failure> {
    match store {
        #[cfg(all(unix, feature = "postgres"))]
        StoreChoice::Postgres(url) => {
            let super::database::Opened { store, jobs } = super::database::open(&url, job_lease).await?;
            let project = Project::open_shared(place, options, Shared::clone(&jobs) as _).await?;
            super::database::check_project(&jobs, &project.shared_name().await?).await?;
            Ok((Arc::new(project), Stores { store, jobs, is_shared: true }))
        }
        store => {
            let _ = job_lease;
            let project = Arc::new(Project::open_with(place, options).await?);
            let stores = open_store(&project, store)?;
            Ok((project, stores))
        }
    }
}

/// Opens a store that one server uses.
fn open_store(project: &Project, store: StoreChoice) -> Result<Stores, Failure> {
    match store {
        StoreChoice::Memory => {
            let store = Shared::new(MemServiceStore::new());
            Ok(Stores { store: Shared::clone(&store) as _, jobs: store, is_shared: false })
        }
        StoreChoice::Sqlite(file) => {
            let file = file.unwrap_or_else(|| project.directory().join(served_sessions::STORE));
            let opened = SqliteServiceStore::open(&file);
            let opened = opened.map_err(|error| Failure::new(Code::Configuration, format!("--store: {error}")))?;
            let store = Shared::new(opened);
            Ok(Stores { store: Shared::clone(&store) as _, jobs: store, is_shared: false })
        }
        StoreChoice::Postgres(_) => {
            let message = "this build of emend has no PostgreSQL; build it for Unix with the feature `postgres`";
            Err(Failure::new(Code::Unsupported, message))
        }
    }
}

/// The settings of a service.
struct Plan {
    settings: Settings,
    policy: Policy,
    /// Directory in which agents work, relative to the root.
    start: FilePath,
    default_model: Model,
    is_canvas_in_git: bool,
}

/// Opens the service over a project.
async fn over(project: &Arc<Project>, plan: Plan, stores: Stores) -> Result<Service, Failure> {
    let Plan { settings, policy, start, default_model, is_canvas_in_git } = plan;
    let project = Arc::clone(project);
    let limits = settings.service.clone();
    // A missing key is reported at the start, not by the first job.
    provider::select(&default_model, provider::Record::No, &project, &settings)?;
    let Stores { store, jobs, is_shared } = stores;
    let store: Shared<dyn ServiceStore> = match is_shared {
        // Servers that share a project save each change as they make it.
        true => store,
        false => Shared::new(LineLogStore::new(store, ProjectSaver::new(Arc::clone(&project)))),
    };
    let host = ProjectHost {
        settings,
        policy,
        project: Arc::clone(&project),
        start,
        default_model,
        is_canvas_in_git,
        routers: Default::default(),
    };
    let parts = ServiceParts {
        workspace: Shared::clone(&project.workspace),
        host: Shared::new(host) as Shared<dyn ServiceHost>,
        store,
        conversations: project.sessions()?,
        clock: Shared::clone(&project.clock),
        random: Shared::new(OsRandom) as Shared<dyn Random>,
        limits,
    };
    let service = Service::with_jobs(parts, jobs);
    service.recover().await.map_err(|error| Failure::new(error.code, error.message))?;
    Ok(service)
}

/// Serves until a signal, then ends jobs and streams in order. A second signal ends the program at once.
async fn run(state: ServerState, listener: TcpListener, project: &Project) -> Result<ExitCode, Failure> {
    let mut signals = StopSignals::begin();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = emend_server::serve(state, listener, async move {
        // A sender that was dropped stops the server, too.
        let _ = stopped.await;
    });
    let mut serving = std::pin::pin!(serving);
    tokio::select! {
        _ = &mut serving => {}
        () = signals.next() => {
            // The notice is not worth a failure.
            let _ = writeln!(visible::stderr(), "emend: stopping; running jobs are cancelled or left to other servers, their edits are kept");
            drop(stop);
            let stopped = tokio::select! {
                stopped = &mut serving => Some(stopped),
                () = signals.next() => None,
            };
            project.save()?;
            if stopped != Some(Stop::Finished) {
                return Err(Failure::new(Code::Aborted, "some requests were cut off"));
            }
        }
    }
    project.save()?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the token, and whether it was made for this start.
fn token(file: Option<&Path>) -> Result<(Token, bool), Failure> {
    let parse = |text: &str, source: &str| {
        let expected = format!("{source}: expected at least {} letters, digits, -, ., _ or ~", Token::BYTES_MIN);
        Token::parse(text.trim()).ok_or_else(|| Failure::new(Code::Configuration, expected))
    };
    let Some(file) = file else {
        return match std::env::var("EMEND_TOKEN") {
            Ok(text) if !text.trim().is_empty() => Ok((parse(&text, "EMEND_TOKEN")?, false)),
            _ => Ok((Token::random(&OsRandom), true)),
        };
    };
    let name = file.display().to_string();
    match std::fs::read_to_string(file) {
        Ok(text) => Ok((parse(&text, &name)?, false)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let token = Token::random(&OsRandom);
            let mut options = std::fs::OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let written = options.open(file).and_then(|mut file| writeln!(file, "{}", token.reveal()));
            written.map_err(|error| Failure::new(Code::IoError, format!("cannot write {name}: {error}")))?;
            Ok((token, false))
        }
        Err(error) => Err(Failure::new(Code::IoError, format!("cannot read {name}: {error}"))),
    }
}

/// Returns the directory of the web app.
pub(super) fn web_app(settings: &Settings) -> Result<Option<PathBuf>, Failure> {
    let Sourced { value, source } = &settings.web_app;
    // The path in a settings file is relative to that file.
    let given = value.as_ref().map(|given| match source {
        Source::File(file) => file.with_file_name(given),
        _ => PathBuf::from(given),
    });
    if let Some(given) = given {
        if given.join("index.html").is_file() {
            return Ok(Some(given));
        }
        let message = format!("{}: web_app: {} has no index.html; build the app first", source, given.display());
        return Err(Failure::new(Code::Configuration, message));
    }
    let beside = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.join("web")));
    Ok(beside.filter(|folder| folder.join("index.html").is_file()))
}

/// Prints the address. A token that the user has given is not repeated.
fn announce(place: &Place, address: SocketAddr, (token, is_new): (&Token, bool), has_app: bool) -> Result<(), Failure> {
    let mut stdout = visible::listing();
    let root = place.root().canonicalize().unwrap_or_else(|_| place.root().to_owned());
    writeln!(stdout, "emend serves {} at http://{address}/", root.display())?;
    if is_new {
        let token = token.reveal();
        writeln!(stdout, "token: {token}")?;
        match has_app {
            true => writeln!(stdout, "in a browser: http://{address}/?token={token}")?,
            false => {
                writeln!(stdout, "in a browser: no web app was found; --web-app DIR names it (docs/how-to/serve.md)")?
            }
        }
        writeln!(stdout, "in a terminal: emend attach 'http://{address}/?token={token}'")?;
    } else if has_app {
        writeln!(stdout, "in a browser: http://{address}/?token=TOKEN with your token")?;
    }
    if !address.ip().is_loopback() {
        writeln!(stdout, "Other computers can reach this address. Nothing is encrypted; use a proxy with TLS.")?;
    }
    stdout.flush()?;
    Ok(())
}

fn log(format: LogName) {
    let builder = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(tracing_subscriber::filter::LevelFilter::INFO);
    match format {
        LogName::Text => builder.init(),
        LogName::Json => builder.json().init(),
        LogName::None => {}
    }
}
