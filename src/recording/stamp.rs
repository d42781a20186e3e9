//! Digests of body files, put right after the files were changed on purpose.

use bytes::Bytes;

use super::names::digest_of;
use crate::{
    hex::hex,
    json::{self, Document, Kind},
};

/// The text of a HAR file whose body files were changed, with their digests put right; `None` where all of them are.
/// `file` is what a body file holds now, and is asked by the name that the entry gives it.
#[must_use]
pub fn restamp(har: &Bytes, file: impl Fn(&str) -> Option<Bytes>) -> Option<Vec<u8>> {
    // Most files are none of ours; of those that are, the member is in the text.
    memchr::memmem::find(har, b"\"sha256\"")?;
    let document = Document::parse(har.clone()).ok()?;
    let mut edits = Vec::new();
    for entry in document.root().get("log")?.get("entries")?.items() {
        let Some(digests) = entry.get("_contrail").and_then(|own| own.get("sha256")) else { continue };
        let content = |message: &str, member: &str| entry.get(message)?.get(member)?.get("_file");
        for (side, named) in [("request", content("request", "postData")), ("response", content("response", "content"))]
        {
            let Some(digest) = digests.get(side).filter(|digest| digest.kind() == Kind::String) else { continue };
            let Some(held) = named.and_then(|name| file(&name.as_str()?)) else { continue };
            let now = format!("\"{}\"", hex(&digest_of(&held)));
            if digest.raw() != now {
                edits.push((digest.span(), now.into_bytes()));
            }
        }
    }
    if edits.is_empty() {
        return None;
    }
    edits.sort_by_key(|(range, _)| range.start);
    Some(json::splice(har, &edits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_digests_of_files_that_changed_are_put_right_and_all_else_stays_as_it_is() {
        let (old, new) = (hex(&digest_of(b"old")), hex(&digest_of(b"new")));
        let har = |request: &str, response: &str| {
            format!(
                "{{ \"log\":{{\"entries\" : [ {{\"_contrail\":{{ \"sha256\": {{\"request\":\"{request}\", \"response\":\"{response}\"}}}},\n\
                 \"request\":{{\"postData\":{{\"_file\":\"a\"}}}},\"response\":{{\"content\":{{\"_file\":\"b\"}}}}}}, {{}} ]}} }}"
            )
        };
        let file = |name: &str| (name == "b").then(|| Bytes::from_static(b"new"));
        let stamped = restamp(&har(&old, &old).into(), file).unwrap();
        assert_eq!(String::from_utf8(stamped).unwrap(), har(&old, &new));
        assert_eq!(restamp(&har(&old, &new).into(), file), None);
        assert_eq!(restamp(&Bytes::from_static(b"no HAR, and \"sha256\" in it"), file), None);
    }
}
