//! Equality by value: one text per value, numbers exact.

use std::{borrow::Cow, ops::Range};

use ahash::AHashMap;

use super::{
    Kind, Node,
    node::{Items, Members},
    quote,
};

/// A JSON number's exact value: `digits × 10^exponent`, without leading or trailing zeros in `digits`.
///
/// Two numbers are equal if and only if they have the same value: `-0` is `0`, `1.0` is `1`, `1e2` is `100`. The cost
/// is linear in the text, whatever the exponent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Number {
    negative: bool,
    /// Empty for zero.
    digits: String,
    exponent: Exponent,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Exponent {
    /// Everything that anybody means.
    Small(i64),
    /// Decimal digits with their sign; beyond 18 digits.
    Huge(String),
}

/// Exponents of up to this many digits stay in an `i64`.
const SMALL_EXPONENT: usize = 18;
const SMALL_LIMIT: u64 = 10_u64.pow(18);

impl Number {
    /// From the text of a JSON number (its grammar is not checked again).
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let (negative, unsigned) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, ""));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits = String::with_capacity(whole.len() + fraction.len());
        digits.push_str(whole);
        digits.push_str(fraction);
        let significant = digits.trim_end_matches('0').len();
        let dropped = digits.len() - significant;
        digits.truncate(significant);
        let leading = digits.len() - digits.trim_start_matches('0').len();
        digits.drain(..leading);
        if digits.is_empty() {
            return Self { negative: false, digits, exponent: Exponent::Small(0) };
        }
        let shift = i64::try_from(dropped).unwrap_or(i64::MAX) - i64::try_from(fraction.len()).unwrap_or(i64::MAX);
        Self { negative, digits, exponent: Exponent::of(exponent, shift) }
    }

    /// Whether it has no fractional part.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        match &self.exponent {
            Exponent::Small(exponent) => *exponent >= 0,
            Exponent::Huge(text) => !text.starts_with('-'),
        }
    }

    /// The value as an integer of 128 bits, if it is one.
    #[must_use]
    pub fn as_i128(&self) -> Option<i128> {
        let Exponent::Small(exponent) = self.exponent else { return None };
        if self.digits.is_empty() {
            return Some(0);
        }
        let scale = 10_i128.checked_pow(u32::try_from(exponent).ok()?)?;
        let value = self.digits.parse::<i128>().ok()?.checked_mul(scale)?;
        Some(if self.negative { -value } else { value })
    }

    /// Appends the one text that stands for this value.
    fn write(&self, out: &mut String) {
        /// Longest run of zeros that is written out.
        const ZEROS: i64 = 20;
        if self.digits.is_empty() {
            out.push('0');
            return;
        }
        if self.negative {
            out.push('-');
        }
        match &self.exponent {
            Exponent::Small(exponent @ 0..=ZEROS) => {
                out.push_str(&self.digits);
                out.extend((0..*exponent).map(|_| '0'));
            }
            Exponent::Small(exponent) => {
                out.push_str(&self.digits);
                out.push('e');
                out.push_str(&exponent.to_string());
            }
            Exponent::Huge(text) => {
                out.push_str(&self.digits);
                out.push('e');
                out.push_str(text);
            }
        }
    }
}

impl Exponent {
    /// `text` (as written after the `e`, maybe empty) plus `shift`.
    fn of(text: &str, shift: i64) -> Self {
        let (negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let magnitude = unsigned.trim_start_matches('0');
        if magnitude.len() <= SMALL_EXPONENT {
            let magnitude: i64 = magnitude.parse().unwrap_or(0);
            let sum = if negative { shift - magnitude } else { shift + magnitude };
            return if sum.unsigned_abs() < SMALL_LIMIT { Self::Small(sum) } else { Self::Huge(sum.to_string()) };
        }
        // The shift is far smaller than the exponent, so the sign stays.
        let mut digits = magnitude.as_bytes().to_vec();
        let grow = (shift < 0) == negative;
        let mut carry = shift.unsigned_abs();
        for digit in digits.iter_mut().rev() {
            if carry == 0 {
                break;
            }
            let value = u64::from(*digit - b'0');
            let step = carry % 10;
            carry /= 10;
            let sum = if grow {
                value + step
            } else {
                carry += u64::from(value < step);
                10 + value - step
            };
            if grow {
                carry += sum / 10;
            }
            *digit = b'0' + u8::try_from(sum % 10).unwrap_or(0);
        }
        let mut text = String::from_utf8(digits).unwrap_or_default();
        if carry > 0 {
            text.insert_str(0, &carry.to_string());
        }
        let text = text.trim_start_matches('0');
        let sign = if negative { "-" } else { "" };
        if text.len() <= SMALL_EXPONENT {
            let magnitude: i64 = text.parse().unwrap_or(0);
            return Self::Small(if negative { -magnitude } else { magnitude });
        }
        Self::Huge(format!("{sign}{text}"))
    }
}

impl<'a> Node<'a> {
    /// Where two items of an array are that have the same value; the first that repeats another one.
    pub fn equal_items(self) -> Option<[Range<usize>; 2]> {
        if self.len() < 2 {
            return None;
        }
        let mut seen: AHashMap<Cow<'a, str>, Self> = AHashMap::new();
        self.items().find_map(|item| seen.insert(item.by_value(), item).map(|first| [first.span(), item.span()]))
    }

    /// Appends the canonical text: members sorted by name, numbers by exact value (`-0` is `0`, `1.0` is `1`, `1e2` is
    /// `100`), strings with minimal escapes, no white space. Two values are equal if and only if their canonical texts
    /// are.
    pub fn canonical(self, out: &mut String) {
        enum Open<'a> {
            Array(Items<'a>),
            Object(std::vec::IntoIter<(Cow<'a, str>, Node<'a>)>),
        }
        let mut open: Vec<Open<'a>> = Vec::new();
        let mut node = self;
        loop {
            match node.kind() {
                Kind::Null | Kind::Boolean => out.push_str(node.raw()),
                Kind::Number => write_number(node, out),
                Kind::String if node.plain_text().is_some() => out.push_str(node.raw()),
                Kind::String => quote(&node.as_str().unwrap_or_default(), out),
                Kind::Array => {
                    out.push('[');
                    open.push(Open::Array(Items::of(node)));
                }
                Kind::Object => {
                    out.push('{');
                    let members = Members::of(node);
                    let names = members.clone();
                    let mut sorted: Vec<_> = members.map(|(name, value)| (names.name_ref(name), value)).collect();
                    sorted.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
                    open.push(Open::Object(sorted.into_iter()));
                }
            }
            let mut first = matches!(node.kind(), Kind::Array | Kind::Object);
            node = loop {
                let following = match open.last_mut() {
                    None => return,
                    Some(Open::Array(items)) => items.next().map(|item| (None, item)),
                    Some(Open::Object(members)) => members.next().map(|(name, value)| (Some(name), value)),
                };
                if let Some((name, value)) = following {
                    if !first {
                        out.push(',');
                    }
                    if let Some(name) = name {
                        quote(&name, out);
                        out.push(':');
                    }
                    break value;
                }
                out.push(if matches!(open.pop(), Some(Open::Array(_))) { ']' } else { '}' });
                first = false;
            };
        }
    }
}

fn write_number(node: Node<'_>, out: &mut String) {
    let text = node.raw();
    // A plain integer without trailing zeros is its own canonical text.
    if node.is_written_as_integer() && text != "-0" && (text == "0" || !text.ends_with('0')) {
        out.push_str(text);
    } else {
        Number::parse(text).write(out);
    }
}
