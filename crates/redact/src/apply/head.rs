//! Secrets of header fields, and of the credential that one of them is.

use std::{ops::Range, sync::Arc};

use contrail_exchange::{Credential, Headers, TokenFacts, token::known_scheme};
use http::{HeaderName, HeaderValue, header};

use super::redaction::Redaction;
use crate::{
    find::steps::is_thorough,
    known::{index::Index, search},
    mark::{Id, Mark},
};

/// What is known of the header fields.
pub(super) struct Head {
    /// The redacted value of the first `Authorization`, if it was seen before.
    authorization: Option<HeaderValue>,
    /// Where their names and values stand in [`Redaction::heads`].
    text: Range<usize>,
    /// Marks of each; `None` where nothing in them is worth reading.
    marks: Option<Vec<Vec<Mark>>>,
}

impl Redaction<'_> {
    pub(super) fn read_head(&mut self, headers: &Headers, response: bool) -> Head {
        let start = self.heads.len();
        if start == 0 {
            // Enough for both heads of most exchanges.
            self.heads.reserve(1024);
        }
        let mut authorization = None;
        let mut is_first = !response;
        for (name, value) in headers.iter() {
            if is_first && name == header::AUTHORIZATION {
                is_first = false;
                authorization = self.known_authorization(value);
                if authorization.is_some() {
                    continue;
                }
            }
            // Every compressed body has a field of this name, which looks like base64 of a text.
            let name = if name == header::CONTENT_ENCODING { "" } else { name.as_str() };
            // The colon ends a name for the hints that count at the end of a word only.
            for (part, end) in [(name.as_bytes(), b':'), (value.as_bytes(), b'\n')] {
                self.heads.extend_from_slice(part);
                self.heads.push(end);
            }
        }
        let text = start..self.heads.len();
        let may_hold = |text: &[u8]| self.redactor.plan.names_fields() || self.redactor.hints(text).is_some();
        if !may_hold(&self.heads[text.clone()]) {
            return Head { authorization, text, marks: None };
        }
        let mut known = authorization.is_some();
        let mut lines = self.heads[text.clone()].split(|byte| *byte == b'\n');
        let marks = |(name, value): (&HeaderName, &HeaderValue)| {
            if known && name == header::AUTHORIZATION {
                known = false;
                return Vec::new();
            }
            let is_worth = may_hold(lines.next().unwrap_or_default());
            if is_worth { self.redactor.detect_header(name, value.as_bytes()) } else { Vec::new() }
        };
        let marks = Some(headers.iter().map(marks).collect());
        Head { authorization, text, marks }
    }

    pub(super) fn write_head(&mut self, index: &Index, headers: &mut Headers, head: Head, response: bool) {
        if let Some(label) = head.authorization
            && let Some((_, value)) = headers.iter_mut().find(|(name, _)| *name == header::AUTHORIZATION)
        {
            *value = label;
            self.touched.authorization = true;
        }
        if head.marks.is_none() && !search::is_worth_uncoded(index, &self.heads[head.text]) {
            return;
        }
        let mut marked = head.marks.unwrap_or_default().into_iter();
        for (name, value) in headers.iter_mut() {
            let mut marks = marked.next().unwrap_or_default();
            let path = matches!(name.as_str(), "location" | "content-location" | "referer" | "link" | "origin");
            let covering = covering(value.as_bytes(), &marks);
            if covering.is_none() {
                search::find(index, value.as_bytes(), path, &mut marks);
            }
            if let Some(new) = self.replaced(value.as_bytes(), marks, None) {
                let new = HeaderValue::from_bytes(&new).unwrap_or(HeaderValue::from_static("!"));
                if name == header::AUTHORIZATION && !response {
                    self.touched.authorization = true;
                    if let Some(secret) = covering {
                        self.redactor.memory().authorizations.put(value.as_bytes(), (new.clone(), secret));
                    }
                } else {
                    self.touched.elsewhere = true;
                }
                *value = new;
            }
        }
    }

    /// The redacted form of an `Authorization` value that was seen before and is one secret behind its scheme.
    fn known_authorization(&self, value: &HeaderValue) -> Option<HeaderValue> {
        let mut memory = self.redactor.memory();
        let (label, secret) = memory.authorizations.get(value.as_bytes()).filter(|_| !is_thorough()).cloned()?;
        memory.see(secret).then_some(label)
    }

    /// Whether this token's facts were searched with this index.
    fn is_clean(&self, index: &Index, facts: &Arc<TokenFacts>) -> bool {
        self.redactor.memory().clean.get(facts) == Some(&index.generation)
    }

    /// What a token claims may have the shape of a secret.
    pub(super) fn detect_credential(&self, credential: &Credential) {
        let Credential::Token(facts) = credential else { return };
        let index = self.redactor.memory().index();
        if self.is_clean(&index, facts) {
            return;
        }
        for text in facts.claims() {
            self.redactor.detect_text(text.as_bytes(), 0, &mut Vec::new());
        }
    }

    pub(super) fn write_credential(&mut self, index: &Index, credential: &mut Credential) {
        let Credential::Token(facts) = credential else { return };
        if self.is_clean(index, facts) {
            return;
        }
        let mut clean = TokenFacts::clone(facts);
        let mut changed = false;
        for text in clean.claims_mut() {
            changed |= self.rewrite(index, text);
        }
        if changed {
            *facts = clean.into();
            self.touched.elsewhere = true;
        } else {
            self.redactor.memory().clean.put(facts, index.generation);
        }
    }
}

/// The secret that a field's value is, but for the scheme before it: then there is no room for another.
fn covering(value: &[u8], marks: &[Mark]) -> Option<Id> {
    let [Mark { range, secret, .. }] = marks else { return None };
    let scheme = value[..range.start].trim_ascii();
    (range.end == value.len() && known_scheme(scheme).is_some()).then_some(*secret)
}
