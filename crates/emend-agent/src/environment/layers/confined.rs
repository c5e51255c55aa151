//! An environment of which an agent sees a part: one directory, without the paths that rules hide.
//!
//! Returned paths are relative to the whole root, so that files have the same paths for all agents. A relative path of
//! a caller is relative to the directory; a returned path, which starts with the directory's own name, works too.
//!
//! Every tool reads through this layer, so that a new tool inherits its limits. Commands see hidden paths only in an
//! environment without a [view](ExecutionEnvironment::view) for commands.

use std::future::ready;

use emend_llm::{BoxFuture, CancelToken, Shared};

use crate::approval::{CommandLine, Hidden};
use crate::environment::FileMatches;
#[cfg(not(target_family = "wasm"))]
use crate::environment::FirstStep;
use crate::environment::GitSnapshot;
use crate::environment::command::{Command, ExecResult, FileStamp, OutputSink};
use crate::environment::walk::above;
use crate::environment::{
    Access, CopyKeeper, DirEntry, EntryKind, EnvError, ExecutionEnvironment, FileChange, FilePath, GrepQuery, Metadata,
};

/// Allows reads and changes inside one directory only, and of no hidden path.
pub struct Confined {
    inner: Shared<dyn ExecutionEnvironment>,
    directory: FilePath,
    hidden: Hidden,
    has_shell: bool,
}

impl Confined {
    /// Confines `inner` to `directory`, which must be resolved, without the paths of `hidden`.
    #[must_use]
    pub fn new(inner: Shared<dyn ExecutionEnvironment>, directory: FilePath, hidden: Hidden) -> Self {
        Self { inner, has_shell: directory.is_root(), directory, hidden }
    }

    /// Keeps commands available, although they can leave the directory.
    pub(crate) fn with_shell(self) -> Self {
        Self { has_shell: true, ..self }
    }

    fn checked(&self, path: FilePath) -> Result<FilePath, EnvError> {
        let reason = match self.hidden.rule_for(path.as_str()) {
            Some(rule) => format!("the user's rules hide this path (deny {rule})"),
            None if path.is_under(&self.directory) => return Ok(path),
            None => format!("you work in {} and may not leave it", self.directory),
        };
        Err(EnvError::PermissionDenied { path: path.to_string(), reason })
    }

    fn check<T>(&self, path: &FilePath) -> Result<(), BoxFuture<'static, Result<T, EnvError>>>
    where
        T: emend_llm::MaybeSend + 'static,
    {
        match self.checked(path.clone()) {
            Ok(_) => Ok(()),
            Err(error) => Err(Box::pin(ready(Err(error)))),
        }
    }

    async fn resolve_inside(&self, path: &str, access: Access) -> Result<FilePath, EnvError> {
        let is_absolute = path.starts_with(['/', '\\']) || path.get(1..2) == Some(":");
        let is_whole = self.directory.is_root() || path.is_empty() || is_absolute;
        let (below, shadow) = (format!("{}/{path}", self.directory), format!("{}/{}", self.directory, self.directory));
        // The only other meaning of a path that was given out would be a directory of the same name inside this one.
        let is_given_out = !is_whole
            && FilePath::clean(path).is_some_and(|path| path.is_under(&self.directory))
            && self.inner.resolve(&shadow, Access::Read).await.is_err();
        let path = if is_whole || is_given_out { path } else { &below };
        // A rule may name a link instead of its target.
        let named = path.strip_prefix(self.inner.working_directory().as_str()).unwrap_or(path);
        let named = FilePath::clean(named).unwrap_or_default();
        if self.hides(&named) {
            return self.checked(named);
        }
        match self.inner.resolve(path, access).await {
            Ok(path) => self.checked(path),
            Err(EnvError::NotFound { path, mut suggestions }) => {
                let is_hidden = |near: &String| above(&named).iter().any(|parent| self.hides(&parent.join(near)));
                if suggestions.iter().any(is_hidden) {
                    suggestions.clear();
                }
                Err(EnvError::NotFound { path, suggestions })
            }
            Err(error) => Err(error),
        }
    }

    fn without_hidden<'a>(
        &'a self,
        found: BoxFuture<'a, Result<Vec<DirEntry>, EnvError>>,
    ) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>> {
        Box::pin(async move {
            let mut found = found.await?;
            found.retain(|entry| !self.hides(&entry.path));
            Ok(found)
        })
    }

    /// Returns a copy from which hidden files, ignored ones included, are removed.
    async fn scratch_without_hidden(
        &self,
        overlay: &[(FilePath, Option<Vec<u8>>)],
    ) -> Result<Shared<dyn ExecutionEnvironment>, EnvError> {
        let mut overlay = overlay.to_vec();
        for entry in self.inner.list(&FilePath::root(), usize::MAX).await? {
            if entry.metadata.kind == EntryKind::File && self.hides(&entry.path) {
                overlay.push((entry.path, None));
            }
        }
        Ok(self.around(self.inner.scratch(&overlay).await?))
    }

    fn around(&self, inner: Shared<dyn ExecutionEnvironment>) -> Shared<dyn ExecutionEnvironment> {
        Shared::new(Self {
            inner,
            directory: self.directory.clone(),
            hidden: self.hidden.clone(),
            has_shell: self.has_shell,
        })
    }
}

impl ExecutionEnvironment for Confined {
    fn resolve<'a>(&'a self, path: &'a str, access: Access) -> BoxFuture<'a, Result<FilePath, EnvError>> {
        Box::pin(self.resolve_inside(path, access))
    }

    fn metadata<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Option<Metadata>, EnvError>> {
        match self.check(path) {
            Ok(()) => self.inner.metadata(path),
            Err(refused) => refused,
        }
    }

    fn read<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Vec<u8>, EnvError>> {
        match self.check(path) {
            Ok(()) => self.inner.read(path),
            Err(refused) => refused,
        }
    }

    fn read_existing<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Option<Vec<u8>>, EnvError>> {
        match self.check(path) {
            Ok(()) => self.inner.read_existing(path),
            Err(refused) => refused,
        }
    }

    fn write<'a>(&'a self, path: &'a FilePath, content: &'a [u8]) -> BoxFuture<'a, Result<(), EnvError>> {
        match self.check(path) {
            Ok(()) => self.inner.write(path, content),
            Err(refused) => refused,
        }
    }

    fn remove<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<(), EnvError>> {
        match self.check(path) {
            Ok(()) => self.inner.remove(path),
            Err(refused) => refused,
        }
    }

    fn change<'a>(&'a self, changes: &'a [FileChange]) -> BoxFuture<'a, Result<(), EnvError>> {
        match changes.iter().find_map(|change| self.check(&change.path).err()) {
            None => self.inner.change(changes),
            Some(refused) => refused,
        }
    }

    #[cfg(not(target_family = "wasm"))]
    fn change_after<'a>(
        &'a self,
        first: &'a dyn FirstStep,
        changes: &'a [FileChange],
    ) -> BoxFuture<'a, Result<(), EnvError>> {
        match changes.iter().find_map(|change| self.check(&change.path).err()) {
            None => self.inner.change_after(first, changes),
            Some(refused) => refused,
        }
    }

    fn list<'a>(&'a self, path: &'a FilePath, depth: usize) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>> {
        match self.check(path) {
            Ok(()) => Box::pin(async move {
                let mut found = self.without_hidden(self.inner.list(path, depth)).await?;
                // A link under another name would show the size of the hidden file to which it leads.
                for at in (0..found.len()).rev().filter(|_| !self.hidden.is_empty()) {
                    let target = self.inner.resolve(found[at].path.as_str(), Access::Read).await;
                    if target.is_ok_and(|target| self.hides(&target)) {
                        found.remove(at);
                    }
                }
                Ok(found)
            }),
            Err(refused) => refused,
        }
    }

    fn glob<'a>(&'a self, path: &'a FilePath, glob: &'a str) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>> {
        match self.check(path) {
            Ok(()) => self.without_hidden(self.inner.glob(path, glob)),
            Err(refused) => refused,
        }
    }

    fn glob_paths<'a>(&'a self, path: &'a FilePath, glob: &'a str) -> BoxFuture<'a, Result<Vec<FilePath>, EnvError>> {
        if let Err(refused) = self.check(path) {
            return refused;
        }
        Box::pin(async move {
            let mut found = self.inner.glob_paths(path, glob).await?;
            found.retain(|path| !self.hides(path));
            Ok(found)
        })
    }

    fn grep<'a>(&'a self, query: &'a GrepQuery) -> BoxFuture<'a, Result<Vec<FileMatches>, EnvError>> {
        if let Err(refused) = self.check(&query.path) {
            return refused;
        }
        if self.hidden.is_empty() {
            return self.inner.grep(query);
        }
        Box::pin(async move {
            // Matches in hidden files must not use up the limit of the search.
            let mut query = query.clone();
            for path in self.inner.glob_paths(&query.path, "**").await? {
                if self.hides(&path) {
                    query.exclude.push(path);
                }
            }
            self.inner.grep(&query).await
        })
    }

    /// A subagent that works in one directory has no shell.
    fn has_shell(&self) -> bool {
        self.has_shell && self.inner.has_shell()
    }

    fn exec_command<'a>(
        &'a self,
        command: &'a Command,
        output: &'a dyn OutputSink,
        cancel: &'a CancelToken,
    ) -> BoxFuture<'a, Result<ExecResult, EnvError>> {
        if !self.has_shell() {
            return Box::pin(ready(Err(EnvError::Unsupported { what: "a shell" })));
        }
        match self.inner.view(&self.hidden) {
            Some(view) => Box::pin(async move { view.exec_command(command, output, cancel).await }),
            None => self.inner.exec_command(command, output, cancel),
        }
    }

    fn read_command<'a>(&'a self, line: &'a str) -> BoxFuture<'a, Option<CommandLine>> {
        self.inner.read_command(line)
    }

    fn view(&self, hidden: &Hidden) -> Option<Shared<dyn ExecutionEnvironment>> {
        self.inner.view(hidden)
    }

    fn ignores_case(&self) -> bool {
        self.inner.ignores_case()
    }

    fn manifest(&self) -> BoxFuture<'_, Result<Vec<FileStamp>, EnvError>> {
        // In a browser, commands get a view, so that hidden files never differ.
        if cfg!(target_family = "wasm") {
            return self.inner.manifest();
        }
        Box::pin(async {
            let mut found = self.inner.manifest().await?;
            found.retain(|stamp| stamp.path.is_under(&self.directory) && !self.hides(&stamp.path));
            Ok(found)
        })
    }

    fn snapshot(&self) -> Option<Shared<dyn ExecutionEnvironment>> {
        self.inner.snapshot()
    }

    fn copy_keeper(&self) -> Option<&dyn CopyKeeper> {
        self.inner.copy_keeper()
    }

    fn scratch<'a>(
        &'a self,
        overlay: &'a [(FilePath, Option<Vec<u8>>)],
    ) -> BoxFuture<'a, Result<Shared<dyn ExecutionEnvironment>, EnvError>> {
        // In a browser, commands get a view. The constant keeps the code for other copies out of the module.
        if !cfg!(target_family = "wasm") && self.inner.view(&self.hidden).is_none() {
            return Box::pin(self.scratch_without_hidden(overlay));
        }
        Box::pin(async move { Ok(self.around(self.inner.scratch(overlay).await?)) })
    }

    fn hides(&self, path: &FilePath) -> bool {
        self.hidden.hides(path.as_str())
    }

    fn working_directory(&self) -> String {
        let root = self.inner.working_directory();
        if self.directory.is_root() { root } else { format!("{}/{}", root.trim_end_matches('/'), self.directory) }
    }

    fn git(&self) -> BoxFuture<'_, Option<GitSnapshot>> {
        self.inner.git()
    }

    fn platform(&self) -> &'static str {
        self.inner.platform()
    }

    fn os_version(&self) -> String {
        self.inner.os_version()
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;
    use crate::environment::memory::MemFs;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn environment(fixture: &str) -> Confined {
        let files = MemFs::from_fixture(fixture);
        Confined::new(Shared::new(files), FilePath::clean("src/ui").unwrap(), Hidden::default())
    }

    #[track_caller]
    fn check(environment: &Confined, path: &str, access: Access, expected: &str) {
        let outcome = match block_on(environment.resolve(path, access)) {
            Ok(path) => path.to_string(),
            Err(error) => error.code().as_str().to_owned(),
        };
        assert_eq!(outcome, expected, "{path}");
    }

    #[test]
    fn paths_are_taken_from_the_directory_and_stay_in_it() {
        let plain = environment("//- src/ui/a.txt\na\n//- src/b.txt\nb\n//- a.txt\nroot\n");
        for (path, expected) in [
            ("a.txt", "src/ui/a.txt"),
            ("src/ui/a.txt", "src/ui/a.txt"),
            (".", "src/ui"),
            ("../ui/a.txt", "src/ui/a.txt"),
            ("../b.txt", "permission_denied"),
            ("../../a.txt", "permission_denied"),
            ("../../../a.txt", "permission_denied"),
            ("b.txt", "not_found"),
        ] {
            check(&plain, path, Access::Read, expected);
        }
        check(&plain, "new/c.txt", Access::Write, "src/ui/new/c.txt");
        check(&plain, "src/ui/new.txt", Access::Write, "src/ui/new.txt");
        check(&plain, "../new.txt", Access::Write, "permission_denied");
        let nested = environment("//- src/ui/a.txt\nouter\n//- src/ui/src/ui/a.txt\ninner\n");
        check(&nested, "src/ui/a.txt", Access::Read, "src/ui/src/ui/a.txt");
    }

    #[test]
    fn whoever_has_a_path_from_elsewhere_gets_nothing() {
        let environment = environment("//- src/ui/a.txt\na\n//- b.txt\nb\n");
        let (inside, outside) = (FilePath::clean("src/ui/a.txt").unwrap(), FilePath::clean("b.txt").unwrap());
        assert_eq!(block_on(environment.read(&inside)), Ok(b"a\n".to_vec()));
        let refused = |error: EnvError| assert_eq!(error.code().as_str(), "permission_denied");
        refused(block_on(environment.read(&outside)).unwrap_err());
        refused(block_on(environment.metadata(&outside)).unwrap_err());
        refused(block_on(environment.write(&outside, b"x")).unwrap_err());
        refused(block_on(environment.remove(&outside)).unwrap_err());
        refused(block_on(environment.list(&FilePath::root(), 1)).unwrap_err());
        refused(block_on(environment.glob(&FilePath::root(), "*")).unwrap_err());
        refused(block_on(environment.glob_paths(&FilePath::root(), "*")).unwrap_err());
        assert!(environment.working_directory().ends_with("/src/ui"), "{}", environment.working_directory());
    }
}
