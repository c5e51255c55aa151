//! `emend diff`: prints the difference of two files as a unified diff, which `emend patch`, git and patch can apply.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use emend_agent::error_code::Code;
use emend_edit::diff::{Names, unified};
use emend_edit::text::decode;

use crate::args::DiffArgs;
use crate::failure::Failure;
use crate::visible;

/// Exit status for files that differ, as with `diff`.
const EXIT_DIFFERENT: u8 = 1;

/// Exit status for a file that cannot be read, as with `diff`.
const EXIT_TROUBLE: u8 = 2;

pub(crate) fn diff(args: &DiffArgs) -> Result<ExitCode, Failure> {
    let (a, b) = match (read(&args.a), read(&args.b)) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(failure), _) | (_, Err(failure)) => {
            failure.report();
            return Ok(ExitCode::from(EXIT_TROUBLE));
        }
    };
    let (old, new) = (args.a.display().to_string(), args.b.display().to_string());
    let text = unified(&a, &b, args.unified, Names { old: &old, new: &new });
    let mut stdout = visible::stdout();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(if text.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(EXIT_DIFFERENT) })
}

fn read(path: &Path) -> Result<String, Failure> {
    let shown = path.display();
    let bytes = std::fs::read(path).map_err(|error| {
        let code = if error.kind() == std::io::ErrorKind::NotFound { Code::NotFound } else { Code::IoError };
        Failure::new(code, format!("{shown}: {error}"))
    })?;
    let text = decode(&bytes).map_err(|error| Failure::new(Code::Unsupported, format!("{shown}: {error}")))?;
    Ok(text.to_owned())
}
