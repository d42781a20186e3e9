//! Parameters: path, query, headers, cookies.

use std::{borrow::Cow, collections::HashSet};

use contrail_exchange::{
    Credential,
    finding::{Finding, Rule, Unchecked},
    media,
};

use super::{body::UNUSABLE, response::NO_TEXT, state::Check};
use crate::{
    model::{Definition, Parameter, ParameterIn},
    params::{self, BadEncoding, Form, Judgement, Text},
    route::{Divided, divided},
};

/// A parameter of the query with what belongs to it.
struct QueryParameter<'p, 'q> {
    parameter: &'p Parameter,
    /// Texts under its own name.
    texts: Vec<Text<'q>>,
    /// Names and texts of the members of an object.
    fields: Vec<(Cow<'q, str>, Cow<'q, str>)>,
    /// The first text whose encoding is broken.
    bad: Option<Cow<'q, str>>,
    /// A name belongs to another parameter, and is that of a member of this one, too.
    is_ambiguous: bool,
}

impl<'a> Check<'a> {
    fn parameters(&self, place: ParameterIn) -> impl Iterator<Item = &'a Parameter> + use<'a> {
        self.operation.parameters.iter().map(|held| &**held).filter(move |parameter| parameter.place == place)
    }

    pub(super) fn path(&mut self) {
        let raw = &self.matched.raw;
        let several =
            if raw.len() > 1 { divided(&self.operation.path, self.exchange.request.target.path()) } else { Vec::new() };
        let is_named = |one: &Divided<'_, '_>, name: &str| one.ways.iter().flatten().any(|(held, _)| *held == name);
        let is_divided = |name: &str| several.iter().any(|one| one.ways.is_empty() || is_named(one, name));
        for parameter in self.parameters(ParameterIn::Path) {
            // A variable of the server may have the same name, and precedes it.
            let raw = raw.iter().rfind(|(name, _)| *name == &*parameter.name).map(|(_, raw)| *raw);
            if let Some(raw) = raw.filter(|_| !is_divided(&parameter.name)) {
                let (judged, seen) = path_parameter(parameter, raw);
                self.judged(Rule::PathParameter, &parameter.name, judged, || seen.into_owned());
            }
        }
        for Divided { ways, cut } in several {
            self.divided(&ways, cut);
        }
    }

    /// Judges the parameters of a segment by the first way of dividing it that no schema excludes.
    fn divided(&mut self, ways: &[Vec<(&'a str, &'a str)>], cut: bool) {
        let judge = |way: &Vec<(&'a str, &'a str)>| -> Vec<_> {
            let parameters = self.parameters(ParameterIn::Path);
            let given = parameters.filter_map(|parameter| {
                let (_, raw) = way.iter().find(|(name, _)| *name == &*parameter.name)?;
                Some((parameter, path_parameter(parameter, raw)))
            });
            given.collect()
        };
        let fits = |judged: &Vec<(_, (Judgement, _))>| judged.iter().all(|(_, (judged, _))| judged.violation.is_none());
        let fitting = ways.iter().map(judge).find(fits);
        if cut && fitting.is_none() {
            self.leave(Unchecked::RequestParameters, "", "the path can be divided in too many ways");
            return;
        }
        for (parameter, (judged, seen)) in fitting.or_else(|| ways.first().map(judge)).into_iter().flatten() {
            self.judged(Rule::PathParameter, &parameter.name, judged, || seen.into_owned());
        }
    }

    /// Takes over the verdict on a parameter.
    fn judged(&mut self, rule: Rule, name: &str, judged: Judgement, seen: impl FnOnce() -> String) {
        if let Some(why) = judged.why_open() {
            self.leave(Unchecked::RequestParameters, name, why);
        }
        if let Some(expected) = judged.violation {
            self.find(Finding::new(rule, name, expected).seen(seen()));
        }
    }

    fn missing(&mut self, rule: Rule, parameter: &Parameter) {
        if parameter.required {
            self.find(Finding::new(rule, &*parameter.name, "this parameter to be there"));
        } else if parameter.unclear {
            self.leave(Unchecked::RequestParameters, &*parameter.name, UNUSABLE);
        }
    }

    pub(super) fn query(&mut self) {
        let raw = self.exchange.request.target.query().unwrap_or_default();
        if let Some(parameter) = self.parameters(ParameterIn::QueryString).next() {
            self.query_string(parameter, raw);
            return;
        }
        let mut undocumented: Vec<Cow<'_, str>> = Vec::new();
        let mut known: HashSet<Cow<'_, str>> = HashSet::new();
        let parameters = self.parameters(ParameterIn::Query);
        let mut given: Vec<QueryParameter<'_, '_>> = parameters
            .map(|parameter| QueryParameter {
                parameter,
                texts: Vec::new(),
                fields: Vec::new(),
                bad: None,
                is_ambiguous: false,
            })
            .collect();
        for pair in params::pairs(raw.as_bytes()) {
            let slot = pair.name.as_ref().ok().and_then(|name| slot(&mut given, name));
            if let Some((slot, own)) = slot {
                match (pair.value, pair.name) {
                    (Ok(text), Ok(name)) if !own => slot.fields.push((name, text)),
                    (Ok(text), _) => slot.texts.push((pair.raw, text)),
                    (Err(bad), _) => slot.bad = slot.bad.take().or(Some(bad)),
                }
                continue;
            }
            if pair.name.as_ref().is_ok_and(|name| self.operation.security.names_in_query(name)) {
                continue;
            }
            let (Ok(name) | Err(name)) = pair.name;
            if let Some(open) = given.iter_mut().find(|given| given.parameter.takes_any())
                && let Ok(text) = pair.value
            {
                open.fields.push((name, text));
            } else if known.insert(name.clone()) {
                undocumented.push(name);
            }
        }
        for given in given {
            self.query_parameter(given, &mut undocumented);
        }
        if !undocumented.is_empty() && self.operation.not_shown.contains(Unchecked::RequestParameters) {
            self.unchecked.insert(Unchecked::RequestParameters);
            return;
        }
        let gap = |name| Finding::new(Rule::QueryUndocumented, name, "a documented query parameter");
        self.findings.extend(undocumented.into_iter().map(gap));
    }

    fn query_parameter<'q>(&mut self, given: QueryParameter<'_, 'q>, undocumented: &mut Vec<Cow<'q, str>>) {
        let QueryParameter { parameter, texts, fields, bad, is_ambiguous } = given;
        let name = &*parameter.name;
        if is_ambiguous {
            self.leave(Unchecked::RequestParameters, name, "another parameter has a name of its members");
            return;
        }
        if let Some(bad) = bad {
            self.find(Finding::new(Rule::QueryParameter, name, BadEncoding::EXPECTED).seen(bad));
            return;
        }
        if texts.is_empty() && fields.is_empty() {
            self.missing(Rule::QueryParameter, parameter);
            return;
        }
        if !texts.is_empty() {
            let judged = params::judge_texts(parameter, &texts, true);
            self.judged(Rule::QueryParameter, name, judged, || match &texts[..] {
                [(_, one)] => one.clone().into_owned(),
                several => joined(several.iter().map(|(_, text)| (name, &**text))),
            });
        }
        if !fields.is_empty() {
            let mut judged = params::judge_fields(parameter, &fields);
            let gaps = std::mem::take(&mut judged.undocumented);
            undocumented.extend(gaps.iter().filter_map(|at| parameter.field(at)).map(Cow::Owned));
            self.judged(Rule::QueryParameter, name, judged, || {
                joined(fields.iter().map(|(name, text)| (&**name, &**text)))
            });
        }
    }

    /// The whole query as one value.
    fn query_string(&mut self, parameter: &Parameter, raw: &str) {
        if raw.is_empty() {
            self.missing(Rule::QueryParameter, parameter);
            return;
        }
        let Definition::Form(content) = &parameter.definition else {
            let text = params::decode_plain(raw).unwrap_or(Cow::Borrowed(raw));
            let Parameter { name, notation, definition, .. } = parameter;
            let judged = params::judge_text(name, *notation, definition, &(raw, text), false);
            self.judged(Rule::QueryParameter, name, judged, || raw.to_owned());
            return;
        };
        match params::form(raw.as_bytes(), params::Documented::by(Some(content)), &|_| false) {
            Form::Fields(fields) => match fields.judged {
                Some(judged) => {
                    let mut judged = Judgement::of_judged(&fields.document, judged);
                    for at in std::mem::take(&mut judged.undocumented) {
                        let name = at.trim_start_matches('/').to_owned();
                        self.find(Finding::new(Rule::QueryUndocumented, name, "a documented query parameter"));
                    }
                    self.judged(Rule::QueryParameter, &parameter.name, judged, || raw.to_owned());
                }
                None => self.leave(Unchecked::RequestParameters, &*parameter.name, Form::TOO_MUCH),
            },
            Form::TooMuch => self.leave(Unchecked::RequestParameters, &*parameter.name, Form::TOO_MUCH),
            Form::Malformed(faults) => {
                for (at, expected, seen) in faults {
                    let at = at.trim_start_matches('/').to_owned();
                    self.find(Finding { rule: Rule::QueryParameter, at, expected, seen });
                }
            }
        }
    }

    pub(super) fn header_parameters(&mut self) {
        for parameter in self.parameters(ParameterIn::Header) {
            let Some(text) = media::joined(&self.exchange.request.headers, &parameter.name) else {
                self.missing(Rule::HeaderParameter, parameter);
                continue;
            };
            let Parameter { name, notation, definition, .. } = parameter;
            let Some(text) = text else {
                self.leave(Unchecked::RequestParameters, &**name, NO_TEXT);
                continue;
            };
            let judged = params::judge_header(name, *notation, definition, &text);
            self.judged(Rule::HeaderParameter, name, judged, || text.clone().into_owned());
        }
    }

    pub(super) fn cookies(&mut self) {
        let mut parameters = self.parameters(ParameterIn::Cookie).peekable();
        if parameters.peek().is_none() {
            return;
        }
        let headers = &self.exchange.request.headers;
        let sent: Vec<_> = headers.get_all("cookie").map(|value| value.to_str()).collect();
        // Browsers leave cookies out of what they export, as they do with the Authorization header.
        let is_stripped = !self.options.auth || self.exchange.request.credential == Credential::Unknown;
        if sent.iter().any(Result::is_err) || (sent.is_empty() && is_stripped) {
            let why = if sent.is_empty() { "the file holds no cookie of it" } else { NO_TEXT };
            self.leave(Unchecked::RequestParameters, "Cookie", why);
            return;
        }
        let sent: Vec<(&str, &str)> = sent.into_iter().flatten().flat_map(media::cookies).collect();
        for parameter in parameters {
            let Parameter { name, .. } = parameter;
            let texts: Vec<Text<'_>> = sent
                .iter()
                .filter(|(held, _)| parameter.is_named(held))
                .map(|(_, text)| (*text, params::decode_plain(text).unwrap_or(Cow::Borrowed(text))))
                .collect();
            let fields: Vec<_> = sent
                .iter()
                .filter(|(held, _)| parameter.spreads_to(held))
                .map(|(held, text)| (Cow::Borrowed(*held), Cow::Borrowed(*text)))
                .collect();
            if texts.is_empty() && fields.is_empty() {
                self.missing(Rule::CookieParameter, parameter);
            }
            let (judged, seen) = if texts.is_empty() && !fields.is_empty() {
                let seen = joined(fields.iter().map(|(name, text)| (&**name, &**text)));
                (params::judge_fields(parameter, &fields), seen)
            } else if let [several @ .., last] = &texts[..] {
                let seen = joined(texts.iter().map(|(_, text)| (&**name, &**text)));
                let mut judged = params::judge_texts(parameter, &texts, false);
                if judged.violation.is_some()
                    && several.is_empty()
                    && let Some(texts) = with_ampersands(parameter, last.0)
                {
                    let other = params::judge_texts(parameter, &texts, false);
                    judged = if other.violation.is_none() { other } else { judged };
                }
                if judged.violation.is_some() && !several.is_empty() {
                    // A name may come several times, each for another path (RFC 6265, section 4.2.2). If one of them
                    // fits, it may be the one that the document means.
                    let alone = |text| params::judge_texts(parameter, std::slice::from_ref(text), false);
                    judged = if texts.iter().any(|text| alone(text).violation.is_none()) {
                        Judgement::open("it comes several times, and only some of them fit")
                    } else {
                        alone(last)
                    };
                }
                (judged, seen)
            } else {
                continue;
            };
            self.judged(Rule::CookieParameter, name, judged, || seen);
        }
    }
}

/// The verdict on a path parameter, and its value for messages.
fn path_parameter<'p>(parameter: &Parameter, raw: &'p str) -> (Judgement, Cow<'p, str>) {
    let Parameter { name, notation, definition, .. } = parameter;
    match params::decode_plain(raw) {
        Err(BadEncoding) => {
            let judged = Judgement { violation: Some(BadEncoding::EXPECTED.into()), ..Judgement::default() };
            (judged, Cow::Borrowed(raw))
        }
        Ok(text) => {
            let text = (raw, text);
            (params::judge_text(name, *notation, definition, &text, false), text.1)
        }
    }
}

/// An exploded array in one cookie as `style: form` writes it: `name=1&name=2` (OpenAPI 3.1.1, appendix D, warns of the
/// delimiter, and keeps it).
fn with_ampersands<'t>(parameter: &Parameter, text: &'t str) -> Option<Vec<Text<'t>>> {
    let mut texts = Vec::new();
    for part in text.split('&') {
        let own = |part: &'t str| part.strip_prefix(&*parameter.name)?.strip_prefix('=');
        let part = if texts.is_empty() { part } else { own(part)? };
        texts.push((part, params::decode_plain(part).unwrap_or(Cow::Borrowed(part))));
    }
    let is_form = parameter.notation.style == params::Style::Form && parameter.notation.explode;
    (is_form && texts.len() > 1).then_some(texts)
}

/// The parameter that a name of the query belongs to, and whether the name is its own.
fn slot<'g, 'p, 'q>(
    given: &'g mut [QueryParameter<'p, 'q>],
    name: &str,
) -> Option<(&'g mut QueryParameter<'p, 'q>, bool)> {
    let (mut own, mut spread) = (None, None);
    for (index, QueryParameter { parameter, .. }) in given.iter().enumerate() {
        if own.is_none() && parameter.is_named(name) {
            own = Some(index);
        } else if spread.is_none() && parameter.spreads_to(name) {
            spread = Some(index);
        }
    }
    if let (Some(_), Some(object)) = (own, spread) {
        given[object].is_ambiguous = true;
    }
    Some((&mut given[own.or(spread)?], own.is_some()))
}

fn joined<'t>(pairs: impl Iterator<Item = (&'t str, &'t str)>) -> String {
    pairs.map(|(name, text)| format!("{name}={text}")).collect::<Vec<_>>().join("&")
}
