//! Text in base64 or hex inside another text.
//!
//! Every run of sixteen letters of base64 (either alphabet) or more is looked at, in all four ways to begin with a
//! letter. Where nine visible ASCII bytes in a row come out, it is decoded and read; other runs hold no text. Digits in
//! hex are read where nine such bytes come out.

use std::{
    borrow::Cow,
    ops::{ControlFlow, Range},
};

use super::find::steps::looked;

/// Shortest run that is looked at.
pub(crate) const MIN_RUN: usize = 16;

/// A text that stands in another one in base64 or hex.
pub(crate) struct Decoded {
    pub(crate) plain: Vec<u8>,
    /// Base64 otherwise.
    pub(crate) is_hex: bool,
    /// The run, with its padding and the breaks of its lines.
    place: Range<usize>,
    /// The letters before the first that counts, where a `/` may separate words rather than stand for six bits.
    skipped: Option<usize>,
}

impl Decoded {
    /// What stands in the source for a part of the text: all of the run, or of the words that the part is in.
    pub(crate) fn source(&self, source: &[u8], part: &Range<usize>) -> Range<usize> {
        let Some(skipped) = self.skipped else { return self.place.clone() };
        let first = self.place.start + skipped;
        let (start, end) = (first + part.start / 3 * 4, (first + part.end.div_ceil(3) * 4).min(self.place.end));
        let is_word = |byte: &&u8| **byte != b'/';
        let before = source[self.place.start..start].iter().rev().take_while(is_word).count();
        let after = source[end..self.place.end].iter().take_while(is_word).count();
        start - before..end + after
    }
}

/// Passes on every text that stands in another one in base64 or hex.
pub(crate) fn decode(text: &[u8], mut found: impl FnMut(&Decoded)) {
    let mut found = |decoded: Decoded| {
        if has_visible(&decoded.plain) {
            found(&decoded);
        }
    };
    let mut at = 0;
    while let Some(run) = next(text, at) {
        let (letters, end) = unwrapped(text, &run);
        let padding = text[end..].iter().take(2).take_while(|byte| **byte == b'=').count();
        let place = run.start..end + padding;
        at = place.end;
        let has_words = end == run.end && memchr::memchr(b'/', &letters).is_some();
        for first in alignments(&letters) {
            let skipped = has_words.then_some(first);
            let plain = from_base64(&letters[first..]);
            found(Decoded { plain, is_hex: false, place: place.clone(), skipped });
        }
        for place in pieces(text, &run, |byte| byte != b'/').filter(|_| has_words) {
            for first in alignments(&text[place.clone()]) {
                let plain = from_base64(&text[place.start + first..place.end]);
                found(Decoded { plain, is_hex: false, place: place.clone(), skipped: None });
            }
        }
        for place in pieces(text, &run, |byte| byte.is_ascii_hexdigit()) {
            for first in 0..2 {
                let plain = from_hex(&text[place.start + first..place.end]);
                found(Decoded { plain, is_hex: true, place: place.clone(), skipped: None });
            }
        }
    }
}

/// Visible bytes in a row that show a text: fewer come by accident.
const VISIBLE: usize = 9;

fn is_visible(byte: u8) -> bool {
    (b' '..=b'~').contains(&byte)
}

/// The next run from `at` on that may be base64 or hex of a text: all the letters that stand together.
fn next(text: &[u8], at: usize) -> Option<Range<usize>> {
    around(text, at..text.len(), at, ControlFlow::Break).break_value()
}

/// The next run from `at` on that is long enough to be looked at, if it begins before `until`; no letter is before `at`.
fn long_run(text: &[u8], mut at: usize, until: usize) -> Option<Range<usize>> {
    while at < until {
        // Every such run has a letter here, or begins behind it.
        let inside = at + MIN_RUN - 1;
        if is_letter(*text.get(inside)?) {
            let before = text[at..inside].iter().rev().take_while(|byte| is_letter(**byte)).count();
            looked(before);
            let run = inside - before..letters(text, inside).end;
            if run.len() >= MIN_RUN {
                return Some(run).filter(|run| run.start < until);
            }
            at = run.end;
        } else {
            at = inside + 1;
        }
    }
    None
}

/// The letters that stand together from `at` on.
fn letters(text: &[u8], at: usize) -> Range<usize> {
    let length = text[at..].iter().take_while(|byte| is_letter(**byte)).count();
    looked(length);
    at..at + length
}

/// Passes on every run that may be base64 or hex of a text and has a letter in `near`. Gives where the last run ends
/// that was looked at.
pub(crate) fn around<B>(
    text: &[u8],
    near: Range<usize>,
    seen: usize,
    mut found: impl FnMut(Range<usize>) -> ControlFlow<B>,
) -> ControlFlow<B, usize> {
    let near = near.start.max(seen)..near.end.min(text.len());
    let before = text.get(seen..near.start).unwrap_or_default();
    let mut at = near.start - before.iter().rev().take_while(|byte| is_letter(**byte)).count();
    while let Some(run) = long_run(text, at, near.end) {
        at = run.end;
        if may_hold(&text[run.clone()]) {
            found(run)?;
        }
    }
    ControlFlow::Continue(at)
}

/// Whether all the letters that stand together may be base64 or hex of a text.
fn may_hold(run: &[u8]) -> bool {
    patterns(run).next().is_some()
}

/// Where letters end that may stand for nine visible bytes, with the [positions](POSITIONS) that the last one has.
fn patterns(run: &[u8]) -> impl Iterator<Item = (usize, u32)> {
    let mut state = 0;
    run.iter().enumerate().filter_map(move |(at, letter)| {
        state = (state << 1 | FIRST) & POSITIONS[usize::from(*letter)];
        (state & LAST != 0).then_some((at, state))
    })
}

/// The letters of a run, over the line breaks of lines that are as long as the first; and where they end.
fn unwrapped<'t>(text: &'t [u8], run: &Range<usize>) -> (Cow<'t, [u8]>, usize) {
    /// Shortest line that is broken: PEM has 64 letters, MIME 76.
    const MIN_LINE: usize = 60;
    let mut letters = Cow::Borrowed(&text[run.clone()]);
    let mut end = run.end;
    if run.len() < MIN_LINE || !run.len().is_multiple_of(4) {
        return (letters, end);
    }
    loop {
        let rest = &text[end..];
        let Some(line) = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n")) else { break };
        let length = line.iter().take_while(|byte| is_letter(**byte)).count();
        if length == 0 || length > run.len() {
            break;
        }
        letters.to_mut().extend_from_slice(&line[..length]);
        end = text.len() - line.len() + length;
        if length < run.len() {
            break;
        }
    }
    (letters, end)
}

/// The parts of a run between bytes that are none of them, if they are long enough to be looked at.
fn pieces(text: &[u8], run: &Range<usize>, part: impl Fn(u8) -> bool) -> impl Iterator<Item = Range<usize>> {
    let mut next = run.start;
    let pieces = text[run.clone()].split(move |byte| !part(*byte)).map(move |piece| {
        let start = next;
        next += piece.len() + 1;
        start..start + piece.len()
    });
    pieces.filter(|piece| piece.len() >= MIN_RUN)
}

/// Whether a text shows itself wherever it stands in base64 or hex.
pub(crate) fn shows_itself(plain: &[u8]) -> bool {
    plain.len() >= MIN_RUN / 4 * 3 && has_visible(plain)
}

/// Whether there are so many visible bytes in a row that they show a text.
fn has_visible(plain: &[u8]) -> bool {
    let mut row = 0;
    plain.iter().any(|byte| {
        row = if is_visible(*byte) { row + 1 } else { 0 };
        row == VISIBLE
    })
}

/// What four letters of a run may be of which there is a text: two pairs for every place in a group of base64, and of hex
/// for both. Of nine visible bytes any four letters at a fourth place are some of these, and the next four the same.
pub(crate) const PAIRS: [[[u32; 2]; 2]; 6] = {
    const GROUP: [u32; 4] = [1, 1 << 1, 1 << 2, 1 << 3];
    const HEX: [u32; 2] = [1 << 9, 1 << 10];
    const fn from(at: usize) -> [[u32; 2]; 2] {
        [[GROUP[at], GROUP[(at + 1) % 4]], [GROUP[(at + 2) % 4], GROUP[(at + 3) % 4]]]
    }
    [from(0), from(1), from(2), from(3), [HEX, HEX], [[HEX[1], HEX[0]], [HEX[1], HEX[0]]]]
};

/// Whether a byte may stand at a position of a pattern.
pub(crate) fn stands(byte: u8, position: u32) -> bool {
    POSITIONS[usize::from(byte)] & position != 0
}

/// The first positions of the two patterns that [`POSITIONS`] has one after the other, and the last ones.
const FIRST: u32 = 1 | 1 << 9;
const LAST_OF_BASE64: u32 = 1 << 8;
const LAST: u32 = LAST_OF_BASE64 | 1 << 24;

/// At which positions of a pattern each letter may stand: two groups of base64 that stand for visible bytes (but for
/// the last two bits of the third) with the first letter of another, as nine visible bytes have them; then eight pairs
/// of digits that do.
const POSITIONS: [u32; 256] = {
    let mut positions = [0; 256];
    let mut byte = 0_usize;
    while byte < 256 {
        let sextet = SEXTETS[byte];
        if sextet != NONE {
            let first = 8 <= sextet && sextet < 32;
            let second = 2 <= sextet & 15 && sextet & 15 < 8;
            let third = sextet & 2 == 0;
            let group = first as u32 | (second as u32) << 1 | (third as u32) << 2 | 1 << 3;
            let high = byte >= b'2' as usize && byte <= b'7' as usize;
            #[allow(clippy::cast_possible_truncation)] // below 256
            let low = (byte as u8).is_ascii_hexdigit();
            let pairs = if high { 0x5555 } else { 0 } | if low { 0xaaaa } else { 0 };
            positions[byte] = group | group << 4 | (first as u32) << 8 | pairs << 9;
        }
        byte += 1;
    }
    positions
};

/// How many letters to skip so that the rest is base64 of a text.
fn alignments(letters: &[u8]) -> impl Iterator<Item = usize> {
    looked(letters.len());
    // The letters of a pattern are two groups of four and one more.
    let ends = patterns(letters).filter(|(_, state)| state & LAST_OF_BASE64 != 0);
    let found = ends.fold(0, |found, (at, _)| found | 1 << (at % 4));
    (0..4).filter(move |first| found >> first & 1 == 1)
}

/// User and password of a Basic credential, in base64 of either alphabet, with padding or without.
pub(crate) fn basic(encoded: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let padding = encoded.iter().rev().take(2).take_while(|byte| **byte == b'=').count();
    let letters = &encoded[..encoded.len() - padding];
    let text = letters.iter().all(|byte| is_letter(*byte)).then(|| from_base64(letters))?;
    let colon = memchr::memchr(b':', &text)?;
    Some((text[..colon].to_vec(), text[colon + 1..].to_vec()))
}

/// Undoes base64 of letters; those at the end that make no byte do not count.
fn from_base64(letters: &[u8]) -> Vec<u8> {
    looked(letters.len());
    let mut plain = Vec::with_capacity(letters.len() / 4 * 3 + 2);
    for group in letters.chunks(4) {
        let bits = group.iter().fold(0_u32, |bits, letter| bits << 6 | u32::from(SEXTETS[usize::from(*letter)]));
        let bits = bits << (6 * (4 - group.len()));
        plain.extend_from_slice(&bits.to_be_bytes()[1..=group.len().saturating_sub(1)]);
    }
    plain
}

fn from_hex(digits: &[u8]) -> Vec<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok()).unwrap_or(0);
    digits.chunks_exact(2).map(|two| digit(&two[0]) << 4 | digit(&two[1])).collect()
}

/// Whether a byte is a letter of base64.
#[inline]
fn is_letter(byte: u8) -> bool {
    SEXTETS[usize::from(byte)] != NONE
}

const NONE: u8 = u8::MAX;

/// What each letter of base64 stands for, in either alphabet (RFC 4648, sections 4 and 5).
const SEXTETS: [u8; 256] = {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut sextets = [NONE; 256];
    let mut value = 0_u8;
    while value < 64 {
        sextets[LETTERS[value as usize] as usize] = value;
        value += 1;
    }
    sextets[b'-' as usize] = 62;
    sextets[b'_' as usize] = 63;
    sextets
};

#[cfg(test)]
mod tests {
    use base64::{Engine as _, prelude::*};
    use proptest::prelude::*;

    use super::*;
    use contrail_exchange::hex::hex;

    fn all(text: &str) -> Vec<(String, String)> {
        let mut out = Vec::new();
        decode(text.as_bytes(), |found| {
            let place = found.source(text.as_bytes(), &(0..found.plain.len()));
            out.push((text[place].to_owned(), String::from_utf8_lossy(&found.plain).into_owned()));
        });
        out
    }

    #[test]
    fn a_text_in_base64_is_decoded_wherever_it_begins_and_whatever_adjoins_it() {
        let plain = "password: hunter22, and more";
        for coded in [BASE64_STANDARD.encode(plain), BASE64_URL_SAFE_NO_PAD.encode(plain), hex(plain.as_bytes())] {
            for before in ["", "(", "v1.", "x", "ab-", "abc_"] {
                for after in ["", ")", "."] {
                    let text = format!("{before}{coded}{after}");
                    assert!(all(&text).iter().any(|(_, text)| text.contains(plain)), "{text}: {:?}", all(&text));
                }
            }
        }
        let coded = BASE64_STANDARD.encode(plain);
        let (mut places, path) = (Vec::new(), format!("/p/{coded}/q"));
        decode(path.as_bytes(), |found| {
            if let Some(at) = memchr::memmem::find(&found.plain, b"hunter22") {
                places.push(&path[found.source(path.as_bytes(), &(at..at + 8))]);
            }
        });
        assert!(!places.is_empty() && places.iter().all(|place| coded.starts_with(place)), "{places:?}");
    }

    #[test]
    fn base64_that_is_broken_into_lines_is_one_text() {
        let plain = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gun\n-----END RSA PRIVATE KEY-----\n";
        let coded = BASE64_STANDARD.encode(plain);
        for (width, line) in [(64, "\n"), (76, "\n"), (76, "\r\n")] {
            let lines: Vec<&str> =
                coded.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).unwrap()).collect();
            let wrapped = lines.join(line);
            assert!(all(&format!("key: {wrapped}\n\nmore")).contains(&(wrapped, plain.to_owned())));
        }
    }

    #[test]
    fn identifiers_hashes_and_words_are_no_text() {
        for text in [
            "rlp_1a2b3c4d5e6f7g8h9i0j",
            "3f0c2a7e-1b2c-4d5e-8f90-a1b2c3d4e5f6",
            "/api/v2/rate-limit-policies",
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "urn:ietf:params:oauth:grant-type:jwt-bearer",
            "2026-01-02T03:04:05.678Z",
            "application/x-www-form-urlencoded",
        ] {
            assert!(next(text.as_bytes(), 0).is_none(), "{text}: {:?}", all(text));
        }
    }

    proptest! {
        #[test]
        fn no_text_in_base64_or_hex_is_passed_by(
            noise in proptest::collection::vec(any::<u8>(), 0..20),
            plain in "[ -~]{12,40}|[a-zé😀ß ]{0,20}[ -~]{9}[a-zé😀ß ]{3,20}",
            before in "[ -~é]{0,40}[ .:\"]|",
            after in "[ .:\"][ -~é]{0,40}|",
            coding in 0..3_usize,
        ) {
            let held = [&noise, plain.as_bytes()].concat();
            let coded = match coding {
                0 => BASE64_STANDARD.encode(&held),
                1 => BASE64_URL_SAFE_NO_PAD.encode(&held),
                _ => hex(&held),
            };
            let text = format!("{before}{coded}{after}");
            let mut is_found = false;
            decode(text.as_bytes(), |found| {
                is_found |= memchr::memmem::find(&found.plain, plain.as_bytes()).is_some();
            });
            prop_assert!(is_found, "{}", text);
        }
    }
}
