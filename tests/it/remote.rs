//! Trails, recordings and telemetry beyond this machine: what holds in every build.

use std::fs;

use crate::support::command::run_in;
#[cfg(feature = "fleet")]
use crate::support::command::{Ran, contrail};

#[test]
fn a_trail_url_that_names_no_place_is_refused_with_what_was_expected() {
    let folder = tempfile::tempdir().unwrap();
    for (url, expected) in [
        ("ftp://host/x", "expected a path, or a URL such as s3://BUCKET/PREFIX"),
        ("s3:///prefix", "it names no bucket"),
        ("s3:/bucket", "a URL has two slashes here; write s3://BUCKET/PREFIX, or ./s3:… for a path of that name"),
        ("nats:host/S", "a URL has two slashes here; write nats://HOST/STREAM"),
        ("s3://b/p?versionId=1", "a query or a fragment does not belong in it"),
    ] {
        let ran = run_in(folder.path(), ["watch", "--upstream", "sandbox", "--trail", url, "--", "true"]);
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
}

#[test]
fn a_url_where_a_path_is_taken_makes_no_folder_and_is_refused_with_the_right_form() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = format!("{}/fixtures/gaps.har", env!("CARGO_MANIFEST_DIR"));
    let no_url = |option: &str, value: &str| {
        format!(
            "`--{option}` takes a path on this machine and no URL: `{value}`; write ./{value} for a path of that name"
        )
    };
    let watch = ["watch", "--upstream", "sandbox", "--trail", "t", "--head-to", "s3:x", "--", "true"];
    let slashes = "`s3:/b`: a URL has two slashes here; write s3://BUCKET/PREFIX, or ./s3:… for a path of that name";
    let dash = |option: &str| format!("`--{option}` does not take `-`; name a path, or ./- for one of that name");
    for (arguments, expected) in [
        (&["export", "--parquet", "s3://b/p", &fixture][..], no_url("parquet", "s3://b/p")),
        (&["learn", "--out", "gs:/x", &fixture], no_url("out", "gs:/x")),
        (&["record", "--upstream", "sandbox", "--out", "https://h/x", "--", "true"], no_url("out", "https://h/x")),
        (&["verify", "--report", "html=s3://b/x", &fixture], no_url("report", "s3://b/x")),
        (&["verify", "--contract", "s3://k:hunter2@b/x", &fixture], no_url("contract", "s3://***@b/x")),
        (&watch, no_url("head-to", "s3:x")),
        (&["verify", "s3:/b"], slashes.to_owned()),
        (&["export", "--parquet", "out", "s3:/b"], slashes.to_owned()),
        (&["replay", "https://h/x.har"], "`https://h/x.har`: expected a path, or a URL such as s3://".to_owned()),
        (&["redact", "--out", "-", &fixture], dash("out")),
        (&["export", "--parquet", "-", &fixture], dash("parquet")),
    ] {
        let ran = run_in(folder.path(), arguments);
        let is_one_line = ran.stderr.lines().count() == 1 && ran.stderr.starts_with(&format!("contrail: {expected}"));
        assert!(ran.status == 2 && is_one_line, "{arguments:?}: {}", ran.stderr);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{arguments:?}");
    }
}

#[test]
fn a_path_that_looks_like_a_url_is_one_behind_a_dot() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(format!("{}/fixtures/gaps.har", env!("CARGO_MANIFEST_DIR")), folder.path().join("s3:x.har")).unwrap();
    let packed = run_in(folder.path(), ["pack", "./s3:x.har", "--out", "./s3:packed.har"]);
    assert!(packed.status < 2 && folder.path().join("s3:packed.har").is_file(), "{}", packed.stderr);
    let learned = run_in(folder.path(), ["learn", "--out", "-", "./s3:x.har"]);
    assert!(learned.status < 2 && !learned.stdout.is_empty(), "{}", learned.stderr);
}

#[test]
fn credentials_in_a_url_are_refused_and_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let trail = ["watch", "--upstream", "sandbox", "--trail", "s3://key:hunter2@b/p", "--", "true"];
    for arguments in [&trail[..], &["verify", "s3://key:hunter2@b/p"]] {
        let ran = run_in(folder.path(), arguments);
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains("credentials do not belong in it"), "{}", ran.stderr);
        assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
    }
}

#[test]
fn a_buffer_without_a_url_has_no_effect_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["watch", "--upstream", "sandbox", "--trail", "t", "--trail-buffer", "b", "--", "true"];
    let ran = run_in(folder.path(), arguments);
    assert_eq!((ran.status, ran.stderr.contains("--trail-buffer has no effect without --trail URL")), (2, true));
}

#[test]
fn a_receiver_s_url_that_cannot_be_used_is_refused_without_its_credentials() {
    let folder = tempfile::tempdir().unwrap();
    for (url, expected) in [
        ("localhost:4318", "expected a URL such as http://localhost:4318"),
        ("http://key:hunter2@host", "credentials do not belong in it; OTEL_EXPORTER_OTLP_HEADERS takes them"),
        ("https://host/?key=hunter2", "a query or a fragment does not belong in it"),
    ] {
        let ran = run_in(folder.path(), ["watch", "--upstream", "sandbox", "--otlp", url, "--", "true"]);
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(expected) && !ran.stderr.contains("hunter2"), "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
}

#[test]
fn a_queue_without_a_receiver_has_no_effect_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run_in(folder.path(), ["watch", "--upstream", "sandbox", "--otlp-queue", "1MiB", "--", "true"]);
    assert_eq!((ran.status, ran.stderr.contains("--otlp-queue has no effect without --otlp URL")), (2, true));
}

#[test]
fn a_queue_that_holds_no_span_is_refused_with_the_minimum() {
    let folder = tempfile::tempdir().unwrap();
    for size in ["0", "1", "1023"] {
        let otlp = ["--otlp", "http://127.0.0.1:1", "--otlp-queue", size];
        let ran = run_in(folder.path(), [&["watch", "--upstream", "sandbox"], &otlp[..], &["--", "true"]].concat());
        let expected = format!("invalid value `{size}` for `--otlp-queue`: expected at least 1KiB");
        assert_eq!((ran.status, ran.stderr.contains(&expected)), (2, true), "{}", ran.stderr);
    }
}

#[test]
fn a_recording_beyond_this_machine_is_not_redacted_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run_in(folder.path(), ["redact", "--in-place", "s3://b/p"]);
    assert_eq!((ran.status, ran.stderr.contains("--in-place cannot write to `s3://b/p`")), (2, true), "{}", ran.stderr);
}

#[cfg(not(feature = "fleet"))]
#[test]
fn a_contrail_without_the_feature_says_which_one_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    let trail = ["watch", "--upstream", "sandbox", "--trail", "s3://b/p", "--", "true"];
    let otlp = ["watch", "--upstream", "sandbox", "--otlp", "http://localhost:4318", "--", "true"];
    for arguments in [&trail[..], &otlp, &["verify", "s3://b/p"], &["replay", "gs://b/p"]] {
        let ran = run_in(folder.path(), arguments);
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains("needs a contrail that was built with `--features fleet`"), "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
}

#[cfg(feature = "fleet")]
#[test]
fn a_variable_of_a_store_that_no_request_can_carry_is_refused_and_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let usable = [
        ("HOME", folder.path().to_str().unwrap()),
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "hunter2"),
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:1"),
    ];
    for (name, value, expected) in [
        ("AWS_ENDPOINT_URL", "hunter2:9000", "expected a URL such as https://HOST:PORT"),
        ("AWS_ENDPOINT_URL", "http://key:hunter2@127.0.0.1:1", "expected a URL such as https://HOST:PORT"),
        ("AWS_ACCESS_KEY_ID", "hunter2\n", "it has a line break"),
    ] {
        let mut command = contrail();
        let arguments =
            ["watch", "--upstream", "sandbox", "--trail", "s3://b/p", "--trail-buffer", "buffer", "--", "true"];
        let ran: Ran =
            command.current_dir(folder.path()).args(arguments).envs(usable).env(name, value).output().unwrap().into();
        let said = format!("contrail: cannot use s3://b/p: {name}: {expected}");
        assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
        assert!(ran.stderr.starts_with(&said) && !ran.stderr.contains("hunter2"), "{}", ran.stderr);
    }
}
