//! The quick look: which hints of secrets and of persons a text holds, and whether it may hide one, so that texts without
//! any are not read.

use std::{
    ops::{ControlFlow, Range},
    sync::LazyLock,
};

use super::{
    formats::{self, FORMATS},
    names::{NAMES, Names},
    prefilter::{Hints, Prefilter, Suspect, Word},
    shapes,
    steps::is_thorough,
};

/// What belongs to no name: private members of a key stand beside `kty`, an escaped name may be any name, and what is
/// beside a value calls it a secret.
const FIELDS: &[&str] = &["kty", "curl", "\\u", "opaque", "kubernetes.io", "sensitive", "securestring"];

/// Schemes of credentials whose names are those of fields, too.
const SCHEMES: &[&str] = &["token ", "token\t", "dpop ", "dpop\t"];

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
const SHARED: &[&str] = &["key", "verifier", "middle", "national", "card"];

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
    words.extend(listed(SCHEMES, Hints::SHAPE));
    words.extend(listed(FIELDS, Hints::FIELD));
    words.extend(listed(shapes::PERSONAL_WORDS, Hints::PERSON));
    words.extend(listed(SHARED, Hints::default()));
    let hints = |row: &Names| if row.kind.is_personal() { Hints::PERSON } else { Hints::FIELD };
    words.extend(NAMES.iter().flat_map(|row| row.hints().map(move |hint| (hint, hints(row)))).flat_map(
        |(hint, hints)| {
            let ends = hint.ends_with('.');
            spelled(hint.trim_end_matches('.')).into_iter().map(move |text| Word { ends, ..word(&text, hints) })
        },
    ));
    words.sort_by(|one, two| one.text.cmp(&two.text));
    words.dedup();
    words
}

static PREFILTER: LazyLock<Prefilter> = LazyLock::new(|| Prefilter::new(words()));

/// The places of a text that may hold a hint or hide one, but for those that `shows_nothing` denies, and whether one may
/// hide anything; `None` if they are too many to be worth a list.
pub(crate) fn suspects(
    text: &[u8],
    shows_nothing: impl Fn(&Range<usize>) -> bool,
) -> (Option<Vec<Range<usize>>>, bool) {
    const MAX_SUSPECTS: usize = 1 << 12;
    let (mut places, mut hide) = (Vec::new(), false);
    let listed = PREFILTER.scan(text, |place, suspect| {
        match suspect {
            Suspect::Word(stem) => {
                let hints = stem.hints(text, place.start);
                if hints == Hints::NONE || !hints.shape && shows_nothing(&place) {
                    return ControlFlow::Continue(());
                }
            }
            Suspect::Coded => hide = true,
        }
        places.push(place);
        if places.len() < MAX_SUSPECTS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    if listed.is_continue() { (Some(places), hide) } else { (None, true) }
}

/// What a text may hold; `None` where it is not worth reading.
pub(crate) fn hints(text: &[u8]) -> Option<Hints> {
    let mut hints = Hints::NONE;
    let _ = PREFILTER.scan(text, |place, suspect| {
        match suspect {
            Suspect::Word(stem) => hints |= stem.hints(text, place.start),
            Suspect::Coded => hints.coded = true,
        }
        if hints == Hints::ALL { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    hints.shape |= hints.person && holds_address(text);
    // A telephone number is all of a text.
    hints.person |= text.first() == Some(&b'+');
    (hints != Hints::NONE).then_some(hints)
}

/// Whether something may stand in a text other than as it is.
pub(crate) fn may_hide(text: &[u8]) -> bool {
    let hides = |_, suspect: Suspect<'_>| match suspect {
        Suspect::Word(_) => ControlFlow::Continue(()),
        Suspect::Coded => ControlFlow::Break(()),
    };
    PREFILTER.scan(text, hides).is_break()
}

/// Whether a text is a word that is shorter than any key: it is no secret by its shape, and names nothing beside it.
pub(crate) fn is_short_word(text: &[u8]) -> bool {
    text.len() < formats::SHORTEST && !is_thorough() && text.iter().all(|byte| is_letter(*byte))
}

/// Whether a text holds an address that may have a user.
fn holds_address(text: &[u8]) -> bool {
    memchr::memrchr(b'@', text).is_some_and(|at| memchr::memmem::find(&text[..at], ADDRESS.as_bytes()).is_some())
}

/// Whether a byte may stand in a word.
#[inline]
pub(crate) fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        find::prefilter::{self, ENDINGS},
        label, runs, view,
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

    /// The same as [`hints`], word for word and run for run.
    fn slowly(text: &[u8]) -> Option<Hints> {
        let mut hints = Hints::NONE;
        for word in words() {
            if (0..text.len()).any(|at| word.stands(text, at)) {
                hints |= word.hints;
            }
        }
        hints.shape |= hints.person && holds_address(text);
        hints.person |= text.first() == Some(&b'+');
        hints.coded = (0..text.len()).any(|at| view::is_coded(&text[at..]) || label::begins(&text[at..]));
        runs::decode(text, |_| hints.coded = true);
        (hints != Hints::NONE).then_some(hints)
    }

    #[test]
    fn the_prefilter_sees_every_pattern_at_every_place() {
        for pattern in patterns() {
            for pattern in [pattern.to_ascii_uppercase(), pattern] {
                for before in 0..20 {
                    for after in [0, 1, 2, 17, 40] {
                        let text = format!("{}{pattern}{}", ".".repeat(before), ",".repeat(after));
                        let mut is_found = false;
                        let _ = PREFILTER.scan(text.as_bytes(), |_, suspect| {
                            is_found |= matches!(suspect, Suspect::Word(_));
                            ControlFlow::<()>::Continue(())
                        });
                        assert!(is_found, "{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_prefilter_looks_for_few_words() {
        let count = prefilter::stems(words()).len();
        assert!(count <= 220, "{count}");
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
        // Of a scheme before a tab the name is a word, too.
        for text in words.iter().map(|word| word.text.trim_end_matches('\t').replace("\\/", "/")) {
            let escaped = text.replace('/', "\\/");
            let is_listed = text == escaped || text.starts_with('/') || words.iter().any(|word| word.text == escaped);
            assert!(is_listed && !text[1..].contains(['"', '\\', '\u{8}', '\u{c}', '\n', '\r', '\t']), "{text}");
        }
        assert!(ENDINGS.contains(&b'\\'), "what follows a word may be an escape");
    }

    #[test]
    fn a_scheme_of_a_credential_and_a_telephone_number_are_seen_by_themselves() {
        for text in ["Token a1b2c3d4", "a dpop\ta1b2c3d4", "BEARER a", "Basic a", "negotiate a", "NTLM a"] {
            assert!(hints(text.as_bytes()).unwrap().shape, "{text}");
        }
        assert!(hints(b"+49 151 23456789").unwrap().person);
    }

    proptest! {
        #[test]
        fn the_quick_look_sees_what_a_search_for_every_word_and_run_sees(
            parts in proptest::collection::vec((0..400_usize, "[ -~]{0,6}|[A-Za-z0-9+/_-]{0,50}|[0-9a-f]{0,50}"), 0..12),
        ) {
            let patterns = patterns();
            let part = |(at, other): &(usize, String)| format!("{other}{}", patterns.get(*at).map_or("", String::as_str));
            let text: String = parts.iter().map(part).collect();
            let (quick, slow) = (hints(text.as_bytes()), slowly(text.as_bytes()));
            // A run may look like one of a text and hold none.
            let quick = quick.map(|quick| Hints { coded: slow.is_some_and(|slow| slow.coded), ..quick });
            prop_assert_eq!(quick.filter(|quick| *quick != Hints::NONE), slow, "{:?}", text);
            prop_assert!(slow.is_none_or(|slow| !slow.coded) || hints(text.as_bytes()).unwrap().coded, "{:?}", text);
        }
    }
}
