//! Scripts over a small tree and their ends.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::*;

/// A tree as a map from paths. A name that ends in `/` is a directory; content that begins with `->` makes a link.
#[derive(Default)]
struct Tree(Mutex<BTreeMap<String, Vec<u8>>>);

impl Tree {
    fn kind(&self, path: &str) -> Option<(Kind, u64)> {
        let tree = self.0.lock().unwrap();
        if path.is_empty() || tree.contains_key(&format!("{path}/")) {
            return Some((Kind::Directory, 0));
        }
        let content = tree.get(path)?;
        let kind = if content.starts_with(b"->") { Kind::Link } else { Kind::File };
        Some((kind, content.len() as u64))
    }
}

#[async_trait]
impl Files for Tree {
    async fn entry(&self, path: &str) -> Result<Option<Entry>, FilesError> {
        Ok(self.kind(path).map(|(kind, size)| Entry { kind, size, modified_ms: 1_700_000_000_000 }))
    }

    async fn entries(&self, path: &str) -> Result<Vec<(String, Entry)>, FilesError> {
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        let names: Vec<String> = self
            .0
            .lock()
            .unwrap()
            .keys()
            .filter_map(|key| {
                let name = key.strip_prefix(&prefix)?.trim_end_matches('/');
                (!name.is_empty() && !name.contains('/')).then(|| name.to_owned())
            })
            .collect();
        let entry = |name: &String| {
            let (kind, size) = self.kind(&format!("{prefix}{name}")).unwrap();
            Entry { kind, size, modified_ms: 1_700_000_000_000 }
        };
        Ok(names.iter().map(|name| (name.clone(), entry(name))).collect())
    }

    async fn read(&self, path: &str) -> Result<Vec<u8>, FilesError> {
        self.0.lock().unwrap().get(path).cloned().ok_or(FilesError::NotFound)
    }

    async fn write(&self, path: &str, content: &[u8]) -> Result<(), FilesError> {
        if content.len() > 1000 {
            return Err(FilesError::Full("no room".to_owned()));
        }
        self.0.lock().unwrap().insert(path.to_owned(), content.to_vec());
        Ok(())
    }

    async fn make_directory(&self, path: &str) -> Result<(), FilesError> {
        self.0.lock().unwrap().insert(format!("{path}/"), Vec::new());
        Ok(())
    }

    async fn make_link(&self, path: &str, target: &str) -> Result<(), FilesError> {
        self.write(path, format!("->{target}").as_bytes()).await
    }

    async fn read_link(&self, path: &str) -> Result<String, FilesError> {
        Ok(String::from_utf8(self.read(path).await?.split_off(2)).unwrap())
    }

    async fn remove(&self, path: &str, recursive: bool) -> Result<(), FilesError> {
        let below = format!("{path}/");
        let mut tree = self.0.lock().unwrap();
        if !recursive && tree.keys().any(|key| key.starts_with(&below) && *key != below) {
            return Err(FilesError::InTheWay("Directory not empty".to_owned()));
        }
        let before = tree.len();
        tree.retain(|key, _| key != path && !key.starts_with(&below));
        if tree.len() == before { Err(FilesError::NotFound) } else { Ok(()) }
    }

    async fn rename(&self, from: &str, to: &str) -> Result<(), FilesError> {
        let content = self.read(from).await?;
        self.remove(from, false).await?;
        self.write(to, &content).await
    }
}

/// Runs a script and returns its output, its standard error and its end.
fn run(shell: &Shell, script: Script<'_>) -> (String, String, End) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let end = runtime.block_on(shell.run(script, &Cancel::default(), |stream, bytes: &[u8]| match stream {
        Stream::Stdout => out.extend_from_slice(bytes),
        Stream::Stderr => err.extend_from_slice(bytes),
    }));
    (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap(), end)
}

#[track_caller]
fn check(text: &str, stdout: &str, status: i32) {
    let shell = Shell::new(Tree::default(), "/workspace");
    let (out, err, end) = run(&shell, Script { text, timeout_ms: 600_000, ..Script::default() });
    assert_eq!((out.as_str(), end), (stdout, End::Exit(status)), "{text}: {err}");
}

#[test]
fn commands_work_on_the_files() {
    check("echo hi > a.txt && cat a.txt | wc -c", "3\n", 0);
    check("mkdir -p a/b/c; echo x > a/b/c/d; echo y >> a/b/c/d; cat a/b/c/d; ls a/b", "x\ny\nc\n", 0);
    check(
        "printf 'one\\ntwo\\nthree\\n' > f; grep -n t f; sed -i 's/two/2/' f; awk '{print NR\":\"$1}' f",
        "2:two\n3:three\n1:one\n2:2\n3:three\n",
        0,
    );
    check("for i in 1 2 3; do echo $i > f$i; done; cat f*; rm f2; ls", "1\n2\n3\nf1\nf3\n", 0);
    check("echo hi > a; ln -s a b; cat b; readlink b; mv a c; cat b", "hi\na\n", 1);
    check("echo hi > a; cp a b; echo there > a; cat b a; test -d a || echo file", "hi\nthere\nfile\n", 0);
    check("mkdir d; echo x > d/f; cd d; pwd; rmdir ../d", "/workspace/d\n", 1);
    check("mkdir d; echo x > d/f; rm -r d; ls", "", 0);
    check("find . -name '*.md'; touch a.md; find . -name '*.md'; chmod +x a.md; test -x a.md", "./a.md\n", 0);
    check("echo 'echo from $0 $1' > s.sh; bash s.sh x; chmod +x s.sh; ./s.sh y", "from s.sh x\nfrom ./s.sh y\n", 0);
}

#[test]
fn statuses_are_those_of_bash() {
    check("false", "", 1);
    check("exit 3", "", 3);
    check("no-such-command", "", 127);
    check("cat missing", "", 1);
    check("if then", "", 2);
    check("cat", "", 0);
    check("x=$(head -c 2000 /dev/zero | tr '\\0' x); echo $x > big; echo $?", "1\n", 0);
}

#[test]
fn scripts_have_a_directory_and_variables_and_share_only_files() {
    let shell = Shell::new(Tree::default(), "/workspace");
    run(&shell, Script { text: "mkdir -p sub; cd sub; X=1; echo kept > f", ..Script::default() });
    let env_vars = BTreeMap::from([("GREETING".to_owned(), "hello there".to_owned())]);
    let script = Script { text: "echo \"$GREETING$X\"; pwd; cat f", working_dir: "sub", env_vars, ..Script::default() };
    assert_eq!(run(&shell, script).0, "hello there\n/workspace/sub\nkept\n");
}

#[test]
fn a_computing_script_ends_at_its_limit_of_steps() {
    let shell = Shell::new(Tree::default(), "/workspace");
    for text in [
        "echo begun; while :; do :; done",
        "echo begun; until false; do true; done",
        "echo begun; for ((;;)); do :; done",
        "echo begun; f() { while true; do g=1; done; }; f",
        "echo begun; while :; do echo x; done > /dev/null",
        "echo begun; (while :; do :; done) | cat",
    ] {
        let script = Script { text, timeout_ms: 600_000, steps_max: 2000, ..Script::default() };
        let (out, err, end) = run(&shell, script);
        assert_eq!((out.as_str(), end), ("begun\n", End::TimedOut), "{text}: {err}");
        assert!(err.contains("stopped: maximum"), "{text}: {err}");
    }
}

#[test]
fn a_waiting_script_ends_at_its_timeout_or_when_cancelled() {
    let shell = Shell::new(Tree::default(), "/workspace");
    let script = Script { text: "echo begun; sleep 600", timeout_ms: 50, ..Script::default() };
    assert_eq!(run(&shell, script).2, End::TimedOut);

    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    for text in ["echo begun; sleep 600", "echo begun; while :; do echo more; done"] {
        let cancel = Cancel::default();
        let script = Script { text, timeout_ms: 600_000, ..Script::default() };
        let end = runtime.block_on(shell.run(script, &cancel, |_, _: &[u8]| cancel.cancel()));
        assert_eq!(end, End::Cancelled, "{text}");
    }
}
