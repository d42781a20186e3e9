//! Bodies as HAR files hold them: not saved, as one byte per character, as parameters, coded.

use std::io;

use contrail_recording::Recording;

use super::{body, entry, har, one};

#[test]
fn a_body_that_was_not_saved_is_withheld_and_one_that_never_was_is_absent() {
    for (response, expected) in [
        (r#","content":{"size":12,"mimeType":"application/json"}"#, "not-saved"),
        (r#","content":{"size":12,"text":""}"#, "not-saved"),
        (r#","content":{"mimeType":"application/json"},"bodySize":-1"#, "not-saved"),
        (r#","content":{"size":0,"mimeType":"application/json"}"#, "none"),
        (
            r#","headers":[{"name":"content-length","value":"7"}],"content":{"size":0,"mimeType":"application/json"}"#,
            "not-saved",
        ),
        (r#","content":{"size":0,"mimeType":"x-unknown"},"bodySize":0"#, "none"),
        (r#","content":{}"#, "not-saved"),
        ("", "not-saved"),
        (r#","headers":[{"name":"content-length","value":"7"}]"#, "not-saved"),
        (r#","content":{"size":-1,"mimeType":"a/b","text":""}"#, "none"),
        (r#","content":{"size":-1,"mimeType":"x-unknown"},"bodySize":0"#, "not-saved"),
        (r#","content":{"text":"{}"}"#, "2 bytes"),
        (r#","content":{"text":"{\"a\":","size":900}"#, "5 of Some(900) bytes"),
        (r#","content":{"text":"{\"a\":1}","size":900}"#, "7 bytes"),
        (r#","content":{"text":"{\"a\":","size":5}"#, "5 bytes"),
        (r#","content":{"text":"e30=","encoding":"base64"}"#, "2 bytes"),
        (r#","content":{"text":"e 3\n0","encoding":"BASE64"}"#, "2 bytes"),
        (r#","content":{"text":null,"size":null,"mimeType":null}"#, "not-saved"),
    ] {
        let entry = one(&entry("", response));
        assert_eq!(body(&entry.exchange.response.unwrap().body), expected, "{response}");
    }
    for (request, expected) in [
        (r#","bodySize":12"#, "not-saved"),
        (r#","bodySize":12,"postData":{"mimeType":"a/b"}"#, "not-saved"),
        (r#","bodySize":12,"postData":{"mimeType":"a/b","text":""}"#, "not-saved"),
        (r#","bodySize":0,"postData":null"#, "none"),
        // Chrome's uploads of blobs and files.
        (
            r#","bodySize":-1,"headers":[{"name":"content-type","value":"multipart/form-data; boundary=X"}]"#,
            "not-saved",
        ),
        (r#","bodySize":0,"headers":[{"name":"content-type","value":"application/json"}]"#, "none"),
        // As chrome-har writes an upload: its body stands nowhere.
        (r#","bodySize":0,"headers":[{"name":"content-type","value":"multipart/form-data; boundary=X"}]"#, "not-saved"),
        (
            r#","bodySize":0,"headers":[{"name":"content-type","value":"multipart/mixed; boundary=X"},{"name":"content-length","value":"0"}]"#,
            "none",
        ),
        // As chrome-har writes JSON.
        (r#","bodySize":8,"postData":{"mimeType":"application/json","params":[{"name":"id","value":5}]}"#, "not-saved"),
        (r#","bodySize":-1"#, "none"),
        (r#","postData":{"mimeType":"a/b","text":"","params":[]}"#, "none"),
        (r#","postData":{"mimeType":"","text":"x"}"#, "1 bytes"),
        (r#","postData":{"params":[{"name":"f","value":"x","fileName":"f.txt"}]}"#, "not-saved"),
    ] {
        assert_eq!(body(&one(&entry(request, "")).exchange.request.body), expected, "{request}");
    }
}

#[test]
fn a_text_that_holds_one_byte_per_character_is_those_bytes_where_content_length_is_their_number() {
    let sent = |text: &str, length: &str| {
        let request = format!(r#","headers":[{length}],"postData":{{"mimeType":"a/b","text":"{text}"}}"#);
        let body = one(&entry(&request, "")).exchange.request.body;
        (self::body(&body), body.content.to_vec())
    };
    let length = |bytes: usize| format!(r#"{{"name":"content-length","value":"{bytes}"}}"#);
    // Two characters of UTF-8, read as Latin-1: four.
    assert_eq!(sent("Ã©Ã©", &length(4)), ("4 bytes".to_owned(), "éé".as_bytes().to_vec()));
    assert_eq!(sent(r"\u00ff\u00fe\u0000", &length(3)).1, [0xff, 0xfe, 0]);
    // What was saved as text.
    assert_eq!(sent("éé", &length(4)).1, "éé".as_bytes());
    assert_eq!(sent("éé", "").1, "éé".as_bytes());
    assert_eq!(sent("€é", &length(2)).1, "€é".as_bytes());
    // U+FFFD in place of bytes that are not UTF-8: what was sent is unknown, unless its length is that of the text.
    assert_eq!(sent(r"a\ufffd", "").0, "lossy");
    assert_eq!(sent(r"a\ufffd", &length(2)).0, "lossy");
    assert_eq!(sent(r"a\ufffd", &length(4)).0, "4 bytes");
}

#[test]
fn the_answer_to_head_and_a_204_have_no_body_whatever_the_headers_say() {
    let length = r#""headers":[{"name":"content-length","value":"7"}],"content":{"size":7,"mimeType":"a/b"}"#;
    for (method, status) in [("HEAD", 200), ("GET", 204), ("GET", 304)] {
        let entry = one(&format!(
            r#"{{"request":{{"method":"{method}","url":"https://a/"}},"response":{{"status":{status},{length}}}}}"#
        ));
        assert!(entry.exchange.response.unwrap().body.is_absent(), "{method} {status}");
    }
}

#[test]
fn a_form_of_which_only_the_parameters_were_saved_is_put_together_as_its_length_says() {
    let form = |value: &str, headers: &str| {
        let request = format!(
            r#","headers":[{{"name":"content-type","value":"application/x-www-form-urlencoded"}}{headers}],
            "postData":{{"mimeType":"x","params":[{{"name":"a","value":"{value}"}},{{"name":"b"}}]}}"#
        );
        String::from_utf8(one(&entry(&request, "")).exchange.request.body.content.to_vec()).unwrap()
    };
    assert_eq!(form("x y&z", ""), "a=x+y%26z&b=");
    assert_eq!(form("x%20y", r#",{"name":"content-length","value":"10"}"#), "a=x%20y&b=");
    assert_eq!(form("x%20y", ""), "a=x%2520y&b=");
}

#[test]
fn coded_bodies_are_decoded_where_the_file_holds_them_coded_and_left_where_it_does_not() {
    // {"a":1} as gzip
    let gzip = "H4sIAAAAAAACA6tWSlSyMqwFAK+sG1YHAAAA";
    let body_of = |coding: &str, text: &str, encoding: &str| {
        let response = format!(
            r#","headers":[{{"name":"content-encoding","value":"{coding}"}}],
            "content":{{"text":"{text}","encoding":"{encoding}"}}"#
        );
        let body = one(&entry("", &response)).exchange.response.unwrap().body;
        (body.is_whole(), String::from_utf8_lossy(&body.content).into_owned())
    };
    let whole = (true, r#"{"a":1}"#.to_owned());
    assert_eq!(body_of("gzip", gzip, "base64"), whole);
    assert_eq!(body_of("gzip", r#"{\"a\":1}"#, ""), whole);
    assert_eq!(body_of("br", r#"{\"a\":1}"#, "utf-8"), whole);
    assert_eq!(body_of("zstd", r#"{\"a\":1}"#, ""), whole);
    assert_eq!(body_of("gzip", &gzip[..20], "base64"), (false, String::new()));
    // Compressed bytes as characters: of UTF-8 with what is none replaced or left out, of Latin-1, of windows-1252.
    for (coding, mangled) in [
        ("gzip", r"\u001f\ufffd\b\u0000\u0000\ufffdVJT\ufffd2\ufffd\u0005\u0000"),
        ("gzip", r"\u001f\b\u0000\u0000VJT2\u0005\u0000"),
        ("gzip", r"\u001f\u008b\b\u0000\u0000«VJT²2¬\u0005\u0000"),
        ("br", r#"\u000b\u0003\ufffd{\"a\":1}\u0003"#),
        ("br", r#"\u000b\u0003\u0080{\"a\":1}\u0003"#),
        ("deflate", r"x\u009c«VJT²2¬\u0005\u0000"),
        ("zstd", r#"(\ufffd/\ufffd\u0000X{\"a\":1}"#),
        ("gzip", r"\u001f‹\b\u0000\u0000«VJT²2¬\u0005\u0000"),
        ("br", r#"\u000b\u0003€{\"a\":1}\u0003"#),
        ("deflate", r"xœ«VJT²2¬\u0005\u0000"),
        ("deflate", r"xÚ«VJT²2¬\u0005\u0000\b*\u0002\t"),
        ("deflate", r"«VJT²2¬\u0005\u0000"),
        ("zstd", r#"(µ/ý\u0000X9\u0000\u0000{\"a\":1}"#),
    ] {
        assert_eq!(body_of(coding, mangled, ""), (false, String::new()), "{coding} {mangled}");
    }
    // Text that its server wrote so: without a coding, or without what stands for bytes.
    let odd = r#"{\"a\":\"\u0001ä\"}"#;
    assert_eq!(body_of("br", odd, ""), (true, "{\"a\":\"\u{1}ä\"}".to_owned()));
    assert!(body_of("", r"\u0001\ufffd", "").0);
    assert!(body_of("IDENTITY", r"\u0001\ufffd", "").0);
    for coding in ["br", "deflate", "zstd", "gzip, br"] {
        assert!(body_of(coding, r#"{\"a\":\"Grüße – “so”\"}"#, "").0, "{coding}");
    }
    for coding in ["gzip", "br"] {
        assert!(body_of(coding, r"\u001b[32mok\u001b[0m caf\ufffd", "").0, "{coding}");
    }
}

#[test]
fn text_that_is_not_quite_unicode_does_not_stop_the_reader() {
    let response = b",\"content\":{\"text\":\"\\ud800 \xff\"}";
    let mut har = har(&entry("", "@")).into_bytes();
    let at = har.iter().position(|byte| *byte == b'@').unwrap();
    har.splice(at..=at, response.iter().copied());
    har.retain(|byte| *byte != b'@');
    let mut recording = Recording::new("x".into(), Box::new(io::Cursor::new(har)), None).unwrap();
    let entry = recording.next().unwrap().unwrap();
    assert_eq!(body(&entry.exchange.response.unwrap().body), "lossy");
}
