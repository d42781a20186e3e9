//! Values of a filter: texts with `*`, and numbers with a bound.

use regex::Regex;

/// A text to compare with; `*` stands for anything.
#[derive(Debug, Clone)]
pub(super) enum Pattern {
    Whole { text: String, case: bool },
    Within(String),
    Expression(Regex),
}

impl Pattern {
    pub(super) fn matches(&self, text: &str) -> bool {
        match self {
            Self::Whole { text: wanted, case: true } => glob(wanted.as_bytes(), text.as_bytes(), |a, b| a == b),
            Self::Whole { text: wanted, case: false } => {
                glob(wanted.as_bytes(), text.as_bytes(), |a, b| a.eq_ignore_ascii_case(&b))
            }
            Self::Within(wanted) => {
                let (text, wanted) = (text.as_bytes(), wanted.as_bytes());
                wanted.is_empty() || text.windows(wanted.len()).any(|part| part.eq_ignore_ascii_case(wanted))
            }
            Self::Expression(expression) => expression.is_match(text),
        }
    }
}

/// Whether a text is a pattern's; in time of their product at most.
fn glob(pattern: &[u8], text: &[u8], same: impl Fn(u8, u8) -> bool) -> bool {
    let (mut at, mut next) = (0, 0);
    // Where the last `*` stands, and how much of the text it has taken.
    let mut star: Option<(usize, usize)> = None;
    while next < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, next));
                at += 1;
            }
            Some(byte) if same(*byte, text[next]) => {
                at += 1;
                next += 1;
            }
            _ => match &mut star {
                Some((held, taken)) => {
                    *taken += 1;
                    (at, next) = (*held + 1, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// What a number has to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bound {
    /// At least, and whether more.
    pub(super) from: Option<(f64, bool)>,
    /// At most, and whether less.
    pub(super) to: Option<(f64, bool)>,
}

impl Bound {
    pub(super) fn holds(&self, value: f64) -> bool {
        self.from.is_none_or(|(from, more)| value > from || !more && value >= from)
            && self.to.is_none_or(|(to, less)| value < to || !less && value <= to)
    }

    /// By `>`, `>=`, `<`, `<=`; without a sign, the number itself.
    pub(super) fn parse(text: &str, number: impl Fn(&str) -> Option<f64>) -> Option<Self> {
        let none = Self { from: None, to: None };
        let (sign, rest) = text.split_at(text.find(|other| !matches!(other, '<' | '>' | '=')).unwrap_or(text.len()));
        let value = number(rest)?;
        Some(match sign {
            ">" => Self { from: Some((value, true)), ..none },
            ">=" => Self { from: Some((value, false)), ..none },
            "<" => Self { to: Some((value, true)), ..none },
            "<=" => Self { to: Some((value, false)), ..none },
            "" | "=" => Self { from: Some((value, false)), to: Some((value, false)) },
            _ => return None,
        })
    }

    /// `4xx`, or as [`Self::parse`].
    pub(super) fn status(text: &str) -> Option<Self> {
        if let Some(class) = text.strip_suffix("xx").and_then(|class| class.parse::<u8>().ok()) {
            let from = f64::from(class) * 100.0;
            return Some(Self { from: Some((from, false)), to: Some((from + 99.0, false)) });
        }
        Self::parse(text, |text| text.parse::<u16>().ok().map(f64::from))
    }
}

/// Seconds of `500ms`, `1.5s`, `3m`, `2h`.
pub(super) fn seconds(text: &str) -> Option<f64> {
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86400.0)];
    let (number, factor) = units.into_iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    plain(number).map(|number| number * factor)
}

/// Bytes of `500`, `10KB`, `1MiB`.
pub(super) fn bytes(text: &str) -> Option<f64> {
    let units = [
        ("KiB", 1024.0),
        ("MiB", 1024.0 * 1024.0),
        ("GiB", 1024.0 * 1024.0 * 1024.0),
        ("KB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("B", 1.0),
        ("", 1.0),
    ];
    let (number, factor) = units.into_iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    plain(number).map(|number| number * factor)
}

/// A number of digits and a point.
pub(super) fn plain(text: &str) -> Option<f64> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_plain.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, text, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("*b", "ab", true),
            ("/groups/*/id", "/groups/10/id", true),
            ("/groups/*/id", "/groups/10/ids", false),
            ("*a*b*", "xxaxxbxx", true),
            ("", "", true),
            ("*", "", true),
            ("a**b", "ab", true),
        ] {
            assert_eq!(glob(pattern.as_bytes(), text.as_bytes(), |a, b| a == b), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn units_are_read() {
        assert_eq!([seconds("500ms"), seconds("2m"), seconds("2")], [Some(0.5), Some(120.0), None]);
        assert_eq!([bytes("2KiB"), bytes("1MB"), bytes("7"), bytes("x")], [Some(2048.0), Some(1e6), Some(7.0), None]);
        let status = |text, value| Bound::status(text).map(|bound| bound.holds(value));
        assert_eq!(status("4xx", 404.0), Some(true));
        assert_eq!(status(">=400", 399.0), Some(false));
        assert_eq!(status("200", 200.0), Some(true));
        assert_eq!(status("x", 200.0), None);
    }
}
