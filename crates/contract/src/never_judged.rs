//! Parts of a document that no message can reach: paths, parameters and discriminators that lead nowhere.

use serde_json::Value;

use super::{
    ContractDocument, refs,
    route::{has_no_request, shape},
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
    let usual = contract.base_paths().first().map_or("", String::as_str);
    for operation in &contract.model().operations {
        let path = &*operation.path;
        let alike = shape(path);
        // Two of the same servers are compared when they are compiled.
        let base = contract.base_paths_of(operation).next().unwrap_or_default();
        let one = format!("{base}{alike}");
        let other = (base != usual).then(|| contract.find(operation.method.as_str(), &one)).flatten();
        let other = other.map(|matched| matched.operation);
        if let Some(other) = other.filter(|other| !std::ptr::eq(*other, operation)) {
            let reason = format!("it has the same requests as `{}`, which comes first", other.path);
            found.push((operation.at.to_string(), reason));
        }
        if has_no_request(path) {
            found
                .push((operation.at.to_string(), "no request has its path: a path ends before `?` and `#`".to_owned()));
        }
        let parameters: Vec<(String, &Value)> = operation
            .followed_parameters(document)
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

    use crate::Contract;

    #[test]
    fn what_no_message_can_be_held_to_is_found_with_its_reason() {
        let choice = |discriminator: &serde_json::Value| json!({"oneOf": [{"$ref": "#/components/schemas/A"}], "discriminator": discriminator});
        let parameter = |name: &str| json!({"name": name, "in": "path", "required": true, "schema": {}});
        let contract = Contract::from_document(
            json!({"openapi": "3.1.0", "info": {}, "servers": [{"url": "/v1"}], "paths": {
            "/a/{x}": {"parameters": [parameter("x"), parameter("z")], "get": {}, "put": {}},
            "/a/{y}": {"get": {"parameters": [parameter("y")]}, "post": {}},
            "/b/{y}": {"servers": [{"url": "/"}], "get": {"parameters": [parameter("y")]}},
            "/v1/b/{z}": {"servers": [{"url": "/"}], "get": {"parameters": [parameter("z")]}},
            "/b/{q}": {"get": {"parameters": [parameter("q")]}},
            "/c?d": {"get": {}}},
            "components": {"schemas": {"A": {}, "good": choice(&json!({"propertyName": "t", "mapping": {"a": "A", "b": "#/components/schemas/A"}})),
                "text": choice(&json!("t")), "bad": choice(&json!({"mapping": {"x": "#/components/schemas/Nope"}})),
                "property": {"properties": {"discriminator": {"type": "string"}}}}}}),
        );
        assert_eq!(
            contract.unwrap().documents()[0].never_judged(),
            [
                ("/paths/~1a~1{x}/parameters/1", "`/a/{x}` has no `{z}`"),
                ("/paths/~1a~1{y}/post", "`{y}` of its path has no parameter"),
                ("/paths/~1v1~1b~1{z}/get", "it has the same requests as `/b/{q}`, which comes first"),
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
