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
use crate::settings::{EditsName, Model, ProfileName, Settings};

/// An agent of the comparison.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) contestant: Contestant,
    entrant: Entrant,
    edits: Option<EditsName>,
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

    /// Sets model, edit tools and profile.
    pub(super) fn apply(&self, settings: &mut Settings) {
        settings.edits.value = self.edits;
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
        return recordings(directory, set);
    }
    let models = match args.models.as_slice() {
        [] => vec![Entrant::Model(Model::Offline)],
        models => models.to_vec(),
    };
    let mut entries = Vec::new();
    for entrant in models {
        let edits: Vec<Option<EditsName>> = match args.edits.as_slice() {
            [] => vec![None],
            edits => edits.iter().copied().map(Some).collect(),
        };
        for edits in edits {
            if matches!(entrant, Entrant::Control(_)) && edits.is_some_and(|edits| edits != EditsName::Own) {
                let message = format!("{entrant} has its own edit tools; leave out --edits, or run it by itself");
                return Err(Failure::new(Code::InvalidArgument, message));
            }
            let contestant = Contestant { model: entrant.to_string(), edits: edits.map(name) };
            let recording = match &args.replay {
                Some(directory) => {
                    let file = Recording::file_name(&contestant.model, contestant.edits.as_deref());
                    Some(Arc::new(load(&directory.join(file), set)?))
                }
                None => None,
            };
            let entry = Entry { contestant, entrant: entrant.clone(), edits, recording };
            if !entries.iter().any(|other: &Entry| other.contestant == entry.contestant) {
                entries.push(entry);
            }
        }
    }
    Ok(entries)
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
        let contestant = Contestant { model: recording.model.clone(), edits: recording.edits.clone() };
        Ok(Entry { contestant, entrant, edits: edits.map_err(wrong)?, recording: Some(Arc::new(recording)) })
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

/// Returns the name of edit tools as `--edits` takes it.
fn name(edits: EditsName) -> String {
    edits.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// Returns the provider's name of an agent's model, for prices.
pub(super) fn priced_model(entry: &Entry) -> &str {
    match &entry.entrant {
        Entrant::Model(Model::Remote { model, .. }) => model,
        Entrant::Model(_) => "offline",
        Entrant::Control(control) => Control::name(*control),
    }
}
