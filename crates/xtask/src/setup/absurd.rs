//! The SQL of Absurd, the engine of jobs on PostgreSQL, from the pinned wheel `absurdctl` on PyPI.
//!
//! The SQL is not committed. `emend-postgres` embeds the file with its licence if it exists when the crate is built.

use std::time::Duration;

use anyhow::Result;

use super::outcome::Done;
use crate::process::{command, succeeds};
use crate::repo::Repo;

const VERSION: &str = "0.5.1";

const WHEEL_SHA256: &str = "070947c130db57c5c2cdcad32c94cb4fcf22998cc498c722390af563f7b58a91";

/// Reads the SQL out of the wheel: it is a string of the Python program. The licence precedes it as comments.
const EXTRACT: &str = r#"
import ast, glob, hashlib, sys, zipfile
folder, sha256, target = sys.argv[1:]
[wheel] = glob.glob(folder + "/absurdctl-*.whl")
assert hashlib.sha256(open(wheel, "rb").read()).hexdigest() == sha256, "the wheel has another hash"
archive = zipfile.ZipFile(wheel)
licence = next(name for name in archive.namelist() if name.endswith("licenses/LICENSE"))
program = ast.parse(archive.read("absurdctl/__init__.py"))
values = {node.targets[0].id: node.value for node in program.body if isinstance(node, ast.Assign)}
sql = ast.literal_eval(values["BUNDLED_SCHEMA_SQL"])
lines = archive.read(licence).decode().splitlines()
with open(target, "w") as out:
    out.write("".join(("-- " + line).rstrip() + "\n" for line in lines) + "\n" + sql)
"#;

pub(super) fn set_up(repo: &Repo) -> Result<Done> {
    let folder = repo.path("target/absurd");
    let name = format!("absurd-{VERSION}.sql");
    if folder.join(&name).exists() {
        return Ok(Done::Skipped(format!("{name} in target/absurd")));
    }
    std::fs::create_dir_all(&folder)?;
    let python = repo.path("target/py/bin/python");
    let mut pip = command(&python, repo.root());
    pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest"]);
    let is_there = succeeds(pip.arg(&folder).arg(format!("absurdctl=={VERSION}")), Duration::from_secs(120));
    let mut extract = command(&python, repo.root());
    extract.args(["-c", EXTRACT]).arg(&folder).arg(WHEEL_SHA256).arg(folder.join(&name));
    if is_there && succeeds(&mut extract, Duration::from_secs(60)) {
        return Ok(Done::Installed(format!("{name} in target/absurd")));
    }
    Ok(Done::Missing("the wheel absurdctl could not be read; builds have no jobs on PostgreSQL".to_owned()))
}
