//! The stub mappings of WireMock, as far as each names one request and one answer.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::{Map, Value};

use super::cassette::{Cassette, Losses, Message, Seen, base64, headers, status, text};

/// Reads mappings in the order in which a client comes upon them. Body files are in `files`; `origin` is that of requests
/// whose host no mapping names.
pub(super) fn read(documents: &[Value], files: &Path, origin: &str) -> Cassette {
    let mappings = documents.iter().flat_map(|document| match document.get("mappings") {
        Some(mappings) => mappings.as_array().map(Vec::as_slice).unwrap_or_default(),
        None => std::slice::from_ref(document),
    });
    let mut cassette = Cassette::default();
    for mapping in in_order(mappings.collect()) {
        let seen = exchange(mapping, files, origin, &mut cassette.losses);
        cassette.add(seen);
    }
    cassette
}

/// Mappings in the order in which they were recorded, those of one scenario in that of its states.
fn in_order(mut mappings: Vec<&Value>) -> Vec<&Value> {
    mappings.sort_by_key(|mapping| std::cmp::Reverse(mapping["insertionIndex"].as_u64()));
    let mut steps: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for mapping in &mappings {
        let Some(scenario) = mapping["scenarioName"].as_str() else { continue };
        let states = steps.entry(scenario).or_default();
        let mut state = "Started";
        while !states.contains_key(state) {
            states.insert(state, states.len());
            let leads_on = |next: &&&Value| {
                next["scenarioName"] == scenario
                    && next["requiredScenarioState"] == state
                    && next["newScenarioState"] != state
            };
            let next = mappings.iter().find(leads_on).and_then(|next| next["newScenarioState"].as_str());
            state = next.unwrap_or(state);
        }
    }
    let step = |mapping: &&Value| {
        let states = steps.get(mapping["scenarioName"].as_str()?)?;
        states.get(mapping["requiredScenarioState"].as_str()?).copied()
    };
    mappings.sort_by_key(step);
    mappings
}

fn exchange(mapping: &Value, files: &Path, origin: &str, losses: &mut Losses) -> Result<Seen, &'static str> {
    let (request, response) = (&mapping["request"], &mapping["response"]);
    for (name, reason) in [("fault", "with a fault"), ("proxyBaseUrl", "that are proxied")] {
        if response.get(name).is_some() {
            return Err(reason);
        }
    }
    let method = request["method"].as_str().filter(|method| *method != "ANY").ok_or("for any method")?;
    let path = [&request["url"], &request["urlPath"]].into_iter().find_map(Value::as_str);
    let mut url = format!("{}{}", host(request, origin)?, path.ok_or("with a pattern as URL")?);
    append_query(&mut url, &request["queryParameters"])?;
    let mut sent = Vec::new();
    for (name, matcher) in request["headers"].as_object().into_iter().flatten() {
        match equal(matcher) {
            Some(value) => sent.push((name.clone(), value)),
            None => losses.part("header matcher"),
        }
    }
    for name in ["cookies", "basicAuthCredentials", "customMatcher", "formParameters", "pathParameters"] {
        if request.get(name).is_some() {
            losses.part("other matcher");
        }
    }
    let body = match request["bodyPatterns"].as_array().map(Vec::as_slice) {
        None | Some([]) => None,
        Some([pattern]) => Some(pattern_body(pattern).ok_or("with a pattern as body")?),
        Some(_) => return Err("with a pattern as body"),
    };
    for name in ["fixedDelayMilliseconds", "delayDistribution", "chunkedDribbleDelay"] {
        if response.get(name).is_some_and(|delay| !delay.is_null()) {
            losses.part("delay");
        }
    }
    let received = answer_body(response, files)?;
    let is_template =
        ["transformers", "responseDefinitionTransformers"].into_iter().any(|name| response.get(name).is_some());
    if is_template && memchr::memmem::find(&received, b"{{").is_some() {
        return Err("with a template as body");
    }
    Ok(Seen {
        method: method.to_owned(),
        url,
        sent: Message { headers: sent, body },
        status: response.get("status").map_or(Some(200), status).ok_or("without a status")?,
        version: String::new(),
        received: Message { headers: headers(&response["headers"]), body: Some(received) },
    })
}

/// The origin of a mapping's requests.
fn host(request: &Value, origin: &str) -> Result<String, &'static str> {
    let Some(host) = request.get("host") else { return Ok(origin.to_owned()) };
    let host = host.as_str().map(str::to_owned).or_else(|| equal(host)).ok_or("with a pattern as host")?;
    let scheme = request["scheme"].as_str().unwrap_or("https");
    let port = text(&request["port"]).map(|port| format!(":{port}")).unwrap_or_default();
    Ok(format!("{scheme}://{host}{port}"))
}

fn append_query(url: &mut String, parameters: &Value) -> Result<(), &'static str> {
    const PATTERN: &str = "with a pattern as query";
    for (name, matcher) in parameters.as_object().into_iter().flatten() {
        let values = match matcher["hasExactly"].as_array() {
            Some(several) => several.iter().map(equal).collect::<Option<Vec<_>>>(),
            None => equal(matcher).map(|value| vec![value]),
        };
        for value in values.ok_or(PATTERN)? {
            url.push(if url.contains('?') { '&' } else { '?' });
            let pair = form_urlencoded::Serializer::new(String::new()).append_pair(name, &value).finish();
            url.push_str(&pair);
        }
    }
    Ok(())
}

/// The value that a matcher names as a whole.
fn equal(matcher: &Value) -> Option<String> {
    text(&matcher["equalTo"]).map(std::borrow::Cow::into_owned)
}

/// The body that a pattern names as a whole.
fn pattern_body(pattern: &Value) -> Option<Vec<u8>> {
    let pattern: &Map<String, Value> = pattern.as_object()?;
    if let Some(binary) = pattern.get("binaryEqualTo") {
        return base64(binary.as_str()?);
    }
    let whole = ["equalTo", "equalToJson", "equalToXml"].into_iter().find_map(|name| pattern.get(name))?;
    Some(whole.as_str().map_or_else(|| whole.to_string(), str::to_owned).into_bytes())
}

fn answer_body(response: &Value, files: &Path) -> Result<Vec<u8>, &'static str> {
    if let Some(file) = response["bodyFileName"].as_str() {
        let is_inside = Path::new(file).components().all(|part| matches!(part, std::path::Component::Normal(_)));
        let read = || fs::read(files.join(file)).ok();
        return is_inside.then(read).flatten().ok_or("without the file of the body");
    }
    if let Some(body) = response["base64Body"].as_str() {
        return base64(body).ok_or("with a body that is not base64");
    }
    let json = response.get("jsonBody").map(Value::to_string);
    Ok(json.or_else(|| text(&response["body"]).map(std::borrow::Cow::into_owned)).unwrap_or_default().into_bytes())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(mappings: &Value) -> Cassette {
        read(&[json!({"mappings": mappings})], Path::new("/nowhere"), "https://t")
    }

    #[test]
    fn what_names_no_single_request_or_answer_is_counted_with_the_reason() {
        let get = |more: Value, response: Value| {
            let mut request = json!({"method": "GET", "url": "/"});
            request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"request": request, "response": response})
        };
        let cassette = of(&json!([
            get(json!({"method": "ANY"}), json!({})),
            json!({"request": {"method": "GET", "urlPathPattern": "/.*"}, "response": {}}),
            get(json!({"queryParameters": {"a": {"matches": "1.*"}}}), json!({})),
            get(json!({"bodyPatterns": [{"matchesJsonPath": "$.a"}]}), json!({})),
            get(json!({}), json!({"fault": "EMPTY_RESPONSE"})),
            get(json!({}), json!({"bodyFileName": "../../etc/passwd"})),
            get(json!({}), json!({"body": "{{now}}", "transformers": ["response-template"]})),
            get(
                json!({"headers": {"A": {"equalTo": "1"}, "B": {"matches": ".*"}}}),
                json!({"fixedDelayMilliseconds": 5})
            ),
        ]));
        assert_eq!(cassette.exchanges.len(), 1);
        assert_eq!(cassette.exchanges[0].sent.headers, [("A".to_owned(), "1".to_owned())]);
        let expected = "7 exchanges (1 for any method, 1 with a fault, 1 with a pattern as URL, 1 with a pattern as body, \
                        1 with a pattern as query, 1 with a template as body, 1 without the file of the body), 1 delay, \
                        1 header matcher";
        assert_eq!(cassette.losses.in_words(), expected);
    }

    #[test]
    fn the_states_of_a_scenario_give_the_order() {
        let state = |required: &str, new: Option<&str>| {
            json!({"scenarioName": "s", "requiredScenarioState": required, "newScenarioState": new,
                "request": {"method": "GET", "url": "/"}, "response": {"body": required}})
        };
        let circle = of(&json!([state("b", Some("Started")), state("a", Some("b")), state("Started", Some("a"))]));
        let bodies =
            circle.exchanges.iter().map(|seen| String::from_utf8(seen.received.body.clone().unwrap()).unwrap());
        assert_eq!(bodies.collect::<Vec<_>>(), ["Started", "a", "b"]);
    }
}
