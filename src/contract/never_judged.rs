//! What a document states and no message can ever be held to: paths, parameters and discriminators that lead nowhere.

use std::collections::HashMap;

use serde_json::Value;

use super::{
    ContractDocument, refs,
    route::{base_path, shape, urls},
};

impl ContractDocument {
    /// Operations, path parameters and discriminators without effect: JSON pointer of each, and why.
    #[must_use]
    pub fn never_judged(&self) -> Vec<(String, String)> {
        let mut found = of_paths(self);
        refs::walk(self.document(), &mut |at, object| {
            if let Some(held) = object.get("discriminator") {
                of_discriminator(self.document(), &refs::below(at, &["discriminator"]), held, &mut found);
            }
        });
        found
    }
}

fn of_paths(contract: &ContractDocument) -> Vec<(String, String)> {
    let document = contract.document();
    let mut found = Vec::new();
    let mut first: HashMap<(&str, String), &str> = HashMap::new();
    for operation in &contract.model().operations {
        let path = &*operation.path;
        let alike = shape(path);
        for base in bases(document, &operation.at) {
            let other = first.entry((operation.method.as_str(), format!("{base}{alike}"))).or_insert(path);
            if *other != path {
                found.push((
                    operation.at.to_string(),
                    format!("it has the same requests as `{other}`, which comes first"),
                ));
            }
        }
        if alike.contains(['?', '#']) {
            found
                .push((operation.at.to_string(), "no request has its path: a path ends before `?` and `#`".to_owned()));
        }
        let listed: Vec<String> = operation.listed_parameters(document).collect();
        let parameters: Vec<(String, &Value)> = listed
            .iter()
            .filter_map(|at| refs::follow(document, at, refs::at(document, at)?).ok())
            .filter(|(_, parameter)| parameter.get("in").is_some_and(|place| place == "path"))
            .collect();
        let name = |parameter: &Value| parameter.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let names: Vec<&str> = path.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0)).collect();
        let missing = names.iter().filter(|held| !parameters.iter().any(|(_, parameter)| name(parameter) == **held));
        found.extend(
            missing.map(|name| (operation.at.to_string(), format!("`{{{name}}}` of its path has no parameter"))),
        );
        let other = parameters.iter().filter(|(_, parameter)| !names.contains(&&*name(parameter)));
        for (at, parameter) in other {
            let row = (at.clone(), format!("`{path}` has no `{{{}}}`", name(parameter)));
            if !found.contains(&row) {
                found.push(row);
            }
        }
    }
    found
}

/// Base paths of the servers nearest to an operation.
fn bases(document: &Value, operation: &str) -> Vec<String> {
    let mut at = operation;
    loop {
        let servers = refs::at(document, &refs::below(at, &["servers"])).and_then(Value::as_array);
        let bases: Vec<String> =
            servers.into_iter().flatten().filter_map(urls).flatten().map(|url| base_path(&url)).collect();
        match at.rsplit_once('/') {
            Some((parent, _)) if bases.is_empty() => at = parent,
            None if bases.is_empty() => return vec![String::new()],
            _ => return bases,
        }
    }
}

fn of_discriminator(document: &Value, at: &str, held: &Value, found: &mut Vec<(String, String)>) {
    if !held.get("propertyName").is_some_and(Value::is_string) {
        found.push((at.to_owned(), "it has no `propertyName`, so it has no effect".to_owned()));
    }
    for (value, target) in held.get("mapping").and_then(Value::as_object).into_iter().flatten() {
        let named = target.as_str().and_then(|target| {
            refs::at(document, &refs::below("/components/schemas", &[target]))
                .or_else(|| refs::resolve(document, target))
        });
        if named.is_none() {
            found.push((refs::below(at, &["mapping", value]), format!("no schema of the document is {target}")));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::contract::Contract;

    #[test]
    fn what_no_message_can_be_held_to_is_found_with_its_reason() {
        let choice = |discriminator: &serde_json::Value| json!({"oneOf": [{"$ref": "#/components/schemas/A"}], "discriminator": discriminator});
        let parameter = |name: &str| json!({"name": name, "in": "path", "required": true, "schema": {}});
        let contract = Contract::from_document(
            json!({"openapi": "3.1.0", "info": {}, "servers": [{"url": "/v1"}], "paths": {
            "/a/{x}": {"parameters": [parameter("x"), parameter("z")], "get": {}, "put": {}},
            "/a/{y}": {"get": {"parameters": [parameter("y")]}, "post": {}},
            "/b/{y}": {"servers": [{"url": "/"}], "get": {"parameters": [parameter("y")]}},
            "/c?d": {"get": {}}},
            "components": {"schemas": {"A": {}, "good": choice(&json!({"propertyName": "t", "mapping": {"a": "A", "b": "#/components/schemas/A"}})),
                "text": choice(&json!("t")), "bad": choice(&json!({"mapping": {"x": "#/components/schemas/Nope"}})),
                "property": {"properties": {"discriminator": {"type": "string"}}}}}}),
        );
        assert_eq!(
            contract.unwrap().documents()[0].never_judged(),
            [
                ("/paths/~1a~1{x}/parameters/1", "`/a/{x}` has no `{z}`"),
                ("/paths/~1a~1{y}/get", "it has the same requests as `/a/{x}`, which comes first"),
                ("/paths/~1a~1{y}/post", "`{y}` of its path has no parameter"),
                ("/paths/~1c?d/get", "no request has its path: a path ends before `?` and `#`"),
                ("/components/schemas/text/discriminator", "it has no `propertyName`, so it has no effect"),
                ("/components/schemas/bad/discriminator", "it has no `propertyName`, so it has no effect"),
                (
                    "/components/schemas/bad/discriminator/mapping/x",
                    "no schema of the document is \"#/components/schemas/Nope\""
                ),
            ]
            .map(|(at, reason)| (at.to_owned(), reason.to_owned()))
        );
    }
}
