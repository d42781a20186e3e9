//! One layout of a recording into the other.

use super::*;
use crate::support::{
    golden::{assert_line, assert_transcripts},
    har::unhashed,
};

#[test]
fn bodies_of_every_kind_survive_both_layouts() {
    let workspace = Workspace::new();
    let mut binary = get("/bin", 200, "", 1);
    binary.response.as_mut().unwrap().headers = headers(&[("content-type", "image/png")]);
    binary.response.as_mut().unwrap().body = Body::whole(vec![0, 255, 254]);
    let mut form = post("/form", "a=1&b=%7B%7D", 200, "plain text", 2);
    form.request.headers = headers(&[("content-type", "application/x-www-form-urlencoded")]);
    form.response.as_mut().unwrap().headers = headers(&[("content-type", "text/plain")]);
    let odd = [
        "{\"a\":1,\"a\":2}",
        "{\"n\":1e400,\"m\":-0.0}",
        "{\"s\":\"\\ud83d\\ude00 \\/\"}",
        " {\"a\": 1}\n",
        "\u{feff}{}",
        "nonsense",
        "[[],{}]",
    ];
    let mut exchanges = vec![binary, form];
    exchanges.extend(odd.iter().enumerate().map(|(index, body)| {
        let mut exchange = get(&format!("/odd/{index}"), 200, body, 3);
        // Of a type that calls for no parsing: what claims to be JSON and is not would be withheld.
        exchange.response.as_mut().unwrap().headers = headers(&[("content-type", "text/plain")]);
        exchange
    }));
    let journal = workspace.journal("x.journal", &exchanges);
    let bodies = |path: &Path| -> Vec<_> {
        let body = |entry: recording::Entry| {
            (entry.exchange.request.body.content, entry.exchange.response.unwrap().body.content)
        };
        recording::open(path).unwrap().map(|entry| body(entry.unwrap())).collect()
    };
    workspace.fold(&[&journal], "x");
    workspace.fold(&[&journal], "x.har");
    assert_eq!(bodies(&workspace.path("x")), bodies(&workspace.path("x.har")));
    let recorded: Vec<_> = bodies(&workspace.path("x")).into_iter().map(|(_, response)| response).collect();
    assert_eq!(recorded[0], vec![0, 255, 254]);
    assert_eq!(recorded[1], "plain text".as_bytes());
    assert!(recorded[2..].iter().zip(odd).all(|(found, body)| found == body.as_bytes()));
    let names: Vec<_> = files_by_name(&workspace.path("x")).iter().map(|name| unhashed(name)).collect();
    assert!(names.contains(&"getThing-#-response.bin".to_owned()), "{names:?}");
    assert!(names.contains(&"testAction-#-request.txt".to_owned()), "{names:?}");
}

fn files_by_name(path: &Path) -> Vec<String> {
    fs::read_dir(path).unwrap().map(|item| item.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn packing_and_unpacking_lose_nothing_either_way() {
    let workspace = Workspace::new();
    let exchanges = [
        post("/b", r#"{"n":1.0}"#, 200, r#"{"id":"x"}"#, 7),
        get("/a", 200, r#"{"id":"x"}"#, 3),
        get("/a", 429, "{ }", 4),
        get("/c", 200, "not json", 5),
    ];
    let journal = workspace.journal("x.journal", &exchanges);
    workspace.fold_with(&[&journal], "one", &FoldOptions { keep: &[Keep::All], ..workspace.options() });
    workspace.fold_with(&[&journal], "one.har", &FoldOptions { keep: &[Keep::All], ..workspace.options() });
    let path = |name: &str| workspace.path(name).to_str().unwrap().to_owned();
    let ran = run(["pack", &path("one"), "--out", &path("packed.har")]);
    assert_eq!((ran.status, &*ran.stdout), (0, ""), "{}", ran.stderr);
    assert_eq!(ran.stderr, format!("4 exchanges in {}\n", path("packed.har")));
    assert_eq!(files(&workspace.path("packed.har")), files(&workspace.path("one.har")));
    let into = workspace.path("elsewhere/one");
    let ran = run(["unpack", &path("one.har"), "--out", into.to_str().unwrap()]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(files(&into), files(&workspace.path("one")));
}

#[test]
fn a_journal_packs_and_a_path_packs_with_its_journal() {
    let workspace = Workspace::new();
    let path = |name: &str| workspace.path(name).to_str().unwrap().to_owned();
    workspace.journal("left.journal", &[get("/a", 200, "1", 1), get("/a", 429, "", 2)]);
    for from in ["left.journal", "left", "left/"] {
        let ran = run(["pack", &path(from), "--out", &path("a.har"), "--overwrite"]);
        assert_eq!(ran.status, 0, "{from}: {}", ran.stderr);
        let said = "1 exchange in FOLDER/a.har, 1 transient answer left out (unproven: it was never replayed, \
                    verified and scanned at the end of its recording)";
        assert_line(&ran.stderr, said);
        assert_eq!(lines(&workspace.path("a.har")), ["/a 200"]);
    }
    assert!(fs::read_to_string(workspace.path("a.har")).unwrap().contains(r#""unproven": true"#));
    let old = workspace.journal("old", &[get("/b", 200, "1", 1)]);
    workspace.fold(&[&old], "left");
    let ran = run(["pack", &path("left"), "--out", &path("both.har")]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(lines(&workspace.path("both.har")), ["/a 200", "/b 200"]);
}

#[test]
fn a_torn_last_line_of_a_journal_is_left_out_with_a_warning_of_every_command_that_reads_it() {
    use std::io::Write as _;
    let workspace = Workspace::new();
    let path = |name: &str| workspace.path(name).to_str().unwrap().to_owned();
    let journal = workspace.journal("left.journal", &[get("/a", 200, "1", 1)]);
    let whole = ["verify", "audit"].map(|command| run([command, &path("left.journal")]));
    fs::OpenOptions::new().append(true).open(&journal).unwrap().write_all(b"{\"startedDateTime\":\"20").unwrap();
    let said = format!("left out a torn last line of `{}` (22 bytes): contrail was killed", path("left.journal"));
    for (command, whole) in ["verify", "audit"].into_iter().zip(whole) {
        let ran = run([command, &path("left.journal")]);
        assert_eq!((ran.status, ran.stdout), (whole.status, whole.stdout));
        assert_eq!(ran.stderr.matches(&said).count(), 1, "{command}: {}", ran.stderr);
        assert_eq!(whole.stderr, "");
    }
    for from in ["left.journal", "left"] {
        let ran = run(["pack", &path(from), "--out", &path("a.har"), "--overwrite"]);
        assert_eq!((ran.status, ran.stderr.matches(&said).count()), (0, 1), "{}", ran.stderr);
        assert_eq!(lines(&workspace.path("a.har")), ["/a 200"]);
    }
}

#[test]
fn a_recording_that_cannot_be_packed_is_refused_in_one_line_with_status_2() {
    let workspace = Workspace::new();
    fs::write(workspace.path("other.har"), r#"{"log":{"creator":{"name":"x"},"entries":[]}}"#).unwrap();
    fs::write(workspace.path("taken.har"), "something").unwrap();
    let journal = workspace.journal("x.journal", &[get("/a", 200, "1", 1)]);
    workspace.fold(&[&journal], "x.har");
    assert_transcripts(
        "folding/a_recording_that_cannot_be_packed_is_refused_in_one_line_with_status_2",
        workspace.folder.path(),
        &[
            "pack none --out new.har",
            "pack x.har --out folder",
            "unpack x.har --out new.har",
            "pack other.har --out new.har",
            "pack x.har --out taken.har",
            "pack taken.har --out new.har",
        ],
    );
    assert!(!workspace.path("new.har").exists());
}
