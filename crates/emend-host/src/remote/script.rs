//! Scripts for the shell of the far side: their transport, and the report of their end.
//!
//! The login shell of a host may be any program, and `docker exec` may end while a command runs on. So the far side gets
//! only a constant command, which reads one line from its standard input and runs it. The line holds the script in
//! printable ASCII; nothing of it is in a list of processes. A script runs only if its whole line has arrived, and its
//! result counts only if the final line has.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::process::Stdio;
use std::thread;

use emend_llm::Random as _;

use super::far::{FarError, Runner};
use crate::clock::OsRandom;

/// The command of the far side. It holds no character that a login shell reads differently inside single quotes.
pub(super) const BOOTSTRAP: &str = r#"IFS= read -r emend_code && eval "$(printf "$emend_code")""#;

/// Largest text of an error that is shown, in bytes.
const SAID_BYTES_MAX: usize = 2000;

/// The end of a script.
pub(super) struct Answer {
    /// Exit status of the script.
    pub(super) status: i32,
    /// Standard output.
    pub(super) output: Vec<u8>,
}

/// Returns text as one word of a shell.
pub(super) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns a script as the line that [`BOOTSTRAP`] reads: a format of `printf` without arguments.
pub(super) fn encode(script: &str) -> String {
    let mut line = String::with_capacity(script.len() + script.len() / 4);
    for byte in script.bytes() {
        match byte {
            b'%' => line.push_str("%%"),
            b'\\' => line.push_str(r"\\"),
            b' '..=b'~' => line.push(char::from(byte)),
            // Writing to a string cannot fail.
            _ => drop(write!(line, "\\{byte:03o}")),
        }
    }
    line.push('\n');
    line
}

/// Returns a random word that no output contains by chance.
pub(super) fn nonce() -> String {
    format!("{:016x}{:016x}", OsRandom.next_u64(), OsRandom.next_u64())
}

/// Runs a script with `input` on its standard input, and waits for its end.
///
/// # Errors
///
/// `Lost` if the script did not run to its end.
pub(super) fn run_script(runner: &dyn Runner, script: &str, input: &[u8]) -> Result<Answer, FarError> {
    let nonce = nonce();
    let whole = format!("(\n{script}\n)\nprintf '\\n%s %s\\n' {nonce} \"$?\"");
    let mut shell = runner.shell()?;
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let lost = |what: &str| FarError::Lost(format!("the connection to {} was lost: {what}", runner.name()));
    let program = shell.get_program().to_string_lossy().into_owned();
    let mut child = shell.spawn().map_err(|error| FarError::Lost(format!("cannot start {program}: {error}")))?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (mut output, said) = thread::scope(|scope| {
        scope.spawn(|| {
            // An error means that the far side is gone, which the missing end tells.
            if let Some(mut stdin) = stdin
                && stdin.write_all(encode(&whole).as_bytes()).is_ok()
            {
                let _ = stdin.write_all(input);
            }
        });
        let said = scope.spawn(|| {
            let mut said = Vec::new();
            // Only for the message.
            let _ = stderr.map(|mut pipe| pipe.read_to_end(&mut said));
            said
        });
        let mut output = Vec::new();
        let _ = stdout.map(|mut pipe| pipe.read_to_end(&mut output));
        (output, said.join().unwrap_or_default())
    });
    let _ = child.wait();
    let tail = output.iter().rev().skip(1).position(|&byte| byte == b'\n').map(|n_bytes| output.len() - n_bytes - 2);
    let status = tail.and_then(|from| {
        let line = std::str::from_utf8(&output[from..]).ok()?.trim();
        let (word, status) = line.split_once(' ')?;
        (word == nonce).then(|| status.parse::<i32>().ok()).flatten()
    });
    match (status, tail) {
        (Some(status), Some(from)) => {
            output.truncate(from);
            Ok(Answer { status, output })
        }
        _ => Err(lost(&last_words(&said))),
    }
}

/// Returns the end of what a program printed on standard error, or a text for silence.
pub(super) fn last_words(said: &[u8]) -> String {
    let from = said.len().saturating_sub(SAID_BYTES_MAX);
    let text = String::from_utf8_lossy(&said[from..]).replace('\r', "");
    match text.trim() {
        "" => "it ended without a message".to_owned(),
        text => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the shell of this machine.
    struct Here;

    impl Runner for Here {
        fn shell(&self) -> Result<std::process::Command, FarError> {
            let mut shell = std::process::Command::new("/bin/sh");
            shell.args(["-c", BOOTSTRAP]);
            Ok(shell)
        }

        fn name(&self) -> String {
            "here".to_owned()
        }
    }

    #[test]
    fn a_script_arrives_as_it_is() {
        for text in ["plain", "it's 100 % \\n \"$HOME\" `x`", "schön 文\u{81}\u{87}", "two\nlines\n\n", "-n", "a\tb\r"]
        {
            let script = format!("printf %s {}", quote(text));
            let answer = run_script(&Here, &script, b"").unwrap();
            assert_eq!((answer.status, String::from_utf8(answer.output).unwrap().as_str()), (0, text), "{text:?}");
        }
    }

    #[test]
    fn input_and_output_are_bytes() {
        let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
        let answer = run_script(&Here, "cat; exit 7", &bytes).unwrap();
        assert_eq!(answer.status, 7);
        assert!(answer.output == bytes);
    }

    #[test]
    fn a_script_without_its_end_is_lost() {
        let error = run_script(&Here, "printf begun; kill -9 $$", b"").err().unwrap();
        assert!(matches!(&error, FarError::Lost(reason) if reason.contains("here")), "{error:?}");
    }
}
