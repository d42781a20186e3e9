//! Names of body files: `<operation>-<nn>-request.json`, `<operation>-<nn>-response.txt`, never text from the target.
//!
//! A file keeps its name as long as its content is in the recording. Where a body of an entry changes, the new one takes
//! the name of the old. Only what is left gets a new number: the entry's own among those of its operation, or the next
//! one that is free.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    fs,
    path::Path,
};

use ring::digest::{SHA256, digest};
use serde::Deserialize;

use super::har;

/// A SHA-256.
pub(super) type Digest = [u8; 32];

/// The digest of a body file.
pub(super) fn digest_of(bytes: &[u8]) -> Digest {
    let mut array = [0; 32];
    array.copy_from_slice(digest(&SHA256, bytes).as_ref());
    array
}

/// Which body of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Side {
    Request,
    Response,
}

/// Which body of which request: of entries with equal keys, the n-th is the n-th.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Slot {
    request: [u8; 16],
    side: Side,
}

impl Slot {
    pub(super) fn new(method: &str, url: &str, side: Side) -> Self {
        let whole = digest_of(format!("{method} {url}").as_bytes());
        let mut request = [0; 16];
        request.copy_from_slice(&whole[..16]);
        Self { request, side }
    }
}

/// A body that needs a file, as its first entry names it.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) slot: Slot,
    pub(super) digest: Digest,
    /// The operation's name in files.
    pub(super) operation: String,
    /// The entry's number among those of its operation, from 1.
    pub(super) number: usize,
    pub(super) extension: &'static str,
}

/// The body files of the fixture that is there.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// Names and digests, in the order of the entries that name them first.
    files: Vec<(String, Option<Digest>)>,
    by_name: HashMap<String, usize>,
    by_digest: HashMap<Digest, usize>,
    /// The slots of the entries that name them: indexes of files.
    slots: Vec<(Slot, usize)>,
}

impl Held {
    /// Reads what the fixture `har` names. Only files that are ours by the form of their names count.
    pub(super) fn read(har: &Path, folder: &Path) -> Self {
        let mut held = Self::default();
        let Ok(text) = fs::read(har) else { return held };
        let Ok(parsed) = serde_json::from_slice::<Referring<'_>>(&text) else {
            // Broken (a merge left its marks in it): what it names is ours all the same.
            for name in names_in(&text) {
                held.file(name, folder);
            }
            return held;
        };
        for entry in parsed.log.entries {
            let (request, response) = (entry.request, entry.response);
            let text = |text: &Option<har::Text<'_>>| text.as_ref().map(|text| text.0.to_string()).unwrap_or_default();
            let (method, url) = (text(&request.method), text(&request.url));
            for (file, side) in [(request.post_data, Side::Request), (response.content, Side::Response)] {
                let Some(name) = file.and_then(|file| file.file) else { continue };
                if is_body_file_name(&name.0) {
                    let at = held.file(name.0.into_owned(), folder);
                    held.slots.push((Slot::new(&method, &url, side), at));
                }
            }
        }
        held
    }

    fn file(&mut self, name: String, folder: &Path) -> usize {
        if let Some(at) = self.by_name.get(&name) {
            return *at;
        }
        let path = folder.join(&name);
        let regular = fs::symlink_metadata(&path).is_ok_and(|there| there.is_file());
        let digest = if regular { fs::read(&path).ok().map(|bytes| digest_of(&bytes)) } else { None };
        self.push(name, digest)
    }

    fn push(&mut self, name: String, digest: Option<Digest>) -> usize {
        let at = self.files.len();
        self.by_name.insert(name.clone(), at);
        if let Some(digest) = digest {
            self.by_digest.entry(digest).or_insert(at);
        }
        self.files.push((name, digest));
        at
    }

    /// The name of the file that holds this already.
    pub(super) fn name_of(&self, digest: &Digest) -> Option<&str> {
        self.by_digest.get(digest).map(|at| &*self.files[*at].0)
    }

    /// Names, without those of `kept`.
    pub(super) fn without(&self, kept: &[String]) -> Vec<String> {
        let kept: HashSet<&str> = kept.iter().map(|name| &**name).collect();
        self.files.iter().map(|(name, _)| name).filter(|name| !kept.contains(&***name)).cloned().collect()
    }
}

/// A name for each body, in their order. `exists` says whether there is something of this name in the folder.
pub(super) fn assign(held: &Held, wanted: &[Wanted], exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut names: Vec<Option<String>> =
        wanted.iter().map(|wanted| held.name_of(&wanted.digest).map(str::to_owned)).collect();
    // Without regard to case, as some file systems are.
    let mut taken: HashSet<String> = names.iter().flatten().map(|name| name.to_ascii_lowercase()).collect();
    let mut free: HashMap<Slot, VecDeque<&str>> = HashMap::new();
    for (slot, at) in &held.slots {
        free.entry(*slot).or_default().push_back(&held.files[*at].0);
    }
    for (name, wanted) in names.iter_mut().zip(wanted).filter(|(name, _)| name.is_none()) {
        let old = free.entry(wanted.slot).or_default();
        old.retain(|name| !taken.contains(&name.to_ascii_lowercase()));
        let fits = |name: &&str| {
            let parts =
                name.split_once('.').and_then(|(stem, extension)| Some((stem.rsplitn(3, '-').last()?, extension)));
            parts == Some((wanted.operation.as_str(), wanted.extension))
        };
        if let Some(at) = old.iter().position(fits)
            && let Some(found) = old.remove(at)
        {
            taken.insert(found.to_ascii_lowercase());
            *name = Some(found.to_owned());
        }
    }
    let ours: HashSet<String> = held.files.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
    for (name, wanted) in names.iter_mut().zip(wanted).filter(|(name, _)| name.is_none()) {
        let mut number = wanted.number;
        *name = Some(loop {
            let stem = format!("{}-{number:02}-{}", wanted.operation, wanted.slot.side.name());
            let is_free = ["json", "txt", "bin"].iter().all(|extension| {
                let name = format!("{stem}.{extension}");
                let lower = name.to_ascii_lowercase();
                !taken.contains(&lower) && (ours.contains(&lower) || !exists(&name))
            });
            if is_free {
                let found = format!("{stem}.{}", wanted.extension);
                taken.insert(found.to_ascii_lowercase());
                break found;
            }
            number += 1;
        });
    }
    names.into_iter().flatten().collect()
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
        }
    }
}

/// `<operation>-<nn>-request.json` and its like: one plain name.
pub(super) fn is_body_file_name(name: &str) -> bool {
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    name.split_once('.').is_some_and(|(stem, extension)| {
        matches!(extension, "json" | "txt" | "bin")
            && plain(stem)
            && stem
                .strip_suffix("-request")
                .or_else(|| stem.strip_suffix("-response"))
                .and_then(|stem| stem.rsplit_once('-'))
                .is_some_and(|(_, number)| number.len() >= 2 && number.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// Names of body files in a text that is no JSON any more.
fn names_in(text: &[u8]) -> Vec<String> {
    const MEMBER: &[u8] = b"\"_file\": \"";
    let mut names = Vec::new();
    for at in memchr::memmem::find_iter(text, MEMBER) {
        let rest = &text[at + MEMBER.len()..];
        let name = memchr::memchr(b'"', rest).and_then(|end| std::str::from_utf8(&rest[..end]).ok());
        names.extend(name.filter(|name| is_body_file_name(name)).map(str::to_owned));
    }
    names
}

/// As much of a fixture as tells which body files it uses.
#[derive(Deserialize)]
struct Referring<'a> {
    #[serde(borrow)]
    log: ReferringLog<'a>,
}

#[derive(Deserialize)]
struct ReferringLog<'a> {
    #[serde(borrow)]
    entries: Vec<ReferringEntry<'a>>,
}

#[derive(Deserialize)]
struct ReferringEntry<'a> {
    #[serde(borrow)]
    request: ReferringRequest<'a>,
    #[serde(borrow)]
    response: ReferringResponse<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReferringRequest<'a> {
    #[serde(borrow)]
    method: Option<har::Text<'a>>,
    #[serde(borrow)]
    url: Option<har::Text<'a>>,
    #[serde(borrow)]
    post_data: Option<ReferringFile<'a>>,
}

#[derive(Deserialize)]
struct ReferringResponse<'a> {
    #[serde(borrow)]
    content: Option<ReferringFile<'a>>,
}

#[derive(Deserialize)]
struct ReferringFile<'a> {
    #[serde(borrow, rename = "_file")]
    file: Option<har::Text<'a>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(url: &str, content: &str, number: usize) -> Wanted {
        Wanted {
            slot: Slot::new("GET", url, Side::Response),
            digest: digest_of(content.as_bytes()),
            operation: "getThing".to_owned(),
            number,
            extension: "json",
        }
    }

    fn held(files: &[(&str, &str, usize)]) -> Held {
        let mut held = Held::default();
        for (url, content, number) in files {
            let name = format!("getThing-{number:02}-response.json");
            let at = held.push(name, Some(digest_of(content.as_bytes())));
            held.slots.push((Slot::new("GET", url, Side::Response), at));
        }
        held
    }

    fn numbers(held: &Held, wanted: &[Wanted], foreign: &[&str]) -> Vec<String> {
        let names = assign(held, wanted, |name| foreign.contains(&name));
        names.iter().map(|name| name["getThing-".len()..name.len() - "-response.json".len()].to_owned()).collect()
    }

    #[test]
    fn a_first_recording_numbers_by_entry() {
        assert_eq!(numbers(&Held::default(), &[wanted("/a", "a", 1), wanted("/b", "b", 3)], &[]), ["01", "03"]);
    }

    #[test]
    fn what_is_still_there_keeps_its_name_and_what_is_new_gets_a_free_one() {
        let held = held(&[("/a", "a", 1), ("/c", "c", 2), ("/d", "d", 3)]);
        let all = [wanted("/a", "a", 1), wanted("/b", "b", 2), wanted("/c", "c", 3), wanted("/d", "d", 4)];
        assert_eq!(numbers(&held, &all, &[]), ["01", "04", "02", "03"]);
    }

    #[test]
    fn a_changed_body_takes_the_name_of_the_one_before() {
        let held = held(&[("/a", "a", 1), ("/a", "b", 2), ("/c", "c", 5)]);
        let all = [wanted("/a", "other", 1), wanted("/a", "b", 2), wanted("/c", "changed", 3)];
        assert_eq!(numbers(&held, &all, &[]), ["01", "02", "05"]);
    }

    #[test]
    fn a_file_of_the_users_own_is_never_taken() {
        let foreign = ["getThing-01-response.json"];
        assert_eq!(numbers(&Held::default(), &[wanted("/a", "a", 1)], &foreign), ["02"]);
    }

    #[test]
    fn a_har_with_the_marks_of_a_merge_still_says_which_files_are_ours() {
        let text = b"<<<<<<<\n \"_file\": \"getThing-01-response.json\"\n=======\n \"_file\": \"../x\"\n";
        assert_eq!(names_in(text), ["getThing-01-response.json"]);
    }
}
