//! Parsers of option values; their errors say what was expected.

use std::{
    str::FromStr,
    time::{Duration, SystemTime},
};

use contrail_exchange::json;

/// Maximum number of threads; more would only contend for the lock of the recording.
const MAX_WORKERS: usize = 64;

/// The forms of a time.
const TIMES: &str = "expected a time, such as 30 (seconds), 0.5, 500ms, 30s, 2m or 1h";

/// The forms of a size.
const SIZES: &str = "expected a size, such as 65536 (bytes), 64KiB, 10MB or 1G";

/// A time above zero: seconds, or a number with `ms`, `s`, `m` or `h`; fractions are allowed.
///
/// # Errors
///
/// What to write instead.
pub(in crate::cli) fn seconds(text: &str) -> Result<Duration, String> {
    seconds_or_none(text).and_then(|time| if time.is_zero() { Err(format!("{TIMES}, and above 0")) } else { Ok(time) })
}

/// The same, with zero allowed.
///
/// # Errors
///
/// What to write instead.
pub(in crate::cli) fn seconds_or_none(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text);
    let scale = match unit {
        "" | "s" => Some(1.0),
        "ms" => Some(0.001),
        "m" => Some(60.0),
        "h" => Some(3600.0),
        _ => None,
    };
    let number = number.parse::<f64>().ok().zip(scale).map(|(number, scale)| number * scale);
    number.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).ok_or_else(|| TIMES.to_owned())
}

/// An instant of RFC 3339, or the start of a day in UTC.
///
/// # Errors
///
/// What to write instead.
pub(in crate::cli) fn instant(text: &str) -> Result<SystemTime, String> {
    let day = || {
        let day = text.parse::<jiff::civil::Date>().ok().filter(|_| text.len() == 10)?;
        day.to_zoned(jiff::tz::TimeZone::UTC).ok()
    };
    let instant = text.parse().ok().or_else(|| day().map(|day| day.timestamp()));
    let instant: jiff::Timestamp =
        instant.ok_or("expected an instant, such as 2026-01-31 (UTC) or 2026-01-31T10:00:00Z")?;
    Ok(instant.into())
}

/// A number of bytes: plain, or with `K`, `M`, `G` (powers of 1000) or `Ki`, `Mi`, `Gi` (powers of 1024), in any case
/// and with an optional `B`.
///
/// # Errors
///
/// What to write instead.
pub(in crate::cli) fn size<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let (number, unit) = split(text);
    let unit = unit.to_ascii_lowercase();
    let scale: Option<u64> = match unit.strip_suffix('b').unwrap_or(&unit) {
        "" => Some(1),
        "k" => Some(1000),
        "m" => Some(1000 * 1000),
        "g" => Some(1000 * 1000 * 1000),
        "ki" => Some(1 << 10),
        "mi" => Some(1 << 20),
        "gi" => Some(1 << 30),
        _ => None,
    };
    let bytes = number.parse().ok().zip(scale).and_then(|(number, scale): (u64, _)| number.checked_mul(scale));
    bytes.and_then(|bytes| T::try_from(bytes).ok()).ok_or_else(|| SIZES.to_owned())
}

/// The same, above zero.
///
/// # Errors
///
/// What to write instead.
pub(in crate::cli) fn size_above_zero(text: &str) -> Result<usize, String> {
    size(text).and_then(|bytes| if bytes == 0 { Err(format!("{SIZES}, and above 0")) } else { Ok(bytes) })
}

/// A number and its unit.
fn split(text: &str) -> (&str, &str) {
    let end = text.trim_end_matches(|character: char| character.is_ascii_alphabetic()).len();
    (text[..end].trim_end(), &text[end..])
}

/// A whole number.
///
/// # Errors
///
/// What to write instead.
pub(in crate::cli) fn whole<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "expected a whole number, 0 or more".to_owned())
}

/// A number of days, with or without its unit.
///
/// # Errors
///
/// What to write instead.
pub(in crate::cli) fn days(text: &str) -> Result<u32, String> {
    let (number, unit) = split(text);
    let days = number.parse().ok().filter(|_| matches!(unit, "" | "d" | "day" | "days"));
    days.ok_or_else(|| "expected a number of days, such as 90 or 90d".to_owned())
}

/// Maximum nesting of JSON.
///
/// # Errors
///
/// What to write instead.
pub(in crate::cli) fn depth(text: &str) -> Result<usize, String> {
    between(text, json::MAX_DEPTH)
}

/// A whole number from 1.
///
/// # Errors
///
/// What to write instead.
pub(in crate::cli) fn positive<T: FromStr + Default + PartialEq>(text: &str) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| *number != T::default());
    number.ok_or_else(|| "expected a whole number, 1 or more".to_owned())
}

/// Number of threads that serve connections.
///
/// # Errors
///
/// What to write instead.
pub(in crate::cli) fn workers(text: &str) -> Result<usize, String> {
    between(text, MAX_WORKERS)
}

fn between(text: &str, max: usize) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=max).contains(number));
    number.ok_or_else(|| format!("expected a whole number from 1 to {max}"))
}

/// A request path, or a prefix with `*`; anything else would match no request.
///
/// # Errors
///
/// What to write instead.
pub(in crate::cli) fn excluded(text: &str) -> Result<String, String> {
    if text.starts_with(['/', '*']) {
        Ok(text.to_owned())
    } else {
        Err("expected a path with a leading slash, such as /health".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_seconds_or_has_a_unit_and_may_have_a_fraction() {
        for (text, millis) in
            [("30", 30_000), ("0.5", 500), ("500ms", 500), ("30s", 30_000), ("2m", 120_000), ("1.5h", 5_400_000)]
        {
            assert_eq!(seconds(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        let expected = "expected a time, such as 30 (seconds), 0.5, 500ms, 30s, 2m or 1h";
        for wrong in ["-1", "1d", "", "s", "NaN", "inf", "1e400", "1 2s"] {
            assert_eq!(seconds(wrong).unwrap_err(), expected);
        }
        for zero in ["0", "0ms"] {
            assert_eq!(seconds(zero).unwrap_err(), format!("{expected}, and above 0"));
        }
        assert_eq!(seconds_or_none("0"), Ok(Duration::ZERO));
    }

    #[test]
    fn a_size_is_in_bytes_or_has_a_unit() {
        for (text, bytes) in [
            ("0", 0),
            ("65536", 65_536),
            ("100B", 100),
            ("64KiB", 65_536),
            ("64k", 64_000),
            ("10MB", 10_000_000),
            ("10 mb", 10_000_000),
            ("4Mi", 4 << 20),
            ("1G", 1_000_000_000),
            ("2GiB", 2 << 30),
        ] {
            assert_eq!(size::<u64>(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "MB", "-1", "1.5", "1.5MB", "10X", "10MBit", "99999999999G", "\u{661}"] {
            assert_eq!(size::<u64>(wrong).unwrap_err(), "expected a size, such as 65536 (bytes), 64KiB, 10MB or 1G");
        }
        assert!(size_above_zero("0k").is_err() && size_above_zero("1k").is_ok());
    }
}
