//! What browsers, their drivers and their tools save of a request that ended otherwise than by a whole answer.

use super::{body, one};

#[test]
fn status_0_is_an_answer_that_never_came() {
    for (response, reason) in [
        (r#"{"status":0,"_error":"net::ERR_CONNECTION_RESET"}"#, "net::ERR_CONNECTION_RESET"),
        (r#"{"status":-1,"_failureText":"timed out"}"#, "timed out"),
        (r#"{"status":0}"#, "no answer came"),
        ("{}", "no answer came"),
        ("null", "no answer came"),
    ] {
        let entry = one(&format!(r#"{{"request":{{"method":"GET","url":"https://a/"}},"response":{response}}}"#));
        assert!(entry.exchange.response.is_none());
        assert_eq!(entry.exchange.transport.incomplete.as_deref(), Some(reason));
    }
}

#[test]
fn a_browsers_entry_that_its_page_ended_was_left_by_the_client() {
    let read = |rest: &str| {
        let request = r#"{"method":"GET","url":"https://a/"}"#;
        one(&format!(r#"{{"request":{request},"response":{{"_error":"net::ERR_ABORTED",{rest}}}}}"#)).exchange
    };
    let of = |mime: &str, text: &str| {
        read(&format!(r#""status":200,"content":{{"mimeType":"{mime}","text":"{text}"}}"#)).response.unwrap().body
    };
    let none = read(r#""status":0"#);
    assert!(none.transport.client_left && none.transport.incomplete.is_none() && none.response.is_none());
    let events = of("text/event-stream", r"data: 1\n\ndata: 2");
    assert!(events.is_whole());
    assert_eq!(events.content, "data: 1\n\n");
    assert!(!of("application/json", r"{}").is_whole());
}

#[test]
fn a_request_that_a_browser_blocked_or_kept_from_its_page_is_no_fault_of_the_tenant() {
    for response in [
        r#""response":{"status":-1,"_failureText":"net::ERR_FAILED"}"#,
        r#""response":{"status":0,"_error":"net::ERR_BLOCKED_BY_CLIENT"}"#,
        r#""_wasAborted":true,"response":{"status":-1,"_failureText":"net::ERR_CONNECTION_REFUSED"}"#,
    ] {
        let exchange = one(&format!(r#"{{"request":{{"method":"GET","url":"https://a/"}},{response}}}"#)).exchange;
        assert!(exchange.transport.client_left && exchange.transport.incomplete.is_none(), "{response}");
    }
}

#[test]
fn a_text_that_came_in_latin_1_is_its_bytes_again() {
    let of = |mime: &str, text: &str| {
        let content = format!(r#"{{"mimeType":"{mime}","text":"{text}"}}"#);
        let headers = format!(r#"[{{"name":"content-type","value":"{mime}"}}]"#);
        let response = format!(r#"{{"status":200,"headers":{headers},"content":{content}}}"#);
        let entry = format!(r#"{{"request":{{"method":"GET","url":"https://a/"}},"response":{response}}}"#);
        one(&entry).exchange.response.unwrap().body.content
    };
    assert_eq!(of("text/plain; charset=ISO-8859-1", "café"), &b"caf\xe9"[..]);
    assert_eq!(of("text/html;charset=windows-1252", "5 €"), &b"5 \x80"[..]);
    assert_eq!(of("text/plain; charset=ISO-8859-1", "你é"), "你é");
    assert_eq!(of("text/plain; charset=utf-8", "café"), "café");
    assert_eq!(of("application/json; charset=iso-8859-1", "[]é"), "[]é");
}

#[test]
fn a_method_in_small_letters_is_the_one_that_its_client_sends() {
    let of = |method: &str| {
        let request = format!(r#"{{"method":"{method}","url":"https://a/"}}"#);
        one(&format!(r#"{{"request":{request},"response":{{"status":200}}}}"#)).exchange.request.method
    };
    assert_eq!([of("get"), of("delete"), of("patch"), of("M-get")], ["GET", "DELETE", "patch", "M-get"]);
}

#[test]
fn an_answer_without_a_body_is_whole_although_playwright_says_aborted() {
    let request = r#"{"method":"HEAD","url":"https://a/"}"#;
    let response =
        r#"{"status":200,"content":{"size":-1,"mimeType":"application/json"},"_failureText":"net::ERR_ABORTED"}"#;
    let exchange = one(&format!(r#"{{"request":{request},"response":{response}}}"#)).exchange;
    assert!(!exchange.transport.client_left && exchange.transport.incomplete.is_none());
    assert_eq!(body(&exchange.response.unwrap().body), "none");
}

#[test]
fn what_a_test_answered_itself_is_no_answer_of_the_tenant() {
    let read = |member: &str| {
        let response = r#"{"status":200,"content":{"size":2,"mimeType":"application/json","text":"{}"}}"#;
        let request = r#"{"method":"GET","url":"https://a/"}"#;
        one(&format!(r#"{{"request":{request},"response":{response}{member}}}"#)).exchange
    };
    let mocked = read(r#","_wasFulfilled":true"#);
    assert!(mocked.response.is_none() && mocked.transport.client_left && mocked.transport.incomplete.is_none());
    assert!(read(r#","_wasFulfilled":false"#).response.is_some());
}

#[test]
fn a_body_that_a_service_worker_fetched_is_not_saved() {
    let of = |text: &str| {
        let response = format!(r#"{{"status":200,"content":{{"size":0,"text":"{text}"}},"bodySize":31}}"#);
        let request = r#"{"method":"GET","url":"https://a/"}"#;
        let entry = format!(r#"{{"request":{request},"response":{response},"_serviceWorkerRef":"worker@1"}}"#);
        body(&one(&entry).exchange.response.unwrap().body)
    };
    assert_eq!((of(""), of("{}")), ("not-saved".to_owned(), "2 bytes".to_owned()));
}

#[test]
fn a_redirection_of_zero_bytes_has_no_body_although_its_content_has_no_size() {
    let of = |rest: &str| {
        let response = format!(r#"{{"status":302,"content":{{"size":-1,"mimeType":"x-unknown"}},{rest}}}"#);
        let entry = format!(r#"{{"request":{{"method":"GET","url":"https://a/"}},"response":{response}}}"#);
        body(&one(&entry).exchange.response.unwrap().body)
    };
    let chunked = r#""headers":[{"name":"Transfer-Encoding","value":"chunked"}],"bodySize":0"#;
    assert_eq!((of(chunked), of(r#""bodySize":25"#)), ("none".to_owned(), "not-saved".to_owned()));
    assert_eq!(of(r#""bodySize":-1"#), "not-saved");
}
