//! Times of the service: milliseconds since 1970 in Rust, ISO 8601 in JSON.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const MS_PER_DAY: u64 = 86_400_000;

/// A point in time in milliseconds since 1970-01-01T00:00:00Z. JSON has it as `2026-02-05T12:00:00.000Z`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String, format = DateTime))]
pub struct Timestamp(pub u64);

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, ms) = (self.0 / MS_PER_DAY, self.0 % MS_PER_DAY);
        let (year, month, day) = date_of(days);
        let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", ms % 1000)
    }
}

impl Timestamp {
    /// Parses the form that [`Display`](fmt::Display) writes; the milliseconds may be absent.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
        let [year, month, day] = numbers(date, '-')?;
        let (clock, ms) = time.split_once('.').unwrap_or((time, "0"));
        let [hour, minute, second] = numbers(clock, ':')?;
        let ms: u64 = ms.parse().ok().filter(|ms| *ms < 1000)?;
        let in_range = (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
        if !in_range || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let parsed = Self(days_of(year, month, day) * MS_PER_DAY + ((hour * 60 + minute) * 60 + second) * 1000 + ms);
        // A day that the month does not have leads to a date in the next month.
        parsed.to_string().starts_with(date).then_some(parsed)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("a time has the form 2026-02-05T12:00:00Z"))
    }
}

fn numbers(text: &str, separator: char) -> Option<[u64; 3]> {
    let mut parts = text.split(separator).map(|part| part.parse().ok());
    let found = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(found)
}

/// Returns year, month and day of a day since 1970. Years start in March, so that the leap day is the last day.
fn date_of(days: u64) -> (u64, u64, u64) {
    // Day 0 of the 400-year cycles is 0000-03-01.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// Returns the day since 1970 of a date.
fn days_of(year: u64, month: u64, day: u64) -> u64 {
    let year = year - u64::from(month <= 2);
    let (era, year_of_era) = (year / 400, year % 400);
    let month_from_march = (month + 9) % 12;
    let of_year = (153 * month_from_march + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn times_are_written_as_iso_8601_and_read_back() {
        let table = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_164_800_001, "2024-02-29T00:00:00.001Z"),
            (1_770_292_800_000, "2026-02-05T12:00:00.000Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ];
        for (ms, text) in table {
            assert_eq!(Timestamp(ms).to_string(), text);
            assert_eq!(Timestamp::parse(text), Some(Timestamp(ms)), "{text}");
        }
        for day in (0..60_000).step_by(7) {
            let time = Timestamp(day * MS_PER_DAY + day);
            assert_eq!(Timestamp::parse(&time.to_string()), Some(time));
        }
    }

    #[test]
    fn other_texts_are_not_times() {
        for text in ["", "2026-02-05", "2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z", "2026-02-05T24:00:00Z", "x"] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }
}
