//! Texts that are kept before a command runs, to detect and undo its changes.

use std::collections::BTreeMap;

use emend_edit::text::decode;
use emend_llm::{BoxFuture, Shared};

use crate::environment::command::FileStamp;
use crate::environment::{Access, EntryKind, EnvError, ExecutionEnvironment, FilePath, Metadata};

/// Maximum size of a kept text in bytes.
const KEPT_BYTES_MAX: u64 = 1 << 20;
/// Maximum size of all kept texts together in bytes.
const STORE_BYTES_MAX: u64 = 64 << 20;

/// The kept state of the files.
#[derive(Default)]
pub(super) struct KeptTexts {
    files: BTreeMap<FilePath, Kept>,
    n_bytes: u64,
    /// A snapshot of the files, if the environment offers one. It has no size limit and replaces kept texts.
    snapshot: Option<Shared<dyn ExecutionEnvironment>>,
}

struct Kept {
    stamp: FileStamp,
    /// The text; `None` if it is not text, exceeds the limit, or did not fit.
    text: Option<Shared<str>>,
}

/// The content of a file after a command.
pub(super) enum Text {
    /// The file does not exist.
    Absent,
    /// The file has this text.
    Known(Shared<str>),
    /// The file cannot be restored.
    Unknown,
}

impl KeptTexts {
    /// Keeps the present state of all files that are not kept yet.
    pub(super) fn refresh<'a>(
        &'a mut self,
        environment: &'a dyn ExecutionEnvironment,
    ) -> BoxFuture<'a, Result<(), EnvError>> {
        Box::pin(self.refresh_now(environment))
    }

    async fn refresh_now(&mut self, environment: &dyn ExecutionEnvironment) -> Result<(), EnvError> {
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

    /// Returns the files that differ from their kept state, by path.
    pub(super) fn changed<'a>(
        &'a self,
        environment: &'a dyn ExecutionEnvironment,
    ) -> BoxFuture<'a, Result<Vec<FilePath>, EnvError>> {
        Box::pin(self.changed_now(environment))
    }

    async fn changed_now(&self, environment: &dyn ExecutionEnvironment) -> Result<Vec<FilePath>, EnvError> {
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

    /// Returns the present content of a file.
    pub(super) async fn text_now(&self, environment: &dyn ExecutionEnvironment, path: &FilePath) -> Text {
        match environment.metadata(path).await {
            Ok(None | Some(Metadata { kind: EntryKind::Directory, .. })) => Text::Absent,
            Ok(Some(metadata)) if metadata.size > KEPT_BYTES_MAX && self.snapshot.is_none() => Text::Unknown,
            Ok(Some(_)) => read_text(environment, path).await.map_or(Text::Unknown, Text::Known),
            // A command may have removed the read permission.
            Err(_) => Text::Unknown,
        }
    }
}

/// Returns whether a file that the walk does not list still exists, for example because it is ignored now. A directory
/// or a link at its path does not count.
async fn is_there(environment: &dyn ExecutionEnvironment, path: &FilePath) -> bool {
    let is_file =
        environment.metadata(path).await.is_ok_and(|found| found.is_some_and(|found| found.kind == EntryKind::File));
    is_file && environment.resolve(path.as_str(), Access::Read).await.as_ref() == Ok(path)
}

/// Returns the text of a file. Boxed, like the other futures here that have several callers: the compiler would put a
/// copy of the code into each.
fn read_text<'a>(environment: &'a dyn ExecutionEnvironment, path: &'a FilePath) -> BoxFuture<'a, Option<Shared<str>>> {
    Box::pin(async move {
        let bytes = environment.read(path).await.ok()?;
        decode(&bytes).ok().map(Shared::from)
    })
}
