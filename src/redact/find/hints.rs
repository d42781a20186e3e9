//! Words that hint at secrets and at persons, so that texts without any are not read.

use std::{
    cell::LazyCell,
    ops::{ControlFlow, Range},
    sync::LazyLock,
};

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::{
    formats::{self, FORMATS},
    names::{NAMES, Names, PEOPLE},
    prefilter::{Hints, Prefilter, Suspect, Word},
    shapes,
};
use crate::redact::runs;

/// What belongs to no name: private members of a key stand beside `kty`, an escaped name may be any name, and what is
/// beside a value calls it a secret.
const FIELDS: &[&str] = &["kty", "curl", "\\u", "opaque", "kubernetes.io", "sensitive", "securestring"];

/// No word is a secret by its shape that is shorter.
pub(in crate::redact) const SHORTEST_SHAPE: usize = formats::SHORTEST;

/// What every address has; only one with an `@` can hold a password.
const ADDRESS: &str = "://";

/// A hint of a list of names: two words in one, in every manner.
fn spelled(hint: &str) -> Vec<String> {
    if hint.contains(' ') {
        ["", "_", "-", " ", "."].map(|between| hint.replace(' ', between)).into()
    } else {
        vec![hint.to_owned()]
    }
}

/// Rare parts that several patterns share, and that hint at nothing by themselves: what they are a part of is looked
/// for where they stand.
const SHARED: &[&str] = &["key", "verifier", "middle", "national"];

/// The words that hint at something: every rule's own, and every part of a header field's name that means a secret.
fn words() -> Vec<Word> {
    let word = |text: &str, hints| Word { text: text.to_ascii_lowercase(), ends: false, starts: false, hints };
    let listed = |texts: &[&str], hints| texts.iter().map(|text| word(text, hints)).collect::<Vec<_>>();
    let mut words = listed(shapes::WORDS, Hints::SHAPE);
    for format in FORMATS {
        for literal in format.literals() {
            words.push(Word { starts: format.is_led(), ..word(literal, Hints::SHAPE) });
            // As JSON may have it.
            if literal[1..].contains('/') {
                let literal = literal.replace('/', "\\/");
                words.push(Word { starts: format.is_led(), ..word(&literal, Hints::SHAPE) });
            }
        }
    }
    words.extend(listed(FIELDS, Hints::FIELD));
    words.extend(listed(shapes::PERSONAL_WORDS, Hints::PERSON));
    words.extend(listed(SHARED, Hints::default()));
    let people = PEOPLE.iter().flat_map(|people| people.hints.split(',')).map(|hint| (hint, Hints::PERSON));
    let named = NAMES.iter().flat_map(Names::hints).map(|hint| (hint, Hints::FIELD)).chain(people);
    words.extend(named.flat_map(|(hint, hints)| {
        let ends = hint.ends_with('.');
        spelled(hint.trim_end_matches('.')).into_iter().map(move |text| Word { ends, ..word(&text, hints) })
    }));
    words.sort_by(|one, two| one.text.cmp(&two.text));
    words.dedup();
    words
}

static PREFILTER: LazyLock<Prefilter> = LazyLock::new(|| Prefilter::new(words()));

/// A search for each word, and for [`ADDRESS`].
static SEARCH: LazyLock<Option<(AhoCorasick, Vec<Word>)>> = LazyLock::new(|| {
    let words = words();
    let texts = words.iter().map(|word| word.text.as_str()).chain([ADDRESS]);
    let search = AhoCorasick::builder().ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA)).build(texts);
    search.ok().map(|search| (search, words))
});

/// Whether there is neither a hint in a text nor a coding, base64 and hex included, which may hide one.
pub(in crate::redact) fn is_plain(text: &[u8]) -> bool {
    PREFILTER.scan(text, |_, _| ControlFlow::Break(())).is_continue() && !runs::may_hold(text)
}

/// The places of a text that may hold a hint or hide one, but for those that `shows_nothing` denies; `None` if they are
/// too many to be worth a list.
pub(in crate::redact) fn suspects(
    text: &[u8],
    shows_nothing: impl Fn(&Range<usize>) -> bool,
) -> Option<Vec<Range<usize>>> {
    const MAX_SUSPECTS: usize = 1 << 12;
    let mut places = Vec::new();
    let listed = PREFILTER.scan(text, |place, suspect| {
        if matches!(suspect, Suspect::Word(stem) if !stem.all().shape) && shows_nothing(&place) {
            return ControlFlow::Continue(());
        }
        places.push(place);
        if places.len() < MAX_SUSPECTS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    places.extend(runs::places(text).take(MAX_SUSPECTS));
    (listed.is_continue() && places.len() < MAX_SUSPECTS).then_some(places)
}

/// What a text may hold; `None` where it is not worth reading.
pub(in crate::redact) fn hints(text: &[u8]) -> Option<Hints> {
    if text.len() < SHORTEST_SHAPE && is_lone_word(text) {
        return None;
    }
    let (mut hints, mut is_coded) = (None, false);
    let _ = PREFILTER.scan(text, |place, suspect| {
        match suspect {
            Suspect::Word(stem) => *hints.get_or_insert_default() |= stem.hints(text, place.start),
            Suspect::Coding => is_coded = true,
        }
        if hints == Some(Hints::ALL) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let Some(mut hints) = hints else { return (is_coded || runs::may_hold(text)).then(Hints::default) };
    hints.shape |= hints.person && holds_address(text);
    (hints.shape || !is_lone_word(text) || runs::may_hold(text)).then_some(hints)
}

/// Whether a text holds an address that may have a user.
fn holds_address(text: &[u8]) -> bool {
    memchr::memmem::find(text, ADDRESS.as_bytes()).is_some_and(|at| memchr::memchr(b'@', &text[at..]).is_some())
}

/// Whether a text is one word, in which there is no room for a name and a value, nor for an address of any sort.
fn is_lone_word(text: &[u8]) -> bool {
    text.iter().copied().all(is_letter)
}

/// Whether a byte may stand in a lone word.
#[inline]
pub(in crate::redact) fn is_letter(byte: u8) -> bool {
    const LETTERS: [bool; 256] = {
        let mut letters = [false; 256];
        let mut byte = 0_u8;
        while byte < 128 {
            letters[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
            byte += 1;
        }
        letters
    };
    LETTERS[usize::from(byte)]
}

/// The same for every text, by a search for each of the patterns.
pub(in crate::redact) fn search(text: &[u8]) -> Hints {
    let Some((search, words)) = &*SEARCH else { return Hints::ALL };
    let mut hints = Hints::default();
    let last_at = LazyCell::new(|| memchr::memrchr(b'@', text));
    for hit in search.find_overlapping_iter(text) {
        match words.get(hit.pattern().as_usize()) {
            Some(word) if word.stands(text, hit.start()) => hints |= word.hints,
            Some(_) => {}
            None => hints.shape |= last_at.is_some_and(|at| at >= hit.end()),
        }
        if hints == Hints::ALL {
            break;
        }
    }
    hints
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::redact::{
        find::prefilter::{self, ENDINGS},
        label, view,
    };

    /// Every word, before all that may end it.
    fn patterns() -> Vec<String> {
        let ends = |word: Word| {
            if word.ends {
                return ENDINGS.iter().map(|end| format!("{}{}", word.text, char::from(*end))).collect();
            }
            vec![word.text]
        };
        words().into_iter().flat_map(ends).collect()
    }

    /// Whether a text may hold a hint; where not, [`hints`] gives none.
    fn may_hint(text: &[u8]) -> bool {
        let word = |_, suspect: Suspect<'_>| match suspect {
            Suspect::Word(_) => ControlFlow::Break(()),
            Suspect::Coding => ControlFlow::Continue(()),
        };
        PREFILTER.scan(text, word).is_break()
    }

    #[test]
    fn the_search_compiles() {
        assert!(SEARCH.is_some());
    }

    #[test]
    fn the_prefilter_sees_every_pattern_at_every_place() {
        for pattern in patterns() {
            for pattern in [pattern.to_ascii_uppercase(), pattern] {
                for before in 0..20 {
                    for after in [0, 1, 2, 17, 40] {
                        let text = format!("{}{pattern}{}", ".".repeat(before), ",".repeat(after));
                        assert!(may_hint(text.as_bytes()), "{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_prefilter_looks_for_few_words() {
        let count = prefilter::stems(words()).len();
        assert!(count <= 200, "{count}");
    }

    #[test]
    fn the_quick_look_sees_names_of_secrets_in_any_spelling() {
        for name in [
            "pass_word",
            "Pass-Phrase",
            "api_key",
            "privateKey",
            "code_verifier",
            "connection-string",
            "database.url",
            "d\\u006b",
        ] {
            assert!(hints(format!("{{\"{name}\":1}}").as_bytes()).unwrap().field, "{name}");
        }
        let policy = br#"{"id":"rlp_1","resource":"oauth_authentication_api","consumer_selector":"client_id:a","configuration":{"action":"log"}}"#;
        assert_eq!(hints(policy), None);
    }

    #[test]
    fn no_word_has_what_an_escape_stands_for_but_at_its_beginning() {
        let words = words();
        for text in words.iter().map(|word| word.text.replace("\\/", "/")) {
            let escaped = text.replace('/', "\\/");
            let is_listed = text == escaped || text.starts_with('/') || words.iter().any(|word| word.text == escaped);
            assert!(is_listed && !text[1..].contains(['"', '\\', '\u{8}', '\u{c}', '\n', '\r', '\t']), "{text}");
        }
        assert!(ENDINGS.contains(&b'\\'), "what follows a word may be an escape");
    }

    proptest! {
        #[test]
        fn the_prefilter_sees_all_that_the_search_sees(
            parts in proptest::collection::vec((0..400_usize, "[ -~]{0,6}"), 0..12),
        ) {
            let patterns = patterns();
            let part = |(at, other): &(usize, String)| format!("{other}{}", patterns.get(*at).map_or("", String::as_str));
            let text: String = parts.iter().map(part).collect();
            let (text, found) = (text.as_bytes(), search(text.as_bytes()));
            let hint = may_hint(text);
            prop_assert!(hint || found == Hints::default(), "{:?}", text);
            let is_seen = match hints(text) {
                Some(hints) => hints == found,
                None => found == Hints::default() || is_lone_word(text) && (!found.shape || text.len() < SHORTEST_SHAPE),
            };
            prop_assert!(is_seen, "{:?}", text);
            let is_coding = |at: usize| view::is_coded(&text[at..]) || label::begins(&text[at..]);
            let is_coded = (0..text.len()).any(is_coding) || runs::may_hold(text);
            prop_assert_eq!(is_plain(text), !hint && !is_coded, "{:?}", text);
        }
    }
}
