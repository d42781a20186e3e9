//! Text in base64 (a `state`, a wrapped payload, a data URL): a JSON document, a form, or any other text.

use std::ops::Range;

use super::{
    detect::{MAX_CODINGS, MAX_SEARCHED},
    fields::fields,
    grammar::looks_like_form,
    hints::SHORTEST_SHAPE,
    steps::looked,
    walk::Places,
};
use crate::json::Document;
use crate::redact::{Redactor, coding, mark::Mark};

/// Shortest run of letters that is decoded.
const MIN_RUN: usize = 16;
const _: () = assert!(MIN_RUN >= SHORTEST_SHAPE);

impl Redactor {
    /// Text in base64 with a secret in it: all of it is one place.
    pub(super) fn detect_base64(&self, text: &[u8], depth: usize, out: &mut Vec<Mark>) {
        let mut at = 0;
        while at < text.len() {
            let start = at + text[at..].iter().take_while(|byte| !is_letter(**byte)).count();
            let letters = text[start..].iter().take_while(|byte| is_letter(**byte)).count();
            let end = start + letters;
            at = end + text[end..].iter().take_while(|byte| **byte == b'=').count();
            // Parts of a JSON Web Token are no texts of their own.
            let in_token = start > 0 && text[start - 1] == b'.' || text.get(at) == Some(&b'.');
            if letters < MIN_RUN || at - start > MAX_SEARCHED || in_token {
                continue;
            }
            if !self.detect_run(text, start..at, depth, out) {
                // A `/` may separate words rather than stand for six bits.
                let mut from = start;
                for word in text[start..at].split(|byte| *byte == b'/') {
                    if word.len() >= MIN_RUN && word.len() < at - start {
                        self.detect_run(text, from..from + word.len(), depth, out);
                    }
                    from += word.len() + 1;
                }
            }
        }
    }

    /// Whether a run of letters is base64 of a text.
    fn detect_run(&self, text: &[u8], range: Range<usize>, depth: usize, out: &mut Vec<Mark>) -> bool {
        looked(range.len());
        let Some(plain) = coding::from_base64(&text[range.clone()]) else { return false };
        if std::str::from_utf8(&plain).is_err() {
            return false;
        }
        let mut inner = Vec::new();
        self.detect_plain(&plain, depth, &mut inner);
        out.extend(inner.first().map(|mark| Mark::part(range, mark.secret)));
        true
    }

    /// Reads a text that was in base64.
    pub(super) fn detect_plain(&self, plain: &[u8], depth: usize, out: &mut Vec<Mark>) {
        if matches!(plain.trim_ascii_start().first(), Some(b'{' | b'['))
            && let Ok(document) = Document::parse(plain.to_vec())
        {
            self.detect_json(&document, &Places::of_body(&[]), depth.saturating_sub(1), out);
        } else if looks_like_form(plain) {
            self.detect_fields(plain, &fields(plain).unwrap_or_default(), false, out);
        } else {
            // What is in base64 again is decoded once more.
            self.detect_text(plain, depth.saturating_sub(1).min(MAX_CODINGS - 2), out);
        }
    }
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, prelude::*};

    use super::{super::steps::holds_linear, *};

    fn masked(text: &str) -> String {
        Redactor::default().text(text).into_inner()
    }

    #[test]
    fn a_secret_in_a_text_in_base64_is_masked_with_all_of_it() {
        for plain in [
            r#"{"password":"hunter22"}"#,
            r#" {"a":1,"password":"hunter22"}"#,
            r#"[{"password":"hunter22"}]"#,
            "client_secret=hunter22&a=b",
            "a=b&client_secret=hunter22",
            "password: 'hunter22'",
        ] {
            for coded in [BASE64_STANDARD.encode(plain), BASE64_URL_SAFE_NO_PAD.encode(plain)] {
                for (before, after) in [("", ""), ("v1 ", ""), ("state: ", "&a=b"), ("data:x/y;base64,", "")] {
                    let text = format!("{before}{coded}{after}");
                    let kept = masked(&text);
                    assert!(
                        !kept.contains(&coded) && kept.starts_with(before) && kept.ends_with(after),
                        "{plain} in {text} is {kept}"
                    );
                }
            }
        }
        let coded = BASE64_STANDARD.encode("client_secret=hunter22");
        assert!(!masked(&format!("/p/{coded}/q")).contains(&coded));
        let twice = BASE64_STANDARD.encode(BASE64_STANDARD.encode(r#"{"password":"hunter22"}"#));
        assert_eq!(masked(&format!(r#"{{"eyJ":"{twice}"}}"#)), r#"{"eyJ":"!password-1!"}"#);
    }

    #[test]
    fn base64_of_what_holds_no_secret_stays() {
        for plain in [
            &b"{\"token_type\":\"x\",\"page\":2}"[..],
            b"a=b&password_policy=none",
            b"\x89PNG\xff secret token password",
        ] {
            let coded = BASE64_STANDARD.encode(plain);
            assert_eq!(masked(&format!("eyJ {coded}")), format!("eyJ {coded}"));
        }
    }

    #[test]
    fn base64_is_decoded_in_time_that_grows_with_the_text_and_no_faster() {
        let redactor = Redactor::default();
        for piece in
            ["eyJ", "eyJ/", "eyJhIjoxfQ==", "eyJhIjox/", "W3siYSI6", "Y2xpZW50X3NlY3JldD0x", "cGFzc3dvcmQ9YSY="]
        {
            holds_linear(piece, |text| redactor.detect_text(text, MAX_CODINGS, &mut Vec::new()));
        }
    }
}
