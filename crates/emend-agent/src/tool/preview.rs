//! What a tool says of a call before it runs, for whoever is asked whether it may.

use serde_json::Value;

/// What a call would do. Nothing has happened yet.
#[derive(Clone, Debug, PartialEq)]
pub enum Preview {
    /// Its arguments say all there is to say.
    Plain,
    /// What to show with the question, as an object. A call that edits shows `fileDiff` and its kin (S3 §5).
    Detail(Value),
    /// It would be refused whatever the answer, so nobody is to be asked: running it, without leave to write, says why.
    Futile,
}
