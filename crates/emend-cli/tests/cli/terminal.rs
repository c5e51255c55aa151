//! A pseudo-terminal with an emulated screen, for tests of conversations.

use std::fs::File;
use std::io::{PipeWriter, Read as _, Write as _, pipe};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

use crate::support::{PATIENCE, Project};

/// The program on a terminal.
pub(crate) struct Terminal {
    child: Child,
    keys: File,
    /// Keeps the terminal open.
    hold: Option<PipeWriter>,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    /// All output so far.
    pub(crate) raw: String,
    root: String,
}

impl Terminal {
    /// Starts the program on a terminal that is tall enough for all output.
    pub(crate) fn start(project: &Project, args: &[&str]) -> Self {
        Self::open(project, args, (100, 80), &[])
    }

    /// Starts the program on a terminal with this number of rows and columns, and these environment variables.
    ///
    /// The user trusts the project.
    pub(crate) fn open(project: &Project, args: &[&str], size: (u16, u16), variables: &[(&str, &str)]) -> Self {
        project.trust();
        Self::open_untrusted(project, args, size, variables)
    }

    /// Starts the program as [`open`](Self::open) does, in a project that the program may not have seen yet.
    pub(crate) fn open_untrusted(
        project: &Project,
        args: &[&str],
        size: (u16, u16),
        variables: &[(&str, &str)],
    ) -> Self {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let (rows, columns) = size;
        tcsetwinsize(&terminal, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
        let end = || Stdio::from(File::options().read(true).write(true).open(&name).unwrap());
        let emend = project.command(args);
        // Ctrl-C is a signal only with a controlling terminal.
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(emend.get_program()).args(emend.get_args());
        command.current_dir(emend.get_current_dir().unwrap());
        for (name, value) in emend.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.env("TERM", "xterm-256color");
        command.envs(variables.iter().copied());
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let keys = File::from(terminal);
        let reader = keys.try_clone().unwrap();
        let (sender, output) = channel();
        let (held, hold) = pipe().unwrap();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            let is_let_go = || {
                let mut ready =
                    [&reader as &dyn AsFd, &held].map(|end| PollFd::from_borrowed_fd(end.as_fd(), PollFlags::IN));
                poll(&mut ready, None).is_err() || !ready[1].revents().is_empty()
            };
            // Reading fails once the program has ended.
            while !is_let_go()
                && let Ok(n_bytes @ 1..) = (&reader).read(&mut buffer)
            {
                if sender.send(buffer[..n_bytes].to_vec()).is_err() {
                    return;
                }
            }
        });
        let screen = vt100::Parser::new(rows.try_into().unwrap(), columns.try_into().unwrap(), 0);
        let root = project.root.path().canonicalize().unwrap().display().to_string();
        Self { child, keys, hold: Some(hold), output, screen, raw: String::new(), root }
    }

    /// Waits until `wanted` is true for the screen.
    #[track_caller]
    pub(crate) fn wait_until(&mut self, what: &str, wanted: impl Fn(&str) -> bool) -> &mut Self {
        let deadline = Instant::now() + PATIENCE;
        while !wanted(&self.screen.screen().contents()) {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(bytes) = self.output.recv_timeout(left) else {
                panic!("never shown: {what}\n{}", self.screen.screen().contents());
            };
            self.take(&bytes);
        }
        self
    }

    fn take(&mut self, bytes: &[u8]) {
        self.raw.push_str(&String::from_utf8_lossy(bytes));
        self.screen.process(bytes);
    }

    /// Waits until the screen contains a text.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) -> &mut Self {
        self.wait_until(text, |screen| screen.contains(text))
    }

    /// Waits until the last line of a run of the offline model is on the screen.
    #[track_caller]
    pub(crate) fn wait_for_end(&mut self) -> &mut Self {
        self.wait_until("the end of a run", has_ended)
    }

    /// Waits for the `n`th empty prompt on the screen. Keys that are pressed before it appears may belong to the run.
    #[track_caller]
    pub(crate) fn wait_for_prompt(&mut self, n: usize) -> &mut Self {
        self.wait_until("a prompt", |screen| {
            screen.lines().filter(|line| line.starts_with('›')).count() == n
                && screen.trim_end().lines().last().is_some_and(|line| line.trim_end() == "›")
        })
    }

    /// Returns whether bracketed paste is on.
    pub(crate) fn marks_pastes(&self) -> bool {
        self.screen.screen().bracketed_paste()
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, keys: &str) -> &mut Self {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self
    }

    /// Types a line, waits until the terminal shows it, and presses Enter.
    #[track_caller]
    pub(crate) fn enter(&mut self, line: &str) -> &mut Self {
        self.press(line).wait_until(line, |screen| {
            let last = screen.trim_end().lines().last().unwrap_or_default();
            line.lines().next_back().is_none_or(|line| last.ends_with(line.trim_end()))
        });
        self.press("\r")
    }

    /// Types a line where other output can come between the keys and their echo, as in a conversation that is served.
    pub(crate) fn type_line(&mut self, line: &str) -> &mut Self {
        self.press(line).press("\n")
    }

    /// Sends a signal to the program, e.g. `-TERM`.
    pub(crate) fn signal(&mut self, signal: &str) -> &mut Self {
        assert!(Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap().success());
        self
    }

    /// Returns whether the terminal is in its original mode: it passes on whole lines and echoes keys.
    pub(crate) fn is_line_by_line(&self) -> bool {
        tcgetattr(&self.keys).unwrap().local_modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }

    /// Sets the terminal to its original mode.
    pub(crate) fn use_line_by_line(&mut self) -> &mut Self {
        let mut modes = tcgetattr(&self.keys).unwrap();
        modes.local_modes |= LocalModes::ICANON | LocalModes::ECHO;
        tcsetattr(&self.keys, OptionalActions::Now, &modes).unwrap();
        self
    }

    /// Waits until the program ends, and returns its exit status.
    #[track_caller]
    pub(crate) fn end(&mut self) -> i32 {
        let deadline = Instant::now() + PATIENCE;
        while let Ok(bytes) = self.output.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            self.take(&bytes);
        }
        assert!(Instant::now() < deadline, "the program still runs:\n{}", self.screen.screen().contents());
        self.child.wait().unwrap().code().unwrap_or(-1)
    }

    /// Closes the terminal, and waits until the program ends.
    pub(crate) fn hang_up(mut self) {
        self.hold = None;
        // The reader thread has the terminal open, too.
        while self.output.recv_timeout(PATIENCE).is_ok() {}
        self.keys = File::open("/dev/null").unwrap();
        self.child.wait().unwrap();
    }

    /// Returns the screen with placeholders for times, counts and IDs.
    pub(crate) fn shown(&self) -> String {
        let contents = self.screen.screen().contents().replace(&self.root, "ROOT");
        let lines: Vec<String> = contents.lines().map(|line| normal(line.trim_end())).collect();
        lines.join("\n").trim_end().to_owned()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Fails if the program has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns whether the screen shows the end of a run of the offline model.
pub(crate) fn has_ended(screen: &str) -> bool {
    screen.lines().any(|line| ends_run(line.trim_end()))
}

/// Returns whether a line is the last one of a run without counts of tokens: the time, after how the run ended.
fn ends_run(line: &str) -> bool {
    let time = line.rsplit(" · ").next().unwrap_or_default();
    let seconds = time.strip_suffix(" s").unwrap_or_default();
    !seconds.is_empty() && seconds.bytes().all(|byte| byte.is_ascii_digit())
}

/// Replaces times, token counts and IDs in a line.
fn normal(line: &str) -> String {
    let mut line = line.to_owned();
    let is_id = |word: &str| word.len() == 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let words: Vec<String> = line.split(' ').filter(|word| is_id(word)).map(str::to_owned).collect();
    words.iter().for_each(|id| line = line.replace(id, "SESSION"));
    let digit = |byte: &u8| byte.is_ascii_digit();
    let is_minute = |window: &[u8]| {
        window.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            10 => *byte == b' ',
            13 => *byte == b':',
            _ => digit(byte),
        })
    };
    while let Some(at) = line.as_bytes().windows(16).position(is_minute) {
        line.replace_range(at..at + 16, "YYYY-MM-DD hh:mm");
    }
    let has_count = [" tokens in, ", " tokens before, ", "exit code 0 after "].iter().any(|mark| line.contains(mark));
    if has_count || ends_run(&line) {
        let mut counted = String::new();
        for char in line.chars() {
            match char {
                '0'..='9' if counted.ends_with('N') => {}
                '0'..='9' => counted.push('N'),
                char => counted.push(char),
            }
        }
        line = counted;
    }
    line
}
