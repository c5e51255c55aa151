//! The `emend` command: arguments in, text and an exit status out. It holds no rule of its own; what an agent may do is
//! decided in `emend-agent`, what the machine lends it in `emend-host`.

mod approve;
mod args;
mod budget;
mod chat;
mod commands;
#[cfg(unix)]
mod elsewhere;
mod failure;
mod limit_text;
mod meter;
mod model_question;
mod obeyed;
mod output;
mod place;
mod project;
mod protected;
mod provider;
mod run;
mod saved_sessions;
mod served_sessions;
mod service_host;
mod session_config;
mod session_notes;
mod settings;
mod setup;
#[cfg(all(unix, feature = "postgres"))]
mod shared_root;
mod signals;
mod style;
mod terminal;
mod text_diff;
mod told;
mod tool_set;
mod trace;
mod visible;
mod wrap;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command, DbCommand, DebugCommand, RootArgs, ToolsCommand, arranged};
use commands::{
    attach, attach_sessions, checkpoints, config, database, debug, diff, eval, manual, models, patch, review, rollback,
    serve, sessions, tools, truncate, undo,
};

/// A run of many edits takes a tenth to a fifth less time than with the allocator of glibc.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Hides the environment of this process from programs of the same user, such as the commands that an agent runs: it holds
/// the keys of providers.
fn protect_keys() {
    // Without this protection the program works all the same. It has no effect on programs of the administrator.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

fn main() -> ExitCode {
    let cli = match arranged(std::env::args_os().collect()) {
        Ok(args) => Cli::parse_from(args),
        Err(failure) => return failure.report(),
    };
    protect_keys();
    signals::watch();
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failure::Failure::from(error).report(),
    };
    let outcome = runtime.block_on(async {
        let Some(command) = cli.command else { return chat::chat(cli.session).await };
        match command {
            Command::Run(args) => run::run(args).await,
            Command::Sessions { command, server: Some(url), token_file, json, .. } => {
                let command = command.unwrap_or_default();
                attach_sessions::of_server(command, (&url, token_file.as_deref()), json).await
            }
            Command::Sessions { command, root, env, json, .. } => {
                let command = command.unwrap_or_default();
                sessions::sessions(command, &started(&RootArgs { root, env })?, json).await
            }
            Command::Serve(args) => serve::serve(*args).await,
            Command::Attach(args) => attach::attach(args).await,
            Command::Db { command: DbCommand::Migrate { store } } => database::migrate(&store).await,
            Command::Review(args) => review::review(&started(&args)?).await,
            Command::Undo(args) => undo::undo(&started(&args)?).await,
            Command::Redo(args) => checkpoints::redo(&started(&args)?).await,
            Command::Checkpoints { root, json } => checkpoints::list(&started(&root)?, json).await,
            Command::Rollback { run, root, scoped: true, check, .. } => {
                rollback::scoped(&started(&root)?, run, check).await
            }
            Command::Rollback { run, root, hard: true, yes, check, .. } => {
                rollback::hard(&started(&root)?, run, check, yes).await
            }
            Command::Rollback { run, root, check, .. } => checkpoints::rollback(&started(&root)?, run, check).await,
            Command::Config { session, json } => config::config(&session, json),
            Command::Patch(args) => Ok(patch::patch(args).await),
            Command::Diff(args) => diff::diff(&args),
            Command::Truncate { tool } => truncate::truncate(&tool),
            Command::Tools { command: ToolsCommand::List { profile } } => tools::list(profile),
            Command::Tools { command: ToolsCommand::Call { name, arguments, root } } => {
                tools::call(&name, &arguments, &started(&root)?).await
            }
            Command::Models(args) => models::list(&args),
            Command::Eval(args) => eval::eval(*args).await,
            Command::Completions { shell } => manual::completions(shell),
            Command::Man { dir } => manual::man(dir.as_deref()),
            Command::Debug { command: DebugCommand::Decode(args) } => debug::decode(&args),
            Command::Debug { command: DebugCommand::Encode(args) } => debug::encode(&args),
        }
    });
    let status = outcome.unwrap_or_else(|failure| failure.report());
    signals::exit_status().map_or(status, ExitCode::from)
}

/// Returns the directory that options, the environment or the user's settings name.
fn started(args: &RootArgs) -> Result<place::Start, failure::Failure> {
    settings::started(&args.root, args.env.as_deref())
}
