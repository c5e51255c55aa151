//! `emend models`: the known models, as a table or as JSON, one object per line.

use std::io::Write;
use std::process::ExitCode;

use emend_agent::error_code::Code;
use emend_llm::{ModelInfo, list_models};

use crate::args::ModelsArgs;
use crate::failure::Failure;

pub(crate) fn list(args: &ModelsArgs) -> Result<ExitCode, Failure> {
    let models: Vec<&ModelInfo> = list_models(args.provider.as_deref()).collect();
    if let (Some(provider), true) = (&args.provider, models.is_empty()) {
        let mut known: Vec<&str> = list_models(None).map(|info| info.provider.as_str()).collect();
        known.dedup();
        let message = format!("no known models of provider {provider:?}; expected one of {}", known.join(", "));
        return Err(Failure::new(Code::InvalidArgument, message));
    }
    let mut stdout = std::io::stdout().lock();
    if args.json {
        for info in models {
            serde_json::to_writer(&mut stdout, info).map_err(std::io::Error::from)?;
            writeln!(stdout)?;
        }
    } else {
        write!(stdout, "{}", table(&models))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Titles of the columns. Numbers are right-aligned.
const TITLES: [&str; 7] = ["model", "provider", "context", "output", "$ in", "$ out", "abilities"];
const NUMBERS: std::ops::Range<usize> = 2..6;

/// Returns the table. Prices are US dollars per million tokens; a dash stands for an unknown number.
fn table(models: &[&ModelInfo]) -> String {
    let rows: Vec<[String; 7]> =
        std::iter::once(TITLES.map(str::to_owned)).chain(models.iter().map(|info| row(info))).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..TITLES.len()).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
            if NUMBERS.contains(&column) { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

fn row(info: &ModelInfo) -> [String; 7] {
    let price = |dollars: Option<f64>| dollars.map_or_else(|| "-".to_owned(), |dollars| format!("{dollars:.2}"));
    let abilities =
        [("tools", info.supports_tools), ("vision", info.supports_vision), ("reasoning", info.supports_reasoning)];
    let abilities: Vec<&str> = abilities.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect();
    [
        info.id.clone(),
        info.provider.clone(),
        tokens(info.context_window),
        info.max_output.map_or_else(|| "-".to_owned(), tokens),
        price(info.input_cost_per_million),
        price(info.output_cost_per_million),
        abilities.join(" "),
    ]
}

/// Returns a short form of a number of tokens: `200k`, `1.05M`.
fn tokens(count: u64) -> String {
    match count {
        1_000_000.. => format!("{}M", (count as f64 / 1e4).round() / 100.0),
        1_000.. => format!("{}k", (count as f64 / 1e3).round()),
        _ => count.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_limits_prices_and_abilities() {
        let info: ModelInfo = serde_json::from_value(serde_json::json!({
            "id": "m-1", "provider": "acme", "display_name": "M", "context_window": 1_050_000, "max_output": 65_536,
            "supports_tools": true, "supports_reasoning": true, "input_cost_per_million": 0.25,
        }))
        .unwrap();
        assert_eq!(
            table(&[&info]),
            "model  provider  context  output  $ in  $ out  abilities\n\
             m-1    acme        1.05M     66k  0.25      -  tools reasoning\n"
        );
    }

    #[test]
    fn tokens_are_short() {
        for (count, expected) in
            [(512, "512"), (8192, "8k"), (200_000, "200k"), (1_000_000, "1M"), (1_048_576, "1.05M")]
        {
            assert_eq!(tokens(count), expected);
        }
    }
}
