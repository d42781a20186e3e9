//! Instants in header fields that say how long to wait or to keep: what a fixture holds of them, and what replay makes of
//! that.
//!
//! `X-RateLimit-Reset` and `Retry-After` may name an instant, which lies in the past when it is replayed, and differs in
//! each recording. A fixture holds the distance instead, as an instant that long after the start of 2100; replay counts it
//! from its own clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, HeaderName, HeaderValue, header};
use jiff::{Timestamp, fmt::rfc2822};

use crate::exchange::{Headers, Response};

/// The start of 2100, in seconds since the epoch.
const BASE: u64 = 4_102_444_800;

/// A number below this is a count of seconds, not an instant.
const MIN_INSTANT: u64 = 1_000_000_000;

/// A number from this on counts milliseconds.
const MIN_MILLIS: u64 = 100_000_000_000;

/// The distance where the recording does not tell it, in seconds.
const UNKNOWN: u64 = 1;

/// Longest distance that replay gives, in seconds: clients wait no longer than this by themselves.
const MAX_WAIT: u64 = 60;

/// Start of the year 2000: what expired before it is meant to have expired.
const LONG_AGO: u64 = 946_684_800;

/// The cookie attribute that says that it is gone.
pub(super) const EXPIRED: &[u8] = b" Expires=Thu, 01 Jan 1970 00:00:00 GMT";

/// What a rate-limit field says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RateLimit {
    /// What is left at the moment.
    Remaining,
    /// When it is given back.
    Reset,
}

/// What a field of this name says of the moment's rate limit: `X-RateLimit-Reset`, `RateLimit-Remaining` and their other
/// spellings; `None` for any other, the limit itself among them.
pub(super) fn rate_limit(name: &HeaderName) -> Option<RateLimit> {
    let name = name.as_str();
    let name = name.strip_prefix("x-").unwrap_or(name);
    let rest = name.strip_prefix("ratelimit").or_else(|| name.strip_prefix("rate-limit"))?;
    match rest {
        // The draft's field that says both.
        "" => Some(RateLimit::Remaining),
        _ if rest.contains("remaining") || rest.contains("used") => Some(RateLimit::Remaining),
        _ if rest.contains("reset") => Some(RateLimit::Reset),
        _ => None,
    }
}

/// When a response was sent: by its Date, else by the start of its exchange.
pub(super) fn sent_at(headers: &Headers, started: Option<SystemTime>) -> Option<u64> {
    let date = headers.get_str("date").and_then(http_date);
    date.or_else(|| started.and_then(|started| started.duration_since(UNIX_EPOCH).ok()).map(|since| since.as_secs()))
}

/// Makes distances of the instants in a response's fields.
pub(crate) fn to_distances(headers: &mut Headers, response: &Response, started: Option<SystemTime>) {
    let sent = sent_at(&response.headers, started);
    if headers.iter().any(|(name, _)| *name == header::RETRY_AFTER || rate_limit(name) == Some(RateLimit::Reset)) {
        distances(headers, sent);
    }
}

pub(super) fn distances(headers: &mut Headers, sent: Option<u64>) {
    for (name, value) in headers.iter_mut() {
        let text = value.to_str().unwrap_or_default().trim();
        let new = if rate_limit(name) == Some(RateLimit::Reset) {
            reset(text).map(|(at, unit)| ((BASE + distance(at, sent)) * unit).to_string())
        } else if *name == header::RETRY_AFTER {
            http_date(text).filter(|at| *at < BASE).and_then(|at| http_text(BASE + distance(at, sent)))
        } else {
            None
        };
        if let Some(new) = new.and_then(|new| HeaderValue::from_str(&new).ok()) {
            *value = new;
        }
    }
}

/// Makes instants of the distances in the fields of a response that goes out `now`.
pub(crate) fn from_distances(headers: &mut HeaderMap, now: SystemTime) {
    // The next whole second, so that what is told lies in the future.
    let now = now.duration_since(UNIX_EPOCH).map_or(0, |since| (since + Duration::from_millis(999)).as_secs());
    for (name, value) in headers.iter_mut() {
        let text = value.to_str().unwrap_or_default().trim();
        let wait = |at: u64| at.checked_sub(BASE).map(|distance| now + distance.clamp(1, MAX_WAIT));
        let new = if rate_limit(name) == Some(RateLimit::Reset) {
            number(text).and_then(|(at, unit)| Some((wait(at)? * unit).to_string()))
        } else if *name == header::RETRY_AFTER {
            http_date(text).and_then(wait).and_then(http_text)
        } else {
            None
        };
        if let Some(new) = new.and_then(|new| HeaderValue::from_str(&new).ok()) {
            *value = new;
        }
    }
}

/// Whether a cookie with this `Expires` was gone when it was set.
pub(super) fn is_over(expires: &[u8], sent: Option<u64>) -> bool {
    let at = std::str::from_utf8(expires).ok().and_then(cookie_date);
    at.is_some_and(|at| at <= i128::from(sent.unwrap_or(LONG_AGO)))
}

fn distance(at: u64, sent: Option<u64>) -> u64 {
    sent.map_or(UNKNOWN, |sent| at.saturating_sub(sent).max(1))
}

/// An instant that is not a distance yet, in seconds since the epoch, and how many of its units make a second.
fn reset(text: &str) -> Option<(u64, u64)> {
    number(text).filter(|(at, _)| (MIN_INSTANT..BASE).contains(at))
}

fn number(text: &str) -> Option<(u64, u64)> {
    let number: u64 = text.parse().ok()?;
    Some(if number >= MIN_MILLIS { (number / 1000, 1000) } else { (number, 1) })
}

fn http_date(text: &str) -> Option<u64> {
    let zoned = rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    u64::try_from(zoned.as_second()).ok()
}

fn http_text(seconds: u64) -> Option<String> {
    let at = Timestamp::from_second(i64::try_from(seconds).ok()?).ok()?;
    rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&at).ok()
}

/// A cookie's date (RFC 6265, section 5.1.1), in seconds since the epoch.
fn cookie_date(text: &str) -> Option<i128> {
    let (mut day, mut month, mut year, mut clock) = (None, None, None, None);
    for part in text.split(|char: char| !(char.is_ascii_alphanumeric() || char == ':')) {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        if part.contains(':') {
            clock = clock.or(Some(part));
        } else if digits > 0 && digits <= 2 && day.is_none() {
            day = part[..digits].parse::<i8>().ok();
        } else if digits >= 2 && year.is_none() {
            year = part[..digits].parse::<i16>().ok();
        } else if digits == 0 && month.is_none() {
            const MONTHS: [&str; 12] =
                ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
            let name = part.to_ascii_lowercase();
            month = MONTHS.iter().position(|month| name.starts_with(month)).and_then(|at| i8::try_from(at + 1).ok());
        }
    }
    let year = match year? {
        year @ 70..=99 => year + 1900,
        year @ 0..=69 => year + 2000,
        year => year,
    };
    let mut clock = clock?.split(':').map(|part| part.parse::<i8>().ok());
    let mut next = || clock.next().flatten();
    let (hour, minute, second) = (next()?, next()?, next()?);
    let at = jiff::civil::DateTime::new(year, month?, day?, hour, minute, second, 0).ok()?;
    Some(i128::from(at.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_second()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &'static str, value: &str) -> Headers {
        [(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())].into_iter().collect()
    }

    fn kept(name: &'static str, value: &str, sent: Option<u64>) -> String {
        let mut headers = one(name, value);
        distances(&mut headers, sent);
        headers.get_str(name).unwrap().to_owned()
    }

    fn replayed(name: &'static str, value: &str) -> String {
        let mut headers: HeaderMap =
            one(name, value).iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        from_distances(&mut headers, UNIX_EPOCH + Duration::from_millis(2_000_000_000_500));
        headers[name].to_str().unwrap().to_owned()
    }

    #[test]
    fn a_reset_keeps_its_distance_and_lies_in_the_future_again_when_it_is_replayed() {
        const NAME: &str = "x-ratelimit-reset";
        assert_eq!(kept(NAME, "1763822030", Some(1_763_822_000)), "4102444830");
        assert_eq!(kept(NAME, "1763822030", None), "4102444801");
        assert_eq!(kept(NAME, "1763822030", Some(1_763_822_099)), "4102444801");
        assert_eq!(kept("ratelimit-reset", "1763822030123", Some(1_763_822_000)), "4102444830000");
        assert_eq!(kept(NAME, "4102444830", None), "4102444830");
        assert_eq!(kept(NAME, "30", Some(1_763_822_000)), "30");
        assert_eq!(kept(NAME, "soon", Some(1)), "soon");
        assert_eq!(replayed(NAME, "4102444830"), "2000000031");
        assert_eq!(replayed(NAME, "4102448400"), "2000000061");
        assert_eq!(replayed(NAME, "4102444830000"), "2000000031000");
        assert_eq!(replayed(NAME, "30"), "30");
    }

    #[test]
    fn a_date_in_retry_after_keeps_its_distance_too_and_seconds_stay() {
        let date = "Sat, 22 Nov 2025 14:33:50 GMT";
        assert_eq!(kept("retry-after", date, Some(1_763_822_000)), "Fri, 01 Jan 2100 00:00:30 GMT");
        assert_eq!(kept("retry-after", "120", Some(1_763_822_000)), "120");
        assert_eq!(replayed("retry-after", "Fri, 01 Jan 2100 00:00:30 GMT"), "Wed, 18 May 2033 03:33:51 GMT");
        assert_eq!(replayed("retry-after", "120"), "120");
    }

    #[test]
    fn every_spelling_of_a_moments_rate_limit_is_known_and_the_limit_is_another_thing() {
        for (name, expected) in [
            ("x-ratelimit-remaining", Some(RateLimit::Remaining)),
            ("x-rate-limit-remaining", Some(RateLimit::Remaining)),
            ("ratelimit-remaining", Some(RateLimit::Remaining)),
            ("x-ratelimit-remaining-requests", Some(RateLimit::Remaining)),
            ("x-ratelimit-used", Some(RateLimit::Remaining)),
            ("ratelimit", Some(RateLimit::Remaining)),
            ("x-ratelimit-reset", Some(RateLimit::Reset)),
            ("rate-limit-reset", Some(RateLimit::Reset)),
            ("x-ratelimit-limit", None),
            ("ratelimit-policy", None),
            ("x-remaining", None),
        ] {
            assert_eq!(rate_limit(&HeaderName::from_static(name)), expected, "{name}");
        }
    }

    #[test]
    fn a_cookie_is_over_where_its_date_lies_before_it_was_set_in_any_notation() {
        for date in ["Thu, 01 Jan 1970 00:00:00 GMT", "Thu, 01-Jan-70 00:00:10 GMT", "Thu Jan  1 00:00:00 1970"] {
            assert!(is_over(date.as_bytes(), None), "{date}");
            assert!(is_over(date.as_bytes(), Some(1_763_822_000)), "{date}");
        }
        assert!(is_over(b"Sat, 22 Nov 2025 14:00:00 GMT", Some(1_763_822_000)));
        assert!(!is_over(b"Sat, 22 Nov 2025 14:00:00 GMT", None));
        assert!(!is_over(b"Sat, 22 Nov 2025 15:00:00 GMT", Some(1_763_822_000)));
        assert!(!is_over(b"0", Some(1_763_822_000)));
    }
}
