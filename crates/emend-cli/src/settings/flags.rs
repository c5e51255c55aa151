//! Command-line options of the settings, made from the table.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use emend_llm::PROVIDERS;

use super::table::{ADVANCED, Row, Settings, rows};

/// The options that were given.
#[derive(Clone, Default)]
pub(crate) struct SettingFlags {
    /// Each option with its values.
    pub(super) given: Vec<(&'static Row, Vec<String>)>,
}

impl std::fmt::Debug for SettingFlags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.given.iter().map(|(row, values)| (row.name, values))).finish()
    }
}

impl Args for SettingFlags {
    fn augment_args(command: Command) -> Command {
        command.args(rows().map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Settings that `emend eval` varies itself, or that mean nothing for it.
const VARIED: [&str; 9] = [
    "env",
    "model",
    "edits",
    "review",
    "tool_calls",
    "session_max_tokens",
    "session_max_cost",
    "session_max_time",
    "web_app",
];

/// The options of the settings without those in [`VARIED`].
#[derive(Clone, Debug, Default)]
pub(crate) struct FixedFlags(pub(crate) SettingFlags);

impl Args for FixedFlags {
    fn augment_args(command: Command) -> Command {
        command.args(rows().filter(|row| !VARIED.contains(&row.name)).map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for FixedFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.read(matches, rows().filter(|row| !VARIED.contains(&row.name)));
        Ok(())
    }
}

fn option(row: &'static Row) -> Arg {
    let mut option =
        Arg::new(row.name).long(row.option.trim_start_matches('-')).help(row.help).help_heading(row.heading);
    if !row.details.is_empty() {
        let providers = PROVIDERS.map(|info| info.name).join(", ");
        let details = row.details.replace("{providers}", &providers);
        option = option.long_help(format!("{}.\n\n{details}", row.help));
    }
    if row.heading == ADVANCED {
        option = option.hide_short_help(true);
    }
    if !row.value_name.is_empty() {
        option = option.value_name(row.value_name).action(ArgAction::Set);
    }
    if let Some(other) = row.requires {
        option = option.requires(other);
    }
    (row.field)(&mut Settings::default()).option(option)
}

impl FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.read(matches, rows());
        Ok(())
    }
}

impl SettingFlags {
    fn read(&mut self, matches: &ArgMatches, rows: impl Iterator<Item = &'static Row>) {
        for row in rows {
            let values = match row.value_name {
                "" => {
                    if matches.get_flag(row.name) {
                        vec!["true".to_owned()]
                    } else {
                        Vec::new()
                    }
                }
                _ => matches.get_many::<String>(row.name).into_iter().flatten().cloned().collect(),
            };
            if !values.is_empty() {
                self.given.push((row, values));
            }
        }
    }
}
