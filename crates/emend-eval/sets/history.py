"""Derives tasks from the history of this repository: the parent of a fix, with the tests of the fix hidden.

    python3 crates/emend-eval/sets/history.py WORKTREE >> crates/emend-eval/sets/history.toml

A commit is a candidate if it changes the sources and the tests of one of CRATES, and adds no test file. WORKTREE is a
directory for a checkout, which is created. There the tests of the fix run on its parent and on the fix itself. A
candidate becomes a task if the tests compile and fail on the parent, and pass on the fix. Each outcome is printed to
standard error. `SKIP=COMMIT,…` leaves out commits that are in the file already, and `CRATES` takes other crates.
"""

import os
import re
import subprocess
import sys

CRATES = ["emend-edit", "emend-offline", "emend-llm", "emend-agent", "emend-host"]
TEST_MODULE = re.compile(r"^#\[cfg\(test\)\]\nmod \w+ \{", re.M)
TEST_FUNCTION = re.compile(r"#\[test\]\s*(?:#\[[^\]]*\]\s*)*fn (\w+)\(\)(.*?\n    \}|.*?\n\})", re.S)
FILES_MAX = 25


def git(*arguments, folder="."):
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, errors="replace")
    return done.stdout


def is_test_file(path):
    stem = path.rsplit("/", 1)[-1].removesuffix(".rs")
    return stem.endswith(("tests", "testing", "test_support")) or "/tests/" in path


def split(text):
    """Returns the program and its tests."""
    found = TEST_MODULE.search(text)
    return (text, "") if found is None else (text[: found.start()], text[found.start() :])


def candidates(crates):
    """Yields commit, crate, the hidden test files and the names of tests that are new or changed."""
    for commit in git("log", "--no-merges", "--format=%H").split():
        changes = [line.split("\t") for line in git("diff-tree", "--no-commit-id", "-r", "--name-status", commit).splitlines()]
        rust = [(status, paths[-1]) for status, *paths in changes if paths[-1].endswith(".rs")]
        if len(rust) > FILES_MAX or any(status[0] not in "MA" for status, _ in rust):
            continue
        for crate in crates:
            own = [(status, path) for status, path in rust if path.startswith(f"crates/{crate}/src/")]
            names, hidden, changes_program = set(), {}, False
            for status, path in own:
                before, after = git("show", f"{commit}^:{path}"), git("show", f"{commit}:{path}")
                if is_test_file(path):
                    if status == "A":
                        names = None
                        break
                    old_tests, new_tests = before, after
                    hidden[path] = after
                else:
                    (old_program, old_tests), (new_program, new_tests) = split(before), split(after)
                    words = lambda text: re.sub(r"//.*", "", text).split()
                    changes_program |= words(old_program) != words(new_program)
                    if status == "M" and new_tests and new_tests != old_tests:
                        hidden[path] = new_tests
                if status == "A":
                    continue
                old, new = dict(TEST_FUNCTION.findall(old_tests)), dict(TEST_FUNCTION.findall(new_tests))
                names |= {name for name in new if old.get(name) != new[name]}
            if names and changes_program:
                yield commit, crate, hidden, sorted(names)


def run(folder, crate, names):
    """Returns the number of passed tests, `compile` or `fail`."""
    options = ["--offline", "--quiet", "-p", crate, "--lib"]
    # Optimised builds of large crates take minutes.
    for package in {"emend-agent", "emend-edit"} - ({crate} if crate == "emend-edit" else set()):
        options += ["--config", f"profile.dev.package.{package}.opt-level=0"]
    call = lambda *command: subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=900)
    # Most candidates fail here, and this takes less time than a build.
    if call("cargo", "check", "--tests", *options).returncode != 0:
        return "compile"
    done = call("cargo", "test", *options, "--", *names)
    found = re.search(r"test result: (\w+)\. (\d+) passed", done.stdout)
    if found is None:
        return "fail"
    return int(found[2]) if found[1] == "ok" else "fail"


def verify(folder, commit, crate, hidden, names):
    git("checkout", "--quiet", "--force", f"{commit}^", folder=folder)
    for path, text in hidden.items():
        file = os.path.join(folder, path)
        if not is_test_file(path):
            with open(file) as source:
                text = split(source.read())[0] + text
        with open(file, "w") as out:
            out.write(text)
    before = run(folder, crate, names)
    if before != "fail":
        return None, "the tests do not compile on the parent" if before == "compile" else "the tests pass on the parent"
    git("checkout", "--quiet", "--force", commit, folder=folder)
    after = run(folder, crate, names)
    return (after, "") if isinstance(after, int) and after > 0 else (None, f"the fix itself does not pass: {after}")


def main():
    folder = sys.argv[1]
    skipped = os.environ.get("SKIP", "").split(",")
    if not os.path.isdir(folder):
        git("worktree", "add", "--quiet", "--detach", folder)
    crates = os.environ.get("CRATES", " ".join(CRATES)).split()
    for commit, crate, hidden, names in candidates(crates):
        if commit[:12] in skipped:
            continue
        n_passed, reason = verify(folder, commit, crate, hidden, names)
        print(commit[:12], crate, "ok" if n_passed else reason, file=sys.stderr, flush=True)
        if n_passed:
            listed = ", ".join(f'"{name}"' for name in names)
            print(f'[[fix]]\ncommit = "{commit}"\ncrate = "{crate}"\ntests = [{listed}]\npassed = {n_passed}\n', flush=True)


main()
