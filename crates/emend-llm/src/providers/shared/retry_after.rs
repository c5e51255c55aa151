//! Reads the wait that a provider asks for, from its headers, its error body or its wording.

use serde_json::Value;

use crate::transport::Headers;

/// Returns the wait in milliseconds that an error response asks for. Must not be called for successful responses:
/// Anthropic sends `retry-after` on them too.
///
/// A date counts from the response's own `Date` header, so that no clock is needed and a wrong clock does no harm.
pub(crate) fn of_answer(headers: &Headers, body: Option<&Value>, message: &str) -> Option<u64> {
    if let Some(ms) = headers.get("retry-after-ms").and_then(|value| decimal(value.trim())) {
        return whole_ms(ms);
    }
    if let Some(value) = headers.get("retry-after") {
        if let Some(seconds) = decimal(value.trim()) {
            return whole_ms(seconds * 1000.0);
        }
        if let (Some(until), Some(now)) = (date_ms(value), headers.get("date").and_then(date_ms)) {
            return Some(until.saturating_sub(now));
        }
    }
    body.and_then(retry_info).or_else(|| in_message(message))
}

/// Parses `7`, `0.5` and `-1`. The standard library's parser handles every number, with 10 kB of tables that a page
/// would load.
fn decimal(text: &str) -> Option<f64> {
    let (sign, digits) = text.strip_prefix('-').map_or((1.0, text), |digits| (-1.0, digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let (mut number, mut scale) = (0.0, 1.0);
    // With up to 15 digits and as many decimal places, the division is the only rounding step.
    for (digit, factor) in whole.chars().map(|digit| (digit, 1.0)).chain(fraction.chars().map(|digit| (digit, 10.0))) {
        number = number * 10.0 + f64::from(digit.to_digit(10)?);
        scale *= factor;
    }
    let number = sign * number / scale;
    number.is_finite().then_some(number)
}

fn whole_ms(ms: f64) -> Option<u64> {
    // The cast saturates. NaN and negative waits are ignored.
    (ms >= 0.0).then(|| ms.ceil() as u64)
}

/// Parses the date format of HTTP, `Sun, 06 Nov 1994 08:49:37 GMT`, to milliseconds since 1970. A library also reads the
/// obsolete formats, which no provider sends, and costs a page several times as many bytes.
fn date_ms(value: &str) -> Option<u64> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let date = value.trim();
    if date.len() != "Sun, 06 Nov 1994 08:49:37 GMT".len() || !date.is_ascii() || !date.ends_with(" GMT") {
        return None;
    }
    let number = |at: usize, len: usize| date[at..at + len].parse::<u64>().ok();
    let month = MONTHS.find(&date[8..11]).filter(|at| at % 3 == 0)? as u64 / 3;
    let (day, year) = (number(5, 2)?, number(12, 4)?);
    // Years start on 1 March here, so that the leap day is the last day of a year.
    let (years, months) = if month < 2 { (year.checked_sub(1)?, month + 10) } else { (year, month - 2) };
    let days = years * 365 + years / 4 - years / 100 + years / 400 + (months * 153 + 2) / 5 + day;
    // 1 January 1970 is this number of days after 29 February of the year 0.
    let days = days.checked_sub(719_469)?;
    Some((((days * 24 + number(17, 2)?) * 60 + number(20, 2)?) * 60 + number(23, 2)?) * 1000)
}

/// Reads Google's `RetryInfo` detail: `{"retryDelay": "34.4s"}`.
fn retry_info(body: &Value) -> Option<u64> {
    let error = body.get(0).unwrap_or(body).get("error")?;
    let details = error.get("details")?.as_array()?;
    details.iter().find_map(|detail| duration_ms(detail.get("retryDelay")?.as_str()?))
}

/// Reads the wait in the messages of OpenAI and Google: `Please try again in 174ms.`, `Please retry in 40.02s.`
fn in_message(message: &str) -> Option<u64> {
    let lower = message.to_ascii_lowercase();
    let after = ["try again in ", "retry in "].iter().find_map(|words| lower.split_once(words))?.1;
    let word = after.split_whitespace().next()?;
    duration_ms(word.trim_end_matches(['.', ',', ')', ';']))
}

/// Parses `6ms`, `3.89s`, `1m0s`, `1h2m3.5s`.
fn duration_ms(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut ms = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number = decimal(&rest[..digits])?;
        let unit_end = rest[digits..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |at| at + digits);
        ms += number
            * match &rest[digits..unit_end] {
                "ms" => 1.0,
                "s" => 1000.0,
                "m" => 60_000.0,
                "h" => 3_600_000.0,
                _ => return None,
            };
        rest = &rest[unit_end..];
    }
    if text.is_empty() { None } else { whole_ms(ms) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::covers;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[track_caller]
    fn check(headers: &[(&str, &str)], body: &Value, message: &str, expected: Option<u64>) {
        let headers = Headers(headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect());
        assert_eq!(of_answer(&headers, Some(body), message), expected);
    }

    #[test]
    fn headers_win_over_the_body() {
        covers("adapter.retry_after provider.retry_after");
        let body = serde_json::json!({"error": {"details": [{"retryDelay": "40s"}]}});
        check(&[("Retry-After-Ms", "120"), ("Retry-After", "7")], &body, "", Some(120));
        check(&[("Retry-After", "7")], &body, "", Some(7000));
        check(&[("retry-after", "0.5")], &body, "", Some(500));
        check(&[("retry-after", "-1")], &Value::Null, "", None);
        check(&[("retry-after", " .25 ")], &Value::Null, "", Some(250));
        check(&[("retry-after", "1.")], &Value::Null, "", Some(1000));
        check(&[("retry-after", "0.0001")], &Value::Null, "", Some(1));
        for no_number in ["", "-", ".", "1.2.3", "soon", "é"] {
            check(&[("retry-after", no_number)], &body, "", Some(40_000));
        }
        check(&[], &body, "try again in 1s", Some(40_000));
    }

    #[test]
    fn numbers_are_read_as_the_standard_library_reads_them() {
        for text in ["0", "7", "007", "40.025771073", "3.89", "-1.5", ".1", "1.", "123456789.012345", "0.3"] {
            assert_eq!(decimal(text), text.parse().ok(), "{text}");
        }
        assert_eq!(decimal(&"9".repeat(400)), None);
    }

    #[test]
    fn dates_count_from_the_answers_own_date() {
        covers("provider.retry_after");
        let date = ("date", "Sat, 21 Nov 2026 10:00:00 GMT");
        check(&[date, ("retry-after", "Sat, 21 Nov 2026 10:01:30 GMT")], &Value::Null, "", Some(90_000));
        check(&[date, ("retry-after", "Sat, 21 Nov 2026 09:00:00 GMT")], &Value::Null, "", Some(0));
        check(&[("retry-after", "Sat, 21 Nov 2026 10:01:30 GMT")], &Value::Null, "", None);
    }

    #[test]
    fn dates_are_read_as_a_library_reads_them() {
        for seconds in (0..20_000).map(|step| step * 654_321) {
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            let text = httpdate::fmt_http_date(time);
            assert_eq!(date_ms(&text), Some(seconds * 1000), "{text}");
        }
        for no_date in
            ["", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 anF 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:3é GMT"]
        {
            assert_eq!(date_ms(no_date), None, "{no_date}");
        }
    }

    #[test]
    fn waits_are_read_from_wordings() {
        covers("provider.retry_after");
        check(&[], &Value::Null, "Please try again in 3.89s. Visit", Some(3890));
        check(&[], &Value::Null, "Please try again in 174ms.", Some(174));
        check(&[], &Value::Null, "Please retry in 40.025771073s.", Some(40_026));
        check(&[], &Value::Null, "Try again in 1m2s", Some(62_000));
        check(&[], &Value::Null, "Please try again in a while.", None);
        check(&[], &Value::Null, "Please try again in 5 minutes.", None);
    }
}
