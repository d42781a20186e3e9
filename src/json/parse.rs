//! The pass over the bytes: a loop with an explicit stack, one [`Slot`] per token that carries a value.

use super::{
    error::{MAX_DEPTH, MAX_SOURCE, SyntaxError, SyntaxFault},
    names,
    slot::{COUNT, Kind, Slot, small},
    strings,
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
    std::str::from_utf8(source).map_or_else(|error| error.valid_up_to(), str::len)
}

type Step<T = ()> = Result<T, SyntaxError>;

fn fail<T>(fault: SyntaxFault, offset: usize) -> Step<T> {
    Err(SyntaxError { fault, offset })
}

/// The next byte that is no white space, to which `at` goes.
#[inline]
pub(super) fn next(source: &[u8], at: &mut usize) -> Option<u8> {
    loop {
        match source.get(*at) {
            Some(b' ' | b'\n' | b'\r' | b'\t') => *at += 1,
            other => return other.copied(),
        }
    }
}

/// The pass over valid UTF-8; `controls` where there are control characters, if only white space.
///
/// One function with its state in locals, which stay in registers; what is rare is a function of its own. While a
/// container is open, its slot says where the one around it is (`next`, one more than its index) and how many members
/// or items that one has so far (`end`).
fn pass<const UNIQUE: bool>(source: &[u8], controls: bool) -> Step<Parsed> {
    let mut tape: Vec<Slot> = Vec::with_capacity(source.len() / 12 + 1);
    // How many containers are open, and the most that were at once.
    let (mut open, mut depth) = (0, 0);
    // The innermost of them: one more than its index, what closes it, and its members or items so far.
    let (mut within, mut close, mut count) = (0, NOTHING, 0);
    // A member's name comes next, not a value.
    let mut name = false;
    let mut at = 0;
    loop {
        let first = next(source, &mut at);
        let start = at;
        let (kind, marked) = match first {
            Some(b'"') => {
                let mut marked = false;
                at = strings::special(source, start + 1);
                if controls || source.get(at) != Some(&b'"') {
                    (at, marked) = string(source, start + 1)?;
                }
                at += 1;
                (Kind::String, marked)
            }
            _ if name => return fail(SyntaxFault::Grammar, at),
            Some(b'{' | b'[') => {
                let kind = if first == Some(b'{') { Kind::Object } else { Kind::Array };
                if open >= MAX_DEPTH {
                    return fail(SyntaxFault::TooDeep, at);
                }
                depth = depth.max(open + 1);
                at += 1;
                if next(source, &mut at) != Some(closing(kind)) {
                    open += 1;
                    tape.push(Slot { start: small(start), end: count, next: within, meta: kind as u32 });
                    (within, close, count) = (small(tape.len()), closing(kind), 1);
                    name = kind == Kind::Object;
                    continue;
                }
                at += 1;
                (kind, false)
            }
            Some(b'-' | b'0'..=b'9') => {
                let marked;
                (at, marked) = number(source, at)?;
                (Kind::Number, marked)
            }
            _ => {
                let kind;
                (at, kind) = word(source, at)?;
                (kind, false)
            }
        };
        tape.push(Slot::new(kind, start, at, tape.len() + 1, marked));
        if name {
            if next(source, &mut at) != Some(b':') {
                return fail(SyntaxFault::Grammar, at);
            }
            at += 1;
            name = false;
            continue;
        }
        // After a value: what closes, then a comma or the end.
        loop {
            match next(source, &mut at) {
                Some(b',') if close != NOTHING => {
                    count += 1;
                    name = close == b'}';
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

/// Closes no container, and is never seen: white space is skipped.
const NOTHING: u8 = b' ';

#[inline]
fn closing(container: Kind) -> u8 {
    if container == Kind::Object { b'}' } else { b']' }
}

/// The end of the word at `at`, and what it stands for.
fn word(source: &[u8], at: usize) -> Step<(usize, Kind)> {
    for (word, kind) in [(&b"true"[..], Kind::Boolean), (b"false", Kind::Boolean), (b"null", Kind::Null)] {
        if source[at..].starts_with(word) {
            return Ok((at + word.len(), kind));
        }
    }
    fail(SyntaxFault::Grammar, at)
}

/// The end of the number at `at`, and whether it has a fraction or an exponent.
pub(super) fn number(source: &[u8], at: usize) -> Step<(usize, bool)> {
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
#[inline]
fn digits(source: &[u8], mut at: usize) -> usize {
    let mut rest = source.get(at..).unwrap_or_default();
    while let Some(word) = rest.first_chunk() {
        let others = strings::others_than_digits(*word);
        if others != 0 {
            return at + others.trailing_zeros() as usize / 8;
        }
        (rest, at) = (&rest[8..], at + 8);
    }
    at + rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// The closing quote of the string whose inside begins at `at`, and whether it has escapes; control characters are
/// faults.
#[cold]
fn string(source: &[u8], mut at: usize) -> Step<(usize, bool)> {
    let mut marked = false;
    loop {
        let end = strings::special(source, at);
        if let Some(control) = strings::control(&source[at..end]) {
            return fail(SyntaxFault::Grammar, at + control);
        }
        match source.get(end) {
            None => return fail(SyntaxFault::Grammar, end),
            Some(b'"') => return Ok((end, marked)),
            Some(_) => at = strings::escape(source, end)?,
        }
        marked = true;
    }
}
