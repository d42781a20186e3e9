//! Findings in requests.

use super::*;

#[test]
fn path_parameters_are_judged_decoded_and_in_characters() {
    for good in ["42", "%F0%9F%98%80%C3%A4xyz", "%7C%2F%2B+x", "..."] {
        let case = Case::new("GET", &format!("/v1/books/{good}")).answer(404, "");
        case.finds(&[]).blames(Some(Blame::Agreed));
    }
    for bad in ["123456", "%C3%A4%C3%A4%C3%A4%C3%A4%C3%A4x", "%zz", "%f", "%ff"] {
        let case = Case::new("GET", &format!("/v1/books/{bad}"));
        case.clone().answer(404, "").finds(&["path.parameter isbn"]).blames(Some(Blame::Caught));
        case.clone().answer(200, r#"{"isbn":"123456"}"#).blames(Some(Blame::Laxer));
        case.answer(500, "").blames(None);
    }
}

#[test]
fn query_parameters_are_judged_by_their_schema() {
    for good in ["", "&take=1", "&take=9", "&t%61ke=5", "&tag=a&tag=b%2B", "&&", "&take=%35"] {
        Case::list(good).finds(&[]);
    }
    for bad in ["&take=0", "&take=10", "&take=", "&take", "&take=5.0", "&take=%zz", "&take=1&take=1", "&take=+5"] {
        Case::list(bad).finds(&["query.parameter take"]);
    }
    Case::list("&tag=a&tag=abc").finds(&["query.parameter tag"]);
    Case::list("&shelf=b").finds(&["query.parameter shelf"]);
    Case::new("GET", "/v1/books").answer(200, "{}").finds(&["query.parameter shelf"]);
    Case::list("&q=1&q=2&Take=5&%zz=1&a+b=1").finds(&[
        "query.undocumented q",
        "query.undocumented Take",
        "query.undocumented %zz",
        "query.undocumented a b",
    ]);
}

#[test]
fn a_body_where_the_document_says_none_is_a_violation_and_where_it_is_silent_a_gap() {
    Case::book().send("application/json", "{}").finds(&["request.body.unexpected"]);
    Case::book().send("application/json", "").finds(&[]);
    Case::list("").send("application/json", "{}").finds(&["request.body.undocumented"]).leaves(&[
        "required-scope",
        "success-status",
        "request-body",
    ]);
    Case::list("").send("", "").finds(&[]).leaves(&["required-scope", "success-status"]);
}

#[test]
fn request_media_types_are_those_that_the_document_names() {
    for good in ["application/json", "Application/JSON; charset=utf-8", "application/json ;x"] {
        Case::update(good, r#"{"title":"a"}"#).finds(&[]);
    }
    for bad in ["", "text/plain", "application/xml", "application/merge-patch+json", "json", "/", "multipart/form-data"]
    {
        Case::update(bad, r#"{"title":"aaaaaaaaaaaa"}"#).finds(&["request.content-type Content-Type"]).leaves(&[
            "required-scope",
            "success-status",
            "request-required",
            "request-body",
            "response-required",
        ]);
    }
    Case::update("text/plain", "").finds(&[]);
}

#[test]
fn request_bodies_are_judged_by_their_schema() {
    Case::update("application/json", r#"{"title":"12345678","version":1.0,"meta":{"x":[{}]}}"#).finds(&[]);
    Case::update("application/json", r#"{"title":"123456789","version":1.5,"extra":{"a":1}}"#).finds(&[
        "request.body /title",
        "request.body /version",
        "request.body.undocumented /extra",
    ]);
    Case::update("application/json", "[]").finds(&["request.body"]);
    for bad in ["{", r#"{"title":"a","title":"b"}"#, "\u{feff}{}", r#"{"title":"\ud800"}"#, "{} x", "a=b"] {
        Case::update("application/json", bad).finds(&["request.body.malformed"]).blames(Some(Blame::Laxer));
    }
    Case::update("", "").send("application/json", &b"\"\xff\""[..]).finds(&["request.body.malformed"]);
    let deep = format!("{}{}", r#"{"meta":"#, "[".repeat(5000));
    Case::update("application/json", &deep).finds(&[]).leaves(&[
        "required-scope",
        "success-status",
        "request-required",
        "request-body",
        "response-required",
    ]);
}

#[test]
fn a_missing_body_is_a_violation_only_where_the_document_requires_one() {
    Case::update("", "").finds(&[]).leaves(&[
        "required-scope",
        "success-status",
        "request-required",
        "response-required",
    ]);
    Case::new("POST", "/v1/books").answer(202, "").finds(&["request.body"]);
}

#[test]
fn a_media_type_that_is_not_read_leaves_the_body_unchecked() {
    Case::new("POST", "/v1/books").send("application/xml", "<a/>").answer(202, "").finds(&[]).leaves(&[
        "required-scope",
        "success-status",
        "request-body",
        "response-body",
    ]);
}

#[test]
fn forms_are_judged_as_the_object_that_they_stand_for() {
    let form = |body: &str| Case::update("application/x-www-form-urlencoded", body);
    form("title=a+b&version=5&meta=%7B%22x%22%3A1%7D").finds(&[]);
    form("meta[x]=1").finds(&["request.body.undocumented /meta[x]"]);
    form("version=5.0").finds(&["request.body /version"]);
    form("version=05").finds(&["request.body /version"]);
    form("meta=x").finds(&["request.body /meta"]);
    form("meta=[1]").finds(&["request.body /meta"]);
    form("title=123456789").finds(&["request.body /title"]);
    form("title=a&title=a").finds(&["request.body.malformed /title"]);
    form("title=%zz").finds(&["request.body.malformed /title"]);
    form("title=%ff").finds(&["request.body.malformed /title"]);
}

#[test]
fn a_text_that_the_judge_leaves_open_is_unchecked() {
    let shelf = |schema: serde_json::Value| {
        let mut case = Case::list("");
        *case.document.pointer_mut("/paths/~1books/get/parameters/2/schema").unwrap() = schema;
        case
    };
    let aspects = ["required-scope", "success-status"];
    let open = ["required-scope", "success-status", "request-parameters"];
    shelf(serde_json::json!({"type": "string", "pattern": "^a"})).finds(&[]).leaves(&aspects);
    for schema in [
        serde_json::json!({"type": "string", "pattern": "(?<"}),
        serde_json::json!({"type": "string", "$ref": "#/nowhere"}),
        serde_json::json!({"type": "string", "allOf": [{"$ref": "#/nowhere"}]}),
    ] {
        shelf(schema).finds(&[]).leaves(&open);
    }
}

#[test]
fn what_is_unchecked_states_why_and_nothing_of_what_the_document_leaves_out() {
    let reasons = |case: Case| -> Vec<String> {
        let verdict = case.verdict();
        let place = |at: &str| if at.is_empty() { String::new() } else { format!(" at {at}") };
        let reasons = verdict.reasons.iter();
        reasons.map(|held| format!("{}{}: {}", held.aspect.name(), place(&held.at), held.reason)).collect()
    };
    assert_eq!(reasons(Case::update("application/json", r#"{"title":"a"}"#)), [""; 0]);
    let of_body = |change: fn(&mut Body)| {
        reasons(Case::update("application/json", "{}").change(|exchange| change(&mut exchange.request.body)))
    };
    for (change, expected) in [
        (
            (|body| body.presence = Presence::Truncated { kept: 1, total: None }) as fn(&mut Body),
            "request-body: only its beginning was kept",
        ),
        (
            |body| body.presence = Presence::Withheld(Withheld::MaxRatio),
            "request-body: it decodes to more than --max-ratio allows",
        ),
        (
            |body| body.presence = Presence::Withheld(Withheld::Other("lossy".into())),
            "request-body: the file has U+FFFD in place of bytes of it",
        ),
        (|body| body.presence = Presence::Withheld(Withheld::NotSaved), "request-body: the file was saved without it"),
        (|body| body.redacted = vec![String::new()], "request-body: labels replace secrets in it"),
    ] {
        assert_eq!(of_body(change), [expected]);
    }
    let form = Case::update("application/x-www-form-urlencoded", "title=a&meta=%7B%22a%22%3A1%7D");
    assert_eq!(reasons(form), [""; 0]);
}

#[test]
fn a_file_that_nothing_restricts_is_no_unchecked_part_of_a_form() {
    let unchecked = |file: Value| {
        let mut case = Case::update("", "");
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}, "file": file}});
        case.document["paths"]["/books/{isbn}"]["patch"]["requestBody"]["content"]["multipart/form-data"] =
            json!({ "schema": schema });
        let body = "--B\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\n1\r\n--B\r\nContent-Disposition: form-data; \
                    name=\"file\"; filename=\"a\"\r\nContent-Type: image/png\r\n\r\nPNG\r\n--B--\r\n";
        let verdict = case.send("multipart/form-data; boundary=B", body).verdict();
        assert_eq!(verdict.findings, []);
        verdict.reasons.into_iter().map(|reason| format!("{}: {}", reason.at, reason.reason)).collect::<Vec<_>>()
    };
    for file in [
        json!({}),
        json!({"type": "string", "format": "binary"}),
        json!({"type": "array", "items": {"type": "string", "format": "binary"}}),
        json!({"contentMediaType": "image/png"}),
        json!({"allOf": [{"type": "string"}, {"format": "binary"}]}),
    ] {
        assert_eq!(unchecked(file.clone()), [""; 0], "{file}");
    }
    for file in [json!({"type": "string", "minLength": 9}), json!({"type": "object"}), json!({"type": "integer"})] {
        assert_eq!(unchecked(file.clone()), ["/file: contrail does not read `image/png`"], "{file}");
    }
}

#[test]
fn a_body_that_is_a_file_conforms_and_one_that_more_is_stated_of_is_unchecked() {
    let unchecked = |schema: Value, media_type: &str| {
        let mut case = Case::update(media_type, &b"\x89PNG\r\n\xff"[..]);
        case.document["paths"]["/books/{isbn}"]["patch"]["requestBody"]["content"] =
            json!({"image/*": {"schema": schema}, "application/octet-stream": {"schema": schema}});
        let verdict = case.verdict();
        assert_eq!(verdict.findings, []);
        verdict.reasons.into_iter().map(|reason| reason.reason).collect::<Vec<_>>()
    };
    for media_type in ["image/png", "application/octet-stream"] {
        for file in [
            json!({"type": "string", "format": "binary"}),
            json!({"type": "string", "format": "binary", "nullable": true, "description": "a cover"}),
            json!({"contentMediaType": "image/png"}),
            json!({"type": "string", "contentMediaType": "image/png"}),
            json!({"allOf": [{"type": "string"}, {"format": "binary"}]}),
        ] {
            assert_eq!(unchecked(file.clone(), media_type), [""; 0], "{file}");
        }
        for other in [
            json!({"type": "string"}),
            json!({"type": "string", "format": "byte"}),
            json!({"type": "string", "format": "binary", "maxLength": 2}),
            json!({"type": "string", "contentMediaType": "image/png", "contentEncoding": "base64"}),
            json!({"type": "object", "format": "binary"}),
            json!({"format": "binary", "allOf": [{"$ref": "#/nowhere"}]}),
        ] {
            let expected = format!("contrail does not read `{media_type}`");
            assert_eq!(unchecked(other.clone(), media_type), [expected], "{other}");
        }
    }
}

#[test]
fn a_charset_that_is_not_decoded_is_named_where_the_text_is_unchecked() {
    let reasons = |media_type: &str| {
        let mut case = Case::update(media_type, &b"caf\xe9"[..]);
        case.document["paths"]["/books/{isbn}"]["patch"]["requestBody"]["content"] =
            json!({"text/plain": {"schema": {"type": "string", "maxLength": 9}}});
        case.verdict().reasons.into_iter().map(|reason| reason.reason).collect::<Vec<_>>()
    };
    assert_eq!(reasons("text/plain; charset=\"ISO-8859-1\""), ["contrail does not decode its charset `ISO-8859-1`"]);
    for silent in ["text/plain", "text/plain; charset="] {
        assert_eq!(reasons(silent), ["its bytes are not UTF-8, and its charset is not stated"], "{silent}");
    }
}
