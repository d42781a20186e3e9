//! The pass over the bytes: a loop with an explicit stack, one [`Slot`] per token that carries a value.

use super::{
    error::{MAX_DEPTH, MAX_SOURCE, SyntaxError, SyntaxFault},
    names,
    slot::{COUNT, Kind, Slot, small},
    strings::{self, LANES},
};

/// What a pass gives.
pub(super) struct Parsed {
    /// Never empty.
    pub(super) tape: Vec<Slot>,
    /// How deep it goes.
    pub(super) depth: usize,
    /// There are control characters in the source.
    pub(super) controls: bool,
}

/// The tape for `source`.
pub(super) fn parse(source: &[u8]) -> Result<Parsed, SyntaxError> {
    parse_as::<true>(source)
}

/// The same where an object may name a member twice.
pub(super) fn parse_with_duplicates(source: &[u8]) -> Result<Parsed, SyntaxError> {
    parse_as::<false>(source)
}

fn parse_as<const UNIQUE: bool>(source: &[u8]) -> Result<Parsed, SyntaxError> {
    let fail = |fault, offset| Err(SyntaxError { fault, offset });
    if source.len() > MAX_SOURCE {
        return fail(SyntaxFault::TooLong, MAX_SOURCE);
    }
    if source.starts_with(b"\xef\xbb\xbf") {
        return fail(SyntaxFault::ByteOrderMark, 0);
    }
    // Most documents are ASCII on one line, which shows without a look at each byte by itself.
    let (least, most) = source.iter().fold((u8::MAX, 0), |(least, most), byte| (least.min(*byte), most.max(*byte)));
    let controls = least < 0x20;
    let valid = if most < 0x80 { source.len() } else { valid_up_to(source) };
    match pass::<UNIQUE>(&source[..valid], controls) {
        Err(earlier) if earlier.offset < valid => Err(earlier),
        _ if valid < source.len() => fail(SyntaxFault::Utf8, valid),
        whole => whole,
    }
}

/// How many bytes are UTF-8.
fn valid_up_to(source: &[u8]) -> usize {
    simdutf8::compat::from_utf8(source).map_or_else(|error| error.valid_up_to(), str::len)
}

type Step<T = ()> = Result<T, SyntaxError>;

fn fail<T>(fault: SyntaxFault, offset: usize) -> Step<T> {
    Err(SyntaxError { fault, offset })
}

/// The next byte from `at` on that is no white space, with its position.
#[inline]
pub(super) fn next(source: &[u8], at: usize) -> (usize, Option<u8>) {
    match source.get(at) {
        Some(byte) if *byte > b' ' => (at, Some(*byte)),
        _ => after_space(source, at),
    }
}

#[inline(never)]
fn after_space(source: &[u8], mut at: usize) -> (usize, Option<u8>) {
    loop {
        match source.get(at) {
            Some(b' ' | b'\n' | b'\r' | b'\t') => at += 1,
            other => return (at, other.copied()),
        }
    }
}

/// The pass over valid UTF-8; `controls` where there are control characters, if only white space. Each turn of its loop
/// takes a value, with its name in an object, and what closes after it.
///
/// One function with its state in locals, which stay in registers; what is rare is a function of its own. While a
/// container is open, its slot says where the one around it is (`next`, one more than its index) and how many members
/// or items that one has so far (`end`).
fn pass<const UNIQUE: bool>(source: &[u8], controls: bool) -> Step<Parsed> {
    let mut tape: Vec<Slot> = Vec::with_capacity(source.len() / BYTES_PER_SLOT + 1);
    // How many containers are open, and the most that were at once.
    let (mut open, mut depth) = (0, 0);
    // The innermost of them: one more than its index, what closes it, and its members or items so far.
    let (mut within, mut close, mut count) = (0, NOTHING, 0);
    let mut at = 0;
    loop {
        let mut first;
        (at, first) = next(source, at);
        if close == b'}' {
            if first != Some(b'"') {
                return fail(SyntaxFault::Grammar, at);
            }
            at = string(source, at, &mut tape)?;
            (at, first) = next(source, at);
            if first != Some(b':') {
                return fail(SyntaxFault::Grammar, at);
            }
            (at, first) = next(source, at + 1);
        }
        match first {
            Some(b'"') => at = string(source, at, &mut tape)?,
            Some(b'-' | b'0'..=b'9') => {
                let (end, marked) = number(source, at)?;
                tape.push(Slot::new(Kind::Number, at, end, tape.len() + 1, marked));
                at = end;
            }
            Some(b'{' | b'[') => {
                let kind = if first == Some(b'{') { Kind::Object } else { Kind::Array };
                if open >= MAX_DEPTH {
                    return fail(SyntaxFault::TooDeep, at);
                }
                depth = depth.max(open + 1);
                let (inside, first) = next(source, at + 1);
                if first != Some(closing(kind)) {
                    open += 1;
                    tape.push(Slot { start: small(at), end: count, next: within, meta: kind as u32 });
                    (within, close, count) = (small(tape.len()), closing(kind), 1);
                    at = inside;
                    continue;
                }
                tape.push(Slot::new(kind, at, inside + 1, tape.len() + 1, false));
                at = inside + 1;
            }
            _ => {
                let (end, kind) = word(source, at)?;
                tape.push(Slot::new(kind, at, end, tape.len() + 1, false));
                at = end;
            }
        }
        // After a value: what closes, then a comma or the end.
        loop {
            (at, first) = next(source, at);
            match first {
                Some(b',') if close != NOTHING => {
                    count += 1;
                    break;
                }
                Some(byte) if byte == close => {}
                None if close == NOTHING => return Ok(Parsed { tape, depth, controls }),
                _ => return fail(SyntaxFault::Grammar, at),
            }
            at += 1;
            let (index, after) = (within as usize - 1, small(tape.len()));
            let slot = &mut tape[index];
            let held = count;
            (count, within) = (slot.end, slot.next);
            (slot.end, slot.next) = (small(at), after);
            slot.meta |= held << COUNT;
            if UNIQUE
                && close == b'}'
                && held > 1
                && let Some(offset) = names::repeated(source, &tape, index)
            {
                return fail(SyntaxFault::DuplicateKey, offset);
            }
            close = match within {
                0 => NOTHING,
                around => closing(tape[around as usize - 1].kind()),
            };
            open -= 1;
        }
        at += 1;
    }
}

/// Most documents have fewer slots, so that their tape is not moved while it grows.
const BYTES_PER_SLOT: usize = 8;

/// Closes no container, and is never seen: white space is skipped.
const NOTHING: u8 = b' ';

#[inline]
fn closing(container: Kind) -> u8 {
    if container == Kind::Object { b'}' } else { b']' }
}

/// Adds the string at `at`; its end.
#[inline]
fn string(source: &[u8], at: usize, tape: &mut Vec<Slot>) -> Step<usize> {
    let mut end = strings::plain_end(source, at + 1);
    let marked = source.get(end) != Some(&b'"');
    if marked {
        end = escaped_end(source, end)?;
    }
    tape.push(Slot::new(Kind::String, at, end + 1, tape.len() + 1, marked));
    Ok(end + 1)
}

/// The closing quote of a string that has an escape at `at`; control characters are faults.
#[inline(never)]
fn escaped_end(source: &[u8], mut at: usize) -> Step<usize> {
    loop {
        match source.get(at) {
            Some(b'"') => return Ok(at),
            Some(b'\\') => at = strings::plain_end(source, strings::escape(source, at)?),
            _ => return fail(SyntaxFault::Grammar, at),
        }
    }
}

/// The end of the word at `at`, and what it stands for.
fn word(source: &[u8], at: usize) -> Step<(usize, Kind)> {
    match source[at..] {
        [b't', b'r', b'u', b'e', ..] => Ok((at + 4, Kind::Boolean)),
        [b'f', b'a', b'l', b's', b'e', ..] => Ok((at + 5, Kind::Boolean)),
        [b'n', b'u', b'l', b'l', ..] => Ok((at + 4, Kind::Null)),
        _ => fail(SyntaxFault::Grammar, at),
    }
}

/// The end of the number at `at`, and whether it has a fraction or an exponent.
#[inline]
pub(super) fn number(source: &[u8], at: usize) -> Step<(usize, bool)> {
    match source.get(at..).and_then(<[u8]>::first_chunk).and_then(short_number) {
        Some((length, marked)) => Ok((at + length, marked)),
        None => any_number(source, at),
    }
}

/// The length of a number that ends within these bytes, and whether it has a fraction or an exponent. `None` where it
/// may be longer, or has a fault.
#[inline]
fn short_number(bytes: &[u8; LANES]) -> Option<(usize, bool)> {
    let others = strings::no_digits(bytes) | 1 << LANES;
    let after_digits = |at: usize| at + (others >> at).trailing_zeros() as usize;
    let first = usize::from(bytes[0] == b'-');
    let mut end = after_digits(first);
    let mut marked = false;
    if end == first || bytes[first] == b'0' && end > first + 1 {
        return None;
    }
    if *bytes.get(end)? == b'.' {
        let fraction = end + 1;
        end = after_digits(fraction);
        marked = true;
        if end == fraction {
            return None;
        }
    }
    if matches!(bytes.get(end)?, b'e' | b'E') {
        let exponent = end + 1 + usize::from(matches!(bytes.get(end + 1)?, b'+' | b'-'));
        end = after_digits(exponent);
        marked = true;
        if end == exponent || end == LANES {
            return None;
        }
    }
    Some((end, marked))
}

fn any_number(source: &[u8], at: usize) -> Step<(usize, bool)> {
    let digits = |from: usize| digits(source, from);
    let first = at + usize::from(source[at] == b'-');
    let mut end = match source.get(first) {
        Some(b'0') => first + 1,
        Some(b'1'..=b'9') => digits(first),
        _ => return fail(SyntaxFault::Grammar, first),
    };
    let mut marked = false;
    if source.get(end) == Some(&b'.') {
        let fraction = end + 1;
        end = digits(fraction);
        if end == fraction {
            return fail(SyntaxFault::Grammar, end);
        }
        marked = true;
    }
    if matches!(source.get(end), Some(b'e' | b'E')) {
        let exponent = end + 1 + usize::from(matches!(source.get(end + 1), Some(b'+' | b'-')));
        if exponent >= source.len() {
            return fail(SyntaxFault::Grammar, source.len());
        }
        end = digits(exponent);
        if end == exponent {
            return fail(SyntaxFault::Grammar, end);
        }
        marked = true;
    }
    Ok((end, marked))
}

/// The end of the digits from `at` on.
fn digits(source: &[u8], at: usize) -> usize {
    at + source.get(at..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_number_ends_where_a_look_at_each_byte_ends_it(
            text in "(-?(0|[1-9][0-9]{0,18})(\\.[0-9]{0,17})?([eE][+-]?[0-9]{0,4})?|[-0-9][-+.eE0-9]{0,20})[,x ]{0,20}",
        ) {
            prop_assert_eq!(number(text.as_bytes(), 0), any_number(text.as_bytes(), 0));
        }
    }
}
