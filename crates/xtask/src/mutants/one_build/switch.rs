//! The module with the switches, which each changed crate gets.

/// Returns the text of the module for mutants numbered below `end`.
///
/// `EMEND_MUTANT` has the number of the mutant that is on. With `EMEND_MUTANT_TRACE`, the number of each mutant that is
/// reached is appended to that file, once for each process.
pub(super) fn module(end: u32) -> String {
    format!("const END: usize = {end};\n{CODE}")
}

const CODE: &str = r#"
use std::fs::File;
use std::io::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

struct Switches {
    on: u32,
    trace: Option<File>,
}

static SWITCHES: OnceLock<Switches> = OnceLock::new();
static SEEN: [AtomicBool; END] = [const { AtomicBool::new(false) }; END];

fn read() -> Switches {
    let on = std::env::var("EMEND_MUTANT").ok().and_then(|number| number.parse().ok()).unwrap_or(u32::MAX);
    let trace = std::env::var_os("EMEND_MUTANT_TRACE");
    let open = |path| File::options().append(true).create(true).open(path).ok();
    Switches { on, trace: trace.and_then(open) }
}

pub(crate) fn is_on(number: u32) -> bool {
    let switches = SWITCHES.get_or_init(read);
    if let Some(mut file) = switches.trace.as_ref() {
        if !SEEN[number as usize].swap(true, Ordering::Relaxed) {
            let _ = file.write_all(format!("{number}\n").as_bytes());
        }
    }
    switches.on == number
}
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_is_code() {
        syn::parse_file(&module(3)).unwrap();
    }
}
