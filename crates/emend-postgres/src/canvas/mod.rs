//! Canvases in PostgreSQL: draft, committed artefact, and a lease that every server sees alike.
//!
//! The rules are functions of the database (`src/sql/002-canvas.sql`), on the database's clock. They are those of
//! [`emend_agent::canvas::Lease`]; `host_tests` compares both on every short history.

#[cfg(test)]
#[cfg(unix)]
mod host_tests;

use emend_agent::error_code::Code;
use emend_agent::store::StoreError;
use serde::Deserialize;
use tokio_postgres::types::ToSql;

use crate::database::{Address, Database};
use crate::error::{Failure, OpenError};

/// The answer to a request, also to a refused one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct CanvasAnswer {
    /// `ok`, or the stable code of the refusal.
    pub code: String,
    /// Hash of the draft after the request.
    pub revision_id: String,
    /// Epoch after the request.
    #[serde(default)]
    pub epoch: i64,
    /// Number of the caller's lease.
    #[serde(default)]
    pub lease_id: Option<i64>,
    /// Time at which the lease in force ends without activity, in milliseconds of the database's clock.
    #[serde(default)]
    pub expires_at: Option<i64>,
}

impl CanvasAnswer {
    /// Returns the code of a refusal.
    #[must_use]
    pub fn refusal(&self) -> Option<Code> {
        (self.code != "ok").then(|| Code::from_name(&self.code).unwrap_or(Code::Internal))
    }
}

/// A canvas with its draft.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct CanvasDraft {
    /// The draft.
    pub content: String,
    /// Hash of the draft.
    pub draft_hash: String,
    /// Hash of the artefact that was promoted last.
    pub artefact_hash: Option<String>,
    /// Present epoch.
    pub epoch: i64,
}

/// The hashes of a canvas. They differ if there is something to promote.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct CanvasHashes {
    /// Hash of the draft.
    pub draft_hash: String,
    /// Hash of the artefact that was promoted last.
    pub artefact_hash: Option<String>,
}

/// The answer to an appended node.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct AppendedNode {
    /// `ok`, or `LOCK_NOT_AVAILABLE` while an agent holds the lease of a draft to promote.
    pub code: String,
    /// Number of the node.
    pub node: Option<i64>,
    /// Whether the draft became the artefact of the node.
    #[serde(default)]
    pub promoted: bool,
}

/// Proof of a check-out in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CanvasTicket {
    /// Number of the lease.
    pub lease_id: i64,
    /// Epoch of the check-out.
    pub epoch: i64,
}

/// The canvases of a database.
///
/// A request whose connection breaks fails with [`StoreError::Io`]. It is not repeated, because its first try may have
/// been carried out; [`canvas`](Self::canvas) tells.
#[derive(Clone)]
pub struct PostgresCanvases {
    database: Database,
}

impl PostgresCanvases {
    /// Opens a migrated database.
    ///
    /// # Errors
    ///
    /// [`OpenError`].
    pub async fn open(address: &Address) -> Result<Self, OpenError> {
        Ok(Self { database: Database::open(address).await? })
    }

    async fn call<T: serde::de::DeserializeOwned>(
        &self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<T, StoreError> {
        let answer = async {
            let rows = self.database.try_rows(sql, params).await?;
            let answer = rows.first().and_then(|row| row.get::<_, Option<&str>>(0)).unwrap_or("null");
            Ok::<T, Failure>(serde_json::from_str(answer)?)
        };
        answer.await.map_err(|failure| failure.into_store_error(self.database.name()))
    }

    /// Creates a canvas with a text, unless it exists.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub async fn create(&self, canvas: &str, content: &str) -> Result<CanvasDraft, StoreError> {
        self.call("SELECT emend.open_canvas($1, $2)::text", &[&canvas, &content]).await
    }

    /// Returns a canvas; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub async fn canvas(&self, canvas: &str) -> Result<Option<CanvasDraft>, StoreError> {
        self.call("SELECT emend.rt_get_canvas_v1($1)::text", &[&canvas]).await
    }

    /// Returns the hashes of a canvas; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub async fn hashes(&self, canvas: &str) -> Result<Option<CanvasHashes>, StoreError> {
        self.call("SELECT emend.rt_canvas_hashes_v1($1)::text", &[&canvas]).await
    }

    /// Takes the lease for a caller that knows the epoch.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub async fn check_out(&self, canvas: &str, epoch: i64) -> Result<CanvasAnswer, StoreError> {
        self.call("SELECT emend.check_out($1, $2)::text", &[&canvas, &epoch]).await
    }

    /// Renews the lease.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub async fn renew(&self, canvas: &str, ticket: CanvasTicket) -> Result<CanvasAnswer, StoreError> {
        self.call("SELECT emend.renew($1, $2, $3)::text", &[&canvas, &ticket.lease_id, &ticket.epoch]).await
    }

    /// Releases the lease. A second release has no effect.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub async fn check_in(&self, canvas: &str, ticket: CanvasTicket) -> Result<CanvasAnswer, StoreError> {
        self.call("SELECT emend.check_in($1, $2, $3)::text", &[&canvas, &ticket.lease_id, &ticket.epoch]).await
    }

    /// Keeps the lease while a call of the model or a tool is in flight, for at most 120 s.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub async fn begin_guard(&self, canvas: &str, ticket: CanvasTicket) -> Result<CanvasAnswer, StoreError> {
        self.call("SELECT emend.begin_guard($1, $2, $3)::text", &[&canvas, &ticket.lease_id, &ticket.epoch]).await
    }

    /// Ends the guard of [`begin_guard`](Self::begin_guard).
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub async fn end_guard(&self, canvas: &str, ticket: CanvasTicket) -> Result<CanvasAnswer, StoreError> {
        self.call("SELECT emend.end_guard($1, $2, $3)::text", &[&canvas, &ticket.lease_id, &ticket.epoch]).await
    }

    /// Takes the canvas back for the user.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub async fn preempt(&self, canvas: &str) -> Result<CanvasAnswer, StoreError> {
        self.call("SELECT emend.preempt($1)::text", &[&canvas]).await
    }

    /// Saves a draft of the agent, made for the revision `base`. A refused draft changes nothing.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub async fn save(
        &self,
        canvas: &str,
        ticket: CanvasTicket,
        base: &str,
        content: &str,
    ) -> Result<CanvasAnswer, StoreError> {
        let sql = "SELECT emend.rt_save_artefact_draft($1, $2, $3, $4, $5)::text";
        self.call(sql, &[&canvas, &ticket.lease_id, &ticket.epoch, &base, &content]).await
    }

    /// Saves the user's text, which preempts.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub async fn save_of_user(&self, canvas: &str, content: &str) -> Result<CanvasAnswer, StoreError> {
        self.call("SELECT emend.save_user_draft($1, $2)::text", &[&canvas, &content]).await
    }

    /// Appends a node to a ref. If `canvas` is given, its draft becomes the artefact of the node, unless it is that of
    /// the artefact before.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub async fn append_node(
        &self,
        reference: &str,
        body: &serde_json::Value,
        canvas: Option<&str>,
    ) -> Result<AppendedNode, StoreError> {
        let sql = "SELECT emend.rt_append_node_to_ref_v1($1, $2::text::json, $3, $4)::text";
        self.call(sql, &[&reference, &body.to_string(), &canvas, &canvas.is_some()]).await
    }
}
