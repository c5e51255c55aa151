//! Containers: `docker exec`, `podman exec` and `kubectl exec` start the shell of the far side.
//!
//! The programs keep no connection, so nothing has to be made again after a failure: the next step starts the next
//! program.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use super::far::{FarError, Runner};
use super::place::{RemoteKind, RemotePlace};
use super::script::{BOOTSTRAP, last_words};

/// A container, reached by a command-line program.
pub(super) struct Container {
    program: OsString,
    kind: RemoteKind,
    /// Container, or pod.
    name: String,
    namespace: Option<String>,
    /// Container of the pod; its default one if absent.
    inner: Option<String>,
}

impl Container {
    /// Returns the container of a place. `program` replaces the program of its kind.
    pub(super) fn new(place: &RemotePlace, program: Option<OsString>) -> Self {
        let program = program.unwrap_or_else(|| place.kind.name().into());
        let mut parts: Vec<String> = match place.kind {
            RemoteKind::Kubectl => place.host.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect(),
            _ => vec![place.host.clone()],
        };
        let inner = if parts.len() > 2 { parts.pop() } else { None };
        let name = parts.pop().unwrap_or_default();
        Self { program, kind: place.kind, name, namespace: parts.pop(), inner }
    }

    /// Returns the id that tells this container from others of the same name.
    ///
    /// # Errors
    ///
    /// `Lost` if the program does not find the container.
    pub(super) fn id(&self) -> Result<String, FarError> {
        let mut program = self.command();
        match self.kind {
            RemoteKind::Kubectl => {
                program.args(["get", "pod", &self.name, "-o", "jsonpath={.metadata.uid}"]);
            }
            _ => {
                program.args(["container", "inspect", "--format", "{{.Id}}", &self.name]);
            }
        }
        let output = program.stdin(Stdio::null()).output().map_err(|error| self.not_started(&error))?;
        let id = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if !output.status.success() || id.is_empty() {
            return Err(FarError::Lost(format!("cannot find {}: {}", self.name(), last_words(&output.stderr))));
        }
        Ok(self.inner.as_ref().map_or_else(|| id.clone(), |inner| format!("{id}/{inner}")))
    }

    fn command(&self) -> Command {
        let mut program = Command::new(&self.program);
        if let Some(namespace) = &self.namespace {
            program.args(["--namespace", namespace]);
        }
        // Signals of the terminal go to the group in the foreground.
        program.process_group(0);
        program
    }

    fn not_started(&self, error: &std::io::Error) -> FarError {
        FarError::Lost(format!("cannot start {}: {error}", self.program.to_string_lossy()))
    }
}

impl Runner for Container {
    fn shell(&self) -> Result<Command, FarError> {
        let mut program = self.command();
        program.args(["exec", "-i", &self.name]);
        if let Some(inner) = &self.inner {
            program.args(["-c", inner]);
        }
        if self.kind == RemoteKind::Kubectl {
            program.arg("--");
        }
        program.args(["/bin/sh", "-c", BOOTSTRAP]);
        Ok(program)
    }

    fn name(&self) -> String {
        format!("{} {}", self.kind.name(), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(place: &str, expected: &str) {
        let container = Container::new(&place.parse().unwrap(), None);
        let shell = container.shell().unwrap();
        let words: Vec<_> = [shell.get_program()].into_iter().chain(shell.get_args()).collect();
        let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
        assert_eq!(words.join(" "), format!("{expected} /bin/sh -c {BOOTSTRAP}"));
    }

    #[test]
    fn each_program_gets_its_arguments() {
        check("docker:web:/srv", "docker exec -i web");
        check("podman:web:/srv", "podman exec -i web");
        check("kubectl:web-0:/srv", "kubectl exec -i web-0 --");
        check("kubectl:shop/web-0:/srv", "kubectl --namespace shop exec -i web-0 --");
        check("kubectl:shop/web-0/app:/srv", "kubectl --namespace shop exec -i web-0 -c app --");
    }
}
