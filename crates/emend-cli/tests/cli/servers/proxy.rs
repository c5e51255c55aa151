//! A proxy in front of the database that cuts connections after the database has answered and before the answer arrives.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;

use super::random::Seeded;

/// The proxy. It swallows one of `one_in` answers and cuts its connection; 0 means none.
pub(super) struct Proxy {
    directory: TempDir,
    state: Arc<State>,
}

struct State {
    random: Seeded,
    one_in: u64,
    n_cuts: AtomicU64,
}

impl Proxy {
    pub(super) fn start(socket: PathBuf, seed: u64, one_in: u64) -> Self {
        let directory = TempDir::new().unwrap();
        std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let path = directory.path().join(".s.PGSQL.5432");
        let listener = UnixListener::bind(&path).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o777)).unwrap();
        let state = Arc::new(State { random: Seeded::new(seed), one_in, n_cuts: AtomicU64::new(0) });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = UnixStream::connect(&socket) else { continue };
                let state = Arc::clone(&shared);
                std::thread::spawn(move || forward(client, server, &state));
            }
        });
        Self { directory, state }
    }

    /// Returns an address with the same database behind this proxy.
    pub(super) fn address(&self, address: &str) -> String {
        let (user, rest) = address.split_once('@').unwrap();
        let (_, database) = rest.split_once('/').unwrap();
        format!("{user}@{}/{database}", self.directory.path().to_str().unwrap().replace('/', "%2F"))
    }

    pub(super) fn n_cuts(&self) -> u64 {
        self.state.n_cuts.load(Ordering::Relaxed)
    }
}

fn forward(client: UnixStream, server: UnixStream, state: &State) {
    let (mut from_client, mut to_client) = (client.try_clone().unwrap(), client);
    let (mut from_server, mut to_server) = (server.try_clone().unwrap(), server);
    let up = std::thread::spawn(move || {
        let _ = std::io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Both);
    });
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(n @ 1..) = from_server.read(&mut buffer) {
        if state.one_in > 0 && state.random.below(state.one_in) == 0 {
            state.n_cuts.fetch_add(1, Ordering::Relaxed);
            break;
        }
        if to_client.write_all(&buffer[..n]).is_err() {
            break;
        }
    }
    let _ = to_client.shutdown(Shutdown::Both);
    let _ = from_server.shutdown(Shutdown::Both);
    let _ = up.join();
}
