//! `emend truncate`: prints the output of a tool as the model would see it.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use emend_agent::error_code::Code;
use emend_agent::tools::output_limits_of;
use emend_edit::truncate::truncate_output;

use crate::failure::Failure;
use crate::visible;

pub(crate) fn truncate(tool: &str) -> Result<ExitCode, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    let output = String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        Failure::new(Code::Unsupported, format!("the text is not UTF-8 (an invalid byte at offset {offset})"))
    })?;
    let mut stdout = visible::stdout();
    stdout.write_all(truncate_output(&output, output_limits_of(tool)).text.as_bytes())?;
    stdout.flush()?;
    Ok(ExitCode::SUCCESS)
}
