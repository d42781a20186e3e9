//! Finds the place of a document that states what a rule checks.

use contrail_exchange::finding::{Rule, Unchecked};
use serde_json::Value;

use super::{
    ContractDocument,
    model::{self, ParameterIn, Relation},
    refs,
};

impl ContractDocument {
    /// JSON pointers of what the document states and a rule checks, each once, in the order of the document; none where
    /// it states nothing of that kind.
    #[must_use]
    pub fn states(&self, rule: Rule) -> Vec<String> {
        let operations = || self.model().operations.iter();
        let places: Vec<String> = match rule {
            Rule::OperationUndocumented => operations().map(|operation| operation.at.to_string()).collect(),
            Rule::PathParameter => self.parameters(|place| place == ParameterIn::Path),
            Rule::QueryParameter => {
                self.parameters(|place| matches!(place, ParameterIn::Query | ParameterIn::QueryString))
            }
            Rule::HeaderParameter => self.parameters(|place| place == ParameterIn::Header),
            Rule::CookieParameter => self.parameters(|place| place == ParameterIn::Cookie),
            Rule::QueryUndocumented => self.parameters(|place| place == ParameterIn::Query),
            Rule::RequestContentType
            | Rule::RequestBody
            | Rule::RequestBodyMalformed
            | Rule::RequestBodyUndocumented => operations()
                .flat_map(|operation| self.media_types(&refs::below(&operation.at, &["requestBody"])))
                .collect(),
            Rule::ResponseContentType
            | Rule::ResponseBody
            | Rule::ResponseBodyMalformed
            | Rule::ResponseBodyUndocumented => {
                self.responses().iter().flat_map(|response| self.media_types(response)).collect()
            }
            Rule::RequestBodyUnexpected => operations()
                .filter(|operation| matches!(operation.request_body, model::RequestBody::None))
                .map(|operation| operation.at.to_string())
                .collect(),
            Rule::AuthMissing | Rule::AuthUnenforced => operations()
                .filter(|operation| !operation.security.alternatives.is_empty())
                .map(|operation| self.security(&operation.at))
                .collect(),
            Rule::AuthMalformed | Rule::AuthExpired | Rule::AuthSignature => operations()
                .filter(|operation| operation.security.alternatives.iter().any(|one| one.bearer.is_some()))
                .map(|operation| self.security(&operation.at))
                .collect(),
            Rule::AuthScope => operations()
                .filter(|operation| !operation.security.scopes.is_empty())
                .map(|operation| self.security(&operation.at))
                .collect(),
            Rule::AuthScopeUndeclared => self.below("/components/securitySchemes", |scheme| {
                let flows = scheme.get("flows").and_then(Value::as_object).into_iter().flatten();
                flows.into_iter().any(|(_, flow)| flow.get("scopes").is_some())
            }),
            Rule::AuthRefused => {
                let means =
                    |at: &String| self.at(at).is_some_and(|response| response.get("x-contrail-means").is_some());
                self.responses().into_iter().filter(means).collect()
            }
            Rule::StatusSuccess | Rule::StatusUndocumented => operations()
                .map(|operation| refs::below(&operation.at, &["responses"]))
                .filter(|at| self.at(at).is_some())
                .collect(),
            Rule::ResponseHeaders => self.headers(|header| header.get("required") == Some(&Value::Bool(true))),
            Rule::ResponseHeader => self.headers(|header| {
                let states =
                    |key: &str| header.get(key).and_then(Value::as_object).is_some_and(|held| !held.is_empty());
                states("schema") || states("content")
            }),
            Rule::ExchangeIdentity => self.relations(|relation| matches!(relation, Relation::Identity { .. })),
            Rule::ExchangePageSize => self.relations(|relation| matches!(relation, Relation::PageSize { .. })),
            Rule::ExchangeEcho => self.relations(|relation| matches!(relation, Relation::Echo { .. })),
            Rule::TransportIncomplete => Vec::new(),
        };
        once(places)
    }

    /// JSON pointers of the operations for which the document does not show an aspect.
    #[must_use]
    pub fn leaves_out(&self, aspect: Unchecked) -> Vec<String> {
        let lacks = self.not_shown();
        let lacks = |id: &str| lacks.iter().any(|(name, held)| *name == aspect.name() && held == id);
        let operations = self.model().operations.iter();
        operations
            .filter(|operation| operation.not_shown.contains(aspect) || lacks(&operation.id))
            .map(|operation| operation.at.to_string())
            .collect()
    }

    fn at(&self, pointer: &str) -> Option<&Value> {
        refs::at(self.resolved(), pointer)
    }

    /// Where a chain of references from a place ends; nowhere where it is broken.
    fn followed(&self, at: &str) -> Option<String> {
        refs::follow(self.resolved(), at, self.at(at)?).ok().map(|(at, _)| at)
    }

    /// The members of an object, followed, that fit.
    fn below(&self, at: &str, fits: impl Fn(&Value) -> bool) -> Vec<String> {
        let names = self.at(at).and_then(Value::as_object).into_iter().flat_map(serde_json::Map::keys);
        let names = names.filter(|name| !name.starts_with("x-"));
        let places = names.filter_map(|name| self.followed(&refs::below(at, &[name])));
        places.filter(|at| self.at(at).is_some_and(&fits)).collect()
    }

    fn parameters(&self, fits: impl Fn(ParameterIn) -> bool) -> Vec<String> {
        let mut places = Vec::new();
        for operation in self.model().operations.iter().filter(|one| one.parameters.iter().any(|held| fits(held.place)))
        {
            let listed = operation.followed_parameters(self.resolved()).filter(|(_, held)| {
                let name = held.get("name").and_then(Value::as_str);
                operation.parameters.iter().any(|one| fits(one.place) && name == Some(&one.name))
            });
            places.extend(listed.map(|(at, _)| at));
        }
        places
    }

    /// The media types of a request body or a response.
    fn media_types(&self, at: &str) -> Vec<String> {
        self.followed(at).map_or_else(Vec::new, |at| self.below(&refs::below(&at, &["content"]), |_| true))
    }

    fn responses(&self) -> Vec<String> {
        let operations = self.model().operations.iter();
        once(
            operations
                .flat_map(|operation| self.below(&refs::below(&operation.at, &["responses"]), |_| true))
                .collect(),
        )
    }

    fn headers(&self, fits: impl Fn(&Value) -> bool) -> Vec<String> {
        let responses = self.responses();
        responses.iter().flat_map(|at| self.below(&refs::below(at, &["headers"]), &fits)).collect()
    }

    /// What an operation asks of a caller: its own, or the document's.
    pub(super) fn security(&self, operation: &str) -> String {
        let own = refs::below(operation, &["security"]);
        if self.at(&own).is_some() { own } else { "/security".to_owned() }
    }

    fn relations(&self, fits: impl Fn(&Relation) -> bool) -> Vec<String> {
        let operations = self.model().operations.iter().filter(|operation| operation.relations.iter().any(&fits));
        operations.map(|operation| refs::below(&operation.at, &["x-contrail-relations"])).collect()
    }
}

/// Each once, in order.
fn once(places: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    places.into_iter().filter(|place| seen.insert(place.clone())).collect()
}
