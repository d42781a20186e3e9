//! Facts that a contract states about its tenant, for proxy, replay and redaction.

use std::collections::HashSet;

use contrail_exchange::TenantFacts;
use serde_json::Value;

use super::{Contract, ContractDocument, refs};

impl TenantFacts for Contract {
    fn is_token_path(&self, path: &str) -> bool {
        self.documents().iter().any(|document| document.is_token_path(path))
    }

    fn audience_path(&self, path: &str) -> Option<String> {
        let plain = path.trim_end_matches('/');
        let documented = self.documents().iter().flat_map(ContractDocument::audiences);
        let mut paths = documented.map(|audience| audience.strip_prefix("{origin}").unwrap_or(audience));
        if let Some(own) = paths.find(|own| own.starts_with('/') && own.trim_end_matches('/') == plain) {
            return Some(own.to_owned());
        }
        let mut bases = self.documents().iter().flat_map(ContractDocument::base_paths);
        bases.any(|base| base == plain).then(|| path.to_owned())
    }

    fn lists_code(&self, value: &str) -> bool {
        let listed = || self.documents().iter().flat_map(ContractDocument::codes).collect();
        self.codes.get_or_init(listed).contains(value)
    }
}

impl ContractDocument {
    /// The values that the document lists for members and parameters `code`.
    fn codes(&self) -> HashSet<Box<str>> {
        let document = self.document();
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned).into();
        let mut codes = HashSet::new();
        refs::walk(document, &mut |_, object| {
            let is_code = object.get("name").and_then(Value::as_str) == Some("code");
            let parameter = object.get("schema").filter(|_| is_code);
            for schema in object.get("properties").and_then(|all| all.get("code")).into_iter().chain(parameter) {
                let schema = refs::followed(document, schema);
                let choices = ["anyOf", "oneOf"].into_iter().filter_map(|key| schema.get(key)?.as_array());
                for schema in choices.flatten().map(|choice| refs::followed(document, choice)).chain([schema]) {
                    let listed =
                        ["enum", "x-contrail-known-values"].into_iter().filter_map(|key| schema.get(key)?.as_array());
                    codes.extend(listed.flatten().chain(schema.get("const")).map(text));
                }
            }
        });
        codes
    }

    /// The values that the token endpoint documents for the parameter `audience` (RFC 8693, section 2.1).
    fn audiences(&self) -> impl Iterator<Item = &str> {
        let document = self.document();
        let endpoints = self.model().operations.iter().filter(|operation| operation.token_endpoint);
        let contents = endpoints.filter_map(move |operation| {
            refs::at(document, &refs::below(&operation.at, &["requestBody", "content"]))?.as_object()
        });
        let parameters = contents.flat_map(|content| content.values()).filter_map(move |media| {
            let schema = refs::followed(document, media.get("schema")?);
            schema.pointer("/properties/audience")
        });
        let values = parameters.flat_map(|parameter| {
            let lists = ["x-contrail-known-values", "enum"].map(|key| parameter.get(key).and_then(Value::as_array));
            let single = ["const", "default"].map(|key| parameter.get(key));
            lists.into_iter().flatten().flatten().chain(single.into_iter().flatten())
        });
        values.filter_map(Value::as_str)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_built_in_tenant_has_its_documents_facts() {
        let contract = Contract::built_in();
        for path in ["/oauth/token/", "/oauth/token"] {
            assert!(contract.is_token_path(path));
        }
        assert!(!contract.is_token_path("/oauth/tokens"));
        for path in ["/api/v2", "/api/v2/"] {
            assert_eq!(contract.audience_path(path).unwrap(), "/api/v2/");
        }
        assert_eq!(contract.audience_path("/api/v3/"), None);
    }

    #[test]
    fn another_document_has_other_facts() {
        let document = json!({"openapi": "3.1.0", "info": {}, "servers": [{"url": "https://shop.example/v1"}], "paths": {},
            "components": {"securitySchemes": {"oauth": {"type": "oauth2", "flows": {"clientCredentials": {
                "tokenUrl": "https://login.example/connect/token", "scopes": {}}}}}}});
        let contract = Contract::from_document(document).unwrap();
        assert!(contract.is_token_path("/connect/token") && !contract.is_token_path("/oauth/token"));
        assert!(!contract.lists_code("x"));
        assert_eq!(contract.audience_path("/v1").unwrap(), "/v1");
        assert_eq!(contract.audience_path("/api/v2/"), None);
    }

    #[test]
    fn a_code_is_listed_where_a_schema_of_a_field_of_that_name_lists_it() {
        let parameter = json!({"name": "code", "in": "query", "schema": {"enum": [404, "gone"]}});
        let contract = Contract::from_document(json!({"openapi": "3.1.0", "info": {}, "paths": {"/a": {"get": {
            "parameters": [parameter, {"name": "state", "in": "query", "schema": {"enum": ["open"]}}]}}},
            "components": {"schemas": {"Closed": {"const": "account_closed"}, "Failure": {"properties": {"code": {
                "anyOf": [{"$ref": "#/components/schemas/Closed"}, {"x-contrail-known-values": ["expired"]}]}}}}}}));
        let contract = contract.unwrap();
        for listed in ["404", "gone", "account_closed", "expired"] {
            assert!(contract.lists_code(listed), "{listed}");
        }
        assert!(!contract.lists_code("open") && !contract.lists_code("SplxlOBeZQQYbYS6WxSbIA"));
    }
}
