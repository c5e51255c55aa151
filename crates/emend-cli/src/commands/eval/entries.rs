//! The agents of a comparison: models with their edit tools, or recordings.

use std::path::Path;
use std::sync::Arc;

use clap::ValueEnum as _;
use emend_agent::error_code::Code;
use emend_eval::recording::{RecordedTask, Recording};
use emend_eval::score::Contestant;
use emend_eval::script::Control;
use emend_eval::task::{Task, TaskSet};
use emend_llm::Shared;

use crate::args::{Entrant, EvalArgs};
use crate::failure::Failure;
use crate::provider::OwnResponses;
use crate::settings::{EditsName, Model, ProfileName, Settings, ToolCalls};

/// An agent of the comparison.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) contestant: Contestant,
    entrant: Entrant,
    edits: Option<EditsName>,
    tool_calls: Option<ToolCalls>,
    /// The recording that responds in its place.
    recording: Option<Arc<Recording>>,
}

impl Entry {
    /// Returns the recorded runs of a task, in a replay.
    pub(super) fn recorded(&self, task: &Task) -> Result<Option<&RecordedTask>, Failure> {
        let Some(recording) = &self.recording else { return Ok(None) };
        recording.tasks.get(&task.id).map(Some).ok_or_else(|| {
            let message = format!("the recording of {} has no task {}; record it again", self.contestant, task.id);
            Failure::new(Code::Configuration, message)
        })
    }

    /// Returns the responses to the requests of a task, unless they come from the model of the settings.
    pub(super) fn responses(&self, task: &Task) -> Result<Option<OwnResponses>, Failure> {
        if let Some(recorded) = self.recorded(task)? {
            return Ok(Some(OwnResponses::Cassette(recorded.cassette.clone())));
        }
        Ok(match &self.entrant {
            Entrant::Model(_) => None,
            Entrant::Control(control) => {
                Some(OwnResponses::Transport(Shared::new(control.transport(task)), control.name()))
            }
        })
    }

    /// Sets model, edit tools, form of tool calls and profile.
    pub(super) fn apply(&self, settings: &mut Settings) {
        settings.edits.value = self.edits;
        settings.tool_calls.value = self.tool_calls.unwrap_or_default();
        match &self.entrant {
            Entrant::Model(model) => settings.model.value = Some(model.clone()),
            // Their calls have the canonical names of tools. The model is not asked.
            Entrant::Control(_) => {
                settings.model.value = Some(Model::Offline);
                settings.profile.value = ProfileName::None;
            }
        }
    }
}

/// Returns the agents that the options name; in a replay, by default all recordings in the directory.
pub(super) fn entries(args: &EvalArgs, set: &TaskSet) -> Result<Vec<Entry>, Failure> {
    if let (Some(directory), true) = (&args.replay, args.models.is_empty()) {
        if !args.edits.is_empty() || !args.tool_calls.is_empty() {
            let message = "--edits and --tool-calls choose recordings only together with --model; leave them out, or name the model";
            return Err(Failure::new(Code::InvalidArgument, message));
        }
        return recordings(directory, set);
    }
    let models = match args.models.as_slice() {
        [] => vec![Entrant::Model(Model::Offline)],
        models => models.to_vec(),
    };
    let edits = each_or_none(&args.edits);
    let tool_calls = each_or_none(&args.tool_calls);
    let mut entries = Vec::new();
    for entrant in models {
        for (edits, tool_calls) in edits.iter().flat_map(|edits| tool_calls.iter().map(move |calls| (*edits, *calls))) {
            if matches!(entrant, Entrant::Control(_)) {
                let own = |what: &str, option: &str| {
                    let message = format!("{entrant} has its own {what}; leave out {option}, or run it by itself");
                    Failure::new(Code::InvalidArgument, message)
                };
                if edits.is_some_and(|edits| edits != EditsName::Own) {
                    return Err(own("edit tools", "--edits"));
                }
                if tool_calls.is_some() {
                    return Err(own("form of tool calls", "--tool-calls"));
                }
            }
            let (model, names) = (entrant.to_string(), (edits.map(name), tool_calls.map(name)));
            let contestant = Contestant { model, edits: names.0, tool_calls: names.1 };
            let recording = match &args.replay {
                Some(directory) => Some(Arc::new(load(&directory.join(Recording::file_name(&contestant)), set)?)),
                None => None,
            };
            let entry = Entry { contestant, entrant: entrant.clone(), edits, tool_calls, recording };
            if !entries.iter().any(|other: &Entry| other.contestant == entry.contestant) {
                entries.push(entry);
            }
        }
    }
    Ok(entries)
}

/// Returns the values of an option that may be given several times; without values the usual one.
fn each_or_none<T: Copy>(values: &[T]) -> Vec<Option<T>> {
    match values {
        [] => vec![None],
        values => values.iter().copied().map(Some).collect(),
    }
}

/// Returns an agent for each recording in a directory, by file name.
fn recordings(directory: &Path, set: &TaskSet) -> Result<Vec<Entry>, Failure> {
    let failed = |what: String| Failure::new(Code::Configuration, format!("{}: {what}", directory.display()));
    let listed = std::fs::read_dir(directory).map_err(|error| failed(error.to_string()))?;
    let mut files: Vec<_> = listed.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    if files.is_empty() {
        return Err(failed("there is no recording; make one with --record".to_owned()));
    }
    let entry = |file: &std::path::PathBuf| {
        let recording = load(file, set)?;
        let wrong = |what: String| Failure::new(Code::Configuration, format!("{}: {what}", file.display()));
        let entrant = recording.model.parse().map_err(wrong)?;
        let edits = recording.edits.as_deref().map(|edits| EditsName::from_str(edits, false)).transpose();
        let tool_calls = recording.tool_calls.as_deref().map(|calls| ToolCalls::from_str(calls, false)).transpose();
        let contestant = recording.contestant();
        let (edits, tool_calls) = (edits.map_err(wrong)?, tool_calls.map_err(wrong)?);
        Ok(Entry { contestant, entrant, edits, tool_calls, recording: Some(Arc::new(recording)) })
    };
    files.iter().map(entry).collect()
}

fn load(file: &Path, set: &TaskSet) -> Result<Recording, Failure> {
    let wrong = |what: String| Failure::new(Code::Configuration, format!("{}: {what}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let recording = Recording::from_json(&text).map_err(|error| wrong(error.to_string()))?;
    if recording.set != (set.name.clone(), set.digest.clone()) {
        let (name, digest) = &recording.set;
        let what =
            format!("it was made with the set {name} {digest}, not {} {}; record it again", set.name, set.digest);
        return Err(wrong(what));
    }
    Ok(recording)
}

/// Returns the name of a value as its option takes it.
fn name(value: impl clap::ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// Returns the provider's name of an agent's model, for prices.
pub(super) fn priced_model(entry: &Entry) -> &str {
    match &entry.entrant {
        Entrant::Model(Model::Remote { model, .. }) => model,
        Entrant::Model(_) => "offline",
        Entrant::Control(control) => Control::name(*control),
    }
}
