//! Files mentioned in a message are sent with it and count as read.

use expect_test::{Expect, expect};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::error_code::Code;
use crate::test_support::covers;

const FILES: &str =
    "//- a.md\none\ntwo\n//- two words.md\nthree\n//- src/a.rs\nfn a() {}\n//- src/deep/b.rs\nfn b() {}\n";

/// Returns the part of the user message after the user's own words, and the warnings of the run.
fn sent(world: &World, text: &str) -> (String, Vec<String>) {
    let run = world.session.submit(text, CancelToken::new()).unwrap();
    let events: Vec<Event> = block_on(run.collect());
    let warnings = events.iter().filter_map(|event| match &event.kind {
        EventKind::Warning { code: "mention", message } => Some(message.clone()),
        EventKind::UserInput { content } => {
            assert_eq!(content, text, "hosts are shown what the user wrote");
            None
        }
        _ => None,
    });
    let warnings = warnings.collect();
    let requests = world.script.requests.lock().unwrap();
    let message = requests.last().unwrap().messages.last().unwrap().text();
    (message.strip_prefix(text).unwrap().to_owned(), warnings)
}

fn world(fixture: &str) -> World {
    World::new(fixture, vec![Answer::Say("Seen."), Answer::Say("Seen.")], Setup::default())
}

#[track_caller]
fn check(text: &str, expected: &Expect) {
    let (sent, warnings) = sent(&world(FILES), text);
    for warning in &warnings {
        assert!(sent.contains(&format!("Note: {warning}")), "the model is told too: {warning}");
    }
    expected.assert_eq(&sent);
}

#[test]
fn files_come_with_version_hash_and_text() {
    covers("verified.mention");
    check(
        "tidy @a.md.",
        &expect![[r#"


        <referenced_files>
        [a.md | version 1 | sha256:c3f9c8c283a2b1f2f1896f27a01cbe3cddc0c9d93f752e4639035a0f5b36f6e8]
        ```
        one
        two
        ```
        </referenced_files>"#]],
    );
    check(
        "compare @\"two words.md\" with @two\\ words.md and @a.md",
        &expect![[r#"


        <referenced_files>
        [two words.md | version 1 | sha256:f6936912184481f5edd4c304ce27c5a1a827804fc7f329f43d273b8621870776]
        ```
        three
        ```
        [a.md | version 2 | sha256:c3f9c8c283a2b1f2f1896f27a01cbe3cddc0c9d93f752e4639035a0f5b36f6e8]
        ```
        one
        two
        ```
        </referenced_files>"#]],
    );
}

#[test]
fn directories_and_globs_bring_all_their_files() {
    check(
        "look at @src/",
        &expect![[r#"


        <referenced_files>
        [src/a.rs | version 1 | sha256:509a0a5b5ce4e59f5039e30a39324342d7a161296bb8eba761983faaeebf6efd]
        ```
        fn a() {}
        ```
        [src/deep/b.rs | version 2 | sha256:17152f40315250ae36680f5e9a2b95a421beea50cd8471c9c5a600e40401f59f]
        ```
        fn b() {}
        ```
        </referenced_files>"#]],
    );
    check(
        "look at @src/*.rs, not more",
        &expect![[r#"


        <referenced_files>
        [src/a.rs | version 1 | sha256:509a0a5b5ce4e59f5039e30a39324342d7a161296bb8eba761983faaeebf6efd]
        ```
        fn a() {}
        ```
        </referenced_files>"#]],
    );
}

#[test]
fn what_names_no_file_is_a_note_if_it_looks_like_one() {
    check(
        "read @src/aa.rs and @*.py",
        &expect![[r#"


        <referenced_files>
        Note: @src/aa.rs was not read: src/aa.rs does not exist
        Did you mean a.rs?
        Note: @*.py was not read: *.py does not exist
        </referenced_files>"#]],
    );
    check(
        "read @../outside.txt",
        &expect![[r#"


        <referenced_files>
        Note: @../outside.txt was not read: ../outside.txt is outside the project root
        Try: use a path relative to the project root, e.g. "."
        </referenced_files>"#]],
    );
    check("ask @someone at me@a.md about @scope/pkg and @Override", &expect![[""]]);
}

#[test]
fn what_is_no_text_is_a_note() {
    let world = world("//- a.md\none\n");
    world.files.insert("img/logo.png", b"\x89PNG\0\xff".to_vec()).unwrap();
    world.files.insert("img/read.me", "hello\n").unwrap();
    let (sent_one, warnings) = sent(&world, "what is @img/logo.png?");
    assert!(sent_one.contains("the file is binary") && warnings.len() == 1, "{sent_one}");
    let (sent_all, warnings) = sent(&world, "what is in @img?");
    assert!(sent_all.contains("hello") && warnings == ["1 of the files are not text and were left out."], "{sent_all}");
}

#[test]
fn long_files_and_too_many_are_cut_and_said_so() {
    let world = world("");
    let long: String = (1..=20_000).map(|number| format!("{number}\n")).collect();
    world.files.insert("long.txt", long).unwrap();
    let (message, warnings) = sent(&world, "@long.txt");
    let shown = warnings[0].strip_prefix("@long.txt is long: only lines 1-").unwrap();
    let n_shown: usize = shown.split(' ').next().unwrap().parse().unwrap();
    assert!(n_shown > 5_000 && message.contains(&format!("\n{n_shown}\n")), "{n_shown}");
    assert!(!message.contains(&format!("\n{}\n", n_shown + 1)) && message.len() < 51_000);
    for number in 0..150 {
        world.files.insert(&format!("many/{number:03}.txt"), "x\n").unwrap();
    }
    let (message, _) = sent(&world, "@many");
    assert!(message.contains("many/099.txt |") && !message.contains("many/100.txt |"));
    assert!(message.contains("There was no room for many/100.txt, many/101.txt") && message.contains("and 30 more"));
}

#[test]
fn all_files_of_a_message_together_have_a_limit() {
    covers("mention.limit");
    let world = world("");
    // Ten files of 49 kB in lines of 1 kB. Together at most 200 kB are attached.
    let kilobyte = format!("{}\n", "x".repeat(999));
    for number in 0..10 {
        world.files.insert(&format!("many/{number}.txt"), kilobyte.repeat(49)).unwrap();
    }
    let (message, warnings) = sent(&world, "@many");
    assert_eq!(message.matches(&kilobyte).count(), 200);
    assert!(message.len() < 202_000, "{} bytes", message.len());
    assert_eq!(
        warnings,
        [
            "@many/4.txt is long: only lines 1-4 of 49 were read.",
            "There was no room for many/5.txt, many/6.txt, many/7.txt, many/8.txt, many/9.txt: read what you need.",
        ]
    );
    world.files.insert("line.txt", "x".repeat(60_000)).unwrap();
    let (message, warnings) = sent(&world, "@line.txt");
    assert_eq!(warnings, ["There was no room for line.txt: read what you need."]);
    assert!(!message.contains("[line.txt"), "{message}");
}

#[test]
fn what_was_mentioned_counts_as_read() {
    let write = Answer::Call(vec![("write_file", json!({"file_path": "a.md", "content": "new\n"}))]);
    let world = World::new(FILES, vec![write, Answer::Say("Done.")], Setup::default());
    world.turn("rewrite @a.md");
    assert_eq!(world.disk("a.md"), "new\n", "{:?}", world.last_results());
    assert!(world.last_results()[0].contains("version 2"), "the mention was version 1: {:?}", world.last_results());
}

#[test]
fn messages_put_in_later_may_mention_files_too() {
    let world = World::new(FILES, vec![Answer::Call(vec![read()]), Answer::Say("Done.")], Setup::default());
    world.when(1, |session| session.steer("and mind @a.md").unwrap());
    world.turn("go");
    let requests = world.script.requests.lock().unwrap();
    let last = requests.last().unwrap().messages.last().unwrap().text();
    assert!(last.starts_with("and mind @a.md\n\n<referenced_files>\n[a.md | version 1 |"), "{last}");
}

#[test]
fn files_that_hold_secrets_are_brought_by_name_alone() {
    const FIXTURE: &str = "//- a/.env\nMARKED\n//- a/id_rsa\nMARKED\n//- a/id.md\nid\n";
    for text in ["use @a/", "use @a/*"] {
        let (sent, warnings) = sent(&world(FIXTURE), text);
        assert!(!sent.contains("MARKED") && sent.contains("[a/id.md |"), "{text}: {sent}");
        assert_eq!(warnings, ["a/id_rsa was left out, as it is a private key: name it to bring it along."], "{text}");
    }
    for text in ["use @a/id_rsa", "use @a/.env"] {
        let (sent, warnings) = sent(&world(FIXTURE), text);
        assert!(sent.contains("MARKED") && warnings.is_empty(), "{sent} {warnings:?}");
    }
}

/// Returns the parts of the user message for a model, and the warnings.
fn images_for(model: &str, text: &str) -> (usize, String) {
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0rest";
    let world = world(FILES);
    world.files.insert("cat.png", PNG.to_vec()).unwrap();
    world.files.insert("large.png", [PNG, &vec![0; crate::tools::IMAGE_BYTES_MAX]].concat()).unwrap();
    let rest = vec![0; crate::tools::IMAGE_BYTES_MAX - PNG.len()];
    world.files.insert("largest.png", [PNG, &rest].concat()).unwrap();
    world.files.insert("photo", PNG.to_vec()).unwrap();
    world.files.insert("data.bin", b"\0\xff".to_vec()).unwrap();
    let provider = Shared::clone(&world.script) as Shared<dyn Provider>;
    world.session.set_model(provider, model.to_owned(), false);
    let (_, warnings) = sent(&world, text);
    let requests = world.script.requests.lock().unwrap();
    let parts = requests.last().unwrap().messages.last().unwrap();
    let images = parts.content.iter().filter(|part| match part {
        ContentPart::Image(image) => {
            assert_eq!(image.media_type.as_deref(), Some("image/png"));
            true
        }
        _ => false,
    });
    (images.count(), warnings.join("\n"))
}

#[test]
fn images_are_attached_for_models_that_see() {
    assert_eq!(images_for("m", "what is in @cat.png? and @cat.png"), (1, String::new()));
    assert_eq!(images_for("claude-sonnet-4-5", "look at @cat.png"), (1, String::new()));
    assert_eq!(images_for("m", "@largest.png @photo"), (2, String::new()));
    let (n_images, warning) = images_for("m", "@large.png @data.bin @a.md");
    assert_eq!(n_images, 0);
    for expected in ["@large.png was not read", "Make it smaller.", "@data.bin was not read"] {
        assert!(warning.contains(expected), "{warning}");
    }
    let blind = emend_llm::list_models(None).find(|info| !info.supports_vision);
    if let Some(info) = blind {
        let (n_images, warning) = images_for(&info.id, "look at @cat.png");
        assert_eq!((n_images, warning.contains("does not take images")), (0, true), "{warning}");
    }
}

/// Returns the images of the user messages that the model got last.
fn images_sent(world: &World) -> Vec<Vec<String>> {
    let requests = world.script.requests.lock().unwrap();
    let messages = requests.last().unwrap().messages.iter().filter(|message| message.role == Role::User);
    let images = |message: &Message| {
        let images = message.content.iter().filter_map(|part| match part {
            ContentPart::Image(image) => Some(format!("{} {}", image.file_name.as_ref()?, image.media_type.as_ref()?)),
            _ => None,
        });
        images.collect()
    };
    messages.map(images).collect()
}

#[test]
fn attached_images_go_with_the_next_message_alone() {
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0rest";
    let answers = vec![Answer::Call(vec![read()]), Answer::Say("Done."), Answer::Say("Seen.")];
    let world = World::new(FILES, answers, Setup::default());
    world.files.insert("cat.png", PNG.to_vec()).unwrap();
    world.session.attach_image("later", b"GIF89a").unwrap();
    world.session.follow_up("and this").unwrap();
    world.when(1, |session| {
        session.attach_image("steered", &[0xff, 0xd8, 0xff]).unwrap();
        session.steer("mind this").unwrap();
    });
    world.session.attach_image("sketch", PNG).unwrap();
    world.turn("what is it? see @cat.png");
    assert_eq!(
        images_sent(&world),
        [vec!["sketch image/png", "cat.png image/png"], vec!["steered image/jpeg"], vec!["later image/gif"]]
    );
    let first = world.session.history().remove(0).text();
    let block = first
        .strip_prefix("what is it? see @cat.png\n\n<referenced_files>\n[sketch | image/png]\n[cat.png | version 1");
    assert!(block.is_some(), "{first}");
}

#[test]
fn attached_images_are_checked_as_mentioned_ones() {
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0rest";
    let world = world(FILES);
    let attach = |name: &str, bytes: &[u8]| world.session.attach_image(name, bytes);
    let refused = |bytes: &[u8]| {
        attach("first", PNG).unwrap();
        attach("x", bytes).map_err(|error| (error.code, error.message)).unwrap_err()
    };
    assert_eq!(refused(b"\0\xff"), (Code::Unsupported, "x is not a PNG, JPEG, GIF or WebP image.".to_owned()));
    let large = [PNG, &vec![0; crate::tools::IMAGE_BYTES_MAX]].concat();
    assert!(refused(&large).1.ends_with("Make it smaller."));
    for _ in 0..10 {
        attach("one", PNG).unwrap();
    }
    assert_eq!(attach("one", PNG).map_err(|error| error.code), Err(Code::Unsupported));
    world.turn("go");
    assert_eq!(images_sent(&world), [Vec::<String>::new()], "a refused image takes the others along");
    for _ in 0..10 {
        attach("one", PNG).unwrap();
    }
    world.files.insert("cat.png", PNG.to_vec()).unwrap();
    let (_, warnings) = sent(&world, "@cat.png");
    assert_eq!(warnings, ["@cat.png was not read: a message takes at most 10 images."]);
    if let Some(info) = emend_llm::list_models(None).find(|info| !info.supports_vision) {
        let provider = Shared::clone(&world.script) as Shared<dyn Provider>;
        world.session.set_model(provider, info.id.clone(), false);
        let error = attach("one", PNG).unwrap_err();
        assert!(error.message.ends_with("does not take images."), "{}", error.message);
    }
}

#[test]
fn a_name_with_escaped_blanks_is_one_mention() {
    // The end of the name is not read again as a mention.
    for text in ["see @a\\ \\ \\ \\ \\ @a.md", "see @a.md\\ \\ \\ \\ \\ @a.md"] {
        let (sent, _) = sent(&world(FILES), text);
        assert!(!sent.contains("[a.md |"), "{text}: {sent}");
    }
    let (sent, warnings) = sent(&world(FILES), "see @two\\ words.md and @a.md");
    assert!(sent.contains("[two words.md |") && sent.contains("[a.md |") && warnings.is_empty(), "{sent}");
}
