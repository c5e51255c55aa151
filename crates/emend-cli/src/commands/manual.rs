//! `emend completions` and `emend man`, generated from the definition of the command line.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::Shell;
use emend_agent::error_code::Code;

use crate::args::Cli;
use crate::failure::Failure;

pub(crate) fn completions(shell: Shell) -> Result<ExitCode, Failure> {
    // Generated in memory, since the generator panics if it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "emend", &mut script);
    std::io::stdout().lock().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn man(dir: Option<&Path>) -> Result<ExitCode, Failure> {
    match dir {
        Some(dir) => {
            let made = std::fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(Cli::command(), dir));
            made.map_err(|error| {
                Failure::new(Code::IoError, format!("cannot write the manual pages to {}: {error}", dir.display()))
            })?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page)?;
            std::io::stdout().lock().write_all(&page)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
