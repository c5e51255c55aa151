//! The part of the storms that begins with a random tree: texts with each kind of line ending, binary files, links, modes,
//! empty and ignored files and directories, at the paths that the steps change and at others.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use super::super::tests::Project;
use super::{Numbers, Storm, TEXTS};

/// Two of so many storms, one after the other, begin with a random tree.
const SCATTERED_EVERY: u64 = 4;

/// Other paths than those of the usual project.
const MORE: [&str; 8] = [
    "crlf.txt",
    "deep/er/d.bin",
    "deep/and/far/e.txt",
    "f",
    ".env.local",
    "out/more/g.o",
    "h/.gitignore",
    "h/ignored.txt",
];

pub(super) fn is_scattered(seed: u64) -> bool {
    seed % SCATTERED_EVERY < 2
}

/// Gives some paths of the usual project random contents and mode bits, and adds others.
pub(super) fn scatter(project: &Project, seed: u64) {
    let mut numbers = Numbers((seed + 1).wrapping_mul(0xd134_2543_de82_ef95));
    for path in TEXTS[..4].iter().chain(&MORE) {
        if numbers.below(3) > 0 {
            place(&project.path(path), &mut numbers);
        }
    }
    for directory in ["bare", "deep/bare", "out/bare"] {
        if numbers.below(2) == 0 {
            let directory = project.path(directory);
            fs::create_dir_all(&directory).unwrap();
            let mode = [0o755, 0o700, 0o2775][numbers.below(3)];
            fs::set_permissions(&directory, fs::Permissions::from_mode(mode)).unwrap();
        }
    }
}

/// Puts a random file or link at a path.
fn place(path: &Path, numbers: &mut Numbers) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = fs::remove_file(path);
    let is_rule = path.ends_with(".gitignore");
    if !is_rule && numbers.below(8) == 0 {
        return symlink(numbers.pick(&["a.txt", "../a.txt", "/nowhere", "deep"]), path).unwrap();
    }
    let n_lines = numbers.below(12);
    let eol = numbers.pick(&["\n", "\n", "\r\n"]);
    let mut text: String = (0..n_lines).map(|at| format!("line {at} {}{eol}", numbers.below(100))).collect();
    match numbers.below(8) {
        0 => text.truncate(text.trim_end().len()),
        1 => text.push_str("mixed\nendings\r\n"),
        2 => text.clear(),
        3 => text.push('\0'),
        _ => {}
    }
    let content = if is_rule { "ignored.txt\n".to_owned() } else { text };
    fs::write(path, content).unwrap();
    let mode = [0o644, 0o644, 0o600, 0o755, 0o444][numbers.below(5)];
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

impl Storm {
    /// Returns a command that converts line endings or changes one of the paths that only a random tree has.
    pub(super) fn scattered_command(&mut self) -> String {
        let path = if self.numbers.below(2) == 0 { self.numbers.pick(&TEXTS) } else { self.numbers.pick(&MORE) };
        let number = self.numbers.below(1000);
        match self.numbers.below(7) {
            0 => format!("sed -i 's/$/\\r/' {path}"),
            1 => format!("sed -i 's/\\r$//' {path}"),
            2 => format!("printf '{number}\\r\\n' >> {path}"),
            3 => format!("printf {number} >> {path}"),
            4 => format!("rm -rf {path}"),
            5 => format!("mv -f {path} {}", self.numbers.pick(&MORE)),
            _ => "rmdir bare deep/bare out/bare; rm -f h/.gitignore".to_owned(),
        }
    }
}
