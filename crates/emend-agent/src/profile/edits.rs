//! The way a model edits: by the tool of its family, by `safe_patch`, or by `edit_lines`.

use serde::Deserialize;

use crate::error_code::Code;

/// The way in which a model edits. The names in JSON are `own`, `safe_patch` and `edit_lines`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Edits {
    /// The way of the family's own agent: patches or exact replacement.
    Own,
    /// `safe_patch`: unified diffs over exactly the text that they were made for.
    SafePatch,
    /// `edit_lines`: lines by number, in files that the model has read.
    EditLines,
}

impl Edits {
    /// Returns the name of the tool that replaces the family's own.
    pub(super) fn tool(self) -> Option<&'static str> {
        match self {
            Self::Own => None,
            Self::SafePatch => Some("safe_patch"),
            Self::EditLines => Some("edit_lines"),
        }
    }

    /// Returns the way in which the model of a session edits: the requested one, or `None` for the default of the profile.
    /// The offline model always replaces texts.
    ///
    /// # Errors
    ///
    /// Returns an [`EditsError`] if `safe_patch` is requested for the offline model or without a profile.
    pub fn choose(asked: Option<Self>, has_profile: bool, offline: bool) -> Result<Option<Self>, EditsError> {
        match asked {
            Some(Self::SafePatch | Self::EditLines) if offline => Err(EditsError::Offline),
            Some(Self::SafePatch | Self::EditLines) if !has_profile => Err(EditsError::NoProfile),
            None if offline => Ok(Some(Self::Own)),
            asked => Ok(asked),
        }
    }
}

/// The reason why a model cannot edit in the requested way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditsError {
    /// The offline model cannot write diffs.
    #[error("the offline model replaces texts and cannot write diffs; name a model to edit otherwise")]
    Offline,
    /// The model has no profile whose edit tools could be replaced.
    #[error("the model has no profile, so its tools for edits cannot be replaced; name a profile to edit otherwise")]
    NoProfile,
}

impl EditsError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> Code {
        Code::Configuration
    }
}
