//! Marks of files that change with their content, for finding what a command changed.
//!
//! The file protocol tells times in seconds only, and a command can write a file twice within one. So a script asks for
//! times in nanoseconds and the inode. If `stat` there does not know them, checksums take their place.

use std::collections::BTreeMap;

use emend_agent::environment::FilePath;
use emend_agent::environment::command::FileStamp;

use super::far::{FarError, Found, Runner};
use super::script::{quote, run_script};

/// Returns a stamp of each file. A file without an answer gets marks that equal no others.
pub(super) fn stamps(
    runner: &dyn Runner,
    root: &str,
    has_fine_times: bool,
    files: Vec<(FilePath, Found)>,
) -> Result<Vec<FileStamp>, FarError> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<u8> = files.iter().flat_map(|(path, _)| format!("./{path}\0").into_bytes()).collect();
    let print = if has_fine_times { "stat --printf '%.9Y %.9Z %i %n\\0' --" } else { "cksum --" };
    // A file that is gone makes `xargs` fail; it has no line then.
    let script = format!("cd -P -- {} && {{ xargs -0 {print} 2>/dev/null; exit 0; }}; exit 2", quote(root));
    let answer = run_script(runner, &script, &names)?;
    if answer.status != 0 {
        return Err(FarError::Missing);
    }
    let text = String::from_utf8_lossy(&answer.output);
    let marks: BTreeMap<&str, [u64; 3]> = match has_fine_times {
        true => text.split('\0').filter_map(times).collect(),
        false => text.lines().filter_map(sum).collect(),
    };
    let unknown = |index: usize| [u64::MAX, emend_llm::Random::next_u64(&crate::clock::OsRandom), index as u64];
    let stamp = |(index, (path, found)): (usize, (FilePath, Found))| {
        let marks = marks.get(path.as_str()).copied().unwrap_or_else(|| unknown(index));
        FileStamp { path, size: found.size, marks }
    };
    Ok(files.into_iter().enumerate().map(stamp).collect())
}

/// Reads `MODIFIED CHANGED INODE ./NAME`, the times in seconds with nine places.
fn times(line: &str) -> Option<(&str, [u64; 3])> {
    let mut fields = line.splitn(4, ' ');
    let mut time = || {
        let (seconds, nanos) = fields.next()?.split_once('.')?;
        Some(seconds.parse::<u64>().ok()?.wrapping_mul(1_000_000_000).wrapping_add(nanos.parse().ok()?))
    };
    let (modified, changed) = (time()?, time()?);
    let inode = fields.next()?.parse().ok()?;
    Some((fields.next()?.strip_prefix("./")?, [modified, changed, inode]))
}

/// Reads `SUM SIZE ./NAME`.
fn sum(line: &str) -> Option<(&str, [u64; 3])> {
    let mut fields = line.splitn(3, ' ');
    let (sum, size) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some((fields.next()?.strip_prefix("./")?, [sum, size, 0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let marks = [1_700_000_000_123_456_789, 1_700_000_001_000_000_000, 42];
        assert_eq!(times("1700000000.123456789 1700000001.000000000 42 ./a b"), Some(("a b", marks)));
        assert_eq!(times(""), None);
        assert_eq!(sum("4038471504 75 ./a b"), Some(("a b", [4_038_471_504, 75, 0])));
        assert_eq!(sum("cksum: error"), None);
    }
}
