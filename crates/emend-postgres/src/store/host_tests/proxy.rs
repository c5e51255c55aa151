//! A proxy in front of the database that cuts connections at chosen moments.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};

/// Forwards connections, and cuts one when its countdown of answers has passed.
pub(super) struct Proxy {
    directory: TempDir,
    plan: Arc<Plan>,
}

/// The answers that are forwarded before a cut, and before the cut after it.
struct Plan {
    left: AtomicI64,
    then: AtomicI64,
    n_cuts: AtomicU64,
}

impl Plan {
    /// Counts an answer. Returns whether it is swallowed.
    fn is_cut(&self) -> bool {
        let is_cut = self.left.fetch_sub(1, Ordering::SeqCst) == 0;
        if is_cut {
            self.n_cuts.fetch_add(1, Ordering::SeqCst);
            self.left.store(self.then.swap(i64::MAX, Ordering::SeqCst), Ordering::SeqCst);
        }
        is_cut
    }
}

impl Proxy {
    /// Listens in front of the socket of a server.
    pub(super) fn start(socket: PathBuf) -> Self {
        let directory = TempDir::new().unwrap();
        let listener = UnixListener::bind(directory.path().join(".s.PGSQL.5432")).unwrap();
        let (left, then) = (AtomicI64::new(i64::MAX), AtomicI64::new(i64::MAX));
        let plan = Arc::new(Plan { left, then, n_cuts: AtomicU64::new(0) });
        let proxy = Self { directory, plan: Arc::clone(&plan) };
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (plan, socket) = (Arc::clone(&plan), socket.clone());
                tokio::spawn(async move {
                    if let Ok(server) = UnixStream::connect(socket).await {
                        forward(client, server, &plan).await;
                    }
                });
            }
        });
        proxy
    }

    /// Returns an address with the same database behind this proxy.
    pub(super) fn address(&self, address: &str) -> String {
        let (user, rest) = address.split_once('@').unwrap();
        let (_, database) = rest.split_once('/').unwrap();
        format!("{user}@{}/{database}", self.directory.path().to_str().unwrap().replace('/', "%2F"))
    }

    /// Swallows the answer after `first` more answers and cuts its connection, and the same again after `then` answers.
    pub(super) fn cut_after(&self, first: i64, then: i64) {
        self.plan.then.store(then, Ordering::SeqCst);
        self.plan.left.store(first, Ordering::SeqCst);
    }

    pub(super) fn n_cuts(&self) -> u64 {
        self.plan.n_cuts.load(Ordering::SeqCst)
    }
}

async fn forward(client: UnixStream, server: UnixStream, plan: &Plan) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let up = tokio::spawn(async move {
        let _ = tokio::io::copy(&mut from_client, &mut to_server).await;
        let _ = to_server.shutdown().await;
    });
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(n) = from_server.read(&mut buffer).await {
        // The database has carried out the statement; its answer does not arrive.
        if n > 0 && plan.is_cut() {
            break;
        }
        if n == 0 || to_client.write_all(&buffer[..n]).await.is_err() {
            break;
        }
    }
    up.abort();
}
