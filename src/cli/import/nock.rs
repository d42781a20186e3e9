//! What `nock.recorder` and nock's fixtures hold: a list of definitions.

use serde_json::Value;

use super::cassette::{Cassette, Losses, Message, Seen, header, headers, status, text};

/// Reads a file of nock's. `None` if it is no list.
pub(super) fn read(document: &Value) -> Option<Cassette> {
    let mut cassette = Cassette::default();
    for definition in document.as_array()? {
        let seen = exchange(definition, &mut cassette.losses);
        cassette.add(seen);
    }
    Some(cassette)
}

fn exchange(definition: &Value, losses: &mut Losses) -> Result<Seen, &'static str> {
    let scope = definition["scope"].as_str().ok_or("without a scope")?;
    let path = definition["path"].as_str().ok_or("without a path")?;
    let method = definition["method"].as_str().ok_or("without a method")?;
    for (name, part) in [
        ("badheaders", "header matcher"),
        ("filteringRequestBody", "filter of request bodies"),
        ("filteringPath", "filter of paths"),
    ] {
        if definition.get(name).is_some() {
            losses.part(part);
        }
    }
    // Files of old have `reply` and `headers`.
    let code = [&definition["status"], &definition["reply"]].into_iter().find_map(status).unwrap_or(200);
    let sent = headers(&definition["reqheaders"]);
    let received = [&definition["rawHeaders"], &definition["headers"]].map(headers);
    let received = received.into_iter().find(|headers| !headers.is_empty()).unwrap_or_default();
    let body = match &definition["body"] {
        Value::String(any) if any == "*" => None,
        Value::String(hex) if is_binary(&sent) => Some(from_hex(hex).unwrap_or_else(|| hex.clone().into_bytes())),
        body => Some(written(body)),
    };
    let response = match &definition["response"] {
        // A body under a content coding: its chunks.
        Value::Array(chunks) if header(&received, "content-encoding").is_some() => {
            let chunks: Option<Vec<_>> = chunks.iter().map(|chunk| from_hex(chunk.as_str()?)).collect();
            chunks.ok_or("with a coded body that is not in hexadecimal digits")?.concat()
        }
        Value::String(hex) if definition["responseIsBinary"] == true => {
            from_hex(hex).ok_or("with a binary body that is not in hexadecimal digits")?
        }
        response => written(response),
    };
    Ok(Seen {
        method: method.to_uppercase(),
        url: format!("{scope}{path}"),
        sent: Message { headers: sent, body },
        status: code,
        version: String::new(),
        received: Message { headers: received, body: Some(response) },
    })
}

/// A body as nock sends and compares it: a text, or JSON.
fn written(body: &Value) -> Vec<u8> {
    match body {
        Value::Null => Vec::new(),
        Value::Object(_) | Value::Array(_) => body.to_string().into_bytes(),
        body => text(body).unwrap_or_default().into_owned().into_bytes(),
    }
}

/// Whether nock holds the body of this type in hexadecimal digits, which it does where it is no text.
fn is_binary(headers: &[(String, String)]) -> bool {
    let mime = header(headers, "content-type").unwrap_or_default().to_ascii_lowercase();
    let is_text = ["text/", "json", "xml", "form-urlencoded", "graphql", "javascript"];
    !mime.is_empty() && !is_text.iter().any(|part| mime.contains(part))
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    (digits.len().is_multiple_of(2)).then(|| digits.chunks_exact(2).map(byte).collect())?
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_body_in_hexadecimal_digits_differs_from_a_text_by_its_type() {
        let of = |mime: &str| {
            let definition = json!({"scope": "http://a", "method": "put", "path": "/", "body": "00ff", "reqheaders": {"content-type": mime}, "reply": "204"});
            let cassette = read(&json!([definition])).unwrap();
            (cassette.exchanges[0].status, cassette.exchanges[0].sent.body.clone().unwrap())
        };
        assert_eq!(of("image/png"), (204, vec![0, 0xff]));
        assert_eq!(of("text/plain"), (204, b"00ff".to_vec()));
    }

    #[test]
    fn what_a_definition_matches_by_more_than_its_request_is_counted() {
        let document = json!([
            {"scope": "http://a", "method": "POST", "path": "/", "body": "*", "badheaders": ["x"], "response": "ok"},
            {"scope": "http://a", "method": "GET", "path": "/", "rawHeaders": ["content-encoding", "gzip"], "response": ["no"]},
        ]);
        let cassette = read(&document).unwrap();
        assert_eq!(cassette.exchanges[0].sent.body, None);
        let expected = "1 exchange (1 with a coded body that is not in hexadecimal digits), 1 header matcher";
        assert_eq!(cassette.losses.in_words(), expected);
    }
}
