//! A second reader of header parameters, forms and multipart bodies, written by itself: character by character, after
//! the grammars of RFC 9110 (5.6.6), RFC 2046 (5.1) and the URL standard.

/// Every parameter, in order.
pub(super) fn parameters(value: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let mut characters = value.chars().skip_while(|character| *character != ';').peekable();
    while characters.next_if_eq(&';').is_some() {
        let (mut name, mut text) = (String::new(), String::new());
        while let Some(character) = characters.next_if(|character| !matches!(character, '=' | ';')) {
            name.push(character);
        }
        if characters.next_if_eq(&'=').is_some() {
            while characters.next_if(|character| character.is_whitespace()).is_some() {}
            if characters.next_if_eq(&'"').is_some() {
                while let Some(character) = characters.next() {
                    match character {
                        '"' => break,
                        '\\' => text.extend(characters.next()),
                        other => text.push(other),
                    }
                }
                while characters.next_if(|character| *character != ';').is_some() {}
            } else {
                while let Some(character) = characters.next_if(|character| *character != ';') {
                    text.push(character);
                }
                text = text.trim().to_owned();
            }
        }
        out.push((name.trim().to_lowercase(), text));
    }
    out
}

/// Every part's headers and value: lines are gone through one by one.
pub(super) fn parts(body: &str, boundary: &str) -> Option<Vec<(Vec<String>, String)>> {
    let (delimiter, end) = (format!("--{boundary}"), format!("--{boundary}--"));
    let mut lines = body.split("\r\n");
    lines.find(|line| line.trim_end_matches([' ', '\t']) == delimiter)?;
    let mut out = Vec::new();
    loop {
        let mut head: Vec<String> = Vec::new();
        loop {
            let line = lines.next()?;
            match head.last_mut() {
                _ if line.is_empty() => break,
                Some(last) if line.starts_with([' ', '\t']) => last.push_str(line),
                _ => head.push(line.to_owned()),
            }
        }
        let mut value: Vec<&str> = Vec::new();
        loop {
            let line = lines.next()?;
            if line == end || line.trim_end_matches([' ', '\t']) == delimiter {
                out.push((head, value.join("\r\n")));
                if line == end {
                    return Some(out);
                }
                break;
            }
            value.push(line);
        }
    }
}

/// Every field of a form, decoded.
pub(super) fn fields(text: &str) -> Vec<(String, String)> {
    let decode = |text: &str| {
        let mut bytes = text.as_bytes().iter().copied();
        let mut out = Vec::new();
        while let Some(byte) = bytes.next() {
            let digits = {
                let two: Vec<u8> = bytes.clone().take(2).collect();
                // `from_str_radix` also reads `+a`.
                let is_coded = two.len() == 2 && two.iter().all(u8::is_ascii_hexdigit);
                String::from_utf8(two).ok().filter(|_| is_coded)
            };
            let coded = digits.filter(|_| byte == b'%').and_then(|two| u8::from_str_radix(&two, 16).ok());
            match (byte, coded) {
                (b'+', _) => out.push(b' '),
                (_, Some(coded)) => {
                    out.push(coded);
                    bytes.nth(1);
                }
                _ => out.push(byte),
            }
        }
        String::from_utf8_lossy(&out).into_owned()
    };
    text.split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(n, v)| (decode(n), decode(v)))
        .collect()
}
