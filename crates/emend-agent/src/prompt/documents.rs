//! The project documents with instructions for agents: their names, order and size limit.

use crate::environment::{Access, EntryKind, ExecutionEnvironment, FilePath};
use crate::fixed_texts::DOCUMENTS_CUT;

/// One document, as the model reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectDocument {
    /// Path relative to the root.
    pub path: FilePath,
    /// Its text, possibly truncated.
    pub text: String,
}

/// Maximum bytes of all documents together.
pub const DOCUMENT_BYTES_MAX: usize = 32 * 1024;

/// Reads the documents named `names` from the root down to the directory `to`: first those of the root, then those of
/// deeper directories, in the order of `names` within a directory. Reads the saved content, not pending edits. Skips
/// missing files, binary files, and paths outside the root.
pub async fn discover(environment: &dyn ExecutionEnvironment, to: &FilePath, names: &[String]) -> Vec<ProjectDocument> {
    let mut documents = Vec::new();
    let mut room = DOCUMENT_BYTES_MAX;
    let mut directory = FilePath::root();
    let mut deeper = to.as_str().split('/').filter(|segment| !segment.is_empty());
    loop {
        for name in names {
            let Some((path, text)) = read(environment, &directory.join(name)).await else { continue };
            if text.len() <= room {
                room -= text.len();
                documents.push(ProjectDocument { path, text });
                continue;
            }
            let end = (0..=room).rfind(|&at| text.is_char_boundary(at)).unwrap_or(0);
            documents.push(ProjectDocument { path, text: format!("{}\n{DOCUMENTS_CUT}", &text[..end]) });
            return documents;
        }
        match deeper.next() {
            Some(segment) => directory = directory.join(segment),
            None => return documents,
        }
    }
}

async fn read(environment: &dyn ExecutionEnvironment, path: &FilePath) -> Option<(FilePath, String)> {
    // A link must stay inside the root, which `resolve` checks.
    let real = environment.resolve(path.as_str(), Access::Read).await.ok()?;
    let metadata = environment.metadata(&real).await.ok()??;
    if metadata.kind != EntryKind::File {
        return None;
    }
    let text = String::from_utf8(environment.read(&real).await.ok()?).ok()?;
    (!text.trim().is_empty()).then(|| (path.clone(), text))
}
