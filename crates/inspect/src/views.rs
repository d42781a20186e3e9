//! Views of many exchanges: the run, its callers, its misses. Their numbers are those of the reports.

use contrail_exchange::{Difference, Near, visible::visible};
use contrail_report::{Integrity, Unused};
use serde_json::{Value, json};

use super::{filter::quoted, inspector::Inspector, store::End, stream::counts};

/// Maximum rows of a view.
const MAX_ROWS: usize = 1000;

/// What is known of the run.
pub(crate) fn run(inspector: &Inspector) -> Value {
    let store = inspector.store();
    let facts = &inspector.facts;
    let tally = store.collector.tally();
    let sources: Vec<Value> = store
        .sources
        .iter()
        .take(MAX_ROWS)
        .map(|(name, entries)| json!({"name": store.names.text(*name).map(|name| visible(name)), "entries": entries}))
        .collect();
    let unchecked: Vec<Value> = tally
        .unchecked()
        .map(|(aspect, exchanges, operations)| json!({"aspect": aspect, "exchanges": exchanges, "operations": operations}))
        .collect();
    let contracts: Vec<Value> = inspector
        .contract
        .documents()
        .iter()
        .map(|document| {
            json!({"name": visible(document.name()), "title": visible(document.title()),
                   "version": visible(document.version()), "sha256": document.hash()})
        })
        .collect();
    let secrets = inspector.redactor.counters();
    let run = store.ended.as_ref().unwrap_or(&store.collector).run();
    let integrity = run.integrity.iter().map(Integrity::sentence);
    let mut notes: Vec<String> = integrity.map(|sentence| visible(&sentence).into_owned()).collect();
    if let Some(proof) = &run.proof {
        let proved = "the fixture was replayed, verified and searched for secrets, and is good";
        notes.push(if proof.good { proved } else { proof.failure() }.to_owned());
        notes.extend(proof.problems.iter().chain(&proof.note).map(|sentence| inspector.clean(sentence)));
    }
    notes.extend(store.notes.iter().map(|note| inspector.clean(note)));
    if store.unkept > 0 {
        notes.push(format!("the bytes of {} exchanges could not be kept", store.unkept));
    }
    if inspector.dropped() > 0 {
        notes.push(format!(
            "{} exchanges came too fast to be shown; reports and recordings have them",
            inspector.dropped()
        ));
    }
    json!({
        "build": env!("CARGO_PKG_VERSION"),
        "run": inspector.run,
        "mode": facts.mode,
        "title": visible(&facts.title),
        "live": facts.is_live(),
        "base": facts.base.as_deref().map(visible),
        "started": inspector.started.to_string(),
        "listeners": store.listeners,
        "variables": store.variables.iter().map(|one| json!({"name": one.name, "value": one.value})).collect::<Vec<_>>(),
        "contracts": contracts,
        "sources": sources,
        "options": facts.options.iter().map(|(name, source)| json!({"name": name, "source": visible(source)})).collect::<Vec<_>>(),
        "notes": notes,
        "unchecked": unchecked,
        "secrets": secrets.secrets,
        "personal": secrets.personal,
        "reading": store.reading.map(|reading| json!({"read": reading.read, "of": reading.of})),
        "end": store.end.as_ref().map(end),
        "n": store.first() + store.listed(),
        "counts": counts(&store.verdicts()),
        "skipped": tally.skipped,
    })
}

/// How the run ended.
pub(crate) fn end(end: &End) -> Value {
    json!({"status": end.status, "sentences": end.sentences.iter().map(|one| visible(one)).collect::<Vec<_>>(), "next": end.next})
}

/// The callers of the audit, each call with the number of its first exchange.
pub(crate) fn callers(inspector: &Inspector) -> Value {
    let store = inspector.store();
    let mut callers = store.audit.as_ref().map_or_else(Vec::new, |audit| audit.callers(&inspector.contract));
    for caller in &mut callers {
        let query = caller["caller"].as_str().filter(|name| store.names.find(name).is_some());
        caller["query"] = query.map(|name| format!("client:{}", quoted(name))).into();
        for call in caller["calls"].as_array_mut().into_iter().flatten() {
            let first = call["first"]["source"].as_str().zip(call["first"]["entry"].as_u64());
            let number = first.and_then(|(source, entry)| store.number(Some(source), usize::try_from(entry).ok()?));
            call["firstNumber"] = number.into();
        }
    }
    shown(inspector, json!({"n": store.count(), "callers": callers}))
}

/// A value with its texts as they may be shown.
pub(crate) fn shown(inspector: &Inspector, value: Value) -> Value {
    match value {
        Value::String(text) => inspector.clean(&text).into(),
        Value::Array(items) => items.into_iter().map(|item| shown(inspector, item)).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(name, member)| (visible(&name).into_owned(), shown(inspector, member))).collect()
        }
        other => other,
    }
}

/// Missed requests, denied hosts, and recordings that no request used.
pub(crate) fn misses(inspector: &Inspector) -> Value {
    let store = inspector.store();
    let run = store.ended.as_ref().unwrap_or(&store.collector).run();
    let clean = |text: &str| inspector.clean(text);
    let difference = |one: &Difference| {
        json!({"place": clean(&one.place), "yours": one.yours.as_deref().map(clean),
               "fixture": one.fixture.as_deref().map(clean), "option": one.option.as_deref().map(clean)})
    };
    let near = |near: &Near| {
        json!({"entry": clean(&near.entry), "request": clean(&near.request), "status": near.status,
               "differences": near.differences.iter().map(difference).collect::<Vec<_>>()})
    };
    let rows: Vec<Value> = run
        .misses()
        .take(MAX_ROWS)
        .map(|missed| {
            // The options that would make the nearest recording fit, if every difference has one.
            let options = missed.nearest.first().and_then(|nearest| {
                let options: Option<Vec<&str>> =
                    nearest.differences.iter().map(|difference| difference.option.as_deref()).collect();
                options.filter(|options| !options.is_empty())
            });
            json!({
                "count": missed.count, "reason": clean(&missed.reason), "detail": clean(&missed.detail),
                "request": clean(&missed.request), "operation": missed.operation.as_deref().map(clean),
                "nearest": missed.nearest.iter().map(near).collect::<Vec<_>>(),
                "option": options.map(|options| clean(&options.join(" "))),
            })
        })
        .collect();
    let denied: Vec<Value> = run
        .denied()
        .take(MAX_ROWS)
        .map(|denied| json!({"host": clean(denied.host), "reason": denied.reason, "count": denied.count}))
        .collect();
    let unused = |one: &Unused| json!({"entry": clean(&one.entry), "request": clean(&one.request)});
    let unused: Vec<Value> = run.unused().take(MAX_ROWS).map(unused).collect();
    let stale: Vec<Value> = run
        .stale
        .iter()
        .take(MAX_ROWS)
        .map(|one| json!({"entry": clean(&one.entry), "request": clean(&one.request), "why": clean(&one.why)}))
        .collect();
    json!({"n": store.count(), "rows": rows, "record": inspector.facts.record.as_deref().map(clean), "further": run.further_misses,
           "denied": denied, "unused": unused, "stale": stale})
}
