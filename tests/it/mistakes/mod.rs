//! Mistakes that people make, and contrail's messages: each is one file under `tests/data/mistakes` with the command, its
//! standard error and its exit status. `UPDATE_GOLDENS=1` rewrites them.

mod upstream;

use std::{fs, net::TcpListener, os::unix::fs::symlink, path::Path};

use crate::support::{
    command::{Ran, contrail, run_in},
    golden::{assert_golden, transcript},
    har,
    process::Running,
};

/// One mistake: a name, files to write first, variables, and the arguments. `PORT` is a port that is taken.
struct Mistake {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    variables: &'static [(&'static str, &'static str)],
    arguments: &'static str,
}

const fn slip(name: &'static str, arguments: &'static str) -> Mistake {
    Mistake { name, files: &[], variables: &[], arguments }
}

const fn with(name: &'static str, files: &'static [(&'static str, &'static str)], arguments: &'static str) -> Mistake {
    Mistake { name, files, variables: &[], arguments }
}

/// A certificate without extensions, which `openssl x509 -req` makes; nothing here can make another.
const VERSION_1: &str = "\
-----BEGIN CERTIFICATE-----\n\
MIIBIzCBywIUQTR7JizziIRgpTnrl49kDkFkqjcwCgYIKoZIzj0EAwIwFDESMBAG\n\
A1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMzA0NTc0NVoYDzIxMjYxMDMwMDQ1NzQ1\n\
WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC\n\
AAR/Z54EDin0Gg+FqfVar6u5f6e05j4VmuPh1mSIFkC95xHXPo/HmwzrNFYOVYz3\n\
R0wE1z64dkbANBHaKlpwfIJAMAoGCCqGSM49BAMCA0cAMEQCIF1ymnaNgWK3iy0n\n\
BLdFst63asDFU8HrqScQyQo8okUcAiBG6RfLIPf9Jh+A8UEZEr5vkwQX9mvMDA+y\n\
SQMA5qvp/w==\n\
-----END CERTIFICATE-----\n";

const MISTAKES: &[Mistake] = &[
    slip("01-upstream-with-a-path", "record --upstream https://tenant.example/api/v2 --out x"),
    slip("02-upstream-without-a-scheme", "record --upstream tenant.example --out x"),
    slip("03-port-in-use", "watch --upstream sandbox --listen 127.0.0.1:PORT"),
    slip("04-listen-without-a-host", "watch --upstream sandbox --listen 8080"),
    slip("04-listen-of-the-sandbox-without-a-host", "sandbox --listen 8080"),
    slip("05-listen-with-an-empty-host", "watch --upstream sandbox --listen :8080"),
    slip("06-missing-file", "verify nosuch.har"),
    with(
        "06-journal-of-a-recording-that-did-not-end",
        &[(
            "shop.journal",
            "{\"startedDateTime\":\"2026-11-28T00:00:00.000Z\",\"request\":{\"method\":\"GET\",\"url\":\"https://a.example/\"},\
             \"response\":{\"status\":204}}\n",
        )],
        "replay shop",
    ),
    with("07-not-a-har", &[("nothar.har", "hello")], "verify nothar.har"),
    with(
        "07-merge-conflict",
        &[(
            "shop.har",
            "{\"log\":{\"entries\":[{\n<<<<<<< HEAD\n\"time\":1,\n=======\n\"time\":2,\n>>>>>>> other\n\"request\":{}}]}}\n",
        )],
        "verify shop.har",
    ),
    with("08-entry-without-a-request", &[("badentry.har", r#"{"log":{"entries":[{}]}}"#)], "verify badentry.har"),
    slip("09-body-file-missing", "verify missing-body"),
    slip("10-body-file-is-a-link", "verify linked-body"),
    with("12-fixture-exists", &[("y/y.har", "{}")], "record --upstream sandbox --out y"),
    slip("13-wrong-option", "record --upstream sandbox --listne 1 --out x"),
    slip("14-unknown-rule-denied", "verify --deny request.boddy x.har"),
    slip("14-denied-without-effect", "verify --deny gaps,unused x.har"),
    slip("14-denied-without-effect-in-a-proxy", "watch --upstream sandbox --deny stale"),
    slip("14-allowed-without-effect", "audit --allow denied x.har"),
    slip("14-unknown-rule-explained", "explain request.boddy"),
    with("15-fixture-below-a-file", &[("file", "")], "record --upstream sandbox --out file/x -- true"),
    slip("20-upstream-ca-missing", "watch --upstream https://tenant.example --upstream-ca nosuch.pem"),
    with("21-broken-yaml", &[("bad.yaml", "a: {b\nc: ]\n")], "contract --contract bad.yaml"),
    with("22-swagger-2", &[("old.yaml", "swagger: '2.0'\n")], "contract --contract old.yaml"),
    with(
        "27-overlay-names-a-missing-scheme",
        &[(
            "overlay.yaml",
            "overlay: 1.0.0\ninfo: {title: x, version: '1'}\nactions:\n- target: $.paths.*.get\n  update: {$ref: '#/nowhere'}\n",
        )],
        "contract --overlay overlay.yaml",
    ),
    with(
        "24-reference-into-another-file",
        &[(
            "api.yaml",
            "openapi: 3.1.0\ninfo: {title: x, version: '1'}\npaths:\n  /a:\n    get:\n      operationId: a\n      \
             responses: {'200': {$ref: './other.yaml#/X'}}\n",
        )],
        "contract --contract api.yaml",
    ),
    with(
        "26-overlay-that-matches-nothing",
        &[(
            "overlay.yaml",
            "overlay: 1.0.0\ninfo: {title: x, version: '1'}\nactions:\n- target: $.paths['/nosuch'].get\n  remove: true\n",
        )],
        "contract --overlay overlay.yaml",
    ),
    with(
        "25-bad-jsonpath",
        &[(
            "overlay.yaml",
            "overlay: 1.0.0\ninfo: {title: x, version: '1'}\nactions:\n- target: $.paths[\n  remove: true\n",
        )],
        "contract --overlay overlay.yaml",
    ),
    with("28-unknown-key", &[("contrail.toml", "deny = []\nupstrem = \"x\"\n")], "explain auth.scope"),
    with("28-unknown-key-of-a-table", &[("contrail.toml", "[verify]\ndenny = []\n")], "explain auth.scope"),
    with("28-mistyped-table", &[("contrail.toml", "deny = []\n\n[verfy]\ndeny = []\n")], "explain auth.scope"),
    Mistake {
        name: "29-mistyped-variable",
        files: &[],
        variables: &[("CONTRAIL_UPSTREEM", "x"), ("CONTRAIL_KUBERNETES", "x")],
        arguments: "ca --ca-dir empty",
    },
    slip("30-command-not-found", "watch --upstream http://127.0.0.1:9 --ca-dir ca -- nosuchcommand"),
    with(
        "30-command-not-executable",
        &[("script", "x")],
        "watch --upstream http://127.0.0.1:9 --ca-dir ca -- ./script",
    ),
    slip("30-command-without-dashes", "watch --upstream sandbox npm test"),
    slip("30-command-of-a-replay-without-dashes", "replay good.har npm test"),
    slip("31-only-unknown-operation", "watch --upstream sandbox --only getRateLimitPolicies"),
    slip("31-ignore-unknown-operation", "replay x.har --ignore nosuchoperation=pointer:/id"),
    slip("31-ignore-what", "replay x.har --ignore path:id"),
    slip("32-redact-what", "watch --upstream sandbox --redact foo:bar"),
    slip("33-size-with-a-wrong-unit", "watch --upstream sandbox --max-body 10apples"),
    slip("33-time-with-a-wrong-unit", "watch --upstream sandbox --drain soon"),
    slip("33-age-with-a-wrong-unit", "replay good.har --max-age 2w"),
    slip("33-number-with-a-unit", "watch --upstream sandbox --max-streams 10x"),
    slip("35-key-of-another-certificate", "watch --upstream sandbox --tls-listen 127.0.0.1:0 --cert a.pem --key b.key"),
    slip(
        "35-upstream-key-of-another-certificate",
        "watch --upstream https://tenant.example --upstream-cert a.pem --upstream-key b.key",
    ),
    with(
        "35-certificate-of-version-1",
        &[("v1.pem", VERSION_1)],
        "watch --upstream sandbox --tls-listen 127.0.0.1:0 --cert v1.pem --key a.key",
    ),
    with(
        "35-upstream-certificate-of-version-1",
        &[("v1.pem", VERSION_1)],
        "watch --upstream https://tenant.example --upstream-cert v1.pem --upstream-key a.key",
    ),
    slip("36-forward-listener-for-everybody", "watch --upstream sandbox --forward-listen 0.0.0.0:0 --ca-dir ca"),
    Mistake {
        name: "37-record-missing-in-ci",
        files: &[],
        variables: &[("CI", "true")],
        arguments: "replay good.har --record-missing --upstream sandbox",
    },
    slip("38-file-with-a-slash", "record --upstream sandbox --out x.har/ -- true"),
    slip("39-fixture-named-json", "record --upstream sandbox --out x.json -- true"),
    slip("40-intercept-with-a-pattern", "watch --upstream sandbox --intercept *.example --ca-dir ca"),
    with(
        "41-newer-version",
        &[(
            "newer.har",
            r#"{"log":{"creator":{"name":"contrail","version":"1"},"_contrail":{"version":2},"entries":[]}}"#,
        )],
        "verify newer.har",
    ),
    with("42-import-without-the-tenant", &[("empty.har", r#"{"log":{"entries":[]}}"#)], "import empty.har --out y"),
    slip("43-unpack-of-another-tools-file", "unpack foreign.har --out y/"),
];

/// What every mistake finds in its folder.
fn prepare(folder: &Path) {
    let exchange = har::get("/api/v2/rate-limit-policies/rlp_1", None, 200, har::POLICY);
    fs::write(folder.join("foreign.har"), har::har(std::slice::from_ref(&exchange))).unwrap();
    fs::write(folder.join("good.har"), har::har(&[exchange])).unwrap();
    for name in ["a", "b"] {
        let certified = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        fs::write(folder.join(format!("{name}.pem")), certified.cert.pem()).unwrap();
        fs::write(folder.join(format!("{name}.key")), certified.signing_key.serialize_pem()).unwrap();
    }
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/operations");
    for copy in ["missing-body", "linked-body"] {
        let copy = folder.join(copy);
        fs::create_dir(&copy).unwrap();
        let mut first = None;
        for item in fs::read_dir(&fixture).unwrap().map(Result::unwrap) {
            fs::copy(item.path(), copy.join(item.file_name())).unwrap();
            let name = item.file_name().into_string().unwrap();
            if name.ends_with("getRateLimitPolicy-01-response.json") {
                first = Some(copy.join(name));
            }
        }
        let body = first.expect("the fixture has that body file");
        fs::remove_file(&body).unwrap();
        if copy.ends_with("linked-body") {
            symlink("/etc/hostname", body).unwrap();
        }
    }
}

fn make(mistake: &Mistake) -> String {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path());
    for (name, text) in mistake.files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let arguments = mistake.arguments.replace("PORT", &port);
    let mut command = contrail();
    command.current_dir(folder.path()).args(arguments.split(' ')).env_remove("CI");
    command.envs(mistake.variables.iter().copied());
    let variables: Vec<String> = mistake.variables.iter().map(|(name, value)| format!("{name}={value} ")).collect();
    let line = format!("{}contrail {}", variables.concat(), mistake.arguments);
    transcript(&line, &command.output().unwrap().into())
}

#[test]
fn every_mistake_gets_a_message_with_what_where_and_what_now() {
    for mistake in MISTAKES {
        assert_golden(&format!("mistakes/{}.txt", mistake.name), &make(mistake));
    }
}

#[test]
fn a_schema_that_cannot_be_used_is_listed_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let parameter = "openapi: 3.1.0\ninfo: {title: x, version: '1'}\npaths:\n  /a:\n    get:\n      operationId: a\n      \
                     parameters:\n      - {name: q, in: query, schema: {type: strin}}\n";
    fs::write(folder.path().join("api.yaml"), parameter).unwrap();
    let ran =
        Ran::from(contrail().current_dir(folder.path()).args(["contract", "--contract", "api.yaml"]).output().unwrap());
    let unusable = "\nUnusable: contrail cannot judge by these places, so what they restrict is unchecked\n  \
                    /paths/~1a/get/parameters/0/schema/type: expected one of `array`, `boolean`, `integer`, `\"null\"`, \
                    `number`, `object`, `string` or an array, saw `strin`\n";
    assert!(ran.stdout.ends_with(unusable), "{}", ran.stdout);
    assert_eq!(ran.status, 0);
}

#[test]
fn a_second_recording_to_one_journal_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["record", "--upstream", "sandbox", "--listen", "127.0.0.1:0", "--out", "two"];
    let first = Running::start(folder.path(), arguments);
    let ran = run_in(folder.path(), arguments);
    assert_golden("mistakes/11-two-recordings.txt", &transcript(&format!("contrail {}", arguments.join(" ")), &ran));
    drop(first);
}
