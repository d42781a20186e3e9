//! Text that is nearly JSON, and every fault in it.

use proptest::prelude::*;

use super::*;
use crate::Plan;

fn masked(text: &str) -> String {
    let redactor = Redactor::default();
    let mut marks = Vec::new();
    redactor.detect_malformed(text.as_bytes(), 2, &mut marks);
    let edits: Vec<_> =
        crate::mark::merge_overlaps(marks).into_iter().map(|mark| (mark.range, b"#".to_vec())).collect();
    String::from_utf8_lossy(&contrail_exchange::json::splice(text.as_bytes(), &edits)).into_owned()
}

#[test]
fn a_secret_in_text_that_is_nearly_json_is_found_by_its_name() {
    for (text, expected) in [
        // Cut, a comma too many, another document behind it.
        (r#"{"a":1,"client_secret":"s3"#, r##"{"a":1,"client_secret":"#"##),
        (r#"{"client_secret":"s3","a":1,}"#, r##"{"client_secret":"#","a":1,}"##),
        ("{\"password\":\"s3\"}\n{\"token\":\"s4\",", "{\"password\":\"#\"}\n{\"token\":\"#\","),
        // Other notations.
        ("{'client_secret': 's3', 'a': None}", "{'client_secret': '#', 'a': None}"),
        ("{client_secret: 's3', a: 1}", "{client_secret: '#', a: 1}"),
        ("{a: 1, password: hunter2}", "{a: 1, password: #}"),
        ("{\"password\": /* the */ \"s3\" // x\n}", "{\"password\": /* the */ \"#\" // x\n}"),
        ("{'token' => 's3', 'pin' => 12}", "{'token' => '#', 'pin' => #}"),
        ("{u'password': u's3', 'b': 1}", "{u'password': u'#', 'b': 1}"),
        // Quotes and colons that are missing.
        (r#"{"password:"s3","a":1}"#, r##"{"password:"#","a":1}"##),
        (r#"{"password":s3,x","a":1}"#, r#"{"password":#","a":1}"#),
        (r#"{"password":"s3,"a":1}"#, r##"{"password":"#"##),
        (r#"{"password" "s3","a":1}"#, r##"{"password" "#","a":1}"##),
        (r#"{"password":"a"b","c":1"#, r##"{"password":"#","c":1"##),
        (r#"{"email":"a@b.example,"password":"s3","a":1}"#, r##"{"email":"a@b.example,"password":"#","a":1}"##),
        // Containers, numbers, words, empty values.
        (r#"{"a":0,"tokens":["a]","b"],"c":1"#, r#"{"a":0,"tokens":#"#),
        (r#"{"pin":1234,"a":1"#, r#"{"pin":#,"a":1"#),
        (r#"{"token":null,"max_tokens":5,"secret":"""#, r#"{"token":null,"max_tokens":5,"secret":"""#),
        // JSON in JSON.
        (r#"{"d":"{\"password\":\"s3\",\"a\":1}","#, r##"{"d":"{\"password\":\"#\",\"a\":1}","##),
        (r#"{"d":"{\u0022password\u0022:\u0022s3\u0022}","#, r#"{"d":"{\u0022password\u0022:\u0022#\u0022}","#),
        (r#"{"client\u005fsecret":"s3","#, r##"{"client\u005fsecret":"#","##),
        (r#"{"client secret":"s3","#, r##"{"client secret":"#","##),
        // Prose.
        ("a: 1\nclient_secret: s3 s4\nb: 2", "a: 1\nclient_secret: #\nb: 2"),
        (r#"{"message":"wrong password: must not be empty","#, r#"{"message":"wrong password: must not be empty","#),
        (r#"{"code":"invalid_token","#, r#"{"code":"invalid_token","#),
        (r#"{"code":"SplxlOBeZQQYbYS6WxSbIA","#, r##"{"code":"#","##),
        ("<p class=\"token\" id=\"a\">no secret here</p>", "<p class=\"token\" id=\"a\">no secret here</p>"),
    ] {
        assert_eq!(masked(text), expected, "{text}");
    }
}

#[test]
fn a_secret_whose_end_is_in_doubt_is_known_where_it_comes_again() {
    for text in [r#"{"password":"s3cr3t-value,"a":1"#, r#"{"tokens":["x","s3cr3t-value-0","#] {
        let redactor = Redactor::default();
        redactor.detect_malformed(text.as_bytes(), 2, &mut Vec::new());
        let value = if text.contains("tokens") { "s3cr3t-value-0" } else { "s3cr3t-value" };
        let seen =
            redactor.text(&format!("no such thing: {value}{}", if text.contains("rd\":\"s") { "," } else { "" }));
        assert!(!seen.contains("s3cr3t"), "{text}: {}", *seen);
    }
}

#[test]
fn a_name_that_a_rule_adds_is_a_secrets_name() {
    let redactor = Redactor::new(Plan::new(&["pointer:/a/colour"]).unwrap());
    let mut marks = Vec::new();
    redactor.detect_malformed(br#"{"a":{"colour":"blue-green","#, 2, &mut marks);
    assert_eq!(marks.len(), 1);
}

/// A secret that no other text holds.
const SECRET: &str = "S3cr3tValue-7Q";

/// Documents with a secret under each of its members; `@` stands for it.
const DOCUMENTS: &[&str] = &[
    r#"{"id":"a","client_secret":"@","n":[1,2]}"#,
    r#"{"a":{"password":"@"},"b":[{"access_token":"@","x":null}]}"#,
    r#"[{"name":"x y","api_key":"@"},true]"#,
    "{\n  \"title\": \"t, {u}\",\n  \"refresh_token\": \"@\",\n  \"z\": -1.5e3\n}",
    r#"{"tokens":["@",1],"q":"a \"b\" c"}"#,
    r#"{"note":"it's","credentials":{"user":"u","value":"@"},"w":""}"#,
    "{'client_secret': '@', 'other': [1, 2]}",
    "{client_secret: '@', other: [1, 2,],}",
    "{\"password\":\"@\"}\n{\"password\":\"@\"}\n",
    r#"{"d":"{\"password\":\"@\",\"n\":1}","e":1}"#,
];

const NAMES: &[&str] =
    &["client_secret", "password", "access_token", "api_key", "refresh_token", "tokens", "credentials"];

/// Where a character can go without the secret or its name going: not inside of either.
fn is_structure(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b',' | b':' | b'{' | b'}' | b'[' | b']' | b' ' | b'\n')
}

/// `text` with one fault at `at`, where a character stands that is no part of a name or a value.
fn faults(text: &str, at: usize) -> Vec<String> {
    let (before, here, after) = (&text[..at], &text[at..=at], &text[at + 1..]);
    let mut faults = vec![before.to_owned(), text[at..].to_owned(), format!("{before}{after}")];
    faults.extend([here, " ", "\n", "/*x*/"].map(|more| format!("{before}{more}{here}{after}")));
    match here {
        "\"" | "'" => faults.extend(["\"", "'", "`"].map(|quote| format!("{before}{quote}{after}"))),
        "," | "]" | "}" => faults.push(format!("{before},{here}{after}")),
        ":" => faults.push(format!("{before}={after}")),
        _ => {}
    }
    faults
}

#[test]
fn a_secret_behind_its_name_is_masked_whatever_is_missing_or_too_much_around_it() {
    for document in DOCUMENTS {
        let text = document.replace('@', SECRET);
        for at in (0..text.len()).filter(|at| is_structure(text.as_bytes()[*at])) {
            for broken in faults(&text, at) {
                let before = &broken[..broken.find(SECRET).unwrap_or(0)];
                let named = NAMES.iter().any(|name| before.contains(name));
                assert!(!named || !masked(&broken).contains(SECRET), "{broken}\n{}", masked(&broken));
            }
        }
    }
}

#[test]
fn a_hostile_text_is_read_in_time_that_grows_with_it_and_no_faster() {
    for piece in [
        "pin:,",
        "pin:a,",
        "email:\"",
        "\"email\":\"a,",
        "code:\"",
        "code:{",
        "code:[\"",
        "pin:/*",
        "pin://",
        "a:",
        "key:'",
        "name=email;",
        "name=\"password\"",
        "password\\",
        "\"token\"{",
        "{\"secret\" ",
        "pin: ",
        "token:\\\"",
    ] {
        let began = std::time::Instant::now();
        masked(&piece.repeat((256 << 10) / piece.len()));
        let took = began.elapsed();
        assert!(took < std::time::Duration::from_secs(20), "{piece} took {took:?}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_and_only_places_inside_of_it_are_masked(text in "[\"'{}\\[\\]:=, \\\\\n%&;a-c0-3/*é]{0,40}(password|token|name)[\"'{}\\[\\]:=, \\\\\n%&;a-c0-3/*é]{0,40}") {
        masked(&text);
    }
}
