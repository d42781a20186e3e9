//! Tests of journals and trails, by their files.

use std::{
    collections::VecDeque,
    fs::{self, File},
    io::{self, BufRead},
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use super::{chain::ChainHead, check, file::JournalFile, trail::TrailOptions, *};
use crate::{
    JournalContext,
    disk::{file_digest, folder_of},
};

fn context() -> JournalContext {
    JournalContext { upstream: "https://up.example".into(), contract: "c".into() }
}

fn open(path: &Path) -> (Journal, Leftover) {
    Journal::open(path, context()).unwrap()
}

/// Adds a line to the batch, as an encoder does.
fn queue(journal: &mut Journal, line: &str) {
    journal.batch.lines.extend(line.as_bytes());
    journal.batch.digests.push(chain::line_digest(line.as_bytes()));
}

#[test]
fn the_journal_stands_beside_the_fixture_in_both_layouts() {
    for (fixture, journal) in [("a/name/", "a/name.journal"), ("a/name", "a/name.journal"), ("x.har", "x.har.journal")]
    {
        assert_eq!(Journal::path_for(Path::new(fixture)), Path::new(journal));
    }
}

#[test]
fn a_torn_last_line_is_dropped_at_the_next_start_and_nothing_else() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.journal");
    for (text, kept, entries) in [("{1}\n{2}\n{3", "{1}\n{2}\n", 2), ("{1", "", 0), ("", "", 0), ("{1}\n", "{1}\n", 1)]
    {
        fs::write(&path, text).unwrap();
        let (mut journal, leftover) = open(&path);
        assert_eq!(leftover, Leftover { entries, torn: (text.len() - kept.len()) as u64, ..Leftover::default() });
        queue(&mut journal, "{4}\n");
        journal.write().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{kept}{{4}}\n"));
    }
}

#[test]
fn a_second_writer_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.journal");
    let (first, _) = open(&path);
    let message = Journal::open(&path, context()).unwrap_err().to_string();
    assert_eq!(
        message,
        format!("another process is writing to the journal `{}`; stop it, or record to another place", path.display())
    );
    drop(first);
    open(&path);
}

#[test]
fn a_journal_that_was_removed_is_made_anew() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.journal");
    let (journal, _) = open(&path);
    journal.remove().unwrap();
    assert!(!path.exists());
    open(&path);
    assert!(path.exists());
}

#[test]
fn only_the_owner_can_read_a_journal_and_the_folders_made_for_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a/b/x.journal");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    drop(open(&path));
    assert_eq!((mode(&path), mode(folder_of(&path)), mode(&folder.path().join("a"))), (0o600, 0o700, 0o700));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    open(&path);
    assert_eq!(mode(&path), 0o600);
}

#[test]
fn a_journal_that_was_folded_is_empty_at_the_next_start() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.journal");
    let har = folder.path().join("x.har");
    let with = |marks: &dyn Fn(&Journal)| {
        fs::write(&path, "{1}\n{2}\n").unwrap();
        let (journal, _) = open(&path);
        marks(&journal);
        drop(journal);
        open(&path).1.entries
    };
    fs::write(&har, "abc").unwrap();
    let digest = file_digest(&mut File::open(&har).unwrap()).unwrap();
    assert_eq!(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!(with(&|journal| journal.folding(&har, "0000").unwrap()), 2);
    assert_eq!(with(&|journal| journal.folding(&har, &digest).unwrap()), 0);
    fs::write(&har, "edited since").unwrap();
    assert_eq!(with(&|journal| journal.folding(&har, &digest).unwrap()), 2);
    let both = |journal: &Journal| {
        journal.folding(&har, &digest).unwrap();
        journal.folded().unwrap();
    };
    assert_eq!(with(&both), 0);
    assert_eq!(fs::read(&path).unwrap(), b"");
}

/// A trail of these batches; each batch's entries are these lines.
fn trail(folder: &Path, batches: &[&[&str]]) -> (Vec<PathBuf>, ChainHead) {
    let (mut journal, _) = Journal::open_trail(folder, context(), &TrailOptions::default()).unwrap();
    for batch in batches {
        batch.iter().for_each(|line| queue(&mut journal, &format!("{line}\n")));
        journal.write().unwrap();
    }
    (journal.segments(), journal.head().unwrap().clone())
}

fn segments(folder: &Path) -> Vec<PathBuf> {
    crate::sources(folder).unwrap()
}

#[test]
fn a_trail_is_one_chain_across_its_segments_and_runs() {
    let folder = TempDir::new().unwrap();
    let (first, _) = trail(folder.path(), &[&["{1}", "{2}"], &["{3}"]]);
    let (second, head) = trail(folder.path(), &[&["{4}"]]);
    assert_eq!(segments(folder.path()), [first, second].concat());
    let checked = check::check_chain(&segments(folder.path()), &[], true).unwrap().unwrap();
    let lengths = checked.lengths.clone();
    assert_eq!(checked, check::Checked { head, entries: 4, lengths, ..check::Checked::default() });
    let message = Journal::open_trail(folder.path(), context(), &TrailOptions::default()).map(|opened| {
        Journal::open_trail(folder.path(), context(), &TrailOptions::default())
            .map(|_| drop(opened))
            .unwrap_err()
            .to_string()
    });
    let at = folder.path().display();
    assert_eq!(
        message.unwrap(),
        format!("another process is writing to the journal `{at}`; stop it, or record to another place")
    );
}

#[test]
fn a_trail_goes_on_in_a_new_segment_when_one_is_full() {
    let folder = TempDir::new().unwrap();
    let options = TrailOptions { segment: 300, ..TrailOptions::default() };
    let (mut journal, _) = Journal::open_trail(folder.path(), context(), &options).unwrap();
    for _ in 0..4 {
        queue(&mut journal, "{1}\n");
        journal.write().unwrap();
    }
    assert!(journal.segments().len() > 1);
    assert_eq!(journal.segments(), segments(folder.path()));
    let checked = check::check_chain(&journal.segments(), &[], true).unwrap().unwrap();
    assert_eq!((checked.entries, checked.broken), (4, None));
}

#[test]
fn what_a_killed_process_left_is_sealed_at_the_next_start() {
    let folder = TempDir::new().unwrap();
    let (first, _) = trail(folder.path(), &[&["{1}"]]);
    let mut text = fs::read(&first[0]).unwrap();
    text.extend_from_slice(b"{2}\n{3");
    fs::write(&first[0], text).unwrap();
    let unsealed = check::check_chain(&first, &[], true).unwrap().unwrap();
    assert_eq!((unsealed.entries, unsealed.unsealed, unsealed.broken), (1, 1, None));
    trail(folder.path(), &[&["{4}"]]);
    let checked = check::check_chain(&segments(folder.path()), &[], true).unwrap().unwrap();
    assert_eq!((checked.entries, checked.unsealed, checked.broken), (3, 0, None));
}

#[test]
fn a_line_of_the_chain_without_its_end_proves_no_entry() {
    let folder = TempDir::new().unwrap();
    let (first, head) = trail(folder.path(), &[&["{1}"], &["{2}"]]);
    let mut text = fs::read(&first[0]).unwrap();
    assert_eq!(text.pop(), Some(b'\n'));
    fs::write(&first[0], text).unwrap();
    let checked = check::check_chain(&first, &[], true).unwrap().unwrap();
    assert_eq!((checked.entries, checked.unsealed, checked.broken), (1, 1, None));
    let kept = check::check_chain(&first, &[head], true).unwrap().unwrap();
    let reason = kept.broken.unwrap().reason;
    assert_eq!(
        (kept.kept_heads, &*reason),
        (0, "the chain ends after 2 links, but the kept head has 3: the end was cut off")
    );
    trail(folder.path(), &[&["{3}"]]);
    let checked = check::check_chain(&segments(folder.path()), &[], true).unwrap().unwrap();
    assert_eq!((checked.entries, checked.unsealed, checked.broken), (3, 0, None));
}

#[test]
fn a_plain_journal_has_no_chain_and_one_link_anywhere_makes_it_a_trail_whatever_its_name() {
    let folder = TempDir::new().unwrap();
    let (segment, _) = trail(folder.path(), &[&["{1}", "{2}"]]);
    let plain = folder.path().join("plain.journal");
    let check = |text: &str| {
        fs::write(&plain, text).unwrap();
        check::check_chain(std::slice::from_ref(&plain), &[], false).unwrap()
    };
    for text in ["", "\n", "{1}", "{1}\n\n{\"_chain", "a long line with {\"_chain\" in it\n"] {
        assert_eq!(check(text), None, "{text}");
    }
    let whole = fs::read_to_string(&segment[0]).unwrap();
    assert_eq!(check(&whole).unwrap().broken, None);
    let headless = whole.split_inclusive('\n').skip(1).collect::<String>();
    assert!(check(&headless).unwrap().broken.is_some());
}

#[test]
fn a_trail_without_an_id_is_altered_for_a_check_and_is_not_continued() {
    let folder = TempDir::new().unwrap();
    let mut link = chain::Link { prev: ChainHead::default().hash, ..chain::Link::default() };
    link.hash = link.computed_hash();
    let mut line = Vec::new();
    link.write(&mut line);
    let segment = folder.path().join("trail-00000001.journal");
    fs::write(&segment, line).unwrap();
    let checked = check::check_chain(&[segment], &[], true).unwrap().unwrap();
    let reason = "the first line of a segment names its trail, and this one does not";
    assert_eq!(checked.broken.unwrap().reason, reason);
    let refused = Journal::open_trail(folder.path(), context(), &TrailOptions::default()).map(drop).unwrap_err();
    let said = "its trail has no id, so nothing can be added to it; name another folder";
    assert_eq!(refused.to_string(), format!("`{}`: {said}", folder.path().display()));
}

#[test]
fn the_first_line_that_was_altered_is_named() {
    let folder = TempDir::new().unwrap();
    let (first, _) = trail(folder.path(), &[&["{1}", "{2}", "{3}"], &["{4}"]]);
    trail(folder.path(), &[&["{5}", "{6}"]]);
    let segments = segments(folder.path());
    let whole = fs::read_to_string(&first[0]).unwrap();
    // 1: the chain's start; 2 to 4: entries; 5: chain; 6: entry; 7: chain
    let check = |change: &dyn Fn(&mut Vec<String>)| {
        let mut lines: Vec<String> = whole.split_inclusive('\n').map(str::to_owned).collect();
        change(&mut lines);
        fs::write(&first[0], lines.concat()).unwrap();
        let broken = check::check_chain(&segments, &[], true).unwrap().unwrap().broken.unwrap();
        (broken.segment == first[0], broken.line, broken.reason)
    };
    let message = |line, reason: &str| (true, line, reason.to_owned());
    assert_eq!(check(&|lines| lines[2] = "{X}\n".into()), message(3, "this line was altered"));
    let early = "this line is too early: a line before it was removed or moved";
    assert_eq!(check(&|lines| drop(lines.remove(1))), message(2, early));
    assert_eq!(check(&|lines| drop(lines.remove(3))), message(4, "1 of the lines before this one was removed"));
    assert_eq!(check(&|lines| lines.swap(1, 2)), message(2, early));
    assert_eq!(check(&|lines| lines.insert(2, "{X}\n".into())), message(3, "this line was added"));
    assert_eq!(check(&|lines| lines.insert(2, "{1}\n".into())), message(3, "this line is repeated, or too late"));
    let altered = "this line of the chain was altered";
    assert_eq!(check(&|lines| lines[4] = lines[4].replace("\"seq\":1", "\"seq\":2")), message(5, altered));
    let gone = "expected batch 1 of the chain, found batch 2: lines before it were removed or moved";
    assert_eq!(check(&|lines| drop(lines.drain(1..5))), message(3, gone));
    // A batch cut off at a segment's end is missed by the next segment.
    let (in_first, line, _) = check(&|lines| lines.truncate(5));
    assert_eq!((in_first, line), (false, 1));
}

#[cfg(target_os = "linux")]
#[test]
fn a_batch_that_cannot_be_written_is_reported_and_the_next_one_can_be() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.journal");
    let (mut journal, _) = open(&path);
    queue(&mut journal, "{1}\n");
    journal.write().unwrap();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let own = std::mem::replace(&mut journal.file, JournalFile::new(Path::new("/dev/full"), full, 0));
    queue(&mut journal, "{2}\n");
    assert!(journal.write().is_err());
    journal.file = own;
    queue(&mut journal, "{3}\n");
    journal.write().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "{1}\n{3}\n");
}

#[test]
fn a_journal_that_was_moved_away_is_made_anew_with_all_that_it_holds_after_a_few_writes() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.journal");
    let (mut journal, _) = open(&path);
    queue(&mut journal, "{1}\n");
    journal.write().unwrap();
    fs::rename(&path, folder.path().join("elsewhere")).unwrap();
    let mut expected = "{1}\n".to_owned();
    while !path.exists() {
        assert!(expected.len() < 100, "nobody looked");
        queue(&mut journal, "{2}\n");
        expected.push_str("{2}\n");
        journal.write().unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
    assert_eq!(journal.alarms().len(), 1);
}

#[test]
fn a_trail_shows_that_the_clock_of_its_machine_went_back() {
    let folder = TempDir::new().unwrap();
    let line = |started: &str| format!("{{\"startedDateTime\":\"{started}\",\"time\":60000,\"request\":{{}}}}");
    let lines = ["2026-03-10T00:00:00.000Z", "2026-03-01T00:00:00.000Z", "2026-03-01T00:05:00.000Z"].map(line);
    let (segments, _) = trail(folder.path(), &[&[&lines[0], &lines[1]], &[&lines[2]]]);
    let checked = check::check_chain(&segments, &[], true).unwrap().unwrap();
    let back = checked.clock.back.unwrap();
    assert_eq!((back.times, back.to.to_string()), (1, "2026-03-01T00:01:00Z".to_owned()));
}

/// A file that another process writes: what is there ends within a line, and a moment later goes on.
struct Grows(VecDeque<Vec<u8>>);

impl io::Read for Grows {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = io::Read::read(&mut self.fill_buf()?, to)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Grows {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        // An end that was seen is the end no longer.
        let is_end = self.0.front().is_some_and(Vec::is_empty);
        let ended = if is_end { self.0.pop_front() } else { None };
        Ok(if ended.is_some() { &[] } else { self.0.front().map_or(&[][..], Vec::as_slice) })
    }

    fn consume(&mut self, count: usize) {
        if let Some(front) = self.0.front_mut() {
            front.drain(..count);
            if count > 0 && front.is_empty() && self.0.len() > 1 {
                self.0.pop_front();
            }
        }
    }
}

#[test]
fn a_segment_that_grows_while_it_is_checked_is_read_to_one_end() {
    let mut head = ChainHead::default();
    let mut text = Vec::new();
    head.begin(&mut text);
    for line in ["{\"a\":1}\n", "{\"a\":2}\n"] {
        text.extend_from_slice(line.as_bytes());
        head.seal(line.as_bytes(), false, &mut text);
    }
    let within = text.len() - 30;
    let parts = || VecDeque::from([text[..within].to_vec(), Vec::new(), Vec::new(), text[within..].to_vec()]);
    let segment = PathBuf::from("trail-00000001.journal");
    let checked = check::check(&[segment], &[], true, |_| Ok(Grows(parts()))).unwrap().unwrap();
    assert!(checked.broken.is_none(), "{:?}", checked.broken);
    assert_eq!(checked.entries, 1);
}
