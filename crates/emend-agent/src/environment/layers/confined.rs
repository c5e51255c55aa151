//! An environment confined to one directory, for subagents.
//!
//! Returned paths are relative to the whole root, so that files have the same paths for all agents. A relative path of
//! a caller is relative to the directory; a returned path, which starts with the directory's own name, works too.

use std::future::ready;

use emend_llm::{BoxFuture, Shared};

use crate::environment::FileMatches;
use crate::environment::GitSnapshot;
use crate::environment::{Access, DirEntry, EnvError, ExecutionEnvironment, FileChange, FilePath, GrepQuery, Metadata};

/// Allows reads and changes inside one directory only.
pub struct Confined {
    inner: Shared<dyn ExecutionEnvironment>,
    directory: FilePath,
}

impl Confined {
    /// Confines `inner` to `directory`, which must be resolved.
    #[must_use]
    pub fn new(inner: Shared<dyn ExecutionEnvironment>, directory: FilePath) -> Self {
        Self { inner, directory }
    }

    fn checked(&self, path: FilePath) -> Result<FilePath, EnvError> {
        if path.is_under(&self.directory) {
            return Ok(path);
        }
        let reason = format!("you work in {} and may not leave it", self.directory);
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
        if path.is_empty() || path.starts_with(['/', '\\']) || path.get(1..2) == Some(":") {
            return self.checked(self.inner.resolve(path, access).await?);
        }
        let below = format!("{}/{path}", self.directory);
        let given_out = FilePath::clean(path).filter(|path| path.is_under(&self.directory));
        if given_out.is_some() {
            let shadow = format!("{}/{}", self.directory, self.directory);
            // The only other meaning would be a directory of the same name inside this one.
            if self.inner.resolve(&shadow, Access::Read).await.is_err() {
                return self.checked(self.inner.resolve(path, access).await?);
            }
        }
        self.checked(self.inner.resolve(&below, access).await?)
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

    fn list<'a>(&'a self, path: &'a FilePath, depth: usize) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>> {
        match self.check(path) {
            Ok(()) => self.inner.list(path, depth),
            Err(refused) => refused,
        }
    }

    fn glob<'a>(&'a self, path: &'a FilePath, glob: &'a str) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>> {
        match self.check(path) {
            Ok(()) => self.inner.glob(path, glob),
            Err(refused) => refused,
        }
    }

    fn glob_paths<'a>(&'a self, path: &'a FilePath, glob: &'a str) -> BoxFuture<'a, Result<Vec<FilePath>, EnvError>> {
        match self.check(path) {
            Ok(()) => self.inner.glob_paths(path, glob),
            Err(refused) => refused,
        }
    }

    fn grep<'a>(&'a self, query: &'a GrepQuery) -> BoxFuture<'a, Result<Vec<FileMatches>, EnvError>> {
        match self.check(&query.path) {
            Ok(()) => self.inner.grep(query),
            Err(refused) => refused,
        }
    }

    fn working_directory(&self) -> String {
        format!("{}/{}", self.inner.working_directory().trim_end_matches('/'), self.directory)
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
        Confined::new(Shared::new(files), FilePath::clean("src/ui").unwrap())
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
