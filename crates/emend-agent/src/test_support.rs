//! What the tests of this crate share.

use emend_llm::{BoxFuture, CancelToken, Shared};
use proptest::test_runner::{Config, RngSeed};

use crate::env::{Access, DirEntry, EnvError, ExecutionEnvironment, FilePath, GrepQuery, Metadata};
use crate::exec::{Command, ExecResult, OutputSink, OutputStream};
use crate::memfs::MemFs;
use crate::search::FileMatches;

/// Returns a property test's settings: `native` cases (200 in a browser), the same ones on every run.
pub(crate) fn cases(native: u32) -> Config {
    Config {
        cases: if cfg!(target_family = "wasm") { 200 } else { native },
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(0x0e3e_4d00),
        ..Config::default()
    }
}

/// Says which items of `tests/it/agent_checklist.txt` the running test shows.
pub(crate) fn covers(items: &str) {
    println!("covers: {items}");
}

/// Files in memory with a shell of six words: `echo TEXT`, `write PATH TEXT`, `remove PATH`, `fail STATUS`, `hang`
/// (until it is cancelled) and `late` (its time is up at once), separated by `;`.
pub(crate) struct ToyShell {
    pub(crate) files: Shared<MemFs>,
}

impl ToyShell {
    async fn run(
        &self,
        command: &Command,
        output: &dyn OutputSink,
        cancel: &CancelToken,
    ) -> Result<ExecResult, EnvError> {
        let mut result = ExecResult { duration_ms: 1, ..ExecResult::default() };
        for word in command.command.split(';') {
            let (word, rest) = word.trim().split_once(' ').unwrap_or((word.trim(), ""));
            match word {
                "echo" => {
                    output.output(OutputStream::Stdout, &format!("{rest}\n"));
                    result.stdout.push_str(&format!("{rest}\n"));
                }
                "write" => {
                    let (path, text) = rest.split_once(' ').unwrap_or((rest, ""));
                    let path = command.working_dir.join(path);
                    self.files.insert(path.as_str(), text.replace("\\n", "\n").replace("\\0", "\0"))?;
                }
                "remove" => {
                    self.files.delete(rest);
                }
                "fail" => result.exit_code = rest.parse().unwrap(),
                "hang" => {
                    cancel.cancelled().await;
                    result.cancelled = true;
                }
                "late" => result.timed_out = true,
                other => panic!("the toy shell has no {other}"),
            }
        }
        Ok(result)
    }
}

impl ExecutionEnvironment for ToyShell {
    fn resolve<'a>(&'a self, path: &'a str, access: Access) -> BoxFuture<'a, Result<FilePath, EnvError>> {
        self.files.resolve(path, access)
    }

    fn metadata<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Option<Metadata>, EnvError>> {
        self.files.metadata(path)
    }

    fn read<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Vec<u8>, EnvError>> {
        self.files.read(path)
    }

    fn write<'a>(&'a self, path: &'a FilePath, content: &'a [u8]) -> BoxFuture<'a, Result<(), EnvError>> {
        self.files.write(path, content)
    }

    fn remove<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<(), EnvError>> {
        self.files.remove(path)
    }

    fn list<'a>(&'a self, path: &'a FilePath, depth: usize) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>> {
        self.files.list(path, depth)
    }

    fn glob<'a>(&'a self, path: &'a FilePath, glob: &'a str) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>> {
        self.files.glob(path, glob)
    }

    fn grep<'a>(&'a self, query: &'a GrepQuery) -> BoxFuture<'a, Result<Vec<FileMatches>, EnvError>> {
        self.files.grep(query)
    }

    fn has_shell(&self) -> bool {
        true
    }

    fn exec_command<'a>(
        &'a self,
        command: &'a Command,
        output: &'a dyn OutputSink,
        cancel: &'a CancelToken,
    ) -> BoxFuture<'a, Result<ExecResult, EnvError>> {
        Box::pin(self.run(command, output, cancel))
    }

    fn scratch<'a>(
        &'a self,
        overlay: &'a [(FilePath, Option<Vec<u8>>)],
    ) -> BoxFuture<'a, Result<Shared<dyn ExecutionEnvironment>, EnvError>> {
        let files = self.files.fork();
        for (path, content) in overlay {
            match content {
                Some(content) => files.insert(path.as_str(), content.clone()).unwrap(),
                None => assert!(files.delete(path.as_str())),
            }
        }
        let scratch: Shared<dyn ExecutionEnvironment> = Shared::new(Self { files: Shared::new(files) });
        Box::pin(std::future::ready(Ok(scratch)))
    }

    fn working_directory(&self) -> String {
        self.files.working_directory()
    }

    fn platform(&self) -> &'static str {
        self.files.platform()
    }

    fn os_version(&self) -> String {
        self.files.os_version()
    }
}
