//! Recordings as files: any HAR, a journal's line, any other JSON or text, edited in place so that what other tools
//! wrote beside the messages survives.

use std::sync::Arc;

use bytes::Bytes;
use contrail_exchange::{
    Body,
    json::{self, Document},
};

use super::recording::{SizedBody, Whole, content_type, is_recording};
use crate::{
    Bounds, Redacted, Redactor,
    find::{detect::MAX_CODINGS, names::is_variable, walk::Places},
    known::search,
    mark::{self, Mark},
};

/// A secret in a file. It never shows the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// Byte offset at which it begins.
    pub offset: usize,
    /// Where, as a JSON pointer into the file (or line); `None` in a text.
    pub at: Option<Arc<str>>,
    /// What kind of secret, for example `client-secret`.
    pub kind: &'static str,
    /// The label that stands for it.
    pub label: String,
}

/// A file without its secrets.
#[derive(Debug, Clone)]
pub struct Cleaned {
    /// What to write.
    pub content: Redacted<Vec<u8>>,
    /// What was replaced, in the order of the file.
    pub sightings: Vec<Sighting>,
    /// Bodies that were emptied because they do not parse, so that their secrets cannot be located.
    pub withheld: usize,
}

impl Redactor {
    /// Takes the secrets out of a file's content (of a journal: of one line), keeping all else byte for byte.
    ///
    /// Secrets that the redactor has seen before are found too, so a file of many parts is best gone through twice.
    #[must_use]
    pub fn file(&self, content: &Bytes) -> Cleaned {
        // Recordings are read leniently, so they are searched leniently.
        match Document::parsed_or_mended(content) {
            Some(document) if is_recording(&document) => self.recording(&document, content),
            Some(document) => {
                let mut marks = Vec::new();
                let places = Places::of_file();
                self.detect_json(&document, &places, MAX_CODINGS, &mut marks);
                let index = self.memory().index();
                self.mark_known_json(&index, &document, &places, &mut marks);
                self.cleaned(content, marks, Vec::new(), 0, &[])
            }
            None => {
                let mut marks = Vec::new();
                self.detect_text(content, MAX_CODINGS, &mut marks);
                let index = self.memory().index();
                search::find(&index, content, false, &mut marks);
                marks.retain(|mark| !is_variable(&content[mark.range.clone()]));
                mark::put(&mut marks, None);
                self.cleaned(content, marks, Vec::new(), 0, &[])
            }
        }
    }

    /// Takes the secrets out of a body that a HAR file keeps in a file beside it.
    #[must_use]
    pub fn body_file(&self, media: &str, content: &Bytes) -> Cleaned {
        let headers = content_type(media);
        let body = Body::whole(content.clone());
        let parsed = self.parse_body(&headers, &body);
        let mut marks = Vec::new();
        self.detect_body(&parsed, &body, &mut marks);
        if parsed.unparsable {
            return Cleaned { content: Redacted(Vec::new()), sightings: Vec::new(), withheld: 1 };
        }
        let index = self.memory().index();
        self.mark_known_body(&index, &parsed, content, &mut marks);
        self.cleaned(content, marks, Vec::new(), 0, &[])
    }

    pub(super) fn cleaned(
        &self,
        source: &[u8],
        marks: Vec<Mark>,
        others: Vec<Whole>,
        withheld: usize,
        bodies: &[SizedBody],
    ) -> Cleaned {
        let memory = self.memory();
        let mut sightings = Vec::new();
        let mut edits = Vec::new();
        let sighting = |offset, at, id| {
            let secret = memory.secret(id);
            Sighting { offset, at, kind: secret.kind.name(), label: secret.label(false, Bounds::default()) }
        };
        for mark in mark::merge_overlaps(marks) {
            let label = memory.secret(mark.secret).label(mark.number, Bounds::default());
            sightings.push(sighting(mark.range.start, mark.place, mark.secret));
            edits.push((mark.range, label.into_bytes()));
        }
        for (range, text, found) in others {
            sightings.extend(found.map(|(place, id)| sighting(range.start, Some(place.into()), id)));
            edits.push((range, text));
        }
        edits.sort_by_key(|(range, _)| range.start);
        let sizes: Vec<_> = bodies.iter().flat_map(|body| body.after(source, &edits)).collect();
        edits.extend(sizes);
        edits.sort_by_key(|(range, _)| range.start);
        edits.dedup_by(|next, before| next.0.start < before.0.end);
        sightings.sort_by_key(|sighting| sighting.offset);
        Cleaned { content: Redacted(json::splice(source, &edits)), sightings, withheld }
    }
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, prelude::BASE64_STANDARD};

    use super::*;

    fn clean(text: &str) -> Cleaned {
        Redactor::default().file(&Bytes::copy_from_slice(text.as_bytes()))
    }

    const HAR: &str = r#"{ "log": {"version":"1.2","creator":{"name":"x","version":"1"}, "_odd":[1.50,{"k":null}],
"entries":[{"request":{"method":"POST","url":"https://t/oauth/token?code=abc\u0064ef","bodySize":57,
 "headers":[{"name":"Authorization","value":"Bearer s3cr3t.one"},{"name":"Content-Length","value":"57"}],
 "cookies":[{"name":"sid","value":"c00kie-value"}],"queryString":[{"name":"code","value":"abcdef"}],
 "postData":{"mimeType":"application/x-www-form-urlencoded","text":"client_secret=s3cr3t%2Ftwo&x=%22",
   "params":[{"name":"client_secret","value":"s3cr3t/two"}]}},
 "response":{"status":200,"headers":[{"name":"Set-Cookie","value":"sid=c00kie-value; Path=/"}],"bodySize":-1,
  "content":{"size":31,"mimeType":"application/json","text":"{ \"access_token\" : \"s3cr3t.three\" }"}},
 "_contrail":{"token":{"client":"client0123456789abc"},"note":"s3cr3t.three"}},
 {"request":{"url":"https://t/x","headers":[],"postData":{"mimeType":"application/json","text":"{\"a\":\u0000"}},
  "response":{"content":{"size":9,"mimeType":"application/octet-stream","encoding":"base64","text":"czNjcjN0L3R3bwD/"}}}]}}"#;

    #[test]
    fn a_har_file_is_cleaned_in_place_and_all_else_survives() {
        let cleaned = clean(HAR);
        let expected = HAR
            .replace("abc\\u0064ef", "!code-1!")
            .replace("\"abcdef\"", "\"!code-1!\"")
            .replace("s3cr3t.one", "!token-4!")
            .replace("c00kie-value", "!cookie-5!")
            .replace("s3cr3t%2Ftwo", "!client-secret-2!")
            .replace("s3cr3t/two", "!client-secret-2!")
            .replace("s3cr3t.three", "!token-3!")
            .replace("\"{\\\"a\\\":\\u0000\"", "\"\"")
            .replace("czNjcjN0L3R3bwD/", &BASE64_STANDARD.encode(b"!client-secret-2!\0\xff"))
            .replace("\"size\":9", "\"size\":19")
            .replace("\"size\":31", "\"size\":32")
            .replace(":57,", ":37,")
            .replace("\"57\"", "\"37\"");
        assert_eq!(String::from_utf8_lossy(&cleaned.content), expected);
        assert_eq!(cleaned.withheld, 1);
        assert!(cleaned.sightings.iter().any(|s| s.at.as_deref() == Some("/log/entries/0/request/headers/0/value")));
    }

    #[test]
    fn a_cleaned_file_is_clean() {
        let once = clean(HAR).content.into_inner();
        let again = clean(std::str::from_utf8(&once).unwrap());
        assert_eq!(*again.content, once);
        assert!(again.sightings.is_empty(), "{:?}", again.sightings);
    }

    #[test]
    fn a_number_that_is_a_label_is_known_by_its_place() {
        let line = r#"{"request":{"url":"https://t/","headers":[]},"response":{"headers":[],"content":{"size":9,"mimeType":
"application/json","text":"{\"pin\":7}"}},"_contrail":{"token":{"client":"c"},"response":{"redacted":["/pin"]}}}"#;
        assert_eq!(clean(line).sightings, []);
        assert_eq!(clean(&line.replace("/pin", "/other")).sightings.len(), 1);
    }

    #[test]
    fn other_json_and_text_are_searched_by_name_and_shape() {
        let cleaned = clean(r#"{"db":{"password":"abc"},"id":"x"}"#);
        assert_eq!(&**cleaned.content, br#"{"db":{"password":"!password-1!"},"id":"x"}"#);
        assert_eq!(cleaned.sightings[0].at.as_deref(), Some("/db/password"));
        let cleaned = clean("line one\nexport CLIENT_SECRET=abc123\n");
        assert_eq!(&**cleaned.content, b"line one\nexport CLIENT_SECRET=!client-secret-1!\n");
        assert_eq!(cleaned.sightings[0].at, None);
    }

    #[test]
    fn the_name_of_a_variable_is_no_secret_in_a_script_and_one_in_a_body() {
        let script = "curl -H \"Authorization: Bearer $ACCESS_TOKEN\" -d 'client_secret=%CLIENT_SECRET%&x=1' -b \"s=$SESSION\" \\\n\
            https://user:${PASSWORD}@api.example/?access_token=$token\npassword: \"{{ password }}\"\napi_key=$ABC-1\n";
        let cleaned = clean(script);
        assert_eq!(String::from_utf8_lossy(&cleaned.content), script.replace("$ABC-1", "!api-key-5!"));
        let body = Redactor::default().body_file("text/plain", &Bytes::from_static(b"password: \"$PASSWORD\""));
        assert_eq!(&**body.content, b"password: \"!password-1!\"");
        let hash = "{\"password\":\"$2b$12$abcdefghijklmnopqrstuv\",\"secret\":\"$ecret-Pa55\",\"token\":\"$SECRET\"}";
        assert_eq!(clean(hash).sightings.len(), 3);
        assert_eq!(clean(&format!("{hash}\npassword: $ecret-Pa55")).sightings.len(), 3);
    }

    #[test]
    fn a_body_file_is_cleaned_according_to_its_media_type() {
        let redactor = Redactor::default();
        let cleaned = redactor.body_file("application/json", &Bytes::from_static(b"{ \"token\":\"abc\" }"));
        assert_eq!(&**cleaned.content, b"{ \"token\":\"!token-1!\" }");
        assert_eq!(redactor.body_file("application/json", &Bytes::from_static(b"{\"token\":\0")).withheld, 1);
        assert_eq!(redactor.body_file("application/json", &Bytes::from_static(b"{\"token\":\"abc\",")).withheld, 1);
        let malformed =
            redactor.body_file("application/json", &Bytes::from_static(b"{\"token\":\"abc\",\"token\":\"a\"}"));
        assert_eq!(
            (&**malformed.content, malformed.withheld),
            (&b"{\"token\":\"!token-1!\",\"token\":\"!token-2!\"}"[..], 0)
        );
    }
}
