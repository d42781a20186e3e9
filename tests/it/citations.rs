//! What the built-in contract cites: every section named by `contrail contract` holds the words, or is silent as claimed.
//!
//! `tests/data/passages.yaml` holds the headings and short quotes of the tenant's documentation.

use std::collections::BTreeMap;

use contrail_contract::{
    Contract,
    outline::{Fact, Outline},
};
use serde_json::Value;

/// A section's heading and quotes.
struct Section {
    heading: String,
    quotes: Vec<String>,
}

fn passages() -> BTreeMap<String, Section> {
    let passages: Value = serde_saphyr::from_str(include_str!("../data/passages.yaml")).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let section = |held: &Value| Section {
        heading: text(&held["heading"]),
        quotes: held["says"].as_array().unwrap().iter().map(text).collect(),
    };
    passages.as_object().unwrap().iter().map(|(name, held)| (name.clone(), section(held))).collect()
}

fn outline() -> Outline {
    Contract::built_in().documents()[0].outline()
}

/// Words that a passage has to hold to say that an aspect is not shown.
fn words(aspect: &str) -> &'static [&'static str] {
    match aspect {
        "effects" => &["Effects"],
        "states" => &["States"],
        "transitions" => &["transitions"],
        "events" => &["Events"],
        "request-quotas" => &["request quotas"],
        "compatibility-policy" => &["Compatibility"],
        "deprecation-policy" => &["deprecation policy"],
        "lifecycle-stage" => &["stage"],
        "required-scope" => &["cope", "equired"],
        "success-status" => &["success status"],
        "error-status" => &["error statuses"],
        "error-body" => &["Error body"],
        "request-body" | "request-content-type" | "request-fields" => &["equest"],
        "request-required" => &["body fields are required", "`payload` is required"],
        "response-body" | "response-content-type" => &["Response"],
        "response-required" => &["always present", "Which fields are required"],
        "required" => &["fields are required", "`payload` is required", "always present"],
        "values" => &["Values of"],
        "contents" => &["Contents", "Internal shape"],
        "further-fields" => &["Other fields"],
        "constraints" => &["Constraints"],
        "header-value" => &["X-RateLimit"],
        "format-grammar" => &["format"],
        other => panic!("no words are known for `{other}`"),
    }
}

/// Whether a quote says that this is not shown.
fn says_not_shown(quote: &str, aspect: &str) -> bool {
    quote.contains("not shown") && words(aspect).iter().any(|word| quote.contains(word))
}

#[test]
fn every_aspect_that_is_not_shown_is_cited_where_the_documentation_excludes_it_or_is_silent() {
    let passages = passages();
    let mut wrong = Vec::new();
    for Fact { place, statement, source } in outline().not_shown {
        let (sections, silent) = match source.strip_suffix(" is silent") {
            Some(section) => (section, true),
            None => (&*source, false),
        };
        for section in sections.split(", ") {
            let held = passages
                .get(section)
                .is_some_and(|held| held.quotes.iter().any(|quote| says_not_shown(quote, &statement)));
            if !passages.contains_key(section) || held == silent {
                wrong.push(format!("{place}: {statement} [{source}]"));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

/// What a limit says that has to stand in the section: its numbers and quoted values.
fn terms(statement: &str) -> Vec<String> {
    let mut terms: Vec<String> = statement.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    let plain: String = statement.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    terms.extend(plain.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty()).map(str::to_owned));
    // The contract's own words for a placeholder and for the tenant's origin.
    terms.retain(|term| !term.starts_with("{origin}"));
    terms.into_iter().map(|term| term.replace('{', "<").replace('}', ">")).collect()
}

#[test]
fn every_limit_is_cited_where_the_documentation_states_it() {
    let passages = passages();
    let mut wrong = Vec::new();
    let limits = outline().limits;
    for Fact { place, statement, source } in &limits {
        // A parameter, a property, or a thing with a name of its own.
        let name = place.rsplit(['.', ' ']).next().unwrap();
        let field = match name {
            "RequestsPerSecond" => "limit",
            "EnabledFeatures[]" => "enabled_features",
            name if name.starts_with(|c: char| c.is_ascii_lowercase()) => name,
            _ => "",
        };
        for section in source.split(", ") {
            let Some(held) = passages.get(section) else {
                wrong.push(format!("{place}: there is no section {section}"));
                continue;
            };
            let text = held.quotes.join("\n");
            let spaced = field.replace('_', " ");
            let mut terms = terms(statement);
            if section == "8" {
                // Section 8 repeats bounds, not patterns, formats and values.
                terms.retain(|term| term.bytes().all(|byte| byte.is_ascii_digit()));
            }
            if field == "strategy_overrides" {
                terms = vec!["three keys".to_owned()];
            }
            let holds = |quote: &str| terms.iter().all(|term| quote.contains(term.as_str()));
            let row = |quote: &&String| quote.contains(field) || quote.contains(&spaced);
            let one_row = held.quotes.iter().filter(row).any(|quote| holds(quote));
            // The names of an object, the variants' actions and the forms of a selector stand in rows of their own.
            let several_rows = ["", "action", "consumer_selector", "redirect_uri"].contains(&field) && holds(&text);
            if !one_row && !several_rows {
                wrong.push(format!("{place}: {statement} [{section}]"));
            }
        }
    }
    assert!(limits.len() > 30);
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn each_operation_cites_the_section_that_has_its_name_as_heading() {
    let passages = passages();
    for operation in Contract::built_in().documents()[0].operations() {
        let section = &passages[&operation.source];
        if operation.id == "requestToken" {
            assert_eq!((&*operation.source, &*section.heading), ("5", "Authentication"));
        } else {
            assert_eq!(operation.summary, section.heading, "{}", operation.id);
        }
    }
}

/// The map at the top of the document names every aspect, so that none is cited by its neighbourhood alone.
#[test]
fn the_sections_of_every_aspect_stand_at_the_top_of_the_document() {
    let contract = Contract::built_in();
    let sections = contract.document()["x-contrail-source"].as_object().unwrap();
    let shown = outline().not_shown;
    for fact in &shown {
        let held = sections.get(&fact.statement).unwrap_or_else(|| panic!("`{}` is not in the map", fact.statement));
        let own =
            held.as_object().is_none_or(|places| places.contains_key(&fact.place) || places.contains_key("default"));
        assert!(own, "{}: {}", fact.place, fact.statement);
    }
    for (aspect, held) in sections {
        assert!(shown.iter().any(|fact| fact.statement == *aspect), "`{aspect}` is in the map and nowhere else");
        for place in held.as_object().into_iter().flat_map(|places| places.keys()).filter(|place| *place != "default") {
            assert!(shown.iter().any(|fact| fact.statement == *aspect && fact.place == *place), "{place}: {aspect}");
        }
    }
}
