//! Mentions: `@path` in a user message attaches files and images with version and hash, so that the model can edit them without
//! another read.
//!
//! A mention starts a word: `@src/a.rs`, `@"two words.md"`, `@two\ words.md`, `@src/`, `@src/**/*.rs`. Addresses
//! (`a@b.c`) and quoted text are not mentions. A word such as `@scope/pkg` that names no file and does not look like a
//! path stays as it is. This module finds mentions in text; the workspace resolves them.

use std::collections::BTreeSet;

use emend_edit::ContentHash;
use emend_edit::text::split_lines;
use emend_llm::{ContentPart, MediaData, Message, Shared, get_model_info};

use crate::environment::{Access, EntryKind, FilePath};
use crate::error_code::Code;
use crate::event::EventKind;
use crate::session::core::Core;
use crate::tool::ToolError;
use crate::tools::{IMAGE_BYTES_MAX, image_type};
use crate::workspace::{FileView, Workspace};

/// Maximum bytes of one attached file.
const FILE_BYTES_MAX: usize = 50_000;
/// Maximum bytes of all attached files of a message.
const TOTAL_BYTES_MAX: usize = 200_000;
/// Maximum number of attached files of a message.
const FILES_MAX: usize = 100;

/// Maximum number of attached images of a message.
const IMAGES_MAX: usize = 10;

/// Returns the user message for the model: the user's words, followed by the attached files and `images`. Files that could
/// not be attached are named to the model and, in a warning, to the user.
pub(in crate::session) async fn with_mentions(core: &Core, text: &str, images: Vec<MediaData>) -> Message {
    let mut message = Message::user(text);
    let mentions = find(text);
    if mentions.is_empty() && images.is_empty() {
        return message;
    }
    let mut gathered = Gathered::of(core.visible_workspace(), images);
    for mention in &mentions {
        gathered.take(core, mention).await;
    }
    gathered.note_left_out();
    for note in &gathered.notes {
        core.emitter.emit(EventKind::Warning { code: "mention", message: note.clone() });
    }
    let images = std::mem::take(&mut gathered.images);
    if let Some(text) = gathered.render() {
        message.content.push(ContentPart::Text { text });
    }
    for image in images {
        message.content.push(ContentPart::Image(image));
    }
    message
}

/// Returns an image that a host attaches after `others` to a message.
pub(in crate::session) fn attached_image(
    core: &Core,
    others: &[MediaData],
    name: &str,
    bytes: &[u8],
) -> Result<MediaData, ToolError> {
    let media_type =
        image_type(bytes).ok_or_else(|| refused(format!("{name} is not a PNG, JPEG, GIF or WebP image.")))?;
    image_of(core, others, name, bytes, media_type)
}

fn image_of(
    core: &Core,
    others: &[MediaData],
    name: &str,
    bytes: &[u8],
    media_type: &str,
) -> Result<MediaData, ToolError> {
    let settings = core.settings();
    let sees = !settings.offline && get_model_info(&settings.model).is_none_or(|info| info.supports_vision);
    if !sees {
        return Err(refused(format!("the model {} does not take images.", settings.model)));
    }
    if bytes.len() > IMAGE_BYTES_MAX {
        let n_bytes = bytes.len();
        return Err(refused(format!(
            "it has {n_bytes} bytes; models accept at most {IMAGE_BYTES_MAX}. Make it smaller."
        )));
    }
    if others.len() >= IMAGES_MAX {
        return Err(refused(format!("a message takes at most {IMAGES_MAX} images.")));
    }
    Ok(MediaData { media_type: Some(media_type.to_owned()), ..MediaData::from_file(name, bytes) })
}

fn refused(message: String) -> ToolError {
    ToolError::new(Code::Unsupported, message)
}

/// A word of a user message that starts with `@`.
#[derive(Debug, PartialEq, Eq)]
struct Mention {
    /// Possible paths, most likely first: a full stop may end the sentence or belong to the path.
    candidates: Vec<String>,
    /// Whether the word was quoted; it is then certainly a path.
    quoted: bool,
}

/// Returns the mentions of a text, in order.
fn find(text: &str) -> Vec<Mention> {
    let mut mentions = Vec::new();
    let mut before: Option<char> = None;
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        rest = &rest[char.len_utf8()..];
        let begins_word = before.is_none_or(|before| before.is_whitespace() || "([{<,;".contains(before));
        before = Some(char);
        if char != '@' || !begins_word {
            continue;
        }
        let (mention, len) = read(rest);
        mentions.extend(mention);
        before = rest[..len].chars().next_back().or(before);
        rest = &rest[len..];
    }
    mentions
}

/// Parses the mention at the start of `text`; returns its length in bytes too.
fn read(text: &str) -> (Option<Mention>, usize) {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote)
            && let Some(end) = inner.find(quote)
            && !inner[..end].contains('\n')
        {
            let mention = Mention { candidates: vec![inner[..end].to_owned()], quoted: true };
            return (Some(mention).filter(|_| end > 0), end + 2);
        }
    }
    let mut path = String::new();
    let mut len = 0;
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        let escaped = (char == '\\').then(|| chars.clone().next()).flatten().filter(|next| next.is_whitespace());
        match escaped {
            Some(blank) => {
                chars.next();
                path.push(blank);
                len += char.len_utf8() + blank.len_utf8();
            }
            None if char.is_whitespace() || matches!(char, '"' | '`' | '<' | '>' | '|') => break,
            None => {
                path.push(char);
                len += char.len_utf8();
            }
        }
    }
    let candidates = candidates(&path);
    (Some(Mention { candidates, quoted: false }).filter(|mention| !mention.candidates.is_empty()), len)
}

/// Returns the possible paths of a word: the word, the word without trailing punctuation, and the part before an
/// apostrophe.
fn candidates(word: &str) -> Vec<String> {
    let mut candidates = Vec::new();
    let mut rest = word;
    loop {
        // Dots alone name a directory, but more often they end a sentence.
        if !rest.is_empty() && !rest.starts_with('@') && !rest.chars().all(|char| char == '.') {
            candidates.push(rest.to_owned());
        }
        let Some(last) = rest.chars().next_back().filter(|last| ".,;:!?)]}'*_".contains(*last)) else { break };
        rest = &rest[..rest.len() - last.len_utf8()];
    }
    if let Some((owner, _)) = word.split_once(['\'', '’']).filter(|(owner, _)| !owner.is_empty()) {
        candidates.push(owner.to_owned());
    }
    candidates
}

impl Mention {
    /// Whether the word is certainly a path, so that a missing file is worth a warning.
    fn looks_like_path(&self) -> bool {
        let Some(shortest) = self.candidates.last() else { return false };
        let name = shortest.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let extension =
            name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map_or("", |(_, extension)| extension);
        let has_extension = extension.starts_with(|char: char| char.is_ascii_alphabetic())
            && extension.len() <= 8
            && extension.chars().all(|char| char.is_ascii_alphanumeric());
        self.quoted
            || has_extension
            || shortest.ends_with('/')
            || ["./", "../", "/", "~/"].iter().any(|start| shortest.starts_with(start))
            || is_glob(shortest)
    }
}

fn is_glob(path: &str) -> bool {
    path.contains(['*', '?', '{', '['])
}

/// Returns whether a file of this name is a private key. Hidden files, the usual place of secrets, are never found.
fn is_private_key(path: &FilePath) -> bool {
    let name = path.as_str().rsplit('/').next().unwrap_or_default();
    ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"].contains(&name)
}

/// The attachments of one message.
struct Gathered {
    workspace: Shared<Workspace>,
    known: BTreeSet<FilePath>,
    blocks: Vec<String>,
    n_bytes: usize,
    images: Vec<MediaData>,
    notes: Vec<String>,
    /// Files that exceeded the limits.
    left_out: Vec<FilePath>,
}

impl Gathered {
    fn of(workspace: Shared<Workspace>, images: Vec<MediaData>) -> Self {
        let block = |image: &MediaData| {
            let [name, media_type] = [&image.file_name, &image.media_type].map(|field| field.as_deref().unwrap_or(""));
            format!("[{name} | {media_type}]")
        };
        Self {
            workspace,
            known: BTreeSet::new(),
            blocks: images.iter().map(block).collect(),
            n_bytes: 0,
            images,
            notes: Vec::new(),
            left_out: Vec::new(),
        }
    }

    async fn take(&mut self, core: &Core, mention: &Mention) {
        let mut failure = None;
        for path in &mention.candidates {
            match self.file_or_directory(core, path).await {
                Ok(()) => return,
                Err(error) if error.code == Code::Unsupported => match self.image(core, path, error).await {
                    Ok(()) => return,
                    Err(error) => {
                        failure = Some(error);
                        break;
                    }
                },
                Err(error) if error.code == Code::NotFound => {
                    failure.get_or_insert(error);
                }
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        for glob in mention.candidates.iter().filter(|path| is_glob(path)) {
            let found = self.workspace.glob_paths(".", glob).await.unwrap_or_default();
            if !found.is_empty() {
                return self.all(core, found).await;
            }
        }
        if let Some(error) = failure.filter(|error| error.code != Code::NotFound || mention.looks_like_path()) {
            let word = mention.candidates.last().map_or("", String::as_str);
            self.notes.push(format!("@{word} was not read: {}", error.text()));
        }
    }

    async fn file_or_directory(&mut self, core: &Core, path: &str) -> Result<(), ToolError> {
        let workspace = Shared::clone(&self.workspace);
        let listed = workspace.environment().resolve(path, Access::List).await;
        if let Ok(directory) = listed
            && let Some(metadata) = workspace.environment().metadata(&directory).await?
            && metadata.kind == EntryKind::Directory
        {
            let files = workspace.glob_paths(path, "**").await?;
            if files.is_empty() {
                self.notes.push(format!("@{path} was not read: the directory holds no files that are not ignored."));
            }
            self.all(core, files).await;
            return Ok(());
        }
        self.file(core, path).await
    }

    /// Attaches files that a directory or glob matched. Binary files and private keys are skipped.
    async fn all(&mut self, core: &Core, files: Vec<FilePath>) {
        let mut n_binary = 0;
        for path in files {
            if is_private_key(&path) {
                self.notes.push(format!("{path} was left out, as it is a private key: name it to bring it along."));
                continue;
            }
            match self.file(core, path.as_str()).await {
                Err(error) if error.code == Code::Unsupported => n_binary += 1,
                Err(error) => self.notes.push(format!("{path} was not read: {}", error.text())),
                Ok(()) => {}
            }
        }
        if n_binary > 0 {
            self.notes.push(format!("{n_binary} of the files are not text and were left out."));
        }
    }

    async fn file(&mut self, core: &Core, path: &str) -> Result<(), ToolError> {
        let room = TOTAL_BYTES_MAX.saturating_sub(self.n_bytes);
        let is_full = self.blocks.len() >= FILES_MAX || room == 0;
        if is_full || FilePath::clean(path).is_some_and(|path| self.known.contains(&path)) {
            let resolved = self.workspace.environment().resolve(path, Access::Read).await?;
            if self.known.insert(resolved.clone()) {
                self.left_out.push(resolved);
            }
            return Ok(());
        }
        let bytes_max = room.min(FILE_BYTES_MAX);
        let (view, n_shown) =
            self.workspace.read_start(&core.reads, path, |lines| lines_that_fit(lines, bytes_max)).await?;
        if self.known.insert(view.path.clone()) {
            match n_shown {
                // Not even the first line fits.
                0 if !view.text.is_empty() => self.left_out.push(view.path),
                _ => self.show(&view, n_shown),
            }
        }
        Ok(())
    }

    /// Attaches an image. Fails with `why` if the file is not one.
    async fn image(&mut self, core: &Core, path: &str, why: ToolError) -> Result<(), ToolError> {
        let (path, bytes) = self.workspace.read_bytes(path).await?;
        let Some(media_type) = image_type(&bytes) else { return Err(why) };
        let image = image_of(core, &self.images, path.as_str(), &bytes, media_type)?;
        if self.known.insert(path.clone()) {
            let hash = ContentHash::of(&bytes);
            let version = core.reads.note(&path, hash, 0, 0);
            let n_bytes = bytes.len();
            self.blocks.push(format!("[{path} | version {version} | {hash} | {media_type}, {n_bytes} bytes]"));
            self.images.push(image);
        }
        Ok(())
    }

    fn show(&mut self, view: &FileView, n_shown: usize) {
        let lines = split_lines(&view.text);
        let content: String = lines[..n_shown.min(lines.len())].concat();
        let mut block = format!("[{} | version {} | {}", view.path, view.version, view.hash);
        if n_shown < lines.len() {
            block.push_str(&format!(" | lines 1-{n_shown} of {}; read on from line {}", lines.len(), n_shown + 1));
            self.notes.push(format!("@{} is long: only lines 1-{n_shown} of {} were read.", view.path, lines.len()));
        }
        if !content.is_empty() && !content.ends_with('\n') && n_shown == lines.len() {
            block.push_str(" | no newline at the end");
        }
        let fence = fence_for(&content);
        let end = if content.is_empty() || content.ends_with('\n') { "" } else { "\n" };
        self.n_bytes += content.len();
        self.blocks.push(format!("{block}]\n{fence}\n{content}{end}{fence}"));
    }

    fn note_left_out(&mut self) {
        if !self.left_out.is_empty() {
            let names: Vec<&str> = self.left_out.iter().take(20).map(FilePath::as_str).collect();
            let more = self.left_out.len() - names.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            self.notes.push(format!("There was no room for {}{more}: read what you need.", names.join(", ")));
        }
    }

    /// Returns the part of the message with the files, if there is any.
    fn render(mut self) -> Option<String> {
        if self.blocks.is_empty() && self.notes.is_empty() {
            return None;
        }
        self.blocks.extend(self.notes.iter().map(|note| format!("Note: {note}")));
        Some(format!("\n\n{REFERENCED}\n{}\n</referenced_files>", self.blocks.join("\n")))
    }
}

/// Start of the part of a message with attached files.
const REFERENCED: &str = "<referenced_files>";

/// Returns the number of first lines with at most `bytes_max` bytes in total.
fn lines_that_fit(lines: &[&str], bytes_max: usize) -> usize {
    let mut n_bytes = 0;
    let fits = |line: &&&str| {
        n_bytes += line.len();
        n_bytes <= bytes_max
    };
    lines.iter().take_while(fits).count()
}

/// Returns a fence that is longer than any run of backticks in `content`.
fn fence_for(content: &str) -> String {
    let (mut longest, mut run) = (0, 0);
    for char in content.chars() {
        run = if char == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    "`".repeat((longest + 1).max(3))
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[track_caller]
    fn check(text: &str, expected: &[&[&str]]) {
        let found: Vec<Vec<String>> = find(text).into_iter().map(|mention| mention.candidates).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn mentions_begin_words() {
        check("look at @src/a.rs, please", &[&["src/a.rs,", "src/a.rs"]]);
        check("@a.md", &[&["a.md"]]);
        check("(see @a.md)", &[&["a.md)", "a.md"]]);
        check("`@a.md` and import x from \"@/ui/button\"", &[]);
        check("@a.md's title", &[&["a.md's", "a.md"]]);
        check("one @a.md\ntwo @src/", &[&["a.md"], &["src/"]]);
        check("@src/**/*.rs and @b?", &[&["src/**/*.rs"], &["b?", "b"]]);
        check("write to me@example.com or \\@here", &[]);
        check("@ and @. and @... @@", &[]);
        check("", &[]);
    }

    #[test]
    fn blanks_are_quoted_or_escaped() {
        check("@\"two words.md\" and @'it is.txt'", &[&["two words.md"], &["it is.txt"]]);
        check(r"@two\ words.md now", &[&["two words.md"]]);
        check("@\"open ended", &[]);
        check("@\"\"", &[]);
        check("@grün/ß.txt", &[&["grün/ß.txt"]]);
    }

    #[test]
    fn only_what_looks_like_a_path_is_missed() {
        let looks = |text: &str| find(text).iter().all(Mention::looks_like_path);
        for path in ["@a.md", "@./a", "@src/", "@/etc/passwd", "@\"notes\"", "@*.txt", "@a/b.rs.", "@../x"] {
            assert!(looks(path), "{path}");
        }
        for word in ["@someone", "@scope/pkg", "@types/node", "@app.route(\"/x\")", "@v1.2", "@.hidden", "@Override"] {
            assert!(!looks(word), "{word}");
        }
    }

    #[test]
    fn fences_are_longer_than_any_inside() {
        assert_eq!(fence_for("a ` b"), "```");
        assert_eq!(fence_for("````\nx\n````"), "`````");
    }
}
