//! Fixtures that two branches extend: what git merges by itself, and `contrail merge`.

use std::{fs, path::Path, process::Command};

use crate::support::{
    command::run_in,
    golden::assert_line,
    process::Running,
    wire::{Origin, call},
};

/// A repository with contrail as its merge driver.
struct Repository(tempfile::TempDir);

impl Repository {
    fn new() -> Self {
        let repository = Self(tempfile::tempdir().unwrap());
        repository.git(&["init", "-q", "-b", "main"]);
        let driver = format!("{} merge %O %A %B", env!("CARGO_BIN_EXE_contrail"));
        for (name, value) in [("user.name", "x"), ("user.email", "x@example.org"), ("merge.contrail.driver", &*driver)]
        {
            repository.git(&["config", name, value]);
        }
        repository
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// What git prints, and whether it succeeds.
    fn try_git(&self, arguments: &[&str]) -> (bool, String) {
        let output = Command::new("git").arg("-C").arg(self.path()).args(arguments).output().unwrap();
        (output.status.success(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    }

    fn git(&self, arguments: &[&str]) -> String {
        let (is_good, said) = self.try_git(arguments);
        assert!(is_good, "{arguments:?}: {said}");
        said
    }

    /// Records these requests, each with a password, which get these answers.
    fn record(&self, how: &[&str], requests: &[(&str, &str)]) {
        let origin = Origin::start();
        let upstream = format!("http://{}", origin.address);
        let out = if how.contains(&"--sessions") { "" } else { "--out=fx" };
        let base = ["record", "--listen", "127.0.0.1:0", "--upstream", &upstream, "--contract", "none", out];
        let all = base.iter().chain(how).filter(|word| !word.is_empty());
        let running = Running::start(self.path(), all);
        for (path, answer) in requests {
            origin.will_answer(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{answer}", answer.len()));
            let body = format!(r#"{{"path":"{path}","password":"S3cret-of{path}"}}"#);
            call(running.address, "POST", path, &[("Content-Type", "application/json")], body.as_bytes());
        }
        let ran = running.finish();
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }

    fn commit(&self, name: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", name]);
    }

    fn har(&self) -> String {
        fs::read_to_string(self.path().join("fx/fx.har")).unwrap()
    }

    /// Two branches of one recording, each with a commit that appends.
    fn branches(ours: &[(&str, &str)], theirs: &[(&str, &str)]) -> Self {
        let repository = Self::new();
        let [base, ours, theirs] =
            [(&[][..], &[("/b", "b"), ("/m", "m")][..]), (&["--append"], ours), (&["--append"], theirs)];
        repository.branch([base, ours, theirs].map(|(how, requests)| move |of: &Self| of.record(how, requests)));
        repository
    }

    /// A commit and two branches of it, each with what one of these does.
    fn branch(&self, [base, ours, theirs]: [impl Fn(&Self); 3]) {
        base(self);
        self.commit("base");
        self.git(&["checkout", "-q", "-b", "theirs"]);
        theirs(self);
        self.commit("theirs");
        self.git(&["checkout", "-q", "main"]);
        ours(self);
        self.commit("ours");
    }
}

#[test]
fn two_branches_that_each_record_another_request_merge_without_a_conflict_and_replay_both() {
    let repository = Repository::branches(&[("/a", "a"), ("/n", "n")], &[("/c", "c"), ("/z", "z")]);
    let changed = repository.git(&["diff", "--stat", "HEAD~", "--", "fx"]);
    // Entries that stay keep their files and the numbers of their labels.
    assert!(changed.contains("5 files changed") && changed.contains("fx.har"), "{changed}");
    repository.git(&["merge", "-q", "-m", "merged", "theirs"]);
    let merged = repository.har();
    let entries = merged.matches("\"startedDateTime\"").count();
    assert_eq!(entries, 6, "{merged}");
    let replay = Running::start(repository.path(), ["replay", "fx", "--contract", "none", "--listen", "127.0.0.1:0"]);
    for path in ["/a", "/b", "/c", "/m", "/n", "/z"] {
        let body = format!(r#"{{"path":"{path}","password":"S3cret-of{path}"}}"#);
        let answer = call(replay.address, "POST", path, &[("Content-Type", "application/json")], body.as_bytes());
        assert_eq!(String::from_utf8(answer.body).unwrap(), path[1..]);
    }
    assert_eq!(replay.finish().status, 0);
    // The merge is as a recording would be: one more changes nothing of it but its own.
    let files = || {
        let items = fs::read_dir(repository.path().join("fx")).unwrap().map(|item| item.unwrap().path());
        items.filter(|path| path.extension().is_some_and(|ending| ending == "json")).count()
    };
    let before = (files(), merged);
    repository.record(&["--append"], &[("/zz", "zz")]);
    assert_eq!(files(), before.0 + 1);
    let now = repository.har();
    let gone = before.1.lines().filter(|line| !line.contains("recorded") && !now.contains(line.trim_end_matches(',')));
    assert_eq!(gone.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn a_request_that_both_branches_recorded_differently_is_a_conflict_that_names_it() {
    let repository = Repository::branches(&[("/c", "ours")], &[("/c", "theirs")]);
    let (is_good, said) = repository.try_git(&["merge", "-q", "-m", "merged", "theirs"]);
    assert!(!is_good && said.contains("both changed POST https://tenant.example/c; keep one side"), "{said}");
    let har = repository.har();
    assert!(har.contains("<<<<<<< ours\n") && har.contains(">>>>>>> theirs\n"), "{har}");
    let repository = Repository::branches(&[("/c", "same")], &[("/c", "same")]);
    repository.git(&["merge", "-q", "-m", "merged", "theirs"]);
}

#[test]
fn two_fixtures_become_one_unless_they_answer_one_request_differently() {
    let repository = Repository::branches(&[("/a", "a")], &[("/c", "c")]);
    let folder = repository.path();
    fs::create_dir(folder.join("other")).unwrap();
    repository.git(&["--work-tree", "other", "checkout", "-q", "theirs", "--", "fx"]);
    let ran = run_in(folder, ["merge", "fx", "other/fx", "--contract", "none", "--out", "both"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_line(&ran.stderr, "4 exchanges in both/both.har");
    assert_eq!(run_in(folder, ["verify", "both", "--contract", "none"]).status, 0);
    let again = run_in(folder, ["merge", "fx", "other/fx", "--contract", "none", "--out", "both"]);
    assert_eq!((again.status, again.stdout.as_str()), (2, ""));
    repository.record(&["--overwrite"], &[("/c", "another")]);
    let ran = run_in(folder, ["merge", "fx", "other/fx", "--contract", "none", "--out", "third"]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("both recorded POST /c; record it again into one of them"), "{}", ran.stderr);
    assert!(!folder.join("third").exists());
}

#[test]
fn the_fixture_of_a_session_merges_as_any_other() {
    let repository = Repository::new();
    let append = ["--append", "--sessions", "fx"];
    let [base, ours, theirs] = [(&append[1..], "/~a/b"), (&append, "/~a/c"), (&append, "/~a/d")];
    repository.branch([base, ours, theirs].map(|(how, path)| move |of: &Repository| of.record(how, &[(path, "x")])));
    repository.git(&["merge", "-q", "-m", "merged", "theirs"]);
    let merged = fs::read_to_string(repository.path().join("fx/a/a.har")).unwrap();
    for path in ["/b", "/c", "/d"] {
        assert_eq!(merged.matches(&format!("tenant.example{path}\"")).count(), 1, "{path} in {merged}");
    }
    assert_eq!(run_in(repository.path(), ["verify", "fx/a", "--contract", "none"]).status, 0);
}

#[test]
fn a_fixture_of_several_upstreams_merges_and_each_answers_what_both_branches_recorded() {
    let repository = Repository::new();
    let names = ["billing", "crm"];
    let record = |how: &[&str], path: &str| {
        let origins = [Origin::start(), Origin::start()];
        let upstreams = names.iter().zip(&origins);
        let upstreams: Vec<_> =
            upstreams.map(|(name, origin)| format!("--upstream={name}=http://{}", origin.address)).collect();
        let base = ["record", "--listen", "127.0.0.1:0", "--contract", "none", "--out", "fx"];
        let all = base.iter().chain(how).copied().chain(upstreams.iter().map(String::as_str));
        let running = Running::start_several(repository.path(), all, 2);
        for (at, origin) in origins.iter().enumerate() {
            let body = format!("{}{path}", names[at]);
            origin.will_answer(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
            call(running.addresses[at], "GET", path, &[], b"");
        }
        assert_eq!(running.finish().status, 0);
    };
    let record = &record;
    let [base, ours, theirs] = [(&[][..], "/b"), (&["--append"], "/c"), (&["--append"], "/d")];
    repository.branch([base, ours, theirs].map(|(how, path)| move |_: &Repository| record(how, path)));
    repository.git(&["merge", "-q", "-m", "merged", "theirs"]);
    let replay = ["replay", "fx", "--contract", "none", "--deny", "unused", "--listen", "127.0.0.1:0"];
    let replay = Running::start_several(repository.path(), replay, 2);
    for (name, address) in names.iter().zip(&replay.addresses) {
        for path in ["/b", "/c", "/d"] {
            let answer = call(*address, "GET", path, &[], b"");
            assert_eq!(String::from_utf8(answer.body).unwrap(), format!("{name}{path}"));
        }
    }
    assert_eq!(replay.finish().status, 0);
}

#[test]
fn without_a_driver_git_merges_a_fixture_as_any_text() {
    let repository = Repository::new();
    repository.git(&["config", "--remove-section", "merge.contrail"]);
    let [base, ours, theirs] = [(&[][..], "/m"), (&["--append"], "/b"), (&["--append"], "/z")];
    let requests = |path| [(path, "x")];
    repository.branch([base, ours, theirs].map(|(how, path)| move |of: &Repository| of.record(how, &requests(path))));
    let (_, said) = repository.try_git(&["merge", "-q", "-m", "merged", "theirs"]);
    assert!(said.contains("Auto-merging fx/fx.har"), "{said}");
    assert!(!said.contains("contrail"), "{said}");
}
