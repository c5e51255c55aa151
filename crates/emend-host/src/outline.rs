//! The tool `outline`: the definitions of a source file, or those of a name in the project.
//!
//! `emend_outline` parses the texts. The tool reads them through the workspace, as all tools do, so it shows pending edits
//! and no file that rules hide. An outline does not count as a read of the file, because it does not show its lines.

use emend_agent::approval::{Target, ToolEffect};
use emend_agent::environment::FilePath;
use emend_agent::error_code::Code;
use emend_agent::search::Matcher;
use emend_agent::tool::{Tool, ToolContext, ToolError, ToolOutput};
use emend_edit::truncate::{Mode, OutputLimits};
use emend_llm::{BoxFuture, ToolDefinition};
use emend_outline::{Kind, Language, Limits, OutlineError, Symbol, language_of};
use serde_json::{Map, Value, json};

#[cfg(test)]
mod tests;

/// The most symbols of a result.
const SYMBOLS_MAX: usize = 1_000;

/// The most definitions that a search shows.
const FOUND_MAX: usize = 100;

/// The most files that a search parses.
const FILES_MAX: usize = 200;

/// The most lines with the name that a search looks for.
const LINES_MAX: usize = 20_000;

/// Time after which a search parses no further file, in milliseconds.
const SEARCH_MS_MAX: u64 = 5_000;

/// The files that a search looks into.
const SOURCES: &str = "*.{c,cc,cjs,cpp,cts,cxx,go,h,hh,hpp,hxx,java,js,jsx,mjs,mts,py,pyi,rs,ts,tsx}";

/// Shows the definitions of a source file, or finds definitions by their names.
pub struct Outline;

impl Tool for Outline {
    fn definition(&self) -> ToolDefinition {
        let description = "Shows the definitions of one source file with their lines, e.g. `12-40 fn name`, nested ones \
                           indented; or, by `symbol`, where the project defines a name. Knows Rust, JavaScript, TypeScript, \
                           Python, Go, C, C++ and Java.";
        ToolDefinition {
            name: "outline".to_owned(),
            description: description.to_owned(),
            parameters: json!({
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "file_path": {"type": "string", "description": "A source file."},
                    "symbol": {
                        "type": "string",
                        "description": "A name or its beginning, e.g. `parse` or `Server.Close`. Case matters only if it has an \
                                        upper-case letter. Without file_path: searched in the whole project.",
                    },
                },
            }),
        }
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::Reads
    }

    fn paths(&self, _arguments: &Map<String, Value>) -> Vec<String> {
        Vec::new()
    }

    /// The path is subject to path rules. An outline takes no canvas lease, so [`paths`](Tool::paths) is empty.
    fn target(&self, arguments: &Map<String, Value>) -> Target {
        Target { paths: text(arguments, "file_path").map(str::to_owned).into_iter().collect(), ..Target::default() }
    }

    fn output_limits(&self) -> OutputLimits {
        OutputLimits { chars_max: 50_000, mode: Mode::HeadTail, lines_max: None }
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let name = text(arguments, "symbol").map(Name::new).transpose()?;
            match (text(arguments, "file_path"), name) {
                (Some(path), name) => of_file(context, path, name.as_ref()).await,
                (None, Some(name)) => in_project(context, &name).await,
                (None, None) => Err(ToolError::new(Code::InvalidArgument, "Give file_path or symbol.")),
            }
        })
    }
}

fn text<'a>(arguments: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
}

/// A name to search for.
struct Name {
    text: String,
    ignores_case: bool,
}

/// How well a symbol fits a name. The better is the greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Beginning,
    Whole,
}

impl Name {
    fn new(text: &str) -> Result<Self, ToolError> {
        if text.chars().any(|c| !(c.is_alphanumeric() || "_$~.:".contains(c))) || Self::own(text).is_empty() {
            let message = format!("{text:?} is not a name. Give one without spaces and operators.");
            return Err(ToolError::new(Code::InvalidArgument, message));
        }
        Ok(Self { text: text.to_owned(), ignores_case: !text.chars().any(char::is_uppercase) })
    }

    /// Returns the last part of a qualified name, the only one that stands at the definition in all languages.
    fn own(text: &str) -> &str {
        text.rsplit(['.', ':']).next().unwrap_or(text)
    }

    /// Returns a matcher of the lines that contain the name.
    fn matcher(&self) -> Result<Matcher, ToolError> {
        let escape = |c: char| if "$~".contains(c) { format!("\\{c}") } else { c.to_string() };
        let pattern: String = Self::own(&self.text).chars().map(escape).collect();
        Matcher::new(&pattern, self.ignores_case)
            .map_err(|error| ToolError::new(Code::InvalidArgument, error.to_string()))
    }

    fn fit(&self, symbol: &Symbol) -> Option<Fit> {
        let fold = |text: &str| if self.ignores_case { text.to_lowercase() } else { text.to_owned() };
        let [own, whole] = [symbol.own_name(), &symbol.name].map(fold);
        if own == self.text || whole == self.text {
            Some(Fit::Whole)
        } else {
            (own.starts_with(&self.text) || whole.starts_with(&self.text)).then_some(Fit::Beginning)
        }
    }
}

/// Parses a text on a blocking thread of the runtime, or at once without a runtime.
async fn parsed(language: Language, text: String) -> Result<emend_outline::Outline, OutlineError> {
    let limits = Limits { symbols_max: 10 * SYMBOLS_MAX, ..Limits::default() };
    let work = move || emend_outline::outline(language, &text, &limits);
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return work() };
    match runtime.spawn_blocking(work).await.map_err(tokio::task::JoinError::try_into_panic) {
        Ok(found) => found,
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        Err(Err(_)) => Err(OutlineError::NoMemory),
    }
}

/// Returns the outline of one file, or its definitions of a name.
async fn of_file(context: &ToolContext, path: &str, name: Option<&Name>) -> Result<ToolOutput, ToolError> {
    let mut content = String::new();
    let copy = |text: &str| {
        text.clone_into(&mut content);
        None
    };
    context.workspace.read_if(&context.reads, path, copy).await?;
    let Some(language) = language_of(path) else {
        let grep = context.names.tool("grep");
        let message = format!("The ending of {path} is not that of a known language. Search it with {grep}.");
        return Err(ToolError::new(Code::Unsupported, message));
    };
    let found = parsed(language, content).await.map_err(|error| {
        let code = if matches!(error, OutlineError::TooSlow { .. }) { Code::Timeout } else { Code::Unsupported };
        let grep = context.names.tool("grep");
        ToolError::new(code, format!("{path} has no outline: {error}. Search it with {grep}."))
    })?;
    let mut symbols = found.symbols;
    if let Some(name) = name {
        symbols.retain(|symbol| name.fit(symbol).is_some());
    }
    let truncated = found.truncated || symbols.len() > SYMBOLS_MAX;
    symbols.truncate(SYMBOLS_MAX);
    let mut lines: Vec<String> = symbols.iter().map(ToString::to_string).collect();
    match (lines.is_empty(), truncated) {
        (true, _) => {
            lines.push(format!("{path} has no definitions{}.", if name.is_some() { " of this name" } else { "" }))
        }
        (false, true) => lines.push("[more; narrow them by symbol]".to_owned()),
        (false, false) => {}
    }
    let data: Vec<Value> = symbols.iter().map(data_of).collect();
    Ok(ToolOutput::new(lines.join("\n"), json!({ "file_path": path, "symbols": data, "truncated": truncated })))
}

fn data_of(symbol: &Symbol) -> Value {
    json!({
        "name": symbol.name,
        "kind": symbol.kind.as_str(),
        "first_line": symbol.first_line,
        "last_line": symbol.last_line,
        "depth": symbol.depth,
    })
}

/// Finds the definitions of a name in the files of the project.
async fn in_project(context: &ToolContext, name: &Name) -> Result<ToolOutput, ToolError> {
    let start_ms = context.clock.now_ms();
    let files = context.workspace.grep(name.matcher()?, ".", Some(SOURCES), 0, LINES_MAX).await?;
    let n_lines: usize = files.iter().map(|file| file.match_count()).sum();
    let mut is_complete = n_lines < LINES_MAX && files.len() <= FILES_MAX;
    let mut found: Vec<(Fit, FilePath, Symbol)> = Vec::new();
    for file in files.into_iter().take(FILES_MAX) {
        if context.cancel.is_cancelled() || context.clock.now_ms().saturating_sub(start_ms) > SEARCH_MS_MAX {
            is_complete = false;
            break;
        }
        let Some(language) = language_of(file.path.as_str()) else { continue };
        // A file that was deleted meanwhile has no definitions.
        let Ok(Some(content)) = context.workspace.text(file.path.as_str()).await else { continue };
        let Ok(outline) = parsed(language, content).await else {
            is_complete = false;
            continue;
        };
        is_complete &= !outline.truncated;
        // A declaration of C leads to the definition, which has the same name.
        let symbols = outline.symbols.into_iter().filter(|symbol| symbol.kind != Kind::Declaration);
        found.extend(symbols.filter_map(|symbol| Some((name.fit(&symbol)?, file.path.clone(), symbol))));
    }
    // Stable, so definitions that fit equally well stay in the order of paths and lines.
    found.sort_by_key(|(fit, _, _)| std::cmp::Reverse(*fit));
    let n_more = found.len().saturating_sub(FOUND_MAX);
    found.truncate(FOUND_MAX);
    let (mut lines, mut data) = (Vec::new(), Vec::new());
    for (_, path, mut symbol) in found {
        let mut value = data_of(&symbol);
        value["file_path"] = json!(path);
        data.push(value);
        symbol.depth = 0;
        lines.push(format!("{path}:{symbol}"));
    }
    if lines.is_empty() {
        lines.push(format!("The project has no definition whose name begins with {}.", name.text));
    }
    if n_more > 0 {
        lines.push(format!("[{n_more} more; give a longer name]"));
    }
    if !is_complete {
        lines.push("[some files were not searched; give a longer name or a file_path]".to_owned());
    }
    let truncated = n_more > 0 || !is_complete;
    Ok(ToolOutput::new(lines.join("\n"), json!({ "symbols": data, "truncated": truncated })))
}
