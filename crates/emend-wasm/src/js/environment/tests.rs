//! The conformance suite over a small tree of files written in JavaScript, compared with files in memory.

use emend_agent::environment::conformance::{CALLS, CASES, fixture, transcript};
use emend_agent::environment::memory::{FixtureContent, MemFs, parse_fixture};
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::test_host::connect_test_host;

#[wasm_bindgen(inline_js = r#"
// Strings are links, byte arrays are files. A directory exists once something was put below it.
export class Tree {
    constructor(root, finds, later) {
        this.root = root;
        this.platform = 1;
        this.osVersion = "a tree";
        this.finds = finds;
        this.later = later;
        this.nodes = new Map();
        this.directories = new Set([""]);
        this.calls = 0;
    }

    put(path, content) {
        const parents = path.split("/").slice(0, -1).map((_, at, all) => all.slice(0, at + 1).join("/"));
        if (path === "") throw refused("invalid_argument", "it is the root");
        if (this.directories.has(path)) throw refused("invalid_argument", "it is a directory");
        if (typeof this.nodes.get(path) === "string") throw refused("invalid_argument", "it is a link");
        if (parents.some((parent) => this.nodes.has(parent))) {
            throw refused("invalid_argument", "a directory above it is a file");
        }
        for (const parent of parents) this.directories.add(parent);
        this.nodes.set(path, content);
    }

    file(path) {
        if (this.directories.has(path)) throw refused("invalid_argument", "it is a directory");
        const content = this.nodes.get(path);
        if (typeof content === "string") throw refused("invalid_argument", "it is a link");
        if (content === undefined) throw refused("not_found");
        return content;
    }

    fields(path) {
        if (this.directories.has(path)) return ["d", 0, 0];
        const content = this.nodes.get(path);
        if (typeof content === "string") return ["l" + content, 0, 0];
        return content && ["f", content.length, 0];
    }

    rules(path) {
        const content = this.nodes.get(path === "" ? ".gitignore" : path + "/.gitignore");
        return content ? new TextDecoder().decode(content) : "";
    }

    directory(path, rules) {
        const base = path === "" ? "" : path + "/";
        const all = [...this.nodes.keys(), ...this.directories];
        const inside = all.filter((other) => other !== "" && other.startsWith(base) && !other.slice(base.length).includes("/"));
        const entries = inside.flatMap((other) => [other.slice(base.length), ...this.fields(other)]);
        return [rules ? this.rules(path) : "", inside.length, ...entries];
    }

    /** More files than match, some twice: the core filters the files that a host finds. */
    found() {
        const shown = [...this.nodes.keys()].filter((path) => !/(^|\/)\.|^build\/|vendor|generated|debug/.test(path));
        const deep = "src/deep/er/generated.rs";
        const found = [...shown, ...(this.nodes.has(deep) ? [deep, deep] : []), "../outside.txt"];
        return found.flatMap((path) => [path, ...(this.fields(path) ?? ["f", 9, 0])]);
    }

    answer(operation, path, argument) {
        switch (operation) {
            case "stat": return this.fields(path)?.join("\0");
            case "list": case "walk": return argument.split("\0").flatMap((at) => this.directory(at, operation === "walk")).join("\0");
            case "rules": return this.rules(path);
            case "read": return this.file(path);
            case "contents": return argument.split("\0\0")[0].split("\0").map((at) => this.file(at));
            case "write": return this.put(path, argument);
            case "remove": this.file(path); this.nodes.delete(path); return undefined;
            case "glob": case "grep": return this.found().join("\0");
            case "initialize": return undefined;
        }
        throw new Error(operation);
    }

    has(method) {
        return this.finds && (method === "glob" || method === "grep");
    }

    call(operation, path, argument) {
        this.calls += 1;
        const call = { cancel() {} };
        try {
            const answer = this.answer(operation, path, argument);
            call.result = this.later ? new Promise((resolve) => setTimeout(() => resolve(answer))) : answer;
        } catch (thrown) {
            call.result = Promise.reject(thrown);
        }
        return call;
    }
}

function refused(code, message) {
    return JSON.stringify({ code, message });
}
"#)]
extern "C" {
    #[wasm_bindgen(extends = HostEnvironment)]
    type Tree;

    #[wasm_bindgen(constructor)]
    fn new(root: &str, finds: bool, later: bool) -> Tree;

    #[wasm_bindgen(method)]
    fn put(this: &Tree, path: &str, content: &JsValue);
}

/// Returns a tree with the suite's fixture. With `finds` it has `glob` and `grep` of its own. With `later` it answers
/// through promises that settle in a later turn of the event loop; otherwise with plain values.
fn tree(root: &str, finds: bool, later: bool) -> JsEnvironment {
    connect_test_host();
    let tree = Tree::new(root, finds, later);
    for (path, content) in parse_fixture(&fixture(root)) {
        match content {
            FixtureContent::File(text) => tree.put(path, &Uint8Array::from(text.as_bytes())),
            FixtureContent::Link(target) => tree.put(path, &target.into()),
        }
    }
    JsEnvironment::new(tree.unchecked_into())
}

#[test]
async fn an_environment_written_in_javascript_conforms() {
    for case in CASES {
        assert_eq!(case.run(&tree("/workspace", false, false)).await, Ok(()), "{}", case.name);
    }
}

#[test]
async fn an_environment_that_answers_through_promises_conforms() {
    for case in CASES {
        assert_eq!(case.run(&tree("/home/me", false, true)).await, Ok(()), "{}", case.name);
    }
}

#[test]
async fn an_environment_with_its_own_glob_and_grep_finds_the_same() {
    // The core walks a directory that is named even if it is ignored; this tree's own search leaves it out.
    let own = ["globs_from_anywhere", "greps_what_is_asked_for", "sees_changes_at_once"];
    for case in CASES.iter().filter(|case| !own.contains(&case.name)) {
        assert_eq!(case.run(&tree("/workspace", true, false)).await, Ok(()), "{}", case.name);
    }
}

#[test]
async fn answers_equal_those_of_files_in_memory() {
    for writes in [true, false] {
        let expected = transcript(&MemFs::from_fixture(&fixture("/workspace")), writes).await;
        assert_eq!(expected.lines().count(), CALLS);
        for (root, later) in [("/workspace", false), ("/home/me", true)] {
            assert_eq!(transcript(&tree(root, false, later), writes).await, expected);
        }
    }
}

#[test]
async fn a_file_without_a_modification_time_gets_a_new_stamp_each_time() {
    let tree = tree("/workspace", false, false);
    let (before, after) = (tree.manifest().await.unwrap(), tree.manifest().await.unwrap());
    let paths = |stamps: &[FileStamp]| stamps.iter().map(|stamp| stamp.path.to_string()).collect::<Vec<_>>().join(" ");
    assert_eq!(paths(&before), paths(&after));
    assert!(paths(&before).starts_with(".env .github/ci.yml .gitignore Makefile "), "{}", paths(&before));
    assert!(before.iter().zip(&after).all(|(before, after)| before != after));
}

#[test]
fn a_path_is_resolved_by_its_text_alone() {
    let tree = tree("/workspace", false, false);
    let clean = |path: &str| tree.clean(path).map(|path| path.to_string()).map_err(|error| error.code().as_str());
    assert_eq!(clean("/workspace/src/../a.txt"), Ok("a.txt".to_owned()));
    assert_eq!(clean("links/inner"), Ok("links/inner".to_owned()));
    assert_eq!(clean("../a.txt"), Err("permission_denied"));
}
