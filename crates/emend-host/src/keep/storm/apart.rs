//! The part of the storms with files over the size limit, names that are not UTF-8, nested repositories, hard links,
//! pipes, and directories without write permission.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::super::pack::BYTES_MAX;
use super::{Histogram, Storm};

/// The size limit of contents. Files of the other parts are smaller.
const LIMIT: u64 = 4_000;

const COMMANDS: [&str; 34] = [
    "mv huge.bin moved.bin",
    "mv moved.bin huge.bin",
    "mv huge.bin deep/er/; mv deep/er/huge.bin b.bin",
    "mv -f moved.bin a.txt",
    "head -c 9000 /dev/urandom > new.bin",
    "head -c 8000 /dev/urandom > b.bin",
    "head -c 8000 /dev/urandom > huge.bin",
    "cp huge.bin copy.bin; mv copy.bin moved.bin",
    "chmod 600 huge.bin; rm -f new.bin",
    "ln -f huge.bin twin.bin",
    "rm -f huge.bin",
    "rm -f caf*",
    "echo x > $'caf\\xe9.txt'",
    "mv caf* a.txt",
    "mkdir -p $'d\\xe9'; echo y > $'d\\xe9/in'; chmod 700 $'d\\xe9'",
    "mv $'d\\xe9' new",
    "ln -sfn $'caf\\xe9.txt' link",
    "rm -rf sub",
    "rm -rf sub/.git",
    "echo h > sub/.git/hooks/h; chmod 755 sub/.git/hooks/h",
    "echo 2 > sub/.git/refs/heads/main; mkdir -p sub/.git/objects/aa; echo o > sub/.git/objects/aa/bb",
    "rm sub/.git/config sub/.git/index",
    "mkdir -p new/.git/refs/heads new/.git/objects; echo x > new/.git/HEAD; echo o > new/.git/objects/1",
    "mv sub new/",
    "echo x >> pair",
    "sed -i 's/^/x/' pair",
    "ln -f pair pair3; rm pair2",
    "rm -f pair; ln pair2 pair",
    "mkfifo pipe2",
    "rm -f pipe; echo x > pipe",
    "mv pipe a.txt",
    "rm -f deep/er/c.txt; chmod 555 deep/er deep",
    "chmod 755 run.sh; echo x >> run.sh",
    "chmod 755 a.txt",
];

impl Storm {
    /// Makes the files of this part.
    pub(super) fn fill_apart(&mut self) {
        BYTES_MAX.set(Some(LIMIT));
        self.is_apart = true;
        let path = |name: &str| self.project.path(name);
        fs::write(path("huge.bin"), [b'h'; 6_000]).unwrap();
        fs::write(self.project.path("").join(OsStr::from_bytes(b"caf\xe9.txt")), "coffee\n").unwrap();
        fs::write(path("pair"), "pair\n").unwrap();
        fs::hard_link(path("pair"), path("pair2")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
        for (name, text) in [
            ("HEAD", "ref: refs/heads/main\n"),
            ("config", "[core]\n"),
            ("refs/heads/main", "1\n"),
            ("objects/c0/1", "object\n"),
            ("hooks/sample", "#\n"),
            ("index", "DIRC"),
        ] {
            let path = path(&format!("sub/.git/{name}"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::write(path("sub/file.txt"), "in sub\n").unwrap();
    }

    pub(super) fn apart_command(&mut self) -> String {
        self.numbers.pick(&COMMANDS).to_owned()
    }

    /// Returns the contents over the limit in the project and aside.
    pub(super) fn large_contents(&self) -> BTreeSet<Vec<u8>> {
        fn collect(directory: &Path, found: &mut BTreeSet<Vec<u8>>) {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                match entry.metadata() {
                    Ok(metadata) if metadata.is_dir() => collect(&entry.path(), found),
                    Ok(metadata) if metadata.is_file() && metadata.len() > LIMIT => {
                        found.extend(fs::read(entry.path()).ok());
                    }
                    _ => {}
                }
            }
        }
        let mut found = BTreeSet::new();
        collect(&self.project.path(""), &mut found);
        for state in fs::read_dir(self.project.path("../state")).into_iter().flatten().flatten() {
            collect(&state.path().join("kept/aside"), &mut found);
        }
        found
    }

    /// Checks that an undo or a redo has deleted no content of which there is no copy.
    pub(super) fn check_large(&mut self, before: &BTreeSet<Vec<u8>>, seen: &mut Histogram) {
        let now = self.large_contents();
        seen.large_contents += now.len();
        if let Some(lost) = before.iter().find(|content| !now.contains(*content)) {
            self.errors.push(format!("{} bytes without a copy are gone", lost.len()));
        }
    }
}
