//! What the client sent: path, query, body.

use std::{borrow::Cow, collections::HashSet};

use super::{
    Check,
    body::{REQUEST, is_redacted},
};
use crate::{
    contract::{
        model::{Parameter, Place, RequestBody},
        params::{self, BadEncoding},
    },
    exchange::{Presence, Withheld},
    finding::{Finding, Rule, Unchecked},
};

impl Check<'_> {
    pub(super) fn request(&mut self) {
        self.path();
        self.query();
        self.request_body();
    }

    fn parameters(&self, place: Place) -> impl Iterator<Item = &'_ Parameter> + use<'_> {
        self.operation.parameters.iter().filter(move |parameter| parameter.place == place)
    }

    fn path(&mut self) {
        let mut findings = Vec::new();
        for parameter in self.parameters(Place::Path) {
            let raw = self.matched.raw.iter().find(|(name, _)| *name == &*parameter.name).map(|(_, raw)| *raw);
            let Some(raw) = raw else { continue };
            let at = &*parameter.name;
            match params::decode_path(raw) {
                Err(BadEncoding) => {
                    findings.push(Finding::new(Rule::PathParameter, at, BadEncoding::EXPECTED).seen(raw));
                }
                Ok(text) => {
                    let breach = parameter.schema.as_ref().and_then(|schema| params::breach_of_text(schema, &text));
                    if let Some(expected) = breach {
                        findings.push(Finding::new(Rule::PathParameter, at, expected).seen(text));
                    }
                }
            }
        }
        self.findings.append(&mut findings);
    }

    fn query(&mut self) {
        type Text<'t> = Result<Cow<'t, str>, Cow<'t, str>>;
        let raw = self.exchange.request.target.query().unwrap_or_default();
        let mut findings = Vec::new();
        let mut undocumented: Vec<Cow<'_, str>> = Vec::new();
        let mut known: HashSet<Cow<'_, str>> = HashSet::new();
        let mut given: Vec<(&Parameter, Vec<Text<'_>>)> =
            self.parameters(Place::Query).map(|parameter| (parameter, Vec::new())).collect();
        for pair in params::pairs(raw.as_bytes()) {
            let slot = pair
                .name
                .as_ref()
                .ok()
                .and_then(|name| given.iter_mut().find(|(held, _)| *held.name == **name || held.spreads_to(name)));
            if let Some((_, values)) = slot {
                values.push(pair.value);
                continue;
            }
            let (Ok(name) | Err(name)) = pair.name;
            if known.insert(name.clone()) {
                undocumented.push(name);
            }
        }
        for (parameter, values) in given {
            let at = &*parameter.name;
            let finding = |expected| Finding::new(Rule::QueryParameter, at, expected);
            if values.is_empty() {
                // An object that is spread over names of its own may be there with keys that the document does not show.
                if parameter.required && parameter.spread.is_none() {
                    findings.push(finding(Cow::Borrowed("this parameter to be there")));
                }
                continue;
            }
            if let Some(bad) = values.iter().find_map(|value| value.as_ref().err()) {
                findings.push(finding(BadEncoding::EXPECTED.into()).seen(bad.clone()));
                continue;
            }
            let texts: Vec<&str> = values.iter().filter_map(|value| value.as_ref().ok()).map(|text| &**text).collect();
            let is_array = parameter.schema.as_ref().is_some_and(|schema| schema.types().array());
            let breach = match (&texts[..], &parameter.schema) {
                (texts, Some(schema)) if is_array && parameter.explode => params::breach_of_texts(schema, texts),
                ([one], Some(schema)) if is_array => {
                    params::breach_of_texts(schema, &one.split(',').collect::<Vec<_>>())
                }
                ([one], Some(schema)) => params::breach_of_text(schema, one),
                // The document says it in a way that is not implemented.
                (_, None) => None,
                _ => Some("this parameter once".into()),
            };
            if let Some(expected) = breach {
                findings.push(finding(expected).seen(match &texts[..] {
                    [one] => (*one).to_owned(),
                    several => several.iter().map(|text| format!("{at}={text}")).collect::<Vec<_>>().join("&"),
                }));
            }
        }
        findings.extend(
            undocumented
                .into_iter()
                .map(|name| Finding::new(Rule::QueryUndocumented, name, "a documented query parameter")),
        );
        self.findings.append(&mut findings);
    }

    fn request_body(&mut self) {
        let request = &self.exchange.request;
        let body = &request.body;
        match &self.operation.request_body {
            _ if body.presence == Presence::Withheld(Withheld::NotSaved) => {
                // Nobody can say whether there was one.
                self.touch(Unchecked::RequestRequired);
                self.unchecked.insert(Unchecked::RequestBody);
            }
            RequestBody::None | RequestBody::NotShown if body.is_absent() => {}
            RequestBody::None => {
                if is_redacted(&body.redacted, "") {
                    self.unchecked.insert(Unchecked::RequestBody);
                }
                self.find(Finding::new(Rule::RequestBodyUnexpected, "", "no body"));
            }
            RequestBody::NotShown => {
                self.touch(Unchecked::RequestBody);
                self.find(Finding::new(Rule::RequestBodyUndocumented, "", "nothing that the document shows"));
            }
            RequestBody::Documented { content, required } => {
                self.touch(Unchecked::RequestRequired);
                if body.is_absent() {
                    if *required {
                        self.find(Finding::new(Rule::RequestBody, "", "a body"));
                    }
                    return;
                }
                self.request_body =
                    self.judge_body(REQUEST, &request.headers, body, content, &self.model.media_types, false);
            }
        }
    }
}
