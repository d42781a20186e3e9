//! Parameters, and what the values of response headers have to be.

use std::{collections::HashSet, sync::Arc};

use contrail_exchange::media;
use serde_json::Value;

use super::{
    compiler::Compiler,
    keys::Keys,
    members::{child, field_name, flag, members, text},
};
use crate::{
    ContractError,
    error::invalid,
    media_type::MediaRange,
    model::{Definition, Header, Notation, ObjectStyle, Parameter, ParameterIn},
    params::Style,
    refs, schemas_at,
};

impl<'d> Compiler<'d> {
    /// The parameters of a path item or an operation, with their places, references followed, and whether these are
    /// all.
    pub(super) fn parameters(&mut self, at: &str) -> (Vec<(String, &'d Value)>, bool) {
        let at = child(at, "parameters");
        let Some(parameters) = refs::at(self.document, &at) else { return (Vec::new(), true) };
        let Some(parameters) = parameters.as_array() else {
            self.unusable(&at, "it has to be a list");
            return (Vec::new(), false);
        };
        let document = self.document;
        let followed = parameters.iter().enumerate().map(|(index, parameter)| {
            let at = format!("{at}/{index}");
            refs::follow(document, &at, parameter)
        });
        let usable: Vec<_> = followed.filter_map(|followed| self.usable(followed)).collect();
        let is_whole = usable.len() == parameters.len();
        let mut known = HashSet::new();
        let (first, twins): (Vec<_>, Vec<_>) = usable.into_iter().partition(|(_, one)| known.insert(identity(one)));
        for (at, _) in twins {
            self.unusable(&at, "a parameter of this name and place precedes it in the list");
        }
        (first, is_whole)
    }

    /// The parameters of an operation, `shared` those of its path item, and whether these are all.
    pub(super) fn own_and_shared(
        &mut self,
        at: &str,
        (shared, all_shared): &(Vec<(String, &'d Value)>, bool),
    ) -> (Vec<(String, &'d Value)>, bool) {
        let (own, is_whole) = self.parameters(at);
        let Some(left) = self.parameters_left.checked_sub(own.len() + shared.len()) else {
            self.unusable(
                &child(at, "parameters"),
                "too many parameters precede it: those of this operation are left out",
            );
            return (Vec::new(), false);
        };
        self.parameters_left = left;
        let replaced: HashSet<_> = own.iter().map(|(_, own)| identity(own)).collect();
        let inherited = shared.iter().filter(|(_, shared)| !replaced.contains(&identity(shared)));
        (inherited.chain(&own).cloned().collect(), is_whole && *all_shared)
    }

    /// See [`read_parameter`](Self::read_parameter).
    pub(super) fn parameter(
        &mut self,
        at: &str,
        parameter: &'d Value,
    ) -> Result<Option<Arc<Parameter>>, ContractError> {
        if let Some(known) = self.shared.parameters.get(at) {
            return Ok(known.clone());
        }
        let read = self.read_parameter(at, parameter)?.map(Arc::new);
        self.shared.parameters.insert(at.to_owned(), read.clone());
        Ok(read)
    }

    /// `None` for a header that OpenAPI takes for none: "If in is "header" and the name field is "Accept",
    /// "Content-Type" or "Authorization", the parameter definition SHALL be ignored."
    fn read_parameter(&mut self, at: &str, parameter: &'d Value) -> Result<Option<Parameter>, ContractError> {
        let name = text(parameter, at, "name")?;
        let (place, usual, allowed): (_, _, &[Style]) = match text(parameter, at, "in")? {
            "path" => (ParameterIn::Path, Style::Simple, &[Style::Simple, Style::Label, Style::Matrix]),
            "query" => {
                let delimited = &[Style::Form, Style::SpaceDelimited, Style::PipeDelimited, Style::DeepObject];
                (ParameterIn::Query, Style::Form, delimited)
            }
            "querystring" => (ParameterIn::QueryString, Style::Form, &[]),
            "header" => (ParameterIn::Header, Style::Simple, &[Style::Simple]),
            "cookie" => (ParameterIn::Cookie, Style::Form, &[Style::Form, Style::Cookie]),
            other => return Err(invalid(at, format!("`in: {other}` is not a place of a parameter"))),
        };
        let ignored = ["accept", "content-type", "authorization"];
        if place == ParameterIn::Header && ignored.iter().any(|ignored| name.eq_ignore_ascii_case(ignored)) {
            return Ok(None);
        }
        if place == ParameterIn::Header {
            field_name(at, name)?;
        }
        let required = self.usable(flag(parameter, at, "required"));
        let allow_empty = self.usable(flag(parameter, at, "allowEmptyValue"));
        let notation = self.notation(at, parameter, usual, allowed).filter(|_| allow_empty.is_some());
        let is_read = notation.is_some();
        let definition = if notation.is_some() { self.definition(at, parameter)? } else { Definition::NotRead };
        let notation = notation.unwrap_or(Notation { style: usual, explode: false, allow_reserved: false });
        let is_named = matches!(place, ParameterIn::Query | ParameterIn::Cookie);
        let object_style = if is_named && matches!(definition, Definition::Schema(_)) {
            self.object_style(at, notation)
        } else {
            // What is not read may have any names.
            (!is_read && place == ParameterIn::Query).then(|| ObjectStyle::Keys { named: Arc::default(), open: true })
        };
        Ok(Some(Parameter {
            name: name.into(),
            place,
            required: place == ParameterIn::Path || required.flatten().unwrap_or(false),
            unclear: required.is_none(),
            allow_empty: place == ParameterIn::Query && allow_empty.flatten().unwrap_or(false),
            notation,
            object_style,
            definition,
        }))
    }

    /// A header of a response. "If a response header is defined with the name "Content-Type", it SHALL be ignored."
    pub(super) fn header(&mut self, at: &str, name: &str, header: &'d Value) -> Result<Option<Header>, ContractError> {
        if name.eq_ignore_ascii_case("content-type") {
            return Ok(None);
        }
        members(header, at)?;
        field_name(at, name)?;
        let required = self.usable(flag(header, at, "required"));
        let notation = self.notation(at, header, Style::Simple, &[Style::Simple]);
        let definition = if notation.is_some() { self.definition(at, header)? } else { Definition::NotRead };
        Ok(Some(Header {
            name: name.into(),
            required: required.flatten().unwrap_or(false),
            unclear: required.is_none(),
            notation: notation.unwrap_or(Notation { style: Style::Simple, explode: false, allow_reserved: false }),
            definition,
        }))
    }

    /// `None` where it is unusable, or the style is none for the place.
    fn notation(&mut self, at: &str, holder: &Value, usual: Style, allowed: &[Style]) -> Option<Notation> {
        let style = match holder.get("style") {
            None => usual,
            Some(named) => match named.as_str().and_then(Style::from_name).filter(|style| allowed.contains(style)) {
                Some(style) => style,
                None => {
                    self.unusable(&child(at, "style"), format!("{named} is not a style for this place"));
                    return None;
                }
            },
        };
        let explode = self.usable(flag(holder, at, "explode"));
        let allow_reserved = self.usable(flag(holder, at, "allowReserved"));
        Some(Notation {
            style,
            explode: explode?.unwrap_or(style.explodes()),
            allow_reserved: allow_reserved?.unwrap_or(false),
        })
    }

    fn definition(&mut self, at: &str, holder: &'d Value) -> Result<Definition, ContractError> {
        let Some(content) = holder.get("content") else {
            // A schema that says nothing takes anything.
            let schema = holder.get("schema").filter(|schema| schema.as_object().is_none_or(|said| !said.is_empty()));
            return Ok(
                schema.map_or(Definition::Nothing, |_| Definition::Schema(self.schemas.at(&child(at, "schema"))))
            );
        };
        let at = child(at, "content");
        let mut media_types = members(content, &at)?.iter();
        let (Some((name, media_type)), None) = (media_types.next(), media_types.next()) else {
            return Err(invalid(&at, "it has to name one media type"));
        };
        let at = child(&at, name);
        let essence = media::essence(name.as_bytes());
        if essence == media::FORM
            && let Some(range) = MediaRange::parse(name)
        {
            let content = self.media_type(&at, range, media_type);
            return Ok(if content.unusable { Definition::NotRead } else { Definition::Form(content.into()) });
        }
        let place = media_type.get("schema").map(|_| child(&at, "schema"));
        let schema = place.as_ref().map(|place| self.schemas.at(place));
        if media::is_json(&essence) {
            return Ok(Definition::Json(schema));
        }
        let of_string = || place.is_some_and(|place| self.is_of_string(&place));
        if essence == "text/plain" || media::is_text(&essence) && of_string() {
            return Ok(Definition::Text(schema));
        }
        self.not_implemented(&at, &format!("parameters of `{essence}` are not checked"));
        Ok(Definition::NotRead)
    }

    /// Whether a member of the values of a schema may be an object.
    pub(super) fn may_be_object(&self, schema: &str, member: &str) -> bool {
        let applicable = schemas_at::composed(self.document, vec![schema.to_owned()]);
        let members = applicable.iter().map(|schema| refs::below(schema, &["properties", member]));
        members.map(|at| Keys::of(self.document, &at)).any(|keys| keys.is_object)
    }

    /// Which names belong to a parameter with this schema, where it may be an object.
    fn object_style(&mut self, at: &str, notation: Notation) -> Option<ObjectStyle> {
        if notation.style == Style::DeepObject {
            return Some(ObjectStyle::Brackets);
        }
        let place = child(at, "schema");
        let schema = refs::at(self.document, &place)?;
        let place = refs::follow(self.document, &place, schema).map_or(place, |(place, _)| place);
        let keys = match self.shared.keys.get(&place) {
            Some(known) => Arc::clone(known),
            None => {
                let keys = Arc::new(Keys::of(self.document, &place));
                self.shared.keys.insert(place, Arc::clone(&keys));
                keys
            }
        };
        (notation.explode && keys.is_object && !keys.is_other)
            .then(|| ObjectStyle::Keys { named: Arc::clone(&keys.named), open: keys.open })
    }
}

/// "A unique parameter is defined by a combination of a name and location."
fn identity(parameter: &Value) -> [Option<&Value>; 2] {
    ["name", "in"].map(|key| parameter.get(key))
}
