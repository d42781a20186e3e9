//! Values of options, and what is said of those that are none.

use std::{str::FromStr, time::Duration};

use crate::json;

/// Threads of which one more would find nothing but the lock of the recording.
const MOST_WORKERS: usize = 64;

/// Seconds above zero, with fractions.
///
/// # Errors
///
/// What to write instead.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    seconds_or_none(text)
        .and_then(|time| if time.is_zero() { Err("it has to be above 0".to_owned()) } else { Ok(time) })
}

/// Seconds, with fractions; zero is one too.
///
/// # Errors
///
/// What to write instead.
pub(super) fn seconds_or_none(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| "a number of seconds is expected, such as 30 or 0.5".to_owned())?;
    Duration::try_from_secs_f64(number).map_err(|_| "a number of seconds from 0 is expected".to_owned())
}

/// A whole number.
///
/// # Errors
///
/// What to write instead.
pub(super) fn whole<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "a whole number from 0 is expected".to_owned())
}

/// How deep JSON may nest.
///
/// # Errors
///
/// What to write instead.
pub(super) fn depth(text: &str) -> Result<usize, String> {
    between(text, json::MAX_DEPTH)
}

/// A whole number from 1.
///
/// # Errors
///
/// What to write instead.
pub(super) fn positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("a whole number from 1 is expected".to_owned()),
        Ok(number) => Ok(number),
    }
}

/// How many threads serve connections.
///
/// # Errors
///
/// What to write instead.
pub(super) fn workers(text: &str) -> Result<usize, String> {
    between(text, MOST_WORKERS)
}

fn between(text: &str, most: usize) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("a whole number from 1 to {most} is expected"))
}

/// A path as requests have it, or the begin of one; any other would leave nothing out.
///
/// # Errors
///
/// What to write instead.
pub(super) fn excluded(text: &str) -> Result<String, String> {
    if text.starts_with(['/', '*']) {
        Ok(text.to_owned())
    } else {
        Err("a path begins with a slash: /health".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_may_have_fractions_and_are_above_zero() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["0", "-1", "1s", "", "NaN", "1e400"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
        assert_eq!(seconds_or_none("0"), Ok(Duration::ZERO));
    }
}
