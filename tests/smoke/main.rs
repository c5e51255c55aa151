//! The smoke test against real providers: steps of the client and of a session, end to end, for every provider with a key
//! in an environment variable.
//!
//! `cargo xtask smoke` runs it. Steps that cannot run are printed and counted as skipped. A run costs a few cents.
#![cfg_attr(not(target_family = "wasm"), expect(clippy::print_stdout, reason = "a program that talks on the terminal"))]

#[cfg(not(target_family = "wasm"))]
mod client;
#[cfg(not(target_family = "wasm"))]
mod report;
#[cfg(not(target_family = "wasm"))]
mod session;

/// A page has no environment variables for keys.
#[cfg(target_family = "wasm")]
fn main() {}

#[cfg(not(target_family = "wasm"))]
fn main() -> std::process::ExitCode {
    native::main()
}

#[cfg(not(target_family = "wasm"))]
mod native {
    use std::process::ExitCode;
    use std::sync::Arc;

    use emend_host::{OsRandom, ReqwestTransport, SystemClock, Timeouts};
    use emend_llm::generate::Generator;
    use emend_llm::{Client, get_latest_model};

    use crate::report::Report;
    use crate::{client, session};

    /// A provider, and the environment variables that it needs.
    struct Place {
        provider: &'static str,
        variables: &'static str,
    }

    const PLACES: [Place; 4] = [
        Place { provider: "anthropic", variables: "ANTHROPIC_API_KEY" },
        Place { provider: "openai", variables: "OPENAI_API_KEY" },
        Place { provider: "gemini", variables: "GEMINI_API_KEY or GOOGLE_API_KEY" },
        Place { provider: "openai_compatible", variables: "OPENAI_COMPATIBLE_BASE_URL" },
    ];

    const USAGE: &str = "Usage: cargo xtask smoke [--provider NAME] [--model NAME]\n\n\
        Providers: anthropic, openai, gemini, openai_compatible; all of them when none is named. Keys and other\n\
        addresses come from the environment: ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL and so on.\n";

    #[derive(Default)]
    struct Wish {
        provider: Option<String>,
        model: Option<String>,
    }

    fn parse(words: impl Iterator<Item = String>) -> Option<Wish> {
        let mut wish = Wish::default();
        let mut words = words;
        while let Some(word) = words.next() {
            match word.as_str() {
                "--provider" => wish.provider = Some(words.next()?),
                "--model" => wish.model = Some(words.next()?),
                _ => return None,
            }
        }
        // A model belongs to one provider.
        let known = |name: &String| PLACES.iter().any(|place| place.provider == name);
        let is_clear = wish.provider.as_ref().map_or(wish.model.is_none(), known);
        is_clear.then_some(wish)
    }

    pub(super) fn main() -> ExitCode {
        let Some(wish) = parse(std::env::args().skip(1)) else {
            print!("{USAGE}");
            return ExitCode::from(2);
        };
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
            println!("no runtime can be made here");
            return ExitCode::from(2);
        };
        let report = runtime.block_on(run(&wish));
        println!("{report}");
        if report.has_failures() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }

    async fn run(wish: &Wish) -> Report {
        let transport = Arc::new(ReqwestTransport::new(Timeouts::default()));
        let client = Client::from_env(|name| std::env::var(name).ok(), transport, false);
        let generator = Generator { client, clock: Arc::new(SystemClock), random: Arc::new(OsRandom) };
        let mut report = Report::default();
        let wanted = PLACES.iter().filter(|place| wish.provider.as_ref().is_none_or(|name| place.provider == name));
        for place in wanted {
            let model = wish.model.clone().or_else(|| Some(get_latest_model(place.provider, None)?.id.clone()));
            let is_set_up = generator.client.provider_names().any(|name| name == place.provider);
            report.begin(place.provider, (!is_set_up).then(|| format!("{} is not set", place.variables)));
            // A local server answers with its only model, under any name.
            let model = model.unwrap_or_else(|| "default".to_owned());
            client::run(&generator, place.provider, &model, &mut report).await;
            session::run(&generator, place.provider, &model, &mut report).await;
        }
        report
    }
}
