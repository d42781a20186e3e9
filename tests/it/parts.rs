//! An audit in parts: `--partial` and `--merge` give what one audit of everything gives, byte for byte.

use std::{
    fs,
    path::{Path, PathBuf},
};

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{
    command::{Ran, run_in},
    har,
};

const POLICY: &str = "/api/v2/rate-limit-policies/rlp_1";
const GROUPS: &str = "/api/v2/connections/con_1/directory-provisioning/synchronized-groups";
const FORMATS: [&str; 8] = ["text", "json", "html", "markdown", "junit", "sarif", "github", "csv"];

/// Choices drawn from random bytes, so that a failing case shrinks.
struct Dice<'a>(std::slice::Iter<'a, u8>);

impl Dice<'_> {
    fn roll(&mut self, sides: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % sides
    }

    fn one_of<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.roll(choices.len())]
    }
}

/// An exchange as contrail records it, without its secrets. `None` has no instant.
fn recorded(client: &str, scopes: &[&str], path: &str, second: Option<usize>, status: u16, body: &str) -> Value {
    let mut entry = har::get(path, Some("Bearer !token-1!"), status, body);
    entry["_contrail"] = json!({"version": 1, "token": {"client": client, "scopes": scopes, "outcome": "valid"}});
    entry["startedDateTime"] = second.map_or(Value::Null, |second| {
        format!("2025-11-21T12:{:02}:{:02}.{:03}Z", second / 60, second % 60, second % 2 * 500).into()
    });
    entry
}

/// A 429 that asks for so many seconds.
fn limited(mut entry: Value, seconds: usize) -> Value {
    entry["response"]["status"] = 429.into();
    let wait = json!({"name": "Retry-After", "value": seconds.to_string()});
    entry["response"]["headers"].as_array_mut().unwrap().push(wait);
    entry
}

fn any_entry(dice: &mut Dice<'_>) -> Value {
    let client = dice.one_of(&["one", "two", "no token"]);
    let scopes: [&[&str]; 4] =
        [&["read:rate_limit_policies"], &[], &["read:users", "read:rate_limit_policies"], &["update:actions"]];
    let scopes = scopes[dice.roll(4)];
    let shrug = har::POLICY.replace("\"allow\"", "\"shrug\"");
    let (path, body) = match dice.roll(6) {
        0 => (format!("{GROUPS}?take={}", dice.roll(2) * 400 + 100), "{}".to_owned()),
        1 => (format!("/api/v2/users/{}", dice.roll(300)), "{}".to_owned()),
        2 => (POLICY.to_owned(), shrug),
        _ => (POLICY.to_owned(), har::POLICY.to_owned()),
    };
    let second = (dice.roll(12) > 0).then(|| dice.roll(40));
    let status = [200, 200, 200, 401, 403, 404][dice.roll(6)];
    let mut entry = recorded(client, scopes, &path, second, status, &body);
    if dice.roll(3) == 0 {
        entry = limited(entry, dice.roll(30));
    }
    if dice.roll(6) == 0 {
        entry["request"]["url"] = format!("https://other.example{path}").into();
    }
    entry
}

fn lines(entries: &[Value]) -> String {
    entries.iter().flat_map(|entry| [entry.to_string(), "\n".to_owned()]).collect()
}

/// Recordings of contrail's and of a browser, which leaves out `Authorization`.
fn any_files(folder: &Path, dice: &mut Dice<'_>) -> Vec<String> {
    let count = 2 + dice.roll(4);
    let file = |at: usize| {
        let mut entries: Vec<Value> = (0..dice.roll(14)).map(|_| any_entry(dice)).collect();
        let (name, text) = if dice.roll(5) == 0 {
            for entry in &mut entries {
                entry["request"]["headers"] = json!([]);
                entry.as_object_mut().unwrap().remove("_contrail");
            }
            (format!("{at}.har"), har::har(&entries))
        } else {
            (format!("{at}.journal"), lines(&entries))
        };
        fs::write(folder.join(&name), text).unwrap();
        name
    };
    (0..count).map(file).collect()
}

/// The audit in every format, and its exit status; standard output holds the text.
fn audited<S: AsRef<str>>(folder: &Path, arguments: &[S]) -> (i32, String, Vec<String>) {
    let mut all = vec!["audit".to_owned()];
    all.extend(FORMATS[1..].iter().map(|format| format!("--report={format}=report.{format}")));
    all.extend(arguments.iter().map(|argument| argument.as_ref().to_owned()));
    let Ran { status, stdout, stderr } = run_in(folder, all);
    assert!(!stdout.is_empty(), "{stderr}");
    let read = |format: &&str| fs::read_to_string(folder.join(format!("report.{format}"))).unwrap();
    (status, stdout, FORMATS[1..].iter().map(read).collect())
}

fn write_part(folder: &Path, out: &str, options: &[&str], files: &[String]) -> Ran {
    let files = files.iter().map(String::as_str);
    run_in(folder, ["audit", "--partial", out].into_iter().chain(options.iter().copied()).chain(files))
}

/// The parts of these files, divided so.
fn parts(folder: &Path, options: &[&str], groups: &[&[String]]) -> Vec<String> {
    let part = |(at, files): (usize, &&[String])| {
        let out = format!("part-{at}.json");
        let ran = write_part(folder, &out, options, files);
        assert_eq!((ran.status, ran.stdout), (0, String::new()), "{}", ran.stderr);
        out
    };
    groups.iter().enumerate().map(part).collect()
}

/// A part of these parts.
fn part_of_parts(folder: &Path, out: &str, options: &[&str], parts: &[String]) -> String {
    let ran = write_part(folder, out, &[options, &["--merge"]].concat(), parts);
    assert_eq!((ran.status, ran.stdout), (0, String::new()), "{}", ran.stderr);
    out.to_owned()
}

/// Puts neighbours together until so many parts are left.
fn reduced(folder: &Path, options: &[&str], mut parts: Vec<String>, left: usize, dice: &mut Dice<'_>) -> Vec<String> {
    for round in 0.. {
        if parts.len() <= left {
            break;
        }
        let at = dice.roll(parts.len() - 1);
        let inner: Vec<String> = parts.drain(at..(at + 2 + dice.roll(2)).min(parts.len())).collect();
        parts.insert(at, part_of_parts(folder, &format!("inner-{round}.json"), options, &inner));
    }
    parts
}

/// Compares the audit of the parts, and of a part of all but the first, with that of the whole; gives the text.
fn assert_same(folder: &Path, options: &[&str], groups: &[&[String]]) -> String {
    let own = |options: &[&str]| options.iter().map(|option| (*option).to_owned()).collect::<Vec<_>>();
    let whole = audited(folder, &[own(options), groups.concat()].concat());
    let merged = |parts: Vec<String>| audited(folder, &[own(options), vec!["--merge".to_owned()], parts].concat());
    let leaves = parts(folder, options, groups);
    assert_eq!(merged(leaves.clone()), whole);
    if let [first, rest @ ..] = &leaves[..]
        && rest.len() > 1
    {
        let rest = part_of_parts(folder, "rest.json", options, rest);
        assert_eq!(merged(vec![first.clone(), rest]), whole);
    }
    whole.1
}

const SETTINGS: &str = r#"
[[suppress]]
rule = "response.body"
reason = "the tenant's next release corrects it"
until = 9999-12-31

[[suppress]]
rule = "auth.unenforced"
reason = "it was accepted for a while"
until = 2020-01-01
"#;

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parts_of_any_recordings_divided_anywhere_give_the_bytes_and_the_status_of_the_whole(
        bytes in prop::collection::vec(any::<u8>(), 400),
    ) {
        let mut dice = Dice(bytes.iter());
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("contrail.toml"), SETTINGS).unwrap();
        let cuts = [dice.roll(7), dice.roll(7)];
        let options: &[&str] = match dice.roll(6) {
            0 => &["--since", "2025-11-21T12:00:10Z"],
            1 => &["--until", "2025-11-21T12:00:20Z", "--operation", "getRateLimitPolicy"],
            2 => &["--client", "one"],
            _ => &[],
        };
        let files = any_files(folder.path(), &mut dice);
        let [first, second] = cuts.map(|cut| cut.min(files.len()));
        let (first, second) = (first.min(second), first.max(second));
        let groups = [&files[..first], &files[first..second], &files[second..]];
        let groups: Vec<&[String]> = groups.into_iter().filter(|group| !group.is_empty()).collect();
        assert_same(folder.path(), options, &groups);
    }

    #[test]
    fn parts_of_parts_in_any_tree_give_the_bytes_and_the_status_of_all_parts_in_one_merge(
        bytes in prop::collection::vec(any::<u8>(), 400),
        tree in prop::collection::vec(any::<u8>(), 12),
    ) {
        let (mut dice, mut tree) = (Dice(bytes.iter()), Dice(tree.iter()));
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("contrail.toml"), SETTINGS).unwrap();
        let options: &[&str] = [&[][..], &["--client", "one"]][dice.roll(2)];
        let left = 1 + tree.roll(2);
        let files = any_files(folder.path(), &mut dice);
        let leaves = parts(folder.path(), options, &files.chunks(1).collect::<Vec<_>>());
        let merged = |parts: Vec<String>| {
            let options = options.iter().map(|option| (*option).to_owned());
            audited(folder.path(), &options.chain(["--merge".to_owned()]).chain(parts).collect::<Vec<_>>())
        };
        let flat = merged(leaves.clone());
        prop_assert_eq!(merged(reduced(folder.path(), options, leaves, left, &mut tree)), flat);
    }
}

fn names(files: &[&str]) -> Vec<String> {
    files.iter().map(|file| (*file).to_owned()).collect()
}

fn journal(folder: &Path, name: &str, entries: &[Value]) {
    fs::write(folder.join(name), lines(entries)).unwrap();
}

fn call(second: usize) -> Value {
    recorded("one", &["read:rate_limit_policies"], POLICY, Some(second), 200, har::POLICY)
}

#[test]
fn a_call_is_early_after_the_429_of_an_earlier_part_and_of_two_parts_before() {
    let folder = tempfile::tempdir().unwrap();
    let wait = limited(call(1), 1000);
    journal(folder.path(), "a.journal", &[wait]);
    journal(folder.path(), "b.journal", &[call(20), call(10)]);
    journal(folder.path(), "c.journal", &[call(400), call(2000)]);
    let [a, b, c] = ["a", "b", "c"].map(|name| names(&[&format!("{name}.journal")]));
    let text = assert_same(folder.path(), &[], &[&a, &b, &c]);
    assert!(text.contains("too early after a 429: 3 calls; first b.journal entry 1 "), "{text}");
}

#[test]
fn a_call_whose_token_the_tenant_refused_is_early_in_no_merge_of_parts() {
    let folder = tempfile::tempdir().unwrap();
    journal(folder.path(), "a.journal", &[limited(call(1), 1000)]);
    let mut refused = call(20);
    refused["response"]["status"] = 401.into();
    journal(folder.path(), "b.journal", &[refused]);
    let [a, b] = ["a", "b"].map(|name| names(&[&format!("{name}.journal")]));
    let text = assert_same(folder.path(), &[], &[&a, &b]);
    assert!(!text.contains("too early"), "{text}");
}

#[test]
fn beyond_the_calls_that_a_part_keeps_those_that_a_wait_may_reach_are_not_checked() {
    let folder = tempfile::tempdir().unwrap();
    journal(folder.path(), "a.journal", &[limited(call(1), 3000)]);
    let calls: Vec<Value> = (0..1003).map(|at| call(3 + at)).collect();
    journal(folder.path(), "b.journal", &calls);
    let (a, b) = (names(&["a.journal"]), names(&["b.journal"]));
    let merged = [vec!["--merge".to_owned()], parts(folder.path(), &[], &[&a, &b])].concat();
    let (_, text, reports) = audited(folder.path(), &merged);
    assert!(text.contains("too early after a 429: 1000 calls;"), "{text}");
    assert!(text.contains("too early after a 429: not checked for 3 exchanges\n"), "{text}");
    assert!(text.contains("\nnot checked across parts\n  some calls after a 429 of another part\n"), "{text}");
    let json: Value = serde_json::from_str(&reports[0]).unwrap();
    assert_eq!(json["uncheckedAcrossParts"], json!(["some calls after a 429 of another part"]));
    // A wait that is over before them leaves nothing open.
    journal(folder.path(), "a.journal", &[limited(call(1), 5)]);
    assert_same(folder.path(), &[], &[&a, &b]);
}

#[test]
fn secrets_that_a_part_recognised_are_in_no_part_and_the_merge_lists_what_they_leave_open() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), har::har(&[har::conforming()])).unwrap();
    journal(folder.path(), "b.journal", &[call(1)]);
    let (a, b) = (names(&["a.har"]), names(&["b.journal"]));
    let written = parts(folder.path(), &[], &[&a, &b]);
    let token = har::bearer();
    assert!(!fs::read_to_string(folder.path().join(&written[0])).unwrap().contains(token.rsplit('.').next().unwrap()));
    let merged = [vec!["--merge".to_owned()], written].concat();
    let (_, text, _) = audited(folder.path(), &merged);
    let listed = "\nnot checked across parts\n  whether a text of one part holds a secret of another (1 secret); each \
                  part numbers its labels\n";
    assert!(text.contains(listed), "{text}");
    // One part is the whole.
    assert_same(folder.path(), &[], &[&a]);
}

#[test]
fn findings_of_more_places_than_are_listed_are_named_as_not_checked() {
    let folder = tempfile::tempdir().unwrap();
    let calls = |from: usize| -> Vec<Value> {
        let place = |at: usize| recorded("one", &[], &format!("{POLICY}?q{at}=1"), Some(at), 200, har::POLICY);
        (from..from + 2600).map(place).collect()
    };
    journal(folder.path(), "a.journal", &calls(0));
    journal(folder.path(), "b.journal", &calls(2600));
    let (a, b) = (names(&["a.journal"]), names(&["b.journal"]));
    let merged = [vec!["--merge".to_owned()], parts(folder.path(), &[], &[&a, &b])].concat();
    let (_, text, _) = audited(folder.path(), &merged);
    assert!(text.contains("\nnot checked across parts\n  which findings are at further places\n"), "{text}");
}

/// The segments of a trail of so many, with an exchange in each.
fn trail(folder: &Path, name: &str, segments: usize) -> Vec<String> {
    for _ in 0..segments {
        let ran = run_in(
            folder,
            ["watch", "--upstream", "sandbox", "--listen", "127.0.0.1:0", "--trail", name, "--", "sh", "-c", CALL],
        );
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }
    let mut found: Vec<PathBuf> = fs::read_dir(folder.join(name)).unwrap().map(|item| item.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "journal"));
    found.sort();
    assert_eq!(found.len(), segments);
    found.iter().map(|path| path.strip_prefix(folder).unwrap().display().to_string()).collect()
}

const CALL: &str = "curl -s \"$CONTRAIL_URL/api/v2/users\"";

#[test]
fn the_segments_of_a_trail_in_several_parts_are_one_chain_unaltered_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let files = trail(folder.path(), "trail", 3);
    let other = trail(folder.path(), "other", 1);
    journal(folder.path(), "x.journal", &[call(1)]);
    let (x, last) = (names(&["x.journal"]), [files[2].clone(), other[0].clone()]);
    let groups: [&[String]; 4] = [&x, &files[..1], &files[1..2], &last];
    let text = assert_same(folder.path(), &[], &groups);
    assert!(text.contains(&format!("the chain of `{}` is intact: 3 entries", files[2])), "{text}");

    let middle = folder.path().join(&files[1]);
    let good = fs::read_to_string(&middle).unwrap();
    let (sealed, last_link) = good.trim_end().rsplit_once('\n').unwrap();
    for altered in [
        good.replace("users", "other"),
        format!("{good}{}\n", call(1)),
        format!("{good}torn"),
        format!("{sealed}\n{}\n", last_link.replace("\"prev\":\"", "\"prev\":\"0")),
    ] {
        fs::write(&middle, altered).unwrap();
        let text = assert_same(folder.path(), &[], &groups);
        assert!(text.contains("ALTERED: the trail was altered at `trail/trail-00000002.journal`"), "{text}");
    }
}

#[test]
fn kept_heads_prove_the_trails_of_parts_as_they_prove_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str| {
        let arguments = ["watch", "--upstream", "sandbox", "--listen", "127.0.0.1:0", "--trail", name, "--head-to"];
        let heads = format!("{name}.heads");
        let ran = run_in(folder.path(), arguments.into_iter().chain([&*heads, "--", "sh", "-c", CALL]));
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    };
    ["a", "a", "b", "c"].into_iter().for_each(write);
    let segments = ["a/trail-00000001.journal", "a/trail-00000002.journal"].map(|name| names(&[name]));
    let [a, b, c] = ["a", "b", "c"].map(|name| names(&[name]));
    let both = ["--head", "a.heads", "--head", "b.heads"];
    let text = assert_same(folder.path(), &both, &[&a, &b]);
    assert!(text.contains("through 3 kept heads") && text.contains("through 1 kept head"), "{text}");
    assert_same(folder.path(), &both, &[&segments[0], &segments[1], &b]);
    // The trail of the heads `b` is not there, and that without heads may stand in its place.
    let text = assert_same(folder.path(), &both, &[&a, &c]);
    assert!(
        text.contains("ALTERED: the trail was altered at `c/trail-00000001.journal`, line 1: no kept head"),
        "{text}"
    );
    let other = ["--head", "a.heads"];
    let written = parts(folder.path(), &other, &[&a, &b]);
    let message = refused(folder.path(), ["--merge", "--head", "b.heads", &written[0], &written[1]]);
    assert!(message.contains("it was made with `--head (SHA-256 "), "{message}");
    // One that was cut off.
    let segment = folder.path().join(&segments[1][0]);
    let text = fs::read_to_string(&segment).unwrap();
    fs::write(&segment, text.split_inclusive('\n').take(1).collect::<String>()).unwrap();
    let text = assert_same(folder.path(), &both, &[&b, &a]);
    assert!(text.contains("the end was cut off"), "{text}");
}

#[test]
fn segments_that_nothing_shows_to_follow_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let files = trail(folder.path(), "trail", 3);
    let groups: Vec<&[String]> = files.chunks(1).collect();
    let all = parts(folder.path(), &[], &groups);
    for wrong in [[&all[1], &all[0]], [&all[0], &all[2]]] {
        let ran = run_in(folder.path(), ["audit", "--merge", wrong[0], wrong[1]]);
        let part = wrong[1];
        assert!(
            ran.stderr.contains(&format!("the part `{part}`: an earlier part has segments of the trail")),
            "{}",
            ran.stderr
        );
        assert_eq!((ran.status, ran.stdout), (2, String::new()));
    }
}

/// The message of a merge that is refused.
fn refused<'a>(folder: &Path, arguments: impl IntoIterator<Item = &'a str>) -> String {
    let ran = run_in(folder, ["audit"].into_iter().chain(arguments));
    assert_eq!((ran.status, ran.stdout), (2, String::new()), "{}", ran.stderr);
    ran.stderr
}

#[test]
fn a_part_that_is_torn_altered_foreign_or_named_twice_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    journal(folder.path(), "a.journal", &[call(1)]);
    let a = names(&["a.journal"]);
    parts(folder.path(), &[], &[&a]);
    let good = fs::read_to_string(at("part-0.json")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    for (text, why) in [
        (good[..good.len() - 9].to_owned(), "it is not as contrail wrote it (cut off or altered)"),
        (good.replace("\"count\":1", "\"count\":2"), "it is not as contrail wrote it (cut off or altered)"),
        (good[..9].to_owned(), "it is not a part of an audit; `contrail audit --partial OUT FILE…` writes one"),
        (call(1).to_string(), "it is not a part of an audit"),
        (String::new(), "it is not a part of an audit"),
        (good.replace("\"contrailPart\":1", "\"contrailPart\":7"), "a contrail with version 7 of the format wrote it"),
        (good.replace(&format!("\"{version}\""), "\"0.0.9\""), "contrail 0.0.9 wrote it, and this is contrail"),
    ] {
        fs::write(at("bad.json"), text).unwrap();
        let message = refused(folder.path(), ["--merge", "bad.json"]);
        assert!(message.starts_with("contrail: the part `bad.json`: ") && message.contains(why), "{message}");
    }
    let message = refused(folder.path(), ["--merge", "part-0.json", "part-0.json"]);
    assert!(message.contains("an earlier part has the recording `a.journal`, too; name each part once"), "{message}");
    let message = refused(folder.path(), ["--merge", "nosuch.json"]);
    assert!(message.contains("cannot read the part `nosuch.json`: No such file"), "{message}");
    fs::write(at("c.yaml"), "openapi: 3.1.0\ninfo: {title: C, version: '1'}\npaths: {}\n").unwrap();
    let message = refused(folder.path(), ["--merge", "--contract", "c.yaml", "part-0.json"]);
    assert!(message.contains("it was made with another contract ("), "{message}");
    let message = refused(folder.path(), ["--merge", "--client", "one", "part-0.json"]);
    assert!(message.contains("it was made without options, and this merge has some"), "{message}");
    parts(folder.path(), &["--clock-skew", "5"], &[&a]);
    let message = refused(folder.path(), ["--merge", "part-0.json"]);
    assert!(message.contains("it was made with `--clock-skew 5`, and this merge was not"), "{message}");
}

#[test]
fn options_that_do_not_go_with_parts_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    journal(folder.path(), "a.journal", &[call(1)]);
    fs::write(folder.path().join("heads"), "").unwrap();
    for (arguments, why) in [
        ("--partial p.json --merge a.journal", "the part `a.journal`: it is not a part of an audit"),
        ("--partial a.journal --merge a.journal", "--partial: a.journal belongs to the part `a.journal`"),
        ("--partial p.json --format json a.journal", "--format has no effect with --partial, which writes no report"),
        ("--partial p.json --report json=x a.journal", "--report has no effect with --partial"),
        ("--partial p.json --deny gaps a.journal", "--deny has no effect with --partial"),
        ("--partial p.json --head heads a.journal", "`heads` holds no head"),
        ("--partial a.journal a.journal", "--partial: a.journal belongs to the recording `a.journal`"),
        ("--partial nosuch/p.json a.journal", "--partial: cannot write to nosuch/p.json"),
        ("--partial p.json", "FILE"),
        ("--merge", "FILE"),
    ] {
        let message = refused(folder.path(), arguments.split(' '));
        assert!(message.contains(why), "{arguments}: {message}");
    }
    assert!(!folder.path().join("p.json").exists());
}

#[test]
fn the_policy_is_one_of_the_merge() {
    let folder = tempfile::tempdir().unwrap();
    journal(folder.path(), "a.journal", &[recorded("one", &[], "/api/v2/users", Some(1), 200, "{}")]);
    let a = names(&["a.journal"]);
    let written = parts(folder.path(), &[], &[&a]);
    let status = |options: &[&str]| {
        let arguments = ["audit", "--merge", &written[0]].into_iter().chain(options.iter().copied());
        run_in(folder.path(), arguments).status
    };
    assert_eq!((status(&[]), status(&["--deny", "gaps"])), (0, 1));
}

#[test]
fn parts_without_an_exchange_are_put_together_and_the_audit_of_nothing_fails_as_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    journal(folder.path(), "a.journal", &[]);
    fs::write(folder.path().join("b.har"), har::har(&[])).unwrap();
    let (a, b) = (names(&["a.journal"]), names(&["b.har"]));
    assert_same(folder.path(), &[], &[&a, &b]);
}
