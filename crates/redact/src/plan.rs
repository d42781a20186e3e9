//! The plan of a redaction: the built-in rules and those that `--redact` adds.

use std::{fmt, sync::Arc};

use contrail_exchange::{TenantFacts, json::unescape_pointer};
use http::{HeaderName, header::AUTHORIZATION};
use regex::bytes::Regex;

use super::find::header_names::by_header;

/// The built-in rules and what `--redact` adds. Compiled once.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    pointers: Vec<Vec<String>>,
    headers: Vec<HeaderName>,
    pub(super) expressions: Vec<Regex>,
    /// Personal data is masked, not only counted.
    pub(super) personal: bool,
    /// Fields that carry an API key; those that redaction knows anyway are left out.
    key_headers: Vec<HeaderName>,
    /// Query parameters that carry an API key.
    key_parameters: Vec<String>,
    /// Tenants whose contracts list codes that are no secrets.
    tenants: Vec<Arc<dyn TenantFacts>>,
}

/// A `--redact` option that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanError {
    /// The option's value.
    pub option: String,
    /// What is wrong with it, and what to write instead.
    pub reason: String,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`--redact {}`: {}", self.option, self.reason)
    }
}

impl std::error::Error for PlanError {}

impl Plan {
    /// The built-in rules with what each `--redact` option adds:
    ///
    /// - `pointer:/a/b`: the value there, in JSON bodies of requests and responses and (by its first name) in forms;
    ///   everything below it if it is an object or an array; `*` stands for any one name or index;
    /// - `header:NAME`: the whole value of that header field, both ways;
    /// - `regex:…`: what the expression matches in any decoded text (its first group, if it has one);
    /// - `personal`: e-mail addresses, telephone numbers, names, numbers of cards and the like.
    ///
    /// # Errors
    ///
    /// [`PlanError`] quotes the option that is none of these.
    pub fn new<S: AsRef<str>>(options: &[S]) -> Result<Self, PlanError> {
        let mut plan = Self::default();
        for option in options {
            plan.add(option.as_ref()).map_err(|reason| PlanError { option: option.as_ref().to_owned(), reason })?;
        }
        Ok(plan)
    }

    /// The same with the header fields and query parameters in which a contract's API keys stand.
    #[must_use]
    pub fn with_api_keys<'n>(
        mut self,
        headers: impl IntoIterator<Item = &'n str>,
        parameters: impl IntoIterator<Item = &'n str>,
    ) -> Self {
        let headers = headers.into_iter().filter_map(|name| HeaderName::from_bytes(name.as_bytes()).ok());
        self.key_headers.extend(headers.filter(|name| *name != AUTHORIZATION && by_header(name.as_str()).is_none()));
        self.key_parameters.extend(parameters.into_iter().map(str::to_owned));
        self
    }

    /// The same where a code that the tenant's contract lists is no secret.
    #[must_use]
    pub fn with_tenant(mut self, tenant: Arc<dyn TenantFacts>) -> Self {
        self.tenants.push(tenant);
        self
    }

    /// Whether a contract lists this value of a field `code`.
    pub(super) fn lists_code(&self, value: &[u8]) -> bool {
        let value = std::str::from_utf8(value);
        value.is_ok_and(|value| self.tenants.iter().any(|tenant| tenant.lists_code(value)))
    }

    fn add(&mut self, option: &str) -> Result<(), String> {
        if option == "personal" {
            self.personal = true;
        } else if let Some(pointer) = option.strip_prefix("pointer:") {
            let tokens = pointer
                .strip_prefix('/')
                .ok_or("a JSON pointer begins with `/`, for example `pointer:/client/secret`")?;
            self.pointers.push(tokens.split('/').map(|token| unescape_pointer(token).into_owned()).collect());
        } else if let Some(name) = option.strip_prefix("header:") {
            let name = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| "that is not the name of a header field, for example `header:X-Internal-Id`")?;
            self.headers.push(name);
        } else if let Some(expression) = option.strip_prefix("regex:") {
            let expression = Regex::new(expression).map_err(|error| {
                // The lines before the last one show the place in the expression.
                let error = error.to_string();
                let why = error.lines().last().unwrap_or_default();
                format!("the expression is wrong: {}", why.trim_start_matches("error: "))
            })?;
            if expression.is_match(b"") {
                return Err("the expression matches the empty text, so it would match everywhere".to_owned());
            }
            self.expressions.push(expression);
        } else {
            return Err("expected `pointer:/a/b`, `header:NAME`, `regex:EXPRESSION` or `personal`".to_owned());
        }
        Ok(())
    }

    pub(super) fn names_header(&self, name: &HeaderName) -> bool {
        self.headers.contains(name)
    }

    /// Whether header fields have to be read though nothing in them hints at a secret.
    pub(super) fn names_fields(&self) -> bool {
        !self.headers.is_empty() || !self.key_headers.is_empty() || self.names_parameters()
    }

    /// Whether a field carries an API key.
    pub(super) fn is_key_header(&self, name: &HeaderName) -> bool {
        self.key_headers.contains(name)
    }

    /// Whether a query parameter carries an API key.
    pub(super) fn is_key_parameter(&self, name: &str) -> bool {
        self.key_parameters.iter().any(|held| held == name)
    }

    /// Whether queries have to be read though nothing in them hints at a secret.
    pub(super) fn names_parameters(&self) -> bool {
        !self.key_parameters.is_empty()
    }

    /// Whether a document has to be read though nothing in it hints at a secret.
    pub(super) fn is_extended(&self) -> bool {
        self.personal || !self.pointers.is_empty() || !self.expressions.is_empty()
    }

    /// The names and indices of each pointer; `*` stands for any.
    pub(super) fn pointers(&self) -> &[Vec<String>] {
        &self.pointers
    }

    /// Whether a rule names this field of a form.
    pub(super) fn names_field(&self, name: &str) -> bool {
        self.pointers.iter().any(|held| matches!(&held[..], [wanted] if wanted == "*" || wanted == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_is_no_rule_is_quoted_with_a_hint() {
        for (option, hint) in [
            ("pointer:a", "`--redact pointer:a`: a JSON pointer begins with `/`, for example `pointer:/client/secret`"),
            (
                "header:",
                "`--redact header:`: that is not the name of a header field, for example `header:X-Internal-Id`",
            ),
            (
                "header:a b",
                "`--redact header:a b`: that is not the name of a header field, for example `header:X-Internal-Id`",
            ),
            ("regex:(", "`--redact regex:(`: the expression is wrong: unclosed group"),
            ("regex:a*", "`--redact regex:a*`: the expression matches the empty text, so it would match everywhere"),
            (
                "everything",
                "`--redact everything`: expected `pointer:/a/b`, `header:NAME`, `regex:EXPRESSION` or `personal`",
            ),
        ] {
            let message = Plan::new(&[option]).unwrap_err().to_string();
            assert_eq!(message, hint);
        }
    }

    #[test]
    fn a_star_in_a_pointer_stands_for_one_token() {
        let plan = Plan::new(&["pointer:/a/*/b", "pointer:/x~1y"]).unwrap();
        let redactor = crate::Redactor::new(plan);
        let redacted = |json: &'static str| redactor.file(&json.into()).content.into_inner();
        let masked = redacted(r#"{"a":[{"b":"one"},{"b":["two"]}],"x/y":"three"}"#);
        assert_eq!(masked, br#"{"a":[{"b":"!custom-2!"},{"b":["!custom-3!"]}],"x/y":"!custom-1!"}"#);
        let other = r#"{"a":{"b":1,"c":{"d":"four"}},"x":{"y":"five"}}"#;
        assert_eq!(redacted(other), other.as_bytes());
    }
}
