//! The contract as a map: operations with what became of their exchanges, and every part of one of them with how often
//! it was touched. The numbers are those of `contrail coverage`.

use contrail_contract::{ContractDocument, outline::Operation};
use contrail_exchange::finding::{Kind, UNDOCUMENTED};
use contrail_report::{
    Group,
    coverage::{Coverage, Outlined, Part, Section},
};
use serde_json::{Map, Value, json};

use super::{filter::quoted, findings::query, inspector::Inspector, store::Store, summary::millis, views::shown};

/// Which operations are wanted.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    /// In lower case: path, id, summary, a tag or a field holds it.
    pub(crate) text: String,
    /// Those of which something was never touched.
    pub(crate) never: bool,
    /// Those with gaps.
    pub(crate) gaps: bool,
}

/// A documented operation, or the place of all others.
#[derive(Default)]
struct Documented {
    name: String,
    method: String,
    path: String,
    summary: String,
    tags: Vec<String>,
}

/// The operations, and how much of the document was touched.
pub(crate) fn value(inspector: &Inspector, selection: &Selection) -> Value {
    let store = inspector.store();
    let coverage = store.coverage();
    let documents = inspector.contract.documents().iter().flat_map(ContractDocument::operations);
    let documented = documents.map(|Operation { id: name, method, path, summary, tags, .. }| Documented {
        name,
        method,
        path,
        summary,
        tags,
    });
    let gaps: Vec<&Group> = store.collector.tally().groups(Kind::Gap);
    let rest = Documented { name: UNDOCUMENTED.to_owned(), ..Documented::default() };
    let rows: Vec<Value> =
        documented.chain([rest]).filter_map(|one| row(&store, coverage, &gaps, selection, &one)).collect();
    let parts: Map<String, Value> =
        Part::ALL.iter().filter_map(|part| Some((part.name().to_owned(), json!(coverage?.counts(*part))))).collect();
    shown(inspector, json!({"n": store.count(), "parts": parts, "operations": rows}))
}

/// An operation, if it is wanted.
fn row(
    store: &Store,
    coverage: Option<&Coverage>,
    gaps: &[&Group],
    selection: &Selection,
    one: &Documented,
) -> Option<Value> {
    let Documented { name, method, path, summary, tags } = one;
    let is_documented = name != UNDOCUMENTED;
    // Exchanges of no operation have no name.
    let number = if is_documented { store.names.find(name) } else { Some(0) };
    let results = number.and_then(|number| store.operations.get(&number));
    if !is_documented && results.is_none() {
        return None;
    }
    let outline = coverage.map_or_else(Vec::new, |coverage| coverage.outline(name));
    let is_it = |text: &str| text.to_lowercase().contains(&selection.text);
    let holds = || [name, method, path, summary].into_iter().chain(tags).any(|text| is_it(text));
    if !holds() && !outline.iter().any(|part| is_it(part.item.name)) {
        return None;
    }
    let exchanges = results.map_or(0, |results| results.verdicts.iter().sum::<u64>());
    let touched = outline.iter().filter(|part| part.item.times > 0).count();
    let gaps = gaps_of(gaps, name).count();
    if selection.never && is_documented && exchanges > 0 && touched == outline.len() || selection.gaps && gaps == 0 {
        return None;
    }
    let times = number.and_then(|number| store.durations(number));
    let verdict = |at: usize| results.map_or(0, |results| results.verdicts[at]);
    let statuses: Map<String, Value> = results
        .iter()
        .flat_map(|results| &results.statuses)
        .map(|(status, count)| (status.to_string(), (*count).into()))
        .collect();
    Some(json!({
        "name": name, "method": method, "path": path, "summary": summary, "tags": tags,
        "exchanges": exchanges,
        "conforms": verdict(0), "gap": verdict(1), "violates": verdict(2), "miss": verdict(3),
        "touched": touched, "of": outline.len(), "gaps": gaps,
        "statuses": statuses,
        "p50": times.map(|(p50, _)| millis(p50)), "p95": times.map(|(_, p95)| millis(p95)),
        "query": format!("op:{}", quoted(name)),
    }))
}

/// The gaps of an operation.
fn gaps_of<'a>(gaps: &'a [&'a Group], name: &'a str) -> impl Iterator<Item = &'a Group> {
    gaps.iter().copied().filter(move |group| group.operation.as_deref().unwrap_or(UNDOCUMENTED) == name)
}

/// The parts of an operation, each gap at the place where it would belong.
pub(crate) fn parts(inspector: &Inspector, name: &str) -> Value {
    let store = inspector.store();
    let coverage = store.coverage();
    let outline = coverage.map_or_else(Vec::new, |coverage| coverage.outline(name));
    let mut rows: Vec<Vec<Value>> = outline.iter().map(|one| vec![part(one)]).collect();
    rows.insert(0, Vec::new());
    let operations = store.collector.tally().operations();
    let gaps: Vec<&Group> = store.collector.tally().groups(Kind::Gap);
    for gap in gaps_of(&gaps, name) {
        let (after, depth) = place(&outline, gap);
        let cited = &gap.sample.cited;
        rows[after].push(json!({
            "kind": "gap", "depth": depth, "label": label_of(gap), "rule": gap.rule.id(),
            "times": gap.count, "of": gap.operation.as_deref().and_then(|operation| operations.get(operation)),
            "message": gap.message(), "first": store.number(Some(&*cited.source), cited.entry), "query": query(gap),
        }));
    }
    let rows: Vec<Value> = rows.into_iter().flatten().collect();
    shown(inspector, json!({"n": store.count(), "rows": rows}))
}

fn part(one: &Outlined<'_>) -> Value {
    let Outlined { part, item, depth, .. } = one;
    // What comes before it in its name, its place shows.
    let label = match part {
        Part::Fields => item.name.rsplit('.').next(),
        Part::EnumValues => item.name.split_once(" = ").map(|(_, value)| value),
        Part::MediaTypes => item.name.rsplit(' ').next(),
        _ => item.name.split_once(": ").map(|(_, rest)| rest),
    };
    json!({
        "kind": part.name(), "depth": depth, "label": label.unwrap_or(item.name), "times": item.times,
        "document": item.document.name(), "at": item.at,
    })
}

/// What a gap is called at its place: the last step of a pointer; without a place, what its rule is about.
fn label_of(gap: &Group) -> String {
    match gap.place.rsplit_once('/') {
        Some((_, step)) if gap.place.starts_with('/') => step.to_owned(),
        _ if gap.place.is_empty() => gap.rule.id().trim_end_matches(".undocumented").replace('.', " "),
        _ => gap.place.clone(),
    }
}

/// Behind how many parts a gap stands, and how deep: behind the last one of the object that it is in.
fn place(outline: &[Outlined<'_>], gap: &Group) -> (usize, usize) {
    let status = gap.sample.cited.status.to_string();
    let (id, parent) = (gap.rule.id(), gap.place.rfind('/').map_or("", |at| &gap.place[..at]));
    let belongs = |one: &Outlined<'_>| match one.section {
        Section::Parameters => id.starts_with("query."),
        Section::Request => id.starts_with("request."),
        Section::Response(listed) => id.starts_with("response.") && covers(listed, &status),
    };
    let siblings = |at: &str| at == parent || at.strip_prefix(parent).is_some_and(|rest| rest.starts_with('/'));
    let is_near = |one: &Outlined<'_>| belongs(one) && one.at.as_deref().is_some_and(siblings);
    let in_section = || outline.iter().rposition(belongs);
    let Some(last) = outline.iter().rposition(is_near).or_else(in_section) else { return (outline.len(), 0) };
    // As deep as what the same object documents.
    let is_sibling = |one: &&Outlined<'_>| {
        let at = one.at.as_deref().filter(|_| one.part == Part::Fields && belongs(one));
        at.is_some_and(|at| at.rfind('/').is_some_and(|end| at[..end] == *parent))
    };
    (last + 1, outline.iter().find(is_sibling).map_or(outline[last].depth, |sibling| sibling.depth))
}

/// Whether a status as the document writes it is of this response: `200`, `2XX`, `default`.
fn covers(listed: &str, status: &str) -> bool {
    let same = |(listed, digit): (char, char)| listed == digit || listed.eq_ignore_ascii_case(&'x');
    listed == "default" || listed.len() == status.len() && listed.chars().zip(status.chars()).all(same)
}
