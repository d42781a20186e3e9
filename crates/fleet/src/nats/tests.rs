//! From the segments of a trail to messages, and back to the same bytes.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::Path,
};

use contrail_recording::{ChainHead, segment_name};

use super::{
    place::Place,
    rebuild::Rebuild,
    tail::{Message, Position, Tail},
};

const TRAIL: &str = "00112233445566778899aabbccddeeff";

/// A trail that a test writes as the journal does: a batch at a time, each with its line of the chain.
struct Written {
    folder: tempfile::TempDir,
    head: ChainHead,
    segment: u64,
}

impl Written {
    fn new() -> Self {
        let head = ChainHead { trail: TRAIL.to_owned(), ..ChainHead::default() };
        let mut written = Self { folder: tempfile::tempdir().unwrap(), head, segment: 0 };
        written.next_segment();
        written
    }

    fn next_segment(&mut self) {
        self.segment += 1;
        let mut line = Vec::new();
        self.head.begin(&mut line);
        self.append(&line);
    }

    fn batch(&mut self, entries: &[&str]) {
        let mut text: Vec<u8> = entries.iter().flat_map(|entry| [entry.as_bytes(), b"\n"].concat()).collect();
        let entries = text.clone();
        self.head.seal(&entries, false, &mut text);
        self.append(&text);
    }

    fn append(&self, text: &[u8]) {
        let path = self.folder.path().join(segment_name(self.segment));
        OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(text).unwrap();
    }

    fn tail(&self, max_payload: usize) -> Tail {
        let mut tail = Tail::new(self.folder.path());
        tail.go_to(Position::default(), max_payload);
        tail
    }
}

fn rest(tail: &mut Tail) -> Vec<Message> {
    std::iter::from_fn(|| tail.next().unwrap()).collect()
}

/// What a message is for a reader.
fn bytes(message: &Message) -> (Place, Vec<u8>) {
    let mut bytes = message.payload.to_vec();
    if let Some(chain) = &message.chain {
        bytes.extend_from_slice(chain);
        bytes.push(b'\n');
    }
    (message.place.clone(), bytes)
}

fn rebuilt<'a>(messages: impl IntoIterator<Item = &'a Message>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut rebuild = Rebuild::new(folder.path());
    for message in messages {
        let (place, bytes) = bytes(message);
        assert_eq!(place.length, bytes.len() as u64);
        rebuild.add(place, &bytes).unwrap();
    }
    rebuild.finish().unwrap();
    folder
}

fn segment(folder: &Path, number: u64) -> String {
    fs::read_to_string(folder.join(segment_name(number))).unwrap()
}

fn is_same(written: &Written, rebuilt: &Path) -> bool {
    (1..=written.segment).all(|number| segment(written.folder.path(), number) == segment(&rebuilt.join(TRAIL), number))
}

#[test]
fn a_message_is_an_entry_and_the_last_of_a_batch_carries_the_line_of_the_chain() {
    let mut written = Written::new();
    written.batch(&["{\"a\":1}", "{\"b\":2}"]);
    written.next_segment();
    written.batch(&["{\"c\":3}"]);
    let messages = rest(&mut written.tail(1 << 20));
    let payloads: Vec<_> = messages.iter().map(|message| &message.payload[..]).collect();
    assert!(payloads[0].starts_with(b"{\"_chain\"") && payloads[3].starts_with(b"{\"_chain\""));
    assert_eq!([payloads[1], payloads[2], payloads[4]], [&b"{\"a\":1}\n"[..], b"{\"b\":2}\n", b"{\"c\":3}\n"]);
    let chained: Vec<_> = messages.iter().map(|message| message.chain.is_some()).collect();
    assert_eq!(chained, [false, false, true, false, true]);
    assert!(is_same(&written, rebuilt(&messages).path()));
}

#[test]
fn what_no_line_of_the_chain_covers_is_no_message_yet() {
    let mut written = Written::new();
    let mut tail = written.tail(1 << 20);
    assert_eq!(rest(&mut tail).len(), 1);
    written.append(b"{\"half\":");
    assert_eq!(rest(&mut tail), []);
    written.append(b"1}\n{\"other\":2}\n");
    assert_eq!(rest(&mut tail), []);
    let mut line = Vec::new();
    written.head.seal(b"{\"half\":1}\n{\"other\":2}\n", false, &mut line);
    let (begin, end) = line.split_at(20);
    written.append(begin);
    assert_eq!(rest(&mut tail), []);
    written.append(end);
    assert_eq!(rest(&mut tail).len(), 2);
    // A later batch, and a segment after it, are found without opening anything again.
    written.batch(&["{\"c\":3}"]);
    written.next_segment();
    written.batch(&["{\"d\":4}"]);
    assert_eq!(rest(&mut tail).len(), 3);
}

#[test]
fn an_entry_that_is_too_long_for_a_message_is_sent_in_parts() {
    let mut written = Written::new();
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(5000));
    written.batch(&["{\"b\":1}", &long]);
    for max_payload in [300, 1000, 5009, 6000] {
        let messages = rest(&mut written.tail(max_payload));
        assert!(messages.iter().all(|message| bytes(message).1.len() <= max_payload), "{max_payload}");
        assert!(is_same(&written, rebuilt(&messages).path()), "{max_payload}");
    }
}

#[test]
fn a_tail_goes_on_where_the_broker_has_all_before_and_behind_segments_that_are_gone() {
    let mut written = Written::new();
    written.batch(&["{\"a\":1}"]);
    written.next_segment();
    written.batch(&["{\"b\":2}", "{\"c\":3}"]);
    let all = rest(&mut written.tail(1 << 20));
    for (sent, message) in all.iter().enumerate() {
        let mut tail = written.tail(1 << 20);
        let (Place { segment, .. }, offset) = (message.place.clone(), message.place.end());
        tail.go_to(Position { segment, offset }, 1 << 20);
        assert_eq!(rest(&mut tail), all[sent + 1..]);
    }
    fs::remove_file(written.folder.path().join(segment_name(1))).unwrap();
    assert_eq!(rest(&mut written.tail(1 << 20)), all[2..]);
}

#[test]
fn a_segment_that_was_removed_and_made_again_is_read_on() {
    let mut written = Written::new();
    written.batch(&["{\"a\":1}"]);
    let mut tail = written.tail(1 << 20);
    assert_eq!(rest(&mut tail).len(), 2);
    let path = written.folder.path().join(segment_name(1));
    let text = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, text).unwrap();
    written.batch(&["{\"b\":2}"]);
    let more = rest(&mut tail);
    assert_eq!(more.iter().map(|message| &message.payload[..]).collect::<Vec<_>>(), [b"{\"b\":2}\n"]);
}

#[test]
fn messages_in_any_order_and_any_number_of_times_give_the_same_bytes() {
    let mut written = Written::new();
    for batch in 0..4 {
        written.batch(&[&format!("{{\"a\":{batch}}}"), &format!("{{\"b\":\"{}\"}}", "y".repeat(400))]);
        written.next_segment();
    }
    let whole = rest(&mut written.tail(1 << 20));
    // Another limit of the broker's cuts the same bytes otherwise.
    let cut = rest(&mut written.tail(290));
    let reversed = rebuilt(whole.iter().rev());
    assert!(is_same(&written, reversed.path()));
    let twice = rebuilt(whole.iter().chain(&cut).chain(&whole));
    assert!(is_same(&written, twice.path()));
    let late = rebuilt(whole[1..].iter().chain(cut.iter().rev()));
    assert!(is_same(&written, late.path()));
}

#[test]
fn bytes_that_a_stream_lost_are_missing_and_nothing_stands_in_for_them() {
    let mut written = Written::new();
    written.batch(&["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"]);
    let all = rest(&mut written.tail(1 << 20));
    let folder = rebuilt(all.iter().filter(|message| !message.payload.starts_with(b"{\"b\"")));
    let expected = segment(written.folder.path(), 1).replace("{\"b\":2}\n", "");
    assert_eq!(segment(&folder.path().join(TRAIL), 1), expected);
}
