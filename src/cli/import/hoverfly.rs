//! Simulations of Hoverfly, as far as a pair names one request.

use serde_json::Value;

use super::cassette::{Cassette, Losses, Message, Seen, base64, headers, status, text};

/// Reads a simulation. `None` if it has no `data.pairs`. `origin` is that of requests whose host no pair names.
pub(super) fn read(document: &Value, origin: &str) -> Option<Cassette> {
    let mut cassette = Cassette::default();
    for pair in document["data"]["pairs"].as_array()? {
        let seen = exchange(pair, origin, &mut cassette.losses);
        cassette.add(seen);
    }
    let delays = &document["data"]["globalActions"];
    for _ in ["delays", "delaysLogNormal"].into_iter().filter_map(|name| delays[name].as_array()).flatten() {
        cassette.losses.part("delay");
    }
    Some(cassette)
}

fn exchange(pair: &Value, origin: &str, losses: &mut Losses) -> Result<Seen, &'static str> {
    let (request, response) = (&pair["request"], &pair["response"]);
    let method = exact(&request["method"])?.ok_or("for any method")?;
    let path = exact(&request["path"])?.ok_or("for any path")?;
    let scheme = exact(&request["scheme"])?;
    let mut url = match exact(&request["destination"])? {
        Some(host) => format!("{}://{host}{path}", scheme.as_deref().unwrap_or("https")),
        None => format!("{origin}{path}"),
    };
    if let Some(query) = query(request)? {
        url = format!("{url}?{query}");
    }
    let mut sent = Vec::new();
    for (name, matchers) in request["headers"].as_object().into_iter().flatten() {
        match values(matchers) {
            Ok(values) => sent.extend(values.into_iter().map(|value| (name.clone(), value))),
            Err(_) => losses.part("header matcher"),
        }
    }
    let body = exact(&request["body"])?.map(String::into_bytes);
    let text = text(&response["body"]).unwrap_or_default();
    if response["templated"] == true && text.contains("{{") {
        return Err("with a template as body");
    }
    if response["bodyFile"].as_str().is_some_and(|file| !file.is_empty()) {
        return Err("with a body in another file");
    }
    if ["fixedDelay", "logNormalDelay"]
        .into_iter()
        .any(|name| !matches!(&response[name], Value::Null) && response[name] != 0)
    {
        losses.part("delay");
    }
    let received = if response["encodedBody"] == true {
        base64(&text).ok_or("with a body that is not base64")?
    } else {
        text.into_owned().into_bytes()
    };
    Ok(Seen {
        method,
        url,
        sent: Message { headers: sent, body },
        status: status(&response["status"]).ok_or("without a status")?,
        version: String::new(),
        received: Message { headers: headers(&response["headers"]), body: Some(received) },
    })
}

const PATTERN: &str = "with a pattern";

/// The one value of a field that is matched as a whole; `None` where any matches. Version 5 has a list of matchers,
/// earlier ones an object, whose member is named after the matcher.
fn exact(field: &Value) -> Result<Option<String>, &'static str> {
    match values(field)?.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only.clone())),
        _ => Err(PATTERN),
    }
}

fn values(field: &Value) -> Result<Vec<String>, &'static str> {
    let whole = |matcher: &Value| -> Option<Vec<String>> {
        if let Some(value) = matcher.as_str() {
            return Some(vec![value.to_owned()]);
        }
        let Some(kind) = matcher["matcher"].as_str() else {
            let old = ["exactMatch", "jsonMatch", "xmlMatch"].into_iter().find_map(|name| text(&matcher[name]))?;
            return Some(vec![old.into_owned()]);
        };
        match (kind, &matcher["value"]) {
            ("array", Value::Array(several)) => several.iter().map(|value| Some(text(value)?.into_owned())).collect(),
            ("exact" | "json" | "xml", value) if matcher.get("doMatch").is_none_or(Value::is_null) => {
                Some(vec![text(value)?.into_owned()])
            }
            _ => None,
        }
    };
    let found = match field {
        Value::Null => return Ok(Vec::new()),
        Value::Array(matchers) => matchers.iter().map(whole).collect::<Option<Vec<_>>>().map(|values| values.concat()),
        Value::Object(members) if members.is_empty() => return Ok(Vec::new()),
        one => whole(one),
    };
    found.ok_or(PATTERN)
}

/// The query; version 5 has one member a parameter, and the whole as `deprecatedQuery`.
fn query(request: &Value) -> Result<Option<String>, &'static str> {
    let parameters = match request["query"].as_object() {
        Some(parameters) if parameters.keys().any(|name| name.ends_with("Match")) => None,
        parameters => parameters,
    };
    let Some(parameters) = parameters else {
        let whole = [&request["query"], &request["deprecatedQuery"]].into_iter().find(|query| !query.is_null());
        return Ok(whole.map(exact).transpose()?.flatten().filter(|query| !query.is_empty()));
    };
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, matchers) in parameters {
        query.extend_pairs(values(matchers)?.iter().map(|value| (name, value)));
    }
    Ok(Some(query.finish()).filter(|query| !query.is_empty()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_matchers_of_every_version_are_read_and_patterns_counted() {
        let exact = |value: &str| json!([{"matcher": "exact", "value": value}]);
        let old = |value: &str| json!({"exactMatch": value});
        let ok = json!({"status": 200, "body": "x", "encodedBody": false, "fixedDelay": 3});
        let document = json!({"data": {"pairs": [
            {"request": {"scheme": old("http"), "destination": old("a"), "method": old("GET"), "path": old("/1"), "query": old("q=1")}, "response": ok},
            {"request": {"destination": exact("a"), "method": exact("GET"), "path": exact("/2"), "query": {"q": [{"matcher": "array", "value": ["1", "2"]}]},
                "headers": {"A": exact("1"), "B": [{"matcher": "glob", "value": "*"}]}}, "response": ok},
            {"request": {"method": exact("POST"), "path": exact("/3")}, "response": ok},
            {"request": {"method": exact("GET"), "path": [{"matcher": "regex", "value": ".*"}]}, "response": ok},
            {"request": {"path": exact("/5")}, "response": ok},
        ], "globalActions": {"delays": [{"delay": 5}]}}});
        let cassette = read(&document, "https://t").unwrap();
        let seen: Vec<&str> = cassette.exchanges.iter().map(|seen| &*seen.url).collect();
        assert_eq!(seen, ["http://a/1?q=1", "https://a/2?q=1&q=2", "https://t/3"]);
        assert_eq!(cassette.exchanges[2].sent.body, None);
        let expected = "2 exchanges (1 for any method, 1 with a pattern), 4 delays, 1 header matcher";
        assert_eq!(cassette.losses.in_words(), expected);
    }
}
