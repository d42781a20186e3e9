//! The cassettes of go-vcr, vcrpy, VCR of Ruby and their like: one family, whose members differ in names only.

use contrail_contract::YAML_BINARY;
use serde_json::Value;

use super::cassette::{Cassette, Losses, Message, Seen, base64, headers, status, text};

/// Reads a cassette. `None` if it has no list of interactions. `origin` is that of requests whose host was filtered out.
pub(super) fn read(document: &Value, origin: &str) -> Option<Cassette> {
    let list = ["interactions", "http_interactions"].into_iter().find_map(|name| document.get(name));
    let list = list.unwrap_or(document);
    let mut cassette = Cassette::default();
    // Nothing was recorded: `interactions: []`, and null in some tools.
    if list.is_null() {
        return Some(cassette);
    }
    for interaction in list.as_array()? {
        let seen = exchange(interaction, origin, &mut cassette.losses);
        cassette.add(seen);
    }
    Some(cassette)
}

fn exchange(interaction: &Value, origin: &str, losses: &mut Losses) -> Result<Seen, &'static str> {
    let (request, response) = (&interaction["request"], &interaction["response"]);
    let url = [&request["uri"], &request["url"]].into_iter().find_map(text).ok_or("without a URL")?;
    let url = match url.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        None => url,
        // `<API_HOST>/path`: its tests put the host in there.
        Some((_, rest)) => {
            losses.part("host placeholder");
            let rest = rest.trim_start_matches('>');
            format!("{origin}{}{rest}", if rest.starts_with(['/', ':']) { "" } else { "/" }).into()
        }
    };
    let method = text(&request["method"]).ok_or("without a method")?;
    // go-vcr has `code: 200` beside `status: 200 OK`, the old vcrpy for httpx `status_code`.
    let code = [&response["status"]["code"], &response["code"], &response["status_code"], &response["status"]];
    let status = code.into_iter().find_map(status).ok_or("without a status")?;
    let mut sent = Message { headers: headers(&request["headers"]), body: body(&request["body"]) };
    // php-vcr has forms and files beside the body; some serializers of vcrpy's users keep it as parsed.
    if ["post_fields", "post_files", "parsed_body"].into_iter().any(|name| request.get(name).is_some()) {
        sent.body = None;
    }
    if sent.body.is_none() {
        losses.part("request body");
    }
    // The old go-vcr has a form without the body that it was read from.
    if let (Some(form), Some([])) = (request["form"].as_object().filter(|form| !form.is_empty()), sent.body.as_deref())
        && !matches!(&*method, "GET" | "HEAD")
    {
        let pairs = form.iter().flat_map(|(name, values)| {
            values.as_array().into_iter().flatten().filter_map(move |value| Some((name, text(value)?)))
        });
        sent.body = Some(form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish().into_bytes());
    }
    let content = [&response["body"], &response["content"]].into_iter().find(|body| !body.is_null());
    let received = match content {
        None if response.get("parsed_body").is_some() => None,
        content => content.map_or(Some(Vec::new()), body),
    };
    let received = received.ok_or("with a response body of unknown form")?;
    if text(&response["duration"]).is_some_and(|duration| !duration.is_empty() && duration != "0s") {
        losses.part("duration");
    }
    let version = [&response["proto"], &response["http_version"], &response["status"]["http_version"]];
    Ok(Seen {
        // Ruby has them in small letters, and of old as symbols.
        method: method.trim_start_matches(':').to_uppercase(),
        url: url.into_owned(),
        sent,
        status,
        version: version.into_iter().find_map(text).unwrap_or_default().into_owned(),
        received: Message { headers: headers(&response["headers"]), body: Some(received) },
    })
}

/// The bytes of a body: a text, a binary scalar, or an object that holds one of them. `None` if it is none of these.
fn body(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::Null => Some(Vec::new()),
        Value::Object(members) => {
            let binary = members.get(YAML_BINARY).or_else(|| members.get("base64_string"));
            match (binary, members.get("string")) {
                (Some(binary), _) => base64(binary.as_str()?),
                (None, Some(string)) => body(string),
                (None, None) => None,
            }
        }
        value => text(value).map(|text| text.into_owned().into_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_forms_of_every_version_are_read() {
        let ok = json!({"status": {"code": 200}, "headers": {}, "body": {"string": "x"}});
        let document = json!([
            // php-vcr, the old VCR with symbols, the old go-vcr with a form alone, the old vcrpy for httpx.
            {"request": {"method": "GET", "url": "http://a/1", "headers": {"Host": "a"}}, "response": {"status": {"code": "200"}, "body": "x"}},
            {"request": {"method": ":patch", "uri": "http://a/2", "body": null}, "response": ok},
            {"request": {"method": "POST", "url": "http://a/3", "body": "", "form": {"a": ["1", "2"]}}, "response": {"code": 200, "body": "x"}},
            {"request": {"method": "GET", "uri": "http://a/4"}, "response": {"status_code": 200, "content": "x"}},
            {"request": {"method": "GET", "uri": "<HOST>api/5"}, "response": ok},
        ]);
        let cassette = read(&document, "https://t").unwrap();
        let seen = cassette.exchanges.iter().map(|seen| (&*seen.method, &*seen.url, seen.received.body.as_deref()));
        let body = Some(&b"x"[..]);
        let expected = [
            ("GET", "http://a/1", body),
            ("PATCH", "http://a/2", body),
            ("POST", "http://a/3", body),
            ("GET", "http://a/4", body),
            ("GET", "https://t/api/5", body),
        ];
        assert_eq!(seen.collect::<Vec<_>>(), expected);
        assert_eq!(cassette.exchanges[2].sent.body.as_deref(), Some(&b"a=1&a=2"[..]));
        assert_eq!(cassette.losses.in_words(), "1 host placeholder");
    }

    #[test]
    fn an_interaction_that_lacks_something_is_counted_with_the_reason() {
        let document = json!({"interactions": [
            {"request": {"method": "GET"}, "response": {"code": 200}},
            {"request": {"method": "GET", "url": "/relative"}, "response": {"code": 200}},
            {"request": {"method": "GET", "url": "http://a"}, "response": {"status": "none"}},
            {"request": {"method": "GET", "url": "http://a"}, "response": {"code": 200, "body": {"state": []}}},
            {"request": {"method": "GET", "url": "http://a"}, "response": {"code": 200, "parsed_body": {"a": "1"}}},
            {"request": {"method": "PUT", "url": "http://a", "body": {"state": []}}, "response": {"code": 200, "duration": "2ms"}},
        ]});
        let cassette = read(&document, "https://t").unwrap();
        assert_eq!(cassette.exchanges.len(), 1);
        let expected = "5 exchanges (2 with a response body of unknown form, 1 without a URL, 1 without a host, 1 without a status), \
                        1 duration, 1 request body";
        assert_eq!(cassette.losses.in_words(), expected);
    }
}
