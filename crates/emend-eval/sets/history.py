"""Derives tasks from the history of this repository: the parent of a fix, with the tests of the fix hidden.

    python3 crates/emend-eval/sets/history.py WORKTREE >> crates/emend-eval/sets/history.toml

A commit is a candidate if it changes the sources and the tests of one of CRATES, and adds no test file. WORKTREE is a
directory for a checkout, which is created. There the tests of the fix run on its parent and on the fix itself. A
candidate becomes a task if the tests compile and fail on the parent, and pass on the fix. If the tests of all files do
not compile there, those of each single file are tried, and `files` in the task names it. Each outcome is printed to
standard error. Commits that are in the file already are left out. `CRATES` takes other crates, and `COMMITS` takes only
some commits, in the given order.
"""

import os
import re
import subprocess
import sys

CRATES = ["emend-edit", "emend-offline", "emend-llm", "emend-agent", "emend-host"]
TEST_MODULE = re.compile(r"^#\[cfg\(test\)\]\nmod \w+ \{", re.M)
# The last line of a function has the indentation of the first one.
TEST_FUNCTION = re.compile(r"^( *)#\[test\]\s*(?:#\[[^\]]*\]\s*)*fn (\w+)\(\)(.*?\n\1\}$)", re.M | re.S)
FILES_MAX = 25
LISTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "history.toml")


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


def functions(tests):
    """Returns the test functions by name."""
    return {name: body for _, name, body in TEST_FUNCTION.findall(tests)}


def candidates(crates, commits):
    """Yields commit, crate, and for each hidden test file its text and the names of its tests that are new or changed."""
    for commit in commits:
        changes = [line.split("\t") for line in git("diff-tree", "--no-commit-id", "-r", "--name-status", commit).splitlines()]
        rust = [(status, paths[-1]) for status, *paths in changes if paths[-1].endswith(".rs")]
        if len(rust) > FILES_MAX or any(status[0] not in "MA" for status, _ in rust):
            continue
        for crate in crates:
            own = [(status, path) for status, path in rust if path.startswith(f"crates/{crate}/src/")]
            hidden, changes_program, adds_tests = {}, False, False
            for status, path in own:
                before, after = git("show", f"{commit}^:{path}"), git("show", f"{commit}:{path}")
                if is_test_file(path):
                    adds_tests |= status == "A"
                    old_tests, new_tests, text = before, after, after
                else:
                    (old_program, old_tests), (new_program, new_tests) = split(before), split(after)
                    words = lambda text: re.sub(r"//.*", "", text).split()
                    changes_program |= words(old_program) != words(new_program)
                    text = new_tests
                if status == "A" or not new_tests or new_tests == old_tests:
                    continue
                old, new = functions(old_tests), functions(new_tests)
                hidden[path] = text, {name for name in new if old.get(name) != new[name]}
            if changes_program and not adds_tests and any(names for _, names in hidden.values()):
                yield commit, crate, hidden


def run(folder, crate, names):
    """Returns the number of passed tests, `compile` or `fail`."""
    target = "--lib" if os.path.exists(os.path.join(folder, "crates", crate, "src/lib.rs")) else "--bins"
    options = ["--offline", "--quiet", "-p", crate, target]
    # Optimised builds of large crates take minutes.
    for package in {"emend-agent", "emend-edit"} - ({crate} if crate == "emend-edit" else set()):
        options += ["--config", f"profile.dev.package.{package}.opt-level=0"]
    call = lambda *command: subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=1800)
    # Most candidates fail here, and this takes less time than a build.
    if call("cargo", "check", "--tests", *options).returncode != 0:
        return "compile"
    done = call("cargo", "test", *options, "--", *names)
    found = re.search(r"test result: (\w+)\. (\d+) passed", done.stdout)
    if found is None:
        return "fail"
    return int(found[2]) if found[1] == "ok" else "fail"


def write_tests(folder, hidden):
    for path, (text, _) in hidden.items():
        file = os.path.join(folder, path)
        if not is_test_file(path):
            with open(file) as source:
                text = split(source.read())[0] + text
        with open(file, "w") as out:
            out.write(text)


def names_of(hidden):
    return sorted(set().union(*(names for _, names in hidden.values())))


def verify(folder, commit, crate, hidden):
    """Returns the hidden files of a task and the number of its tests, or `None` and the reason."""
    choices = [hidden]
    if len(hidden) > 1:
        choices += [{path: found} for path, found in hidden.items() if found[1]]
    reasons = []
    for chosen in choices:
        git("checkout", "--quiet", "--force", f"{commit}^", folder=folder)
        write_tests(folder, chosen)
        before = run(folder, crate, names_of(chosen))
        if before == "fail":
            git("checkout", "--quiet", "--force", commit, folder=folder)
            after = run(folder, crate, names_of(chosen))
            if isinstance(after, int) and after > 0:
                return chosen, after
            return None, f"the fix itself does not pass: {after}"
        reasons.append("the tests do not compile on the parent" if before == "compile" else "the tests pass on the parent")
    return None, "; ".join(reasons)


def main():
    folder = sys.argv[1]
    with open(LISTED) as file:
        listed = re.findall(r'commit = "(\w+)"', file.read())
    if not os.path.isdir(folder):
        git("worktree", "add", "--quiet", "--detach", folder)
    crates = os.environ.get("CRATES", " ".join(CRATES)).split()
    commits = os.environ.get("COMMITS", "").split() or git("log", "--no-merges", "--format=%H").split()
    for commit, crate, hidden in candidates(crates, commits):
        if any(commit.startswith(other) or other.startswith(commit) for other in listed):
            continue
        chosen, found = verify(folder, commit, crate, hidden)
        print(commit[:12], crate, "ok" if chosen else found, file=sys.stderr, flush=True)
        if chosen:
            quoted = lambda texts: ", ".join(f'"{text}"' for text in texts)
            files = "" if chosen is hidden else f"files = [{quoted(chosen)}]\n"
            tests = f"tests = [{quoted(names_of(chosen))}]\n{files}passed = {found}\n"
            print(f'[[fix]]\ncommit = "{git("rev-parse", commit).strip()}"\ncrate = "{crate}"\n{tests}', flush=True)


main()
