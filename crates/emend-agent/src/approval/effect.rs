//! The effect of a tool: the property from which approval defaults, concurrency and interruption follow.

/// The effect of a tool's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolEffect {
    /// Reads the workspace and changes nothing.
    Reads,
    /// Changes files of the workspace. Also the effect of a tool about which nothing is known.
    Writes,
    /// Acts outside of the workspace: runs a command or sends a request.
    Runs,
    /// Puts a question to the user. The run ends, and the next message of the user is the answer.
    Asks,
    /// Starts or steers subagents. Subagents at the greatest depth do not get such a tool.
    Delegates,
}

impl ToolEffect {
    /// Returns whether a call may be dropped half-way when the user cancels. False if that could cut a change in half.
    #[must_use]
    pub fn is_interruptible(self) -> bool {
        matches!(self, Self::Reads | Self::Asks | Self::Delegates)
    }

    /// Returns whether calls may run at the same time as other calls of the same message.
    #[must_use]
    pub fn is_concurrent(self) -> bool {
        self == Self::Reads
    }

    /// Returns the effect as the subject of a rule.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Reads => "read",
            Self::Writes => "edit",
            Self::Runs => "run",
            Self::Asks => "ask",
            Self::Delegates => "delegate",
        }
    }

    /// Returns the effect that a rule may name in the place of a tool: `read`, `edit` or `run`.
    pub(super) fn named(name: &str) -> Option<Self> {
        [Self::Reads, Self::Writes, Self::Runs].into_iter().find(|effect| effect.text() == name)
    }
}
