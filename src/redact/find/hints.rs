//! Words that hint at secrets and at persons, so that texts without any are not read.

use std::{
    cell::LazyCell,
    ops::{ControlFlow, Range},
    sync::LazyLock,
};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use base64::{Engine as _, prelude::BASE64_STANDARD};

use super::{
    header_names::HEADER_WORDS,
    prefilter::{ENDINGS, Prefilter, Suspect, Word},
};

/// What a text may hold, by a quick look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::redact) struct Hints {
    /// A known shape.
    pub(in crate::redact) shape: bool,
    /// The name of a field that holds a secret.
    pub(in crate::redact) field: bool,
    /// Personal data.
    pub(in crate::redact) person: bool,
}

const SHAPES: &[&str] = &[
    "eyJ",
    "eyI",
    "eyA",
    "ewo",
    "ew0",
    "ewk",
    "PRIVATE KEY",
    "private-lines",
    "bearer",
    "basic",
    "negotiate ",
    "ntlm ",
    "sk_",
    "rk_",
    "whsec_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xox",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "GOCSPX-",
    "SG.",
    "npm_",
    "pypi-",
    "sk-",
    "dop_v1_",
    "shpat_",
    "shpss_",
    "shpca_",
    "hvs.",
    "AccountKey",
    // The base64 of a data URL, and a JSON array in base64.
    "W3s",
    ";base64,",
];

/// Parts of the names in `kind` that stand alone.
const FIELDS: &[&str] = &[
    "passw",
    "pwd",
    "passphrase",
    "passcode",
    "secret",
    "token",
    "assertion",
    "credential",
    "saml",
    "cookie",
    "kty",
    "authorization",
    "wresult",
    "bearer",
    "tokenhint",
    "pfx",
    "dpop",
    "srf",
    "jsessionid",
    "recovery",
    "x-auth",
    "x_auth",
    "x-session",
    "x_session",
    "curl",
    "identified",
    // Segments of a path before a code.
    "/activat",
    "/confirm",
    "/invit",
    "/magic",
    "/reset",
    "/ticket",
    "/verif",
    // An escaped name may be any name.
    "\\u",
];

/// Parts of names that a text in base64 may hold.
const CODED: &[&str] = &["secret", "passw", "token"];

/// What base64 has of a text, wherever in it the text begins.
fn coded(text: &str) -> [String; 3] {
    ["", "-", "--"].map(|before| {
        let (first, last) = ((before.len() * 8).div_ceil(6), (before.len() + text.len()) * 8 / 6);
        BASE64_STANDARD.encode(format!("{before}{text}"))[first..last].to_owned()
    })
}

/// Parts of names that are written in two words, in whatever manner.
const PAIRS: &[(&str, &str)] = &[
    ("api", "key"),
    ("account", "key"),
    ("access", "key"),
    ("subscription", "key"),
    ("private", "key"),
    ("signing", "key"),
    ("encryption", "key"),
    ("hmac", "key"),
    ("app", "key"),
    ("auth", "key"),
    ("functions", "key"),
    ("license", "key"),
    ("service", "key"),
    ("session", "key"),
    ("master", "key"),
    ("shared", "key"),
    ("connection", "string"),
    ("database", "url"),
    ("code", "verifier"),
    ("oauth", "verifier"),
    ("pass", "word"),
    ("pass", "phrase"),
];

/// Short names, which count only as the end of one.
const ENDS: &[&str] = &["pass", "code", "pin", "otp", "jwt", "sig", "signature", "key", "auth", "ticket", "invitation"];

const PEOPLE: &[&str] = &[
    "@",
    "mail",
    "phone",
    "mobile",
    "msisdn",
    "givenname",
    "given_name",
    "familyname",
    "family_name",
    "firstname",
    "first_name",
    "lastname",
    "last_name",
    "middlename",
    "middle_name",
    "fullname",
    "full_name",
    "nickname",
    "birth",
    "address",
    "ssn",
    "nationalid",
    "national_id",
    "passport",
    "recipient",
    "\"+",
];

/// What every address has; only one with an `@` can hold a password.
const ADDRESS: &str = "://";

/// The two names in one, in every manner.
fn joined((one, two): (&str, &str)) -> [String; 5] {
    ["", "_", "-", " ", "."].map(|between| format!("{one}{between}{two}"))
}

/// Rare parts that several patterns share: a prefilter searches for each of them in place of its patterns.
const SHARED: &[&str] = &["key", "verifier", "middle", "national"];

/// The words that a prefilter searches for: every pattern, and every part of a header field's name that means a secret,
/// contains one of them.
fn words() -> Vec<Word> {
    let whole = [SHAPES, FIELDS, PEOPLE, HEADER_WORDS, SHARED].concat();
    let whole = whole.into_iter().map(str::to_owned).chain(PAIRS.iter().copied().flat_map(joined));
    let whole = whole.chain(CODED.iter().copied().flat_map(coded));
    let words = whole.map(|text| Word { text: text.to_ascii_lowercase(), ends: false });
    let mut words: Vec<Word> =
        words.chain(ENDS.iter().map(|text| Word { text: (*text).to_owned(), ends: true })).collect();
    words.sort_by_key(|word| (word.text.len(), word.ends));
    let mut kept: Vec<Word> = Vec::new();
    for word in words {
        if !kept.iter().any(|shorter| !shorter.ends && word.text.contains(&shorter.text)) {
            kept.push(word);
        }
    }
    kept
}

static PREFILTER: LazyLock<Prefilter> = LazyLock::new(|| Prefilter::new(words()));

struct Search {
    patterns: AhoCorasick,
    shapes: usize,
    fields: usize,
    address: usize,
}

static SEARCH: LazyLock<Option<Search>> = LazyLock::new(|| {
    let mut patterns: Vec<String> = SHAPES.iter().map(|&shape| shape.to_owned()).collect();
    patterns.extend(CODED.iter().copied().flat_map(coded));
    let shapes = patterns.len();
    patterns.extend(FIELDS.iter().map(|&name| name.to_owned()));
    patterns.extend(PAIRS.iter().copied().flat_map(joined));
    for name in ENDS {
        patterns.extend(ENDINGS.iter().map(|end| format!("{name}{}", char::from(*end))));
    }
    let fields = patterns.len();
    patterns.extend(PEOPLE.iter().map(|&name| name.to_owned()));
    let address = patterns.len();
    patterns.push(ADDRESS.to_owned());
    let search = AhoCorasick::builder().ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA)).build(patterns);
    search.ok().map(|patterns| Search { patterns, shapes, fields, address })
});

/// Whether there is neither a hint in a text nor a coding, which may hide one.
pub(in crate::redact) fn is_plain(text: &[u8]) -> bool {
    PREFILTER.scan(text, |_, _| ControlFlow::Break(())).is_continue()
}

/// Whether a text may hold a hint; where not, [`hints`] gives none.
pub(in crate::redact) fn may_hint(text: &[u8]) -> bool {
    let word = |_, suspect| if suspect == Suspect::Word { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    PREFILTER.scan(text, word).is_break()
}

/// The places of a text that may hold a hint or hide one; `None` if they are too many to be worth a list.
pub(in crate::redact) fn suspects(text: &[u8]) -> Option<Vec<Range<usize>>> {
    const MAX_SUSPECTS: usize = 1 << 12;
    let mut places = Vec::new();
    let listed = PREFILTER.scan(text, |place, _| {
        places.push(place);
        if places.len() < MAX_SUSPECTS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    listed.is_continue().then_some(places)
}

/// A quick look at a text: what it may hold. Never denies what is there.
pub(in crate::redact) fn hints(text: &[u8]) -> Hints {
    if may_hint(text) { search(text) } else { Hints::default() }
}

/// The same without the first look.
pub(in crate::redact) fn search(text: &[u8]) -> Hints {
    const ALL: Hints = Hints { shape: true, field: true, person: true };
    let Some(Search { patterns, shapes, fields, address }) = &*SEARCH else { return ALL };
    let mut hints = Hints::default();
    let last_at = LazyCell::new(|| memchr::memrchr(b'@', text));
    for hit in patterns.find_overlapping_iter(text) {
        match hit.pattern().as_usize() {
            n if n < *shapes => hints.shape = true,
            n if n < *fields => hints.field = true,
            n if n < *address => hints.person = true,
            _ => hints.shape |= last_at.is_some_and(|at| at >= hit.end()),
        }
        if hints == ALL {
            break;
        }
    }
    hints
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::redact::find::names;

    /// Every pattern.
    fn patterns() -> Vec<String> {
        let plain = [SHAPES, FIELDS, PEOPLE, HEADER_WORDS].concat();
        let plain = plain.into_iter().map(str::to_owned).chain(PAIRS.iter().copied().flat_map(joined));
        let plain = plain.chain(CODED.iter().copied().flat_map(coded));
        let ends = ENDS.iter().flat_map(|name| ENDINGS.iter().map(move |end| format!("{name}{}", char::from(*end))));
        plain.chain(ends).collect()
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
        assert!(words().len() < 140, "{}", words().len());
    }

    #[test]
    fn the_quick_look_sees_every_name_of_a_secret_in_json() {
        for name in names::all_names() {
            for name in [name.to_owned(), name.to_ascii_uppercase()] {
                assert!(hints(format!("{{\"{name}\":1}}").as_bytes()).field, "{name}");
            }
        }
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
            assert!(hints(format!("{{\"{name}\":1}}").as_bytes()).field, "{name}");
        }
        let policy = br#"{"id":"rlp_1","resource":"oauth_authentication_api","consumer_selector":"client_id:a","configuration":{"action":"log"}}"#;
        assert_eq!(hints(policy), Hints::default());
    }

    proptest! {
        #[test]
        fn the_prefilter_sees_all_that_the_search_sees(
            parts in proptest::collection::vec((0..400_usize, "[ -~]{0,6}"), 0..12),
        ) {
            let patterns = patterns();
            let part = |(at, other): &(usize, String)| format!("{other}{}", patterns.get(*at).map_or("", String::as_str));
            let text: String = parts.iter().map(part).collect();
            let hint = may_hint(text.as_bytes());
            prop_assert!(hint || search(text.as_bytes()) == Hints::default(), "{}", text);
            prop_assert_eq!(is_plain(text.as_bytes()), !hint && !text.contains(['%', '\\', '&', '!']), "{}", text);
        }
    }
}
