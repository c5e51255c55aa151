//! The system prompt, in layers: base instructions, environment, tools, project documents, and user instructions. Later
//! layers take precedence.
//!
//! Constant parts come first, so that providers can cache the prefix. Facts about the machine are collected once, at
//! the start of the session. The profile selects the base instructions and the names of documents.

mod documents;
mod git;

use emend_llm::{ToolDefinition, get_model_info};

pub use documents::{DOCUMENT_BYTES_MAX, ProjectDocument, discover};
pub use git::from_files;

use crate::environment::{ExecutionEnvironment, GitSnapshot};

/// Returns the base instructions for models without a profile. They hold the placeholders of
/// [`ToolNames::expand`](crate::tool::ToolNames::expand).
#[must_use]
pub fn base_prompt() -> &'static str {
    include_str!("base.md")
}

/// Facts about the machine and the project at the start of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The root as the user knows it.
    pub working_directory: String,
    /// `linux`, `darwin`, `windows` or `wasm`.
    pub platform: String,
    /// Version of the operating system.
    pub os_version: String,
    /// UTC date, `YYYY-MM-DD`.
    pub date: String,
    /// The repository of the root, if any.
    pub git: Option<GitSnapshot>,
}

impl Facts {
    /// Collects the facts from the environment.
    pub async fn of(environment: &dyn ExecutionEnvironment, now_ms: u64) -> Self {
        let git = match environment.git().await {
            Some(snapshot) => Some(snapshot),
            None => from_files(environment).await,
        };
        Self {
            working_directory: environment.working_directory(),
            platform: environment.platform().to_owned(),
            os_version: environment.os_version(),
            date: date(now_ms),
            git,
        }
    }
}

/// The layers of a prompt.
pub struct Layers<'a> {
    /// The base instructions.
    pub base: &'a str,
    /// Facts about the machine and the project.
    pub facts: &'a Facts,
    /// Id of the model.
    pub model: &'a str,
    /// Path of the canvas, if a file is open.
    pub open_file: Option<&'a str>,
    /// The tools that the model may call.
    pub tools: &'a [ToolDefinition],
    /// The project documents; those of deeper directories last.
    pub documents: &'a [ProjectDocument],
    /// The instructions of the user.
    pub instructions: Option<&'a str>,
}

impl Layers<'_> {
    /// Returns the prompt as text.
    #[must_use]
    pub fn assemble(&self) -> String {
        let mut prompt = format!("{}\n\n", self.base.trim_end());
        self.environment(&mut prompt);
        if !self.tools.is_empty() {
            prompt.push_str("\n<tools>\n");
            for tool in self.tools {
                prompt.push_str(&format!("- {}: {}\n", tool.name, first_sentence(&tool.description)));
            }
            prompt.push_str("</tools>\n");
        }
        for document in self.documents {
            let ProjectDocument { path, text } = document;
            let text = text.trim_end();
            prompt.push_str(&format!("\n<project_instructions path=\"{path}\">\n{text}\n</project_instructions>\n"));
        }
        if let Some(path) = self.open_file {
            prompt.push_str(&format!("\nOpen file: {path}\n"));
        }
        if let Some(instructions) = self.instructions {
            prompt.push_str(&format!("\n<user_instructions>\n{instructions}\n</user_instructions>\n"));
        }
        prompt
    }

    /// Writes the environment block. Lines that differ between machines start in the way that cassettes normalise.
    fn environment(&self, prompt: &mut String) {
        let Facts { working_directory, platform, os_version, date, git } = self.facts;
        let known = get_model_info(self.model);
        let model = known.map_or(self.model, |info| &info.display_name);
        prompt.push_str(&format!(
            "<environment>\nWorking directory: {working_directory}\nIs git repository: {}\n",
            git.is_some()
        ));
        if let Some(git) = git {
            git::describe(git, prompt);
        }
        prompt.push_str(&format!(
            "Platform: {platform}\nOS version: {os_version}\nToday's date: {date}\nModel: {model}\n"
        ));
        if let Some(cutoff) = known.and_then(|info| info.knowledge_cutoff.as_deref()) {
            prompt.push_str(&format!("Knowledge cutoff: {cutoff}\n"));
        }
        prompt.push_str("</environment>\n");
    }
}

/// Returns the first sentence of a description; the tool schema holds the rest.
fn first_sentence(description: &str) -> &str {
    let line = description.lines().next().unwrap_or_default();
    line.split_inclusive(". ").next().unwrap_or_default().trim_end()
}

/// Returns the UTC date of a time in milliseconds since 1970 as `YYYY-MM-DD`.
#[must_use]
pub fn date(now_ms: u64) -> String {
    // Days are counted from 0000-03-01, so that the leap day is the last day of its year; 146,097 days are 400 years.
    let days = i64::try_from(now_ms / 86_400_000).unwrap_or_default() + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests;
