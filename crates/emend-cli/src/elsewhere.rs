//! Opens a place on another machine or in a container.

use emend_agent::environment::EnvError;
use emend_agent::error_code::Code;
use emend_host::{RemoteEnvironment, RemotePlace};

use crate::failure::Failure;

/// Connects to the place that `--env` names.
pub(crate) async fn connect(name: &str) -> Result<RemoteEnvironment, Failure> {
    let wrong = |what: String| Failure::new(Code::Configuration, format!("--env: {what}"));
    let place: RemotePlace = name.parse().map_err(wrong)?;
    let connecting = tokio::task::spawn_blocking(move || RemoteEnvironment::connect(&place));
    let connected = connecting.await.map_err(|error| Failure::new(Code::IoError, error.to_string()))?;
    connected.map_err(|error| match error {
        EnvError::NotFound { .. } | EnvError::InvalidPath { .. } => wrong(error.to_string()),
        error => Failure::new(error.code(), format!("--env: {error}")),
    })
}
