//! The `emend` command: arguments in, text and an exit status out. It holds no rule of its own; what an agent may do is
//! decided in `emend-agent`, what the machine lends it in `emend-host`.

mod approve;
mod args;
mod conformance;
mod debug;
mod diff;
mod failure;
mod models;
mod output;
mod patch;
mod project;
mod provider;
mod review;
mod run;
mod sessions;
mod tools;
mod truncate;
mod undo;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command, DebugCommand, ToolsCommand};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failure::Failure::from(error).report(),
    };
    let outcome = runtime.block_on(async {
        match cli.command {
            Command::Run(args) => run::run(args).await,
            Command::Sessions { command, root, json } => sessions::sessions(command, &root, json).await,
            Command::Review(args) => review::review(&args.root).await,
            Command::Undo(args) => undo::undo(&args.root).await,
            Command::Patch(args) => Ok(patch::patch(args).await),
            Command::Diff(args) => diff::diff(&args),
            Command::Truncate { tool } => truncate::truncate(&tool),
            Command::Tools { command: ToolsCommand::List { profile } } => tools::list(profile),
            Command::Tools { command: ToolsCommand::Call { name, arguments, root } } => {
                tools::call(&name, &arguments, &root).await
            }
            Command::Models(args) => models::list(&args),
            Command::Debug { command: DebugCommand::Decode(args) } => debug::decode(&args),
            Command::Debug { command: DebugCommand::Encode(args) } => debug::encode(&args),
            Command::Conformance { command } => conformance::conformance(command).await,
        }
    });
    match outcome {
        Ok(status) => status,
        Err(failure) => failure.report(),
    }
}
