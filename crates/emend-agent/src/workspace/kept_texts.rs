//! Texts that are kept before a command runs, to detect what it changed and to undo it.

use std::collections::BTreeMap;

use emend_edit::text::decode;
use emend_llm::Shared;

use crate::environment::command::FileStamp;
use crate::environment::{Access, EntryKind, EnvError, ExecutionEnvironment, FilePath, Metadata};

/// The largest text that is kept to be restored, in bytes.
const KEPT_BYTES_MAX: u64 = 1 << 20;
/// The most bytes that are kept of all files together.
const STORE_BYTES_MAX: u64 = 64 << 20;
/// What is kept of the files, to tell what a command changed and to restore it.
#[derive(Default)]
pub(super) struct KeptTexts {
    files: BTreeMap<FilePath, Kept>,
    n_bytes: u64,
    /// The files as they were, where that costs nothing; no text is kept beside it then, and none is too large.
    snapshot: Option<Shared<dyn ExecutionEnvironment>>,
}

struct Kept {
    stamp: FileStamp,
    /// The text; `None` if it is none, is too large, or there was no room.
    text: Option<Shared<str>>,
}

/// Where a file went during a command.
pub(super) enum Text {
    /// There is none.
    Absent,
    /// It is this.
    Known(Shared<str>),
    /// It is something that was not or cannot be kept.
    Unknown,
}

impl KeptTexts {
    /// Takes in everything that is not yet kept as it is now.
    pub(super) async fn refresh(&mut self, environment: &dyn ExecutionEnvironment) -> Result<(), EnvError> {
        let mut before = std::mem::take(self);
        self.snapshot = environment.snapshot();
        for stamp in environment.manifest().await? {
            let known = before.files.remove(&stamp.path).filter(|kept| kept.stamp == stamp);
            let text = match known {
                Some(kept) => kept.text,
                None if self.snapshot.is_some() => None,
                None if stamp.size > KEPT_BYTES_MAX || self.n_bytes + stamp.size > STORE_BYTES_MAX => None,
                None => read_text(environment, &stamp.path).await,
            };
            self.n_bytes += text.as_ref().map_or(0, |text| text.len() as u64);
            self.files.insert(stamp.path.clone(), Kept { stamp, text });
        }
        Ok(())
    }

    /// Returns the files that are no longer as they were kept, by path.
    pub(super) async fn changed(&self, environment: &dyn ExecutionEnvironment) -> Result<Vec<FilePath>, EnvError> {
        let now = environment.manifest().await?;
        let kept: Vec<&FilePath> = self.files.keys().collect();
        let mut is_listed = vec![false; kept.len()];
        let mut changed = Vec::new();
        for stamp in now {
            if let Ok(at) = kept.binary_search(&&stamp.path) {
                is_listed[at] = true;
            }
            if self.files.get(&stamp.path).is_none_or(|kept| kept.stamp != stamp) {
                changed.push(stamp.path);
            }
        }
        for (path, _) in kept.into_iter().zip(is_listed).filter(|(_, is_listed)| !is_listed) {
            if !is_there(environment, path).await {
                let at = changed.partition_point(|other| other < path);
                changed.insert(at, path.clone());
            }
        }
        Ok(changed)
    }

    pub(super) async fn text(&self, path: &FilePath) -> Text {
        let known = match (self.files.get(path), &self.snapshot) {
            (None, _) => return Text::Absent,
            (Some(_), Some(snapshot)) => read_text(&**snapshot, path).await,
            (Some(kept), None) => kept.text.clone(),
        };
        known.map_or(Text::Unknown, Text::Known)
    }

    /// Returns what a file is now.
    pub(super) async fn text_now(&self, environment: &dyn ExecutionEnvironment, path: &FilePath) -> Text {
        match environment.metadata(path).await {
            Ok(None | Some(Metadata { kind: EntryKind::Directory, .. })) => Text::Absent,
            Ok(Some(metadata)) if metadata.size > KEPT_BYTES_MAX && self.snapshot.is_none() => Text::Unknown,
            Ok(Some(_)) => read_text(environment, path).await.map_or(Text::Unknown, Text::Known),
            // A command may take away the right to look at it.
            Err(_) => Text::Unknown,
        }
    }
}

/// Returns whether a file that no walk finds is there all the same, as one that is ignored now is. A directory or a link
/// in its place is another thing.
async fn is_there(environment: &dyn ExecutionEnvironment, path: &FilePath) -> bool {
    let is_file =
        environment.metadata(path).await.is_ok_and(|found| found.is_some_and(|found| found.kind == EntryKind::File));
    is_file && environment.resolve(path.as_str(), Access::Read).await.as_ref() == Ok(path)
}

async fn read_text(environment: &dyn ExecutionEnvironment, path: &FilePath) -> Option<Shared<str>> {
    let bytes = environment.read(path).await.ok()?;
    decode(&bytes).ok().map(Shared::from)
}
