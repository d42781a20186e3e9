//! The search for secrets that is independent of contrail's own.

use aho_corasick::AhoCorasick;
use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE},
};
use serde_json::json;

use super::making::{Dice, hex};

/// Every form of the secrets that somebody could find in a text, once percent and JSON escapes are undone.
pub struct Search {
    secrets: Vec<String>,
    forms: AhoCorasick,
    each: usize,
}

impl Search {
    pub fn new(secrets: &[String]) -> Self {
        let of = |secret: &String| {
            let mut forms = vec![secret.clone(), hex(secret), hex(secret).to_ascii_uppercase()];
            for before in ["", "a", "ab"] {
                // Of the characters at the rim some bits are its neighbours'.
                let text = format!("{before}{secret}");
                let (first, last) = ((before.len() * 8).div_ceil(6), text.len() * 8 / 6);
                forms.push(BASE64_STANDARD.encode(&text)[first..last].to_owned());
                forms.push(BASE64_URL_SAFE.encode(&text)[first..last].to_owned());
            }
            forms
        };
        let forms: Vec<Vec<String>> = secrets.iter().map(of).collect();
        let each = forms[0].len();
        Self { secrets: secrets.to_vec(), forms: AhoCorasick::new(forms.concat()).unwrap(), each }
    }

    pub fn find(&self, text: &str) -> Option<String> {
        let mut texts = vec![text.to_owned()];
        let mut looked_at = 0;
        for _ in 0..3 {
            let end = texts.len();
            for at in looked_at..end {
                let percent = percent_encoding::percent_decode_str(&texts[at]).decode_utf8_lossy().into_owned();
                let escapes = unescaped(&texts[at]);
                let new = [percent, escapes];
                texts.extend(new.into_iter().filter(|text| *text != texts[at]).collect::<Vec<_>>());
            }
            looked_at = end;
        }
        texts.iter().find_map(|text| {
            let found = self.forms.find(text)?;
            let around = text.get(found.start().saturating_sub(200)..found.end()).unwrap_or_default();
            Some(format!("{} as …{around}", self.secrets[found.pattern().as_usize() / self.each]))
        })
    }
}

pub fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let escape = &rest[at + 1..];
        let unit = escape.strip_prefix('u').and_then(|digits| u32::from_str_radix(digits.get(..4)?, 16).ok());
        if let Some(character) = unit.and_then(char::from_u32) {
            out.push(character);
            rest = &escape[5..];
        } else if escape.starts_with(['"', '\\', '/']) {
            out.push_str(&escape[..1]);
            rest = &escape[1..];
        } else {
            out.push('\\');
            rest = escape;
        }
    }
    out.push_str(rest);
    out
}

#[test]
fn the_search_finds_a_secret_in_every_form() {
    let mut dice = Dice(7);
    for _ in 0..50 {
        let secrets: Vec<String> = (0..3).map(|_| dice.secret()).collect();
        let search = Search::new(&secrets);
        for secret in &secrets {
            let coded = dice.coded(secret);
            for text in [dice.escaped(&coded), dice.percent(&coded), coded.clone()] {
                let nested = json!({ "a": format!("{{\"b\":\"<{text}>\"}}") }).to_string();
                assert!(search.find(&nested).is_some(), "{secret} in {nested}");
            }
        }
        assert_eq!(search.find(&dice.secret()), None);
    }
}
