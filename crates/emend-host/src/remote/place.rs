//! The place of a project on another machine or in a container, as `--env` names it: `ssh:HOST:DIR`,
//! `docker:CONTAINER:DIR`, `podman:CONTAINER:DIR` or `kubectl:POD:DIR`.

use std::fmt;
use std::str::FromStr;

/// The program that leads to the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteKind {
    /// The system's `ssh`.
    Ssh,
    /// `docker exec`.
    Docker,
    /// `podman exec`.
    Podman,
    /// `kubectl exec`.
    Kubectl,
}

impl RemoteKind {
    const ALL: [Self; 4] = [Self::Ssh, Self::Docker, Self::Podman, Self::Kubectl];

    /// Returns the name, which is also that of the program.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ssh => "ssh",
            Self::Docker => "docker",
            Self::Podman => "podman",
            Self::Kubectl => "kubectl",
        }
    }
}

/// A directory on another machine or in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemotePlace {
    /// The program that leads there.
    pub kind: RemoteKind,
    /// Host as `ssh` takes it, container, or pod: `POD`, `NAMESPACE/POD` or `NAMESPACE/POD/CONTAINER`.
    pub host: String,
    /// Absolute path of the directory.
    pub directory: String,
}

const EXPECTED: &str = "expected ssh:HOST:DIR, docker:CONTAINER:DIR, podman:CONTAINER:DIR or kubectl:POD:DIR, with an \
                        absolute DIR";

impl FromStr for RemotePlace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{EXPECTED}, not {text:?}");
        let (kind, rest) = text.trim().split_once(':').ok_or_else(wrong)?;
        let kind = RemoteKind::ALL.into_iter().find(|known| known.name() == kind).ok_or_else(wrong)?;
        // The host may be an IPv6 address, which contains colons but no slash.
        let (host, directory) = rest.split_at_checked(rest.find(":/").ok_or_else(wrong)?).ok_or_else(wrong)?;
        let directory = &directory[1..];
        // A leading dash would be read as an option of the program. A pod has parts, which are arguments of their own.
        let is_option = host.split('/').any(|part| part.starts_with('-'));
        if host.is_empty() || is_option || host.contains(char::is_whitespace) || rest.contains(char::is_control) {
            return Err(wrong());
        }
        if kind == RemoteKind::Kubectl && !(1..=3).contains(&host.split('/').filter(|part| !part.is_empty()).count()) {
            return Err(wrong());
        }
        let directory = match directory.trim_end_matches('/') {
            "" => "/".to_owned(),
            directory => directory.to_owned(),
        };
        Ok(Self { kind, host: host.to_owned(), directory })
    }
}

impl fmt::Display for RemotePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.kind.name(), self.host, self.directory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_written() {
        for (text, host, directory) in [
            ("ssh:box:/srv/app", "box", "/srv/app"),
            ("ssh:me@10.0.0.1:/srv/app/", "me@10.0.0.1", "/srv/app"),
            ("ssh:me@fe80::1:/srv", "me@fe80::1", "/srv"),
            ("docker:web-1:/", "web-1", "/"),
            ("podman:web:/a:/b", "web", "/a:/b"),
            ("kubectl:shop/web-0/app:/srv", "shop/web-0/app", "/srv"),
        ] {
            let place: RemotePlace = text.parse().unwrap();
            assert_eq!((place.host.as_str(), place.directory.as_str()), (host, directory), "{text}");
            assert_eq!(place.to_string().parse(), Ok(place), "{text}");
        }
    }

    #[test]
    fn other_texts_are_rejected() {
        for text in [
            "",
            "/srv/app",
            "ssh:box",
            "ssh:box:app",
            "ssh::/srv",
            "ssh:-oProxyCommand=x:/srv",
            "ssh:a b:/srv",
            "ssh:box:/a\nb",
            "rsh:box:/srv",
            "kubectl:a/b/c/d:/srv",
            "kubectl:shop/--kubeconfig=x:/srv",
            "kubectl:shop/web-0/-x:/srv",
        ] {
            let error = text.parse::<RemotePlace>().unwrap_err();
            assert!(error.starts_with(EXPECTED), "{text:?}: {error}");
        }
    }
}
