//! Emend in PostgreSQL: the store of the review service, and canvases with their leases on the database's clock.
//!
//! [`migrate()`] creates the tables in the schema `emend`; opening a store only checks their version. All rules that
//! several servers must agree on are functions of the database (`src/sql`), so that each holds in one transaction.

mod canvas;
mod database;
mod error;
#[cfg(any(test, feature = "harness"))]
#[cfg(unix)]
pub mod harness;
mod jobs;
mod lock;
mod migrate;
mod store;
mod tls;

pub use canvas::{AppendedNode, CanvasAnswer, CanvasDraft, CanvasHashes, CanvasTicket, PostgresCanvases};
pub use database::{Address, CONNECTIONS_MAX, migrate};
pub use error::OpenError;
pub use jobs::{Claim, ClaimError, JobWait, PostgresJobs, RootLock, ServerJobs, ServerOptions};
pub use migrate::{Migrated, known_version};
pub use store::PostgresServiceStore;
