//! The preview of a call, for the user who is asked whether it may run.

use serde_json::Value;

/// The predicted outcome of a call that has not run.
#[derive(Clone, Debug, PartialEq)]
pub enum Preview {
    /// The arguments show everything.
    Plain,
    /// Details for the approval prompt, as an object. A call that edits gives `title`, `fileDiff` and the texts before and
    /// after.
    Detail(Value),
    /// The call would fail. The user is not asked: the call runs without permission to write and returns its error.
    Futile,
}
