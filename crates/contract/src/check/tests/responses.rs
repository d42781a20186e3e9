//! Findings in responses, and across both messages.

use super::*;

#[test]
fn statuses_count_only_where_the_document_lists_some() {
    Case::book().answer(201, r#"{"isbn":"42"}"#).finds(&["status.success"]);
    Case::book().answer(204, "").finds(&["status.success"]);
    Case::book().answer(500, "").finds(&["status.undocumented"]).leaves(&["error-body"]);
    Case::book().answer(302, "").finds(&["status.undocumented"]);
    Case::book().answer(404, "").finds(&[]).leaves(&["error-body"]);
    Case::list("").answer(206, "{}").finds(&[]).leaves(&["required-scope", "success-status"]);
    Case::list("").answer(418, "").finds(&[]).leaves(&["required-scope", "error-status", "error-body"]);
}

#[test]
fn a_part_of_a_representation_is_held_to_no_schema() {
    let part = || Case::list("").answer(206, r#"{"isbn":"4"#);
    part().header("content-range").finds(&[]).leaves(&["required-scope", "success-status", "response-body"]);
    Case::list("").answer_as(206, "multipart/byteranges; boundary=b", "--b--").finds(&[]);
    part().finds(&["response.body.malformed"]);
}

#[test]
fn documented_headers_have_to_be_there() {
    Case::book().answer(429, "").finds(&["response.headers X-Rate"]);
    Case::book().answer(429, "").header("x-rate").finds(&[]);
}

#[test]
fn response_bodies_are_json_under_any_status() {
    for good in ["application/json", "application/json;charset=utf-8", "application/problem+json"] {
        Case::book().answer_as(404, good, "{}").finds(&[]);
        Case::book().answer_as(200, good, r#"{"isbn":"42"}"#).finds(&[]);
    }
    for bad in ["text/html", "", "application/jsonx", "application/+json"] {
        Case::book().answer_as(404, bad, "{}").finds(&["response.content-type Content-Type"]);
        let case = Case::book().answer_as(200, bad, "{}");
        case.finds(&["response.content-type Content-Type"]).leaves(&["response-body"]);
    }
    Case::book().answer(404, "<html>").finds(&["response.body.malformed"]);
    Case::book().answer(500, r#"{"a":1,"a":2}"#).finds(&["status.undocumented", "response.body.malformed"]);
    Case::new("POST", "/v1/books")
        .send("application/json", "{}")
        .answer(202, "oops")
        .finds(&["response.body.malformed"]);
}

#[test]
fn of_several_content_types_only_what_holds_for_each_of_them_is_judged() {
    let typed = |types: &[&'static str]| {
        Case::book().answer_as(200, types[0], r#"{"isbn":42}"#).change(|exchange| {
            let headers = &mut exchange.response.as_mut().unwrap().headers;
            for media_type in &types[1..] {
                headers.append(http::header::CONTENT_TYPE, HeaderValue::from_static(media_type));
            }
        })
    };
    for ambiguous in [
        &["application/json", "text/html"][..],
        &["text/html", "application/json"],
        &["application/json, text/html"],
        &["application/json; charset=utf-8, text/html"],
        &["application/json", ", text/html,"],
    ] {
        typed(ambiguous).finds(&[]).leaves(&["response-body"]);
    }
    for one in [
        &["application/json", "application/json"][..],
        &["application/json", "APPLICATION/JSON;charset=utf-8"],
        &["application/json,application/json"],
        &["application/json;a=\"x, text/html\""],
        &["application/json", ""],
    ] {
        typed(one).finds(&["response.body /isbn"]).leaves(&[]);
    }
    for other in [&["text/html", "text/plain"][..], &["text/html, text/plain"]] {
        let case = typed(other);
        case.finds(&["response.content-type Content-Type"]).leaves(&["response-body"]);
        assert!(case.verdict().findings[0].message().ends_with("saw `text/html, text/plain`"));
    }
    let form = "application/x-www-form-urlencoded";
    let both = Case::update("application/json", "{{{").send(form, "title=123456789");
    both.finds(&[]);
    assert!(both.verdict().unchecked.contains(Unchecked::RequestBody));
    let wrong = Case::update("text/html", "x").send("text/plain", "x");
    wrong.finds(&["request.content-type Content-Type"]);
}

#[test]
fn response_bodies_are_judged_by_their_schema() {
    Case::book().answer(200, r#"{"isbn":"42","kind":"novel"}"#).finds(&[]);
    Case::book().answer(200, r#"{"pages":"7","kind":"poem","new":[{}]}"#).finds(&[
        "response.body /isbn",
        "response.body /pages",
        "response.body.undocumented /kind",
        "response.body.undocumented /new",
    ]);
    Case::book().answer(200, "").finds(&["response.body"]);
    Case::update("", "").answer(204, "").finds(&[]);
    let finding = &Case::book().answer(200, r#"{"isbn":"42","pages":"7"}"#).verdict().findings[0];
    assert_eq!(finding.message(), "expected an integer, saw `\"7\"`");
}

#[test]
fn the_response_is_about_what_the_path_names() {
    Case::new("GET", "/v1/books/a%7Cb").answer(200, r#"{"isbn":"a|b"}"#).finds(&[]);
    Case::book().answer(200, r#"{"isbn":"43"}"#).finds(&["exchange.identity /isbn"]);
    Case::book().answer(404, r#"{"isbn":"43"}"#).finds(&[]);
    Case::book().answer(200, "{}").finds(&["response.body /isbn"]);
    Case::book()
        .answer(200, r#"{"isbn":"43"}"#)
        .change(|exchange| exchange.response.as_mut().unwrap().body.redacted = vec!["/isbn".to_owned()])
        .finds(&[]);
}

#[test]
fn a_page_holds_no_more_than_was_requested_or_the_default() {
    let books = |count: usize| format!(r#"{{"books":[{}]}}"#, vec![r#"{"isbn":"1"}"#; count].join(","));
    Case::list("").answer(200, &books(2)).finds(&[]);
    Case::list("").answer(200, &books(3)).finds(&["exchange.page-size /books"]);
    Case::list("&take=5").answer(200, &books(5)).finds(&[]);
    Case::list("&take=5").answer(200, &books(6)).finds(&["exchange.page-size /books"]);
    for none in ["&take=x", "&take=1&take=1"] {
        Case::list(none).answer(200, &books(6)).finds(&["query.parameter take"]);
    }
    Case::list("&take=5").answer(400, &books(6)).finds(&[]);
}

#[test]
fn what_was_sent_comes_back_as_it_was_sent() {
    let patch = |sent: &str, came: &str| {
        Case::update("application/json", sent).answer(200, &format!(r#"{{"isbn":"42",{}"#, &came[1..]))
    };
    patch(r#"{"title":"a","meta":{"n":1.0,"l":[1,2],"o":{"x":1}}}"#, r#"{"title":"a","meta":{"n":1e0,"l":[1],"p":3}}"#)
        .finds(&[]);
    patch(r#"{"title":"a","meta":{"n":1,"l":[1,2],"o":{"x":1}}}"#, r#"{"title":"b","meta":{"n":2,"l":[1,3],"o":5}}"#)
        .finds(&["exchange.echo /title", "exchange.echo /meta/n", "exchange.echo /meta/l/1"]);
    patch(r#"{"version":1}"#, r#"{"version":2}"#).finds(&["response.body.undocumented /version"]);
    Case::update("application/x-www-form-urlencoded", "title=a&meta=%7B%22n%22%3A1%7D")
        .answer(200, r#"{"isbn":"42","title":"b","meta":{"n":2}}"#)
        .finds(&["exchange.echo /title", "exchange.echo /meta/n"]);
}

#[test]
fn an_incomplete_response_is_reported_and_its_body_is_not_judged() {
    let cut = Case::book().answer(200, "{").change(|exchange| exchange.transport.incomplete = Some("reset".to_owned()));
    cut.finds(&["transport.incomplete"]).leaves(&["response-body"]);
    assert_eq!(cut.verdict().findings[0].message(), "expected a whole response: reset");
    let long = Case::new("GET", "/v1/books/123456");
    long.clone().change(|exchange| exchange.response = None).finds(&["path.parameter isbn", "transport.incomplete"]);
    long.answer(0, "").finds(&["path.parameter isbn", "transport.incomplete"]).blames(None);
}

#[test]
fn a_client_that_left_violates_nothing_and_what_came_whole_is_judged() {
    let left = |case: Case| case.change(|exchange| exchange.transport.client_left = true);
    left(Case::new("GET", "/v1/books/123456").change(|exchange| exchange.response = None))
        .finds(&["path.parameter isbn"])
        .leaves(&["response-body"]);
    let mut part = Case::book().answer(200, "{").change(|exchange| exchange.response.as_mut().unwrap().left());
    part = left(part);
    part.finds(&[]).leaves(&["response-body"]);
    left(Case::book().answer(200, "{")).finds(&["response.body.malformed"]);
}

#[test]
fn what_contrail_answered_itself_is_not_held_against_the_tenant() {
    Case::new("GET", "/v1/books/123456")
        .answer_as(400, "text/plain", "no")
        .change(|exchange| exchange.transport.answered_by_contrail = Some("refused".to_owned()))
        .finds(&["path.parameter isbn"])
        .leaves(&["response-body"])
        .blames(None);
}

#[test]
fn what_an_unusable_place_was_to_document_is_unchecked_and_no_gap() {
    let nowhere = |mut case: Case, at: &str| {
        *case.document.pointer_mut(at).unwrap() = serde_json::json!({"$ref": "#/nowhere"});
        case
    };
    let odd = |case: Case| case.answer(200, r#"{"isbn":"42","odd":1}"#);
    let book = "/paths/~1books~1{isbn}/get/responses/200";
    odd(Case::book()).finds(&["response.body.undocumented /odd"]).leaves(&[]);
    odd(nowhere(Case::book(), book)).finds(&[]).leaves(&["response-body"]);
    odd(nowhere(Case::book(), &format!("{book}/content/application~1json"))).finds(&[]).leaves(&["response-body"]);
    let aspects = ["required-scope", "success-status", "request-required", "response-required"];
    let update = || Case::update("application/json", r#"{"odd":1}"#);
    let body = "/paths/~1books~1{isbn}/patch/requestBody";
    update().finds(&["request.body.undocumented /odd"]).leaves(&aspects);
    let aspects = ["required-scope", "success-status", "request-required", "request-body", "response-required"];
    nowhere(update(), body).finds(&[]).leaves(&aspects);
    let list = || Case::list("&odd=1");
    list().finds(&["query.undocumented odd"]).leaves(&["required-scope", "success-status"]);
    let aspects = ["required-scope", "success-status", "request-parameters"];
    nowhere(list(), "/paths/~1books/get/parameters/1").finds(&[]).leaves(&aspects);
    let shelf = nowhere(list(), "/paths/~1books/get/parameters/1/schema");
    shelf.finds(&["query.undocumented odd"]).leaves(&["required-scope", "success-status"]);
}

#[test]
fn a_message_lists_only_the_first_of_many_media_types() {
    let mut case = Case::book().answer_as(200, "text/html", "<html>");
    let content: serde_json::Map<String, Value> =
        (0..20_000).map(|index| (format!("application/vnd.shelf.v{index}+json"), json!({}))).collect();
    case.document["paths"]["/books/{isbn}"]["get"]["responses"]["200"]["content"] = content.into();
    let verdict = case.verdict();
    let expected = &verdict.findings[0].expected;
    assert!(expected.len() < 17_000 && expected.ends_with(", and others"), "{}", expected.len());
}
