//! Arguments of `emend eval`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use emend_eval::script::Control;

use crate::settings::{EditsName, FixedFlags, Model, ToolCalls};

#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    /// Task set: `core`, `small`, `rustlings:DIR`, `history:DIR`, `polyglot:DIR`, or a file or directory with tasks in TOML.
    #[arg(value_name = "SET", default_value = "core")]
    pub(crate) set: String,
    /// Model to compare: `PROVIDER:MODEL`, a known model, `offline`, `do-nothing` or `reference`. Several times for several.
    ///
    /// `do-nothing` must solve no task and `reference` all; they are controls of the set and of the scores. Default: the
    /// recordings with `--replay`, otherwise `offline`.
    #[arg(long = "model", value_name = "MODEL")]
    pub(crate) models: Vec<Entrant>,
    /// Editing tool to give each model. Several times for several; each model then runs with each tool.
    #[arg(long = "edits", value_enum, value_name = "TOOL")]
    pub(crate) edits: Vec<EditsName>,
    /// Form of each model's tool calls. Several times for several; each model then runs with each form.
    ///
    /// `constrained` is for small models behind a server that enforces a JSON schema, such as llama.cpp.
    #[arg(long = "tool-calls", value_enum, value_name = "FORM")]
    pub(crate) tool_calls: Vec<ToolCalls>,
    /// Run only the task with this ID. Several times for several.
    #[arg(long = "task", value_name = "ID")]
    pub(crate) tasks: Vec<String>,
    /// Number of attempts. The second one follows in the same conversation if the first one failed.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub(crate) attempts: u8,
    /// Number of tasks that run at the same time.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) jobs: NonZeroUsize,
    /// Record all requests and responses to DIR, one file for each agent.
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    pub(crate) record: Option<PathBuf>,
    /// Take all responses from recordings in DIR. A request that does not match its recording fails.
    #[arg(long, value_name = "DIR")]
    pub(crate) replay: Option<PathBuf>,
    /// Run nothing: score the runs of another host from FILE, and check its requests against the recordings.
    #[arg(long, value_name = "FILE", requires = "replay")]
    pub(crate) judge: Option<PathBuf>,
    /// Host of the sessions.
    ///
    /// `browser` runs them in a page of Chromium, one after another, and takes all responses from the recordings of
    /// `--replay`: those of `offline`, `do-nothing` and `reference`, on a set without commands. The results are those of
    /// `native`, byte for byte. It needs Chromium and the npm package `emend`, and no Node.
    #[arg(long, value_enum, value_name = "HOST", default_value_t = Backend::Native, conflicts_with = "judge")]
    pub(crate) backend: Backend,
    /// Directory of the npm package for `--backend browser`. Default: `node_modules/emend`.
    #[arg(long, value_name = "DIR")]
    pub(crate) package: Option<PathBuf>,
    /// Chromium for `--backend browser`. Default: the variable CHROMIUM, then the first of several names on PATH.
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) browser: Option<PathBuf>,
    /// Format of the report.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = ReportName::Table)]
    pub(crate) output: ReportName,
    /// List the tasks instead of running them.
    #[arg(long)]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) settings: FixedFlags,
}

/// The hosts of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Backend {
    /// This program.
    Native,
    /// The npm package in a page of Chromium.
    Browser,
}

/// The formats of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportName {
    /// A table.
    Table,
    /// One JSON object per line: the set, each task, each agent.
    Jsonl,
    /// One page with plots.
    Html,
}

/// An agent of the comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entrant {
    Model(Model),
    Control(Control),
}

impl FromStr for Entrant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match Control::from_name(text) {
            Some(control) => Ok(Self::Control(control)),
            None => text.parse().map(Self::Model),
        }
    }
}

impl std::fmt::Display for Entrant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Model(model) => model.fmt(f),
            Self::Control(control) => f.write_str(control.name()),
        }
    }
}
