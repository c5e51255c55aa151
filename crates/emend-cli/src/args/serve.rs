//! Options of `emend serve` and `emend attach`.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::settings::SettingFlags;

/// Options that only `emend serve` has.
const SERVER: &str = "Server options";

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Directory to work in. The project is its git repository, or else the directory itself.
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) root: PathBuf,
    /// Address to listen on. Other addresses than this computer's own send the token and all texts without encryption.
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS", value_parser = address, help_heading = SERVER)]
    pub(crate) host: IpAddr,
    /// Port to listen on; 0 for a free one.
    #[arg(long, default_value_t = 4120, value_name = "N", help_heading = SERVER)]
    pub(crate) port: u16,
    /// Place of sessions, jobs and events: `sqlite` in the project's state directory, sqlite:FILE, postgres:URL, or
    /// `memory` until the server ends.
    ///
    /// Files, reviews and conversations are kept with every store. `postgres` takes the URL of the database from
    /// EMEND_DATABASE_URL, where other users cannot see its password.
    #[arg(long, default_value = "sqlite", value_name = "STORE", value_parser = store, help_heading = SERVER)]
    pub(crate) store: StoreChoice,
    /// Seconds after which another server takes over the jobs of a server that died; for `postgres`.
    #[arg(long, default_value_t = 30, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=3600), help_heading = SERVER)]
    pub(crate) job_lease: u32,
    /// Kind of the canvas: a file of the project, or `git`, which has no canvas tools.
    #[arg(long, value_enum, default_value_t = CanvasKind::File, value_name = "KIND", help_heading = SERVER)]
    pub(crate) canvas: CanvasKind,
    /// File with the token. A missing file is created with a new token, for you alone.
    ///
    /// Without it the token is EMEND_TOKEN, or a new one for each start.
    #[arg(long, value_name = "FILE", help_heading = SERVER)]
    pub(crate) token_file: Option<PathBuf>,
    /// Also accept this name in the header Host, e.g. behind a proxy. Can be given several times.
    #[arg(long, value_name = "NAME", help_heading = SERVER)]
    pub(crate) allow_host: Vec<String>,
    #[allow(rustdoc::bare_urls, reason = "the text is the help of the option")]
    /// Also accept pages of this origin, e.g. https://editor.example. Can be given several times.
    #[arg(long, value_name = "ORIGIN", help_heading = SERVER)]
    pub(crate) allow_origin: Vec<String>,
    /// Requests per second of one client in the long run; 0 for no limit.
    #[arg(long, default_value_t = 100, value_name = "N", help_heading = SERVER)]
    pub(crate) rate_limit: u32,
    /// Open streams of events, of all clients together [default: 1024].
    ///
    /// Without it the number is EMEND_MAX_STREAMS. A stream of an idle client costs a connection and some kilobytes.
    #[arg(long, value_name = "N", help_heading = SERVER)]
    pub(crate) max_streams: Option<usize>,
    /// Format of the log on standard error.
    #[arg(long, value_enum, default_value_t = LogName::Text, value_name = "FORMAT", help_heading = SERVER)]
    pub(crate) log: LogName,
    #[command(flatten)]
    pub(crate) settings: SettingFlags,
}

/// A store of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreChoice {
    /// Sessions end with the server.
    Memory,
    /// Sessions are in a file, by default in the project's state directory.
    Sqlite(Option<PathBuf>),
    /// Sessions are in a PostgreSQL database.
    Postgres(DatabaseUrl),
}

/// The URL of a database, which may contain a password.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct DatabaseUrl(pub(crate) String);

impl std::fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the URL of a database")
    }
}

/// Variable with the URL for `--store postgres`.
const DATABASE_VARIABLE: &str = "EMEND_DATABASE_URL";

#[derive(Debug, Subcommand)]
pub(crate) enum DbCommand {
    /// Create the tables of Emend in a PostgreSQL database, or bring them to the version of this program.
    ///
    /// The tables are in the schemas `emend` and `absurd`; nothing else in the database changes.
    Migrate {
        /// The database: postgres:URL, or `postgres` with the URL in EMEND_DATABASE_URL.
        #[arg(long, value_name = "STORE", value_parser = database)]
        store: DatabaseUrl,
    },
}

/// The kinds of the canvas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CanvasKind {
    /// A file of the project.
    File,
    /// Documents in git, for which there are no canvas tools.
    Git,
}

/// The formats of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogName {
    /// One line of text per request.
    Text,
    /// One object per line.
    Json,
    /// No log.
    None,
}

#[derive(Debug, Args)]
pub(crate) struct AttachArgs {
    /// Address that `emend serve` prints.
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// File with the token. Without it the token is in the URL or in EMEND_TOKEN.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Session to join; by default the one that changed last.
    #[arg(long, value_name = "ID", conflicts_with = "new")]
    pub(crate) session: Option<String>,
    /// Start a new session.
    #[arg(long)]
    pub(crate) new: bool,
}

fn store(text: &str) -> Result<StoreChoice, String> {
    match text.split_once(':') {
        None if text == "memory" => Ok(StoreChoice::Memory),
        None if text == "sqlite" => Ok(StoreChoice::Sqlite(None)),
        Some(("sqlite", file)) if !file.is_empty() => Ok(StoreChoice::Sqlite(Some(PathBuf::from(file)))),
        _ if text.split(':').next().is_some_and(|name| name.starts_with("postgres")) => {
            database(text).map(StoreChoice::Postgres)
        }
        _ => Err("expected memory, sqlite, sqlite:FILE or postgres:URL".to_owned()),
    }
}

/// Reads the name of a database. Its URL is checked later, because a message about the option repeats the value.
fn database(text: &str) -> Result<DatabaseUrl, String> {
    match text.split_once(':') {
        None if text == "postgres" => std::env::var(DATABASE_VARIABLE)
            .ok()
            .filter(|url| !url.is_empty())
            .map(DatabaseUrl)
            .ok_or_else(|| format!("set {DATABASE_VARIABLE} to the URL of the database")),
        // Both `postgres:postgres://HOST/NAME` and the URL alone.
        Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => Ok(DatabaseUrl(text.to_owned())),
        Some(("postgres", rest)) if !rest.is_empty() => Ok(DatabaseUrl(rest.to_owned())),
        _ => Err("expected postgres:URL, e.g. postgres://USER@HOST/DATABASE".to_owned()),
    }
}

fn address(text: &str) -> Result<IpAddr, String> {
    if text == "localhost" {
        return Ok(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    text.trim_matches(['[', ']']).parse().map_err(|_| "expected an IP address, e.g. 127.0.0.1".to_owned())
}
