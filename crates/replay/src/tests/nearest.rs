//! Which recorded exchanges a miss shows, and in which order.

use super::*;

/// What a miss of `asked` shows, the nearest first, for every order of the recorded requests; it has to be the same.
fn shown(recorded: &[Request], asked: &Request) -> Vec<String> {
    let mut orders = Vec::new();
    permute(&mut recorded.iter().collect(), 0, &mut |order: &[&Request]| {
        let miss = ask(&replay(order.iter().map(|request| says((*request).clone(), "{}"))), asked).unwrap_err();
        orders.push(miss.nearest.iter().map(|near| near.request.clone()).collect::<Vec<_>>());
    });
    assert!(orders.windows(2).all(|pair| pair[0] == pair[1]), "the order of the entries decides: {orders:?}");
    orders.swap_remove(0)
}

fn permute<'a>(requests: &mut Vec<&'a Request>, from: usize, each: &mut dyn FnMut(&[&'a Request])) {
    if from == requests.len() {
        return each(requests);
    }
    for at in from..requests.len() {
        requests.swap(from, at);
        permute(requests, from + 1, each);
        requests.swap(from, at);
    }
}

#[test]
fn the_nearest_path_comes_first_whatever_the_order_of_the_entries() {
    let recorded = [
        request("GET", "/api/v2/connection-profiles/templates"),
        request("GET", "/api/v2/connections/con_1/groups"),
        request("GET", "/api/v2/rate-limit-policies/rlp_1?fields=a&page=2"),
        request("DELETE", "/api/v2/rate-limit-policies/rlp_2"),
    ];
    assert_eq!(
        shown(&recorded, &request("GET", "/api/v2/rate-limit-policies/rlp_9")),
        [
            "GET /api/v2/rate-limit-policies/rlp_1?fields=a&page=2",
            "GET /api/v2/connection-profiles/templates",
            "DELETE /api/v2/rate-limit-policies/rlp_2",
        ]
    );
}

#[test]
fn the_same_documented_operation_comes_before_a_nearer_path_and_fewer_differences() {
    // What begins with /actions is one operation.
    let recorded = [
        json("/actions/a/tests/b?x=1", r#"{"a":1,"b":2}"#),
        json("/actiones/c/run", r#"{"a":0}"#),
        request("GET", "/other"),
        json("/actions/c", r#"{"a":3}"#),
    ];
    assert_eq!(
        shown(&recorded, &json("/actions/c/run", r#"{"a":0}"#)),
        ["POST /actions/c", "POST /actions/a/tests/b?x=1", "POST /actiones/c/run"]
    );
}

#[test]
fn of_paths_that_are_as_near_the_one_with_the_fewest_differences_comes_first() {
    let recorded = [
        json("/x/1", r#"{"a":9,"b":9}"#),
        json("/x/2", r#"{"a":1,"b":9}"#),
        json("/x/3", r#"{"a":1,"b":2}"#),
        json("/x/3", r#"{"a":9,"b":9,"c":9}"#),
    ];
    assert_eq!(shown(&recorded, &json("/x/4", r#"{"a":1,"b":2}"#)), ["POST /x/3", "POST /x/2", "POST /x/1"]);
}

#[test]
fn a_body_of_the_same_kind_comes_before_one_of_another_however_much_differs() {
    let recorded = [
        json("/x?json", r#"{"id":1,"at":2,"keep":3}"#),
        with_body("POST", "/x?xml", "application/xml", "<x/>"),
        with_body("POST", "/x?form", "application/x-www-form-urlencoded", "a=1"),
    ];
    let recorded = recorded.map(|mut request| {
        request.target = Target::new("https", "tenant.example", "/x");
        request
    });
    let replay = replay(recorded.map(|request| says(request, "{}")));
    let miss = ask(&replay, &json("/x", r#"{"id":7,"at":8,"keep":3}"#)).unwrap_err();
    assert_eq!(miss.nearest[0].entry, "a.har entry 0");
    assert!(
        miss.detail().contains("it would match with `--ignore 'POST /x=pointer:/id' --ignore 'POST /x=pointer:/at'`"),
        "{miss:?}"
    );
}

#[test]
fn what_decides_between_recorded_answers_is_not_advised_to_be_ignored() {
    let page = |number: u32, nonce: u32| request("GET", &format!("/items?n={nonce}&page={number}"));
    let recorded = [says(page(1, 1), "one"), says(page(2, 1), "two"), says(page(2, 2), "two")];
    let replay = self::replay(recorded);
    let miss = ask(&replay, &page(3, 1)).unwrap_err();
    assert_eq!(miss.nearest[0].differences[0].option, None);
    assert!(miss.detail().contains("was not recorded") && !miss.detail().contains("--ignore"), "{}", miss.detail());
    let miss = ask(&replay, &page(2, 3)).unwrap_err();
    assert!(miss.detail().contains("it would match with `--ignore 'GET /items=query:n'`"), "{}", miss.detail());
    let miss = ask(&replay, &page(3, 3)).unwrap_err();
    let options =
        |near: &contrail_exchange::Near| near.differences.iter().map(|one| one.option.clone()).collect::<Vec<_>>();
    assert_eq!(options(&miss.nearest[0]), [Some("--ignore 'GET /items=query:n'".to_owned()), None]);
    let order = |id: u32| json("/orders", &format!(r#"{{"order":{id}}}"#));
    let replay = self::replay([says(order(1), "first"), says(order(2), "second")]);
    assert!(!ask(&replay, &order(3)).unwrap_err().detail().contains("--ignore"));
}

#[test]
fn a_rule_is_advised_for_requests_like_the_missed_one_only() {
    let advised = |recorded: Request, live: Request| {
        let miss = ask(&replay([says(recorded.clone(), "{}")]), &live).unwrap_err();
        let option = miss.nearest[0].differences[0].option.clone().unwrap();
        let rule = option.strip_prefix("--ignore ").unwrap().trim_matches('\'').to_owned();
        assert!(ask(&ignoring(&[&rule], [says(recorded, "{}")]), &live).is_ok(), "{rule}");
        rule
    };
    assert_eq!(advised(json("/actions", r#"{"id":1}"#), json("/actions", r#"{"id":2}"#)), "testAction=pointer:/id");
    let at = |id: &str, n: u32| json(&format!("/v1/users/{id}/pay"), &format!(r#"{{"n":{n}}}"#));
    assert_eq!(advised(at("u17", 1), at("u17", 2)), "POST /v1/users/*/pay=pointer:/n");
    let thing = |id: &str| request("PUT", &format!("/things/{id}/x"));
    let ids = ["6f3d2f4e-1c55-4c1a-8a55-0d4b8f3a9e01", "2d1b9a77-91f0-4a35-9b53-c6b2a1f4d702"];
    assert_eq!(advised(thing(ids[0]), thing(ids[1])), "PUT /things/*/x=path:2");
}

#[test]
fn an_id_in_the_path_that_decides_between_recorded_answers_is_not_advised_to_be_ignored() {
    let thing = |id: u32| request("GET", &format!("/things/6f3d2f4e-1c55-4c1a-8a55-0d4b8f3a9e{id:02}"));
    let replay = replay([says(thing(1), "one"), says(thing(2), "two")]);
    assert_eq!(ask(&replay, &thing(3)).unwrap_err().nearest[0].differences[0].option, None);
}

#[test]
fn a_graphql_request_matches_by_its_tokens_and_a_miss_names_it_and_never_advises_to_ignore_its_query() {
    let query = |text: &str| json("/graphql", &serde_json::json!({"query": text, "variables": {}}).to_string());
    let replay = replay([says(query("query One { a b }"), "one"), says(query("query Two { a(x: 1) }"), "two")]);
    assert_eq!(body(&replay, &query("query Two {\n  a(x: 1),\n}")), "two");
    assert_eq!(body(&replay, &json("/graphql", r#"{"query":"query One {a b}","operationName":null}"#)), "one");
    let miss = ask(&replay, &query("query Two { a(x: 2) }")).unwrap_err();
    assert_eq!((&*miss.asked, &*miss.nearest[0].request), ("POST /graphql (Two)", "POST /graphql (One)"));
    assert_eq!(miss.nearest[0].differences[0].option, None);
    // Of another path, the line of the recorded one is known.
    let miss = ask(&replay, &json("/graphql/x", "{}")).unwrap_err();
    assert_eq!(miss.nearest[0].differences[0].fixture.as_deref(), Some("/graphql"));
}

#[test]
fn a_binary_part_of_the_same_size_differs_from_some_byte_on() {
    let part = |bytes: &[u8]| {
        let mut request = with_body("POST", "/x", "multipart/form-data; boundary=b", "");
        let head = b"--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.bin\"\r\n\r\n";
        request.body = Body::whole([&head[..], bytes, b"\r\n--b--\r\n"].concat());
        request
    };
    let replay = replay([says(part(b"\xff\x00\x01"), "{}")]);
    let miss = ask(&replay, &part(b"\xff\x00\x02")).unwrap_err();
    let [one] = &miss.nearest[0].differences[..] else { panic!("{miss:?}") };
    assert_eq!(one.place, "part `f` (from byte 2 on)");
    assert_eq!(one.yours.as_deref(), Some("3 bytes (file `a.bin`)"));
    assert_eq!(one.option.as_deref(), Some("--ignore 'POST /x=pointer:/f'"));
}

#[test]
fn the_nearest_of_thousands_is_found_wherever_it_stands() {
    let far = (0..5000).map(|at| says(request("GET", &format!("/api/v2/users/{at}/roles/{at}")), "{}"));
    let near = says(request("GET", "/api/v2/rate-limit-policies/rlp_1"), "{}");
    let replay = replay(far.chain([near]));
    let miss = ask(&replay, &request("GET", "/api/v2/rate-limit-policies/rlp_2")).unwrap_err();
    assert_eq!(miss.nearest[0].request, "GET /api/v2/rate-limit-policies/rlp_1");
    assert_eq!(miss.nearest[0].entry, "a.har entry 5000");
    let path = &miss.nearest[0].differences[0];
    assert_eq!((path.place.as_str(), path.option.as_deref()), ("path", None));
    assert_eq!(path.yours.as_deref(), Some("/api/v2/rate-limit-policies/rlp_2"));
    assert_eq!(
        miss.detail(),
        "`GET /api/v2/rate-limit-policies/rlp_2` was not recorded. The nearest is a.har entry 5000 (`GET \
         /api/v2/rate-limit-policies/rlp_1`). Record this request with `contrail record --append`, or replay with \
         `--record-missing --upstream URL`."
    );
}
