//! What reads foreign bytes never panics and keeps its promises: the fuzz targets, over their seeds and spoiled copies.
//!
//! The same code runs under cargo-fuzz (`fuzz/`), for as long as one likes.

#[path = "../../fuzz/targets.rs"]
mod targets;

use std::{panic::AssertUnwindSafe, path::Path};

/// A fixed sequence of numbers, so that a failure comes again.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        usize::try_from(self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33).unwrap() % sides
    }
}

/// The words of the dictionary.
fn words() -> Vec<Vec<u8>> {
    let lines = include_str!("../../fuzz/words.dict").lines().filter(|line| line.starts_with('"'));
    lines
        .map(|line| {
            let inner = line.strip_prefix('"').and_then(|line| line.strip_suffix('"')).unwrap();
            let mut word = Vec::new();
            let mut rest = inner.as_bytes();
            while let [first, tail @ ..] = rest {
                rest = tail;
                let (byte, tail) = match (first, tail) {
                    (b'\\', [b'x', high, low, tail @ ..]) => {
                        let digit = |digit: &u8| char::from(*digit).to_digit(16).unwrap();
                        (u8::try_from(digit(high) << 4 | digit(low)).unwrap(), tail)
                    }
                    (b'\\', [byte, tail @ ..]) => (*byte, tail),
                    _ => (*first, tail),
                };
                word.push(byte);
                rest = tail;
            }
            word
        })
        .collect()
}

fn spoil(bytes: &mut Vec<u8>, words: &[Vec<u8>], dice: &mut Dice) {
    for _ in 0..=dice.roll(4) {
        let at = dice.roll(bytes.len() + 1);
        let end = (at + dice.roll(24)).min(bytes.len());
        match dice.roll(7) {
            0 if at < bytes.len() => bytes[at] = u8::try_from(dice.roll(256)).unwrap(),
            1 if at < bytes.len() => bytes[at] ^= 1 << dice.roll(8),
            2 => drop(bytes.drain(at..end)),
            3 => {
                let part = bytes[at..end].to_vec();
                let to = dice.roll(bytes.len() + 1);
                bytes.splice(to..to, part);
            }
            4 => bytes.insert(at, br#"{}[]",:\/%&=+-0 "#[dice.roll(16)]),
            5 => bytes.truncate(at),
            _ => drop(bytes.splice(at..at, words[dice.roll(words.len())].iter().copied())),
        }
    }
}

/// How many times as many copies as usual, for whoever has the time: `CONTRAIL_FUZZ_ROUNDS=100 cargo test --test it fuzz::`.
fn rounds() -> usize {
    std::env::var("CONTRAIL_FUZZ_ROUNDS").map_or(1, |rounds| rounds.parse().expect("CONTRAIL_FUZZ_ROUNDS is a number"))
}

/// Runs every seed, and then spoiled copies of them.
fn holds(name: &str, target: fn(&[u8]), extra: &[&str], spoiled: usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut seeds = targets::seeds(&root.join("fuzz"), name);
    assert!(seeds.len() >= 2, "{name} has {} seeds", seeds.len());
    for file in extra {
        seeds.push(((*file).to_owned(), std::fs::read(root.join(file)).unwrap()));
    }
    let run = |from: &str, bytes: &[u8]| {
        let held = std::panic::catch_unwind(AssertUnwindSafe(|| target(bytes)));
        assert!(held.is_ok(), "`{name}` fails on {from}, which is now\n{}", bytes.escape_ascii());
    };
    for (from, bytes) in &seeds {
        run(from, bytes);
    }
    let words = words();
    let mut dice = Dice(0x5EED + name.len() as u64);
    for _ in 0..spoiled * rounds() {
        let (from, bytes) = &seeds[dice.roll(seeds.len())];
        let mut bytes = bytes.clone();
        spoil(&mut bytes, &words, &mut dice);
        run(from, &bytes);
    }
}

#[test]
fn the_json_parser_takes_what_serde_json_takes_and_reads_the_same() {
    holds("json", targets::json, &["fixtures/gaps.har"], 2000);
}

#[test]
fn a_har_file_whatever_is_in_it_is_read_or_refused_and_written_again_as_it_was_read() {
    holds("har", targets::har, &["tests/data/har/firefox.har", "tests/data/har/secrets.har"], 80);
}

#[test]
fn a_journal_whatever_is_in_it_is_recovered_or_refused() {
    holds("journal", targets::journal, &[], 300);
}

#[test]
fn a_contract_document_whatever_is_in_it_is_compiled_or_refused() {
    holds("contract", targets::contract, &[], 60);
}

#[test]
fn a_document_made_to_cost_takes_bounded_time_and_stack() {
    holds("hostile", targets::hostile, &[], 25);
}

#[test]
fn one_walk_accepts_a_body_only_where_there_is_nothing_to_report() {
    holds("body", targets::body, &[], 1500);
}

#[test]
fn a_path_and_query_whatever_is_in_it_is_judged_and_comes_back_from_a_journal() {
    holds("target", targets::target, &[], 800);
}

#[test]
fn a_form_whatever_is_in_it_is_judged_and_comes_back_from_a_journal() {
    holds("form", targets::form, &[], 800);
}

#[test]
fn a_known_secret_stands_in_nothing_that_comes_out_of_redaction() {
    holds("redaction", targets::redaction, &[], 150);
}

#[test]
fn a_token_whatever_is_in_it_is_decoded_the_same_with_and_without_the_cache() {
    holds("token", targets::token, &[], 600);
}

#[test]
fn a_coded_body_whatever_is_in_it_stays_within_the_bounds() {
    holds("coding", targets::coding, &[], 1000);
}

#[test]
fn a_request_to_a_replay_whatever_is_in_it_is_answered_or_missed() {
    holds("replay", targets::replay, &[], 600);
}
