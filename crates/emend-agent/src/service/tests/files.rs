//! The files of the project for the user: the list and the search.

use futures::executor::block_on;
use serde_json::{Value, json};

use super::Bench;
use crate::session::tests::Answer;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const FILES: &str = "//- a.md\none\n//- src/deep/x.rs\nfn x() {}\n//- src/lib.rs\nmod deep;\n//- z.txt\nlast fn\n";

/// Returns the sizes and paths of a list.
async fn list(bench: &Bench, query: &str) -> (Vec<String>, Value) {
    let (status, body) = bench.get(&format!("/api/agent/files{query}")).await;
    assert_eq!(status, 200, "{query}: {body}");
    let of = |file: &Value| format!("{} {}", file["n_bytes"], file["file_path"].as_str().unwrap());
    (body["files"].as_array().unwrap().iter().map(of).collect(), body["next"].clone())
}

#[test]
fn files_are_listed_by_prefix_and_glob_in_pages() {
    block_on(async {
        let bench = Bench::new(FILES);
        let table: [(&str, &[&str], Value); 9] = [
            ("", &["4 a.md", "10 src/deep/x.rs", "10 src/lib.rs", "8 z.txt"], Value::Null),
            ("?prefix=src/", &["10 src/deep/x.rs", "10 src/lib.rs"], Value::Null),
            ("?prefix=src/&glob=lib.*", &["10 src/lib.rs"], Value::Null),
            ("?glob=**/*.rs&limit=1", &["10 src/deep/x.rs"], json!("src/deep/x.rs")),
            ("?glob=**/*.rs&limit=1&after=src/deep/x.rs", &["10 src/lib.rs"], Value::Null),
            ("?limit=3", &["4 a.md", "10 src/deep/x.rs", "10 src/lib.rs"], json!("src/lib.rs")),
            ("?limit=3&after=src/lib.rs", &["8 z.txt"], Value::Null),
            ("?glob=&prefix=z", &["8 z.txt"], Value::Null),
            ("?prefix=none", &[], Value::Null),
        ];
        for (query, files, next) in table {
            assert_eq!(list(&bench, query).await, (files.iter().map(ToString::to_string).collect(), next), "{query}");
        }
        for query in ["?limit=0", "?glob=[", "?limit=x"] {
            assert_eq!(bench.get(&format!("/api/agent/files{query}")).await.0, 400, "{query}");
        }
    });
}

#[test]
fn the_list_and_the_search_show_pending_edits() {
    block_on(async {
        let bench = Bench::new(FILES);
        let session = bench.session(json!({ "model": "script" })).await;
        let calls = vec![
            ("write_file", json!({ "file_path": "new.md", "content": "needle\n" })),
            ("edit_file", json!({ "file_path": "a.md", "old_string": "one", "new_string": "needle two" })),
        ];
        bench.script().push([Answer::Call(calls), Answer::Say("Done.")]);
        bench.run(&session, "edit").await;
        bench.work().await;
        assert_eq!(list(&bench, "?glob=*.md").await.0, ["11 a.md", "7 new.md"]);
        assert_eq!(bench.disk("a.md"), "one\n");
        let (_, found) = bench.get("/api/agent/search?query=needle").await;
        let place = |hit: &Value| (hit["file_path"].clone(), hit["start_line"].clone(), hit["snippet"].clone());
        let mut places: Vec<_> = found["results"].as_array().unwrap().iter().map(place).collect();
        places.sort_by_key(|place| place.0.to_string());
        let at = |path: &str, snippet: &str| (json!(path), json!(1), json!(snippet));
        assert_eq!(places, [at("a.md", "needle two"), at("new.md", "needle")], "{found}");
        assert_eq!(found["truncated"], false);
    });
}

#[test]
fn a_search_has_a_limit_and_needs_words() {
    block_on(async {
        let bench = Bench::new(FILES);
        let n_results = |query: &'static str| {
            let bench = &bench;
            async move {
                let (status, body) = bench.get(&format!("/api/agent/search?{query}")).await;
                assert_eq!(status, 200, "{query}: {body}");
                (body["results"].as_array().unwrap().len(), body["truncated"].clone())
            }
        };
        assert_eq!(n_results("query=fn").await, (2, json!(false)));
        assert_eq!(n_results("query=fn&limit=1").await, (1, json!(true)));
        assert_eq!(n_results("query=fn&glob=*.txt").await, (1, json!(false)));
        assert_eq!(n_results("query=absent").await, (0, json!(false)));
        let many = format!("?query={}", (0..65).map(|at| format!("w{at}+")).collect::<String>());
        for query in ["", &many, "?query=", "?query=fn&limit=0", "?query=fn&glob=["] {
            let (status, body) = bench.get(&format!("/api/agent/search{query}")).await;
            assert_eq!((status, &body["error"]["code"]), (400, &json!("invalid_argument")), "{query}: {body}");
        }
    });
}
