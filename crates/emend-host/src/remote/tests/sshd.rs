//! The SSH server of the tests as the far side of an environment.

use std::ops::Deref;
use std::path::Path;
use std::sync::OnceLock;

pub(crate) use emend_tests::sshd::give;

use crate::remote::environment::{Programs, RemoteEnvironment};
use crate::remote::place::RemotePlace;
use crate::remote::ssh::SshProgram;

/// A running server.
pub(crate) struct Sshd(emend_tests::sshd::Sshd);

impl Deref for Sshd {
    type Target = emend_tests::sshd::Sshd;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Sshd {
    /// Returns the server that the tests of this process share; `None` without sshd or without a user for it, which is
    /// printed.
    pub(crate) fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Sshd>> = OnceLock::new();
        let shared = SHARED.get_or_init(Self::start).as_ref();
        if shared.is_none() {
            emend_tests::sshd::print_missing();
        }
        shared
    }

    /// Starts a server; `None` without sshd or without a user for it. A server that is installed must start.
    pub(crate) fn start() -> Option<Self> {
        emend_tests::sshd::Sshd::start().map(Self)
    }

    /// Returns the programs that connect to the host `box`.
    pub(crate) fn programs(&self) -> Programs {
        let options = vec!["-F".into(), self.client_settings().into()];
        Programs { ssh: SshProgram { program: "ssh".into(), options }, container: None }
    }

    /// Connects to a directory, which is given to the user of the server.
    pub(crate) fn environment(&self, root: &Path) -> RemoteEnvironment {
        self.open(root.parent().unwrap());
        let place = RemotePlace {
            kind: crate::remote::RemoteKind::Ssh,
            host: "box".to_owned(),
            directory: root.to_str().unwrap().to_owned(),
        };
        RemoteEnvironment::connect_by(&place, self.programs()).unwrap()
    }
}
