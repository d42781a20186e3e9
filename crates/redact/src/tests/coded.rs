//! Secrets in base64 and hex, in any other coding, and many known ones that begin alike.

use base64::{Engine as _, prelude::*};
use contrail_exchange::hex::hex;

use super::{
    steps::{count, holds_linear},
    *,
};

fn masked(text: &str) -> String {
    Redactor::default().text(text).into_inner()
}

/// A text for every way to show a secret: by format, by name, by notation.
const TEXTS: &[&str] = &[
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gun\n-----END RSA PRIVATE KEY-----\n",
    "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "AKIAIOSFODNN7EXAMPL3",
    "Bearer Zk3mQ9xT7pLw2Vb8",
    "Authorization: Basic dXNlcjpwYXNzd29yZA==",
    "X-Api-Key: Zk3mQ9xT7pLw2Vb8",
    "api_key=Zk3mQ9xT7pLw2Vb8",
    "https://x.example/cb?code=SplxlOBeZQQYbYS6WxSbIA",
    "otp=Zk3mQ9xT7pLw",
    "SAMLResponse=PHNhbWxwOlJlc3BvbnNlPg",
    "<apiKey>Zk3mQ9xT7pLw2Vb8</apiKey>",
    "curl -u me:Q1w2e3r4t5y6 https://x.example",
    "got eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl here",
    r#"["X-Api-Key", "Zk3mQ9xT7pLw2Vb8"]"#,
    "\n\n{\"password\":\"hunter22\"}",
    r#"{"password":"hunter22"}"#,
    r#"[{"a":1,"password":"hunter22"}]"#,
    "client_secret=hunter22&a=b",
    "password: 'hunter22'",
    "postgres://app:hunter22@db.example/x",
];

#[test]
fn a_secret_that_is_found_in_a_text_is_found_in_base64_and_hex_of_it_once_and_twice() {
    for plain in TEXTS {
        assert!(label::has_label(&masked(plain)), "{plain}");
        let once = [BASE64_STANDARD.encode(plain), BASE64_URL_SAFE_NO_PAD.encode(plain), hex(plain.as_bytes())];
        for coded in once {
            let twice = BASE64_STANDARD.encode(&coded);
            let both = [&coded, &twice].map(|coded| (coded.clone(), masked(&format!("state: {coded} and more"))));
            for (coded, kept) in both {
                assert!(!kept.contains(&coded) && kept.starts_with("state: "), "{plain} in {coded} is {kept}");
            }
            let member = body(&serde_json::json!({ "users": [{ "data": coded }] }).to_string());
            assert!(!member.contains(&coded), "{plain} in a member {coded} is {member}");
            let member = body(&serde_json::json!({ "state": twice }).to_string());
            assert!(!member.contains(&twice), "{plain} in a member {twice} is {member}");
        }
    }
}

#[test]
fn base64_of_what_holds_no_secret_stays() {
    for plain in [
        &b"{\"token_type\":\"x\",\"page\":2}"[..],
        b"a=b&password_policy=none",
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR secret token password",
        b"The quick brown fox: a token of its esteem, and a secret between them.",
        b"{\"id\":\"rlp_1a2b3c4d5e6f7g8h\",\"next\":\"cursor_0123456789abcdef\"}",
    ] {
        for coded in [BASE64_STANDARD.encode(plain), hex(plain)] {
            assert_eq!(masked(&format!("a {coded}")), format!("a {coded}"));
        }
    }
}

/// Every coding in which a text is looked for.
fn codings(text: &str) -> [(&'static str, String); 6] {
    let joined = |parts: Vec<String>| parts.concat();
    let percent = joined(text.bytes().map(|byte| format!("%{byte:02X}")).collect());
    let escapes = joined(text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect());
    let entities = joined(text.chars().map(|character| format!("&#{};", u32::from(character))).collect());
    [
        ("base64", BASE64_STANDARD.encode(text)),
        ("base64url", BASE64_URL_SAFE_NO_PAD.encode(text)),
        ("hex", hex(text.as_bytes())),
        ("percent", percent),
        ("escapes", escapes),
        ("entities", entities),
    ]
}

#[test]
fn a_known_secret_is_found_in_any_two_codings_one_inside_the_other() {
    for secret in ["Zk3mQ9xT7pLw2Vb8", "hunter22pass", "correct horse battery 9staple"] {
        let redactor = Redactor::default();
        redactor.remember(secret.as_bytes());
        for (inner, once) in codings(secret) {
            let text = format!("note {once} end");
            assert_eq!(*redactor.text(&text), "note !custom-1! end", "{secret} in {inner}");
            for (outer, twice) in codings(&once) {
                let text = format!("note {twice} end");
                assert_eq!(*redactor.text(&text), "note !custom-1! end", "{secret} in {inner} in {outer}");
                assert_eq!(redactor.scan(text.as_bytes()).len(), 1, "{secret} in {inner} in {outer}");
            }
        }
    }
}

#[test]
fn a_passphrase_is_found_with_a_plus_for_each_blank_by_redaction_and_by_the_proof() {
    let redactor = Redactor::default();
    redactor.remember(b"correct horse battery 9staple");
    let text = "it was correct+horse+battery+9staple";
    assert_eq!(redactor.scan(text.as_bytes()).len(), 1);
    assert_eq!(*redactor.text(text), "it was !custom-1!");
}

#[test]
fn ten_thousand_long_secrets_that_begin_alike_are_found_and_cost_no_more_than_others() {
    let redactor = Redactor::default();
    let alike: String = (0..4000_u32).map(|at| char::from_digit(10 + at * at / 7 % 26, 36).unwrap()).collect();
    let secret = |number: usize| format!("{alike}c{number:05}");
    for number in 0..10_000 {
        redactor.remember(secret(number).as_bytes());
    }
    let steps = |length: usize| {
        let text = format!("{} {} end", alike.repeat(length / 4000), secret(7777));
        let mut kept = String::new();
        let steps = count(|| kept = redactor.text(&text).into_inner());
        assert!(kept.len() < 100, "{}", kept.len());
        steps
    };
    let (short, long) = (steps(40_000), steps(400_000));
    assert!(long <= 11 * short, "{short} steps for 40 kB, {long} for 400 kB");
    assert_eq!(*redactor.text(&format!("it is {}.", secret(123))), "it is !custom-124!.");
}

#[test]
fn known_secrets_that_repeat_themselves_are_found_in_time_that_grows_with_the_text_and_no_faster() {
    let redactor = Redactor::default();
    for secret in ["hunter22", &format!("{}7x", "ab".repeat(50)), &format!("{}8y", "ab".repeat(2000))] {
        redactor.remember(secret.as_bytes());
    }
    for piece in ["ab", "aHVudGVyMjI", "68756e7465723232", "hunter22", "abab7x"] {
        holds_linear(piece, |text| _ = redactor.text(std::str::from_utf8(text).unwrap()));
    }
}

#[test]
fn base64_is_read_in_time_that_grows_with_the_text_and_no_faster() {
    let redactor = Redactor::default();
    for piece in
        ["eyJ", "eyJ/", "eyJhIjoxfQ==", "eyJhIjox/", "W3siYSI6", "Y2xpZW50X3NlY3JldD0x", "cGFzc3dvcmQ9YSY=", "6162"]
    {
        holds_linear(piece, |text| redactor.detect_text(text, 4, &mut Vec::new()));
    }
}
