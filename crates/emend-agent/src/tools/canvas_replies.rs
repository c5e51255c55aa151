//! The replies of canvas operations, for the canvas tools and the contract of the service.

use serde::Serialize;

/// A check-out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CheckOut {
    /// Id of the lease, for all other operations.
    pub lease_id: String,
    /// Revision of the canvas.
    pub revision_id: String,
    /// The same revision, by its name in the contract.
    pub revision_id_at_checkout: String,
    /// Generation counter: the user increments it by taking the canvas back.
    pub canvas_epoch: u64,
    /// Expiry of the lease without renewal, in milliseconds since 1970.
    pub expires_at: u64,
    /// Path of the canvas.
    pub file_path: String,
    /// Number of lines.
    pub n_lines: usize,
}

/// A renewed lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Renewed {
    /// Expiry of the lease without renewal, in milliseconds since 1970.
    pub expires_at: u64,
    /// Revision of the canvas.
    pub revision_id: String,
}

/// A released lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CheckedIn {
    /// Whether the lease was still held. A second release has no effect.
    pub released: bool,
    /// Revision of the canvas.
    pub revision_id: String,
}

/// A matching line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CanvasMatch {
    /// Line number, from 1.
    pub line: usize,
    /// Text without its line ending.
    pub text: String,
}

/// The matches of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CanvasMatches {
    /// Matching lines in order.
    pub matches: Vec<CanvasMatch>,
    /// Whether there are more.
    pub truncated: bool,
    /// Revision of the canvas.
    pub revision_id: String,
}

/// Lines of the canvas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CanvasLines {
    /// The lines.
    pub text: String,
    /// First line, from 1.
    pub start_line: usize,
    /// Last line; less than `start_line` if the canvas is empty.
    pub end_line: usize,
    /// Number of lines of the canvas.
    pub n_lines: usize,
    /// Revision of the canvas.
    pub revision_id: String,
}

/// An applied edit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CanvasEdited {
    /// True.
    pub ok: bool,
    /// Number of changed places.
    pub applied_hunks: usize,
    /// Revision of the canvas after the edit.
    pub new_revision_id: String,
    /// The same revision, as in every reply.
    pub revision_id: String,
    /// Number of lines of the canvas after the edit.
    pub n_lines: usize,
}
