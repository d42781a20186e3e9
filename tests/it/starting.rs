//! What a proxy says at its start of addresses, certificates and authorities that it cannot use.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use crate::support::{
    command::{Ran, run_in},
    golden::{assert_line, assert_output},
    process::Running,
};

fn watch(folder: &Path, more: &[&str]) -> Ran {
    run_in(folder, [&["watch", "--upstream", "sandbox"], more].concat())
}

fn refused(folder: &Path, more: &[&str]) -> String {
    let ran = watch(folder, more);
    assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
    ran.stderr
}

#[test]
fn an_address_to_listen_on_without_a_host_or_a_port_is_refused_with_its_form() {
    let folder = tempfile::tempdir().unwrap();
    for (address, wrong) in [
        ("8080", "it names no host"),
        (":8080", "it names no host"),
        ("localhost", "it names no port"),
        ("127.0.0.1:99999", "its port is not from 0 to 65535"),
    ] {
        let said = refused(folder.path(), &["--listen", address]);
        assert_line(
            &said,
            &format!(
                "contrail: --listen {address}: {wrong}; write HOST:PORT, as in 127.0.0.1:8080 (this machine only) or \
                 0.0.0.0:8080; port 0 takes a free one"
            ),
        );
    }
}

#[test]
fn a_pattern_of_hosts_to_intercept_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let said = refused(folder.path(), &["--intercept", "*.example", "--", "true"]);
    assert_line(
        &said,
        "contrail: --intercept *.example: patterns are not supported; name each host, as in --intercept api.example",
    );
}

#[test]
fn dashes_without_a_command_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), r#"{"log":{"version":"1.2","creator":{},"entries":[]}}"#).unwrap();
    for command in [
        &["record", "--upstream", "sandbox", "--out", "x", "--"][..],
        &["watch", "--upstream", "sandbox", "--"],
        &["replay", "a.har", "--"],
    ] {
        let ran = run_in(folder.path(), command);
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        assert_eq!(ran.stderr, "contrail: no command follows `--`; add one, or remove `--`\n");
    }
}

#[test]
fn a_certificate_out_of_its_time_is_a_warning_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    for (years, wrong) in [((2001, 2002), "has expired"), ((2900, 2901), "is not valid yet"), ((2001, 2900), "")] {
        let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(years.0, 1, 1);
        params.not_after = rcgen::date_time_ymd(years.1, 1, 1);
        let key = rcgen::KeyPair::generate().unwrap();
        fs::write(folder.path().join("cert.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
        fs::write(folder.path().join("key.pem"), key.serialize_pem()).unwrap();
        let options =
            ["watch", "--upstream", "sandbox", "--tls-listen", "127.0.0.1:0", "--cert", "cert.pem", "--key", "key.pem"];
        let ran = Running::start(folder.path(), options).finish();
        let said = format!("contrail: --cert cert.pem {wrong}; clients will refuse it\n");
        assert_eq!(ran.stderr.contains(&said), !wrong.is_empty(), "{}", ran.stderr);
        assert_eq!(ran.stderr.contains("clients will refuse it"), !wrong.is_empty(), "{}", ran.stderr);
    }
}

#[test]
fn an_authority_whose_key_others_can_read_is_usable_again_after_the_advice_was_followed() {
    let folder = tempfile::tempdir().unwrap();
    let ca = |more: &[&str]| run_in(folder.path(), [&["ca", "--ca-dir", "ca", "--format", "json"], more].concat());
    for upstream in ["https://one.example", "https://two.example"] {
        assert_eq!(ca(&["--upstream", upstream]).status, 0);
    }
    let before = ca(&[]).stdout;
    assert_eq!(before.lines().count(), 2, "{before}");
    for authority in fs::read_dir(folder.path().join("ca")).unwrap() {
        let key = authority.unwrap().path().join("ca-key.pem");
        fs::set_permissions(key, fs::Permissions::from_mode(0o644)).unwrap();
    }
    let ran = ca(&[]);
    assert_output(
        "starting/an_authority_whose_key_others_can_read_is_usable_again_after_the_advice_was_followed",
        &ran,
    );
    let after = run_in(folder.path(), ["ca", "rotate", "--ca-dir", "ca", "--format", "json"]);
    assert_eq!((after.status, after.stdout.lines().count()), (0, 2), "{}", after.stderr);
    assert!(after.stdout.lines().all(|line| !before.contains(line)), "{}", after.stdout);
    assert_eq!(ca(&[]).stdout, after.stdout);
}
