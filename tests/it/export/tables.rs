//! What the tables hold, read back with the reader of the crate `parquet`.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::Path,
};

use parquet::{
    basic::{LogicalType, Type as Physical},
    file::{
        metadata::RowGroupMetaData,
        reader::{FileReader as _, SerializedFileReader},
    },
    record::{Field, Row},
    schema::types::Type,
};
use serde_json::Value;

use crate::{
    secrets::{self, shows_none},
    support::{
        command::{Ran, run_in, run_with_input},
        har,
    },
};

pub const TABLES: [&str; 3] = ["exchanges", "findings", "tokens"];
const POLICY: &str = "/api/v2/rate-limit-policies/rlp_1";

pub fn export(folder: &Path, arguments: &[&str]) -> Ran {
    run_in(folder, ["export", "--parquet", "out"].iter().chain(arguments))
}

fn reader(out: &Path, table: &str) -> SerializedFileReader<File> {
    SerializedFileReader::new(File::open(out.join(format!("{table}.parquet"))).unwrap()).unwrap()
}

fn rows(out: &Path, table: &str) -> Vec<Row> {
    reader(out, table).get_row_iter(None).unwrap().map(Result::unwrap).collect()
}

/// The values of these columns, as text; `null` for none.
fn columns(out: &Path, table: &str, names: &[&str]) -> Vec<Vec<String>> {
    let shown = |field: &Field| match field {
        Field::Str(text) => text.clone(),
        other => other.to_string(),
    };
    let of = |row: &Row, name: &str| {
        let field = row.get_column_iter().find(|(held, _)| *held == name);
        shown(field.unwrap_or_else(|| panic!("no column {name}")).1)
    };
    rows(out, table).iter().map(|row| names.iter().map(|name| of(row, name)).collect()).collect()
}

/// A recording with an exchange of each verdict, a token that lacks the scope, and one without a token.
fn mixed() -> String {
    let bearer = |scope: &str| format!("Bearer {}", har::token(scope, har::NOON + 3600));
    let other = bearer("read:users read:logs");
    let late = format!("Bearer {}", har::token("read:rate_limit_policies", har::NOON - 1));
    har::har(&[
        har::conforming(),
        har::get(&format!("{POLICY}?debug=1"), Some(&har::bearer()), 200, har::POLICY),
        har::get(POLICY, Some(&other), 200, har::POLICY),
        har::get(POLICY, Some(&late), 401, "{}"),
        har::get("/api/v2/connection-profiles/templates", Some(&har::bearer()), 200, "{}"),
        har::get("/api/v2/users", None, 200, "[]"),
    ])
}

#[test]
fn the_documentation_lists_every_column_with_its_type_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), mixed()).unwrap();
    assert_eq!(export(folder.path(), &["a.har"]).status, 0);
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/queries.md")).unwrap();
    for table in TABLES {
        let section = page.split(&format!("\n### {table}\n")).nth(1).unwrap_or_else(|| panic!("no section {table}"));
        let lines = section.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
        let cells = lines.take_while(|line| line.starts_with('|')).map(|line| {
            let cells: Vec<&str> = line.split(" | ").collect();
            let nulls = cells[3].trim_end_matches(" |");
            (cells[0].trim_matches(['|', ' ', '`']).to_owned(), cells[1].to_owned(), nulls != "never")
        });
        let reader = reader(&folder.path().join("out"), table);
        let fields = reader.metadata().file_metadata().schema().get_fields().to_vec();
        let found = fields.iter().map(|field| (field.name().to_owned(), kind(field), field.is_optional()));
        assert_eq!(cells.collect::<Vec<_>>(), found.collect::<Vec<_>>(), "{table}");
    }
}

/// The type of a column as the documentation writes it.
fn kind(field: &Type) -> String {
    if field.is_group() {
        assert_eq!(field.get_basic_info().logical_type_ref(), Some(&LogicalType::List));
        return format!("LIST of {}", kind(&field.get_fields()[0].get_fields()[0]));
    }
    match (field.get_basic_info().logical_type_ref(), field.get_physical_type()) {
        (Some(LogicalType::String), Physical::BYTE_ARRAY) => "STRING".to_owned(),
        (Some(LogicalType::Timestamp(_)), Physical::INT64) => "TIMESTAMP(MICROS, UTC)".to_owned(),
        (None, physical) => physical.to_string(),
        other => panic!("{}: {other:?}", field.name()),
    }
}

#[test]
fn the_tables_hold_the_verdicts_of_verify_and_what_was_not_checked() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), mixed()).unwrap();
    let ran = export(folder.path(), &["a.har"]);
    assert_eq!(
        (ran.status, &*ran.stdout, &*ran.stderr),
        (0, "", "6 exchanges, 13 rows of findings, 3 tokens in out\n")
    );
    let out = folder.path().join("out");
    let verified = run_in(folder.path(), ["verify", "--format", "json", "a.har"]);
    let verified: Value = serde_json::from_str(&verified.stdout).unwrap();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let (mut exchanges, mut findings) = (Vec::new(), Vec::new());
    for exchange in verified["exchanges"].as_array().unwrap() {
        let of = |names: &[&str]| names.iter().map(|name| text(&exchange[name])).collect::<Vec<_>>();
        let entry = text(&exchange["entry"]);
        exchanges.push(of(&["entry", "method", "operation", "status", "verdict", "blame"]));
        let none = || "null".to_owned();
        findings.extend(exchange["findings"].as_array().unwrap().iter().map(|finding| {
            let of = |name: &str| text(&finding[name]);
            vec![entry.clone(), of("kind"), of("rule"), none(), of("at"), of("message")]
        }));
        findings.extend(
            exchange["unchecked"]
                .as_array()
                .unwrap()
                .iter()
                .map(|aspect| vec![entry.clone(), "unchecked".to_owned(), none(), text(aspect), none(), none()]),
        );
    }
    let names = ["entry", "method", "operation", "status", "verdict", "blame"];
    assert_eq!(columns(&out, "exchanges", &names), exchanges);
    let names = ["entry", "kind", "rule", "aspect", "place", "message"];
    assert_eq!(columns(&out, "findings", &names), findings);
    let kinds: BTreeMap<String, usize> = findings.iter().fold(BTreeMap::new(), |mut kinds, finding| {
        *kinds.entry(finding[1].clone()).or_default() += 1;
        kinds
    });
    assert_eq!(kinds.keys().map(String::as_str).collect::<Vec<_>>(), ["gap", "unchecked", "violation"]);
}

#[test]
fn a_token_is_one_row_with_its_scopes_and_times_and_exchanges_refer_to_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), mixed()).unwrap();
    assert_eq!(export(folder.path(), &["a.har"]).status, 0);
    let out = folder.path().join("out");
    let tokens = columns(&out, "tokens", &["client", "scopes", "audience", "expires_at", "lifetime_s", "entry"]);
    let noon = "2025-11-21 12:00:00.000000 +00:00";
    let one = noon.replace("12:", "13:");
    let before = noon.replace("12:00:00", "11:59:59");
    let row = |scopes: &str, end: &str, lifetime: &str, entry: &str| {
        ["svc-1", scopes, "[\"https://tenant.example/api/v2/\"]", end, lifetime, entry].map(str::to_owned).to_vec()
    };
    let policies = "[\"read:rate_limit_policies\"]";
    let both = "[\"read:logs\", \"read:users\"]";
    assert_eq!(
        tokens,
        [row(policies, &one, "3660", "0"), row(both, &one, "3660", "2"), row(policies, &before, "59", "3")]
    );
    let keys: Vec<String> = columns(&out, "tokens", &["token"]).concat();
    let of = |at: usize| keys[at].as_str();
    let referred = columns(&out, "exchanges", &["token", "token_time", "credential", "started"]);
    let time = |at: usize| [of(at), if at == 2 { "expired" } else { "valid" }, "token", noon];
    let expected = [time(0), time(0), time(1), time(2), time(0), ["null", "null", "missing", noon]];
    assert_eq!(referred, expected.map(|row| row.map(str::to_owned).to_vec()));
    let required = columns(&out, "exchanges", &["required_scopes"]).concat();
    assert_eq!((required[0].as_str(), required[4].as_str(), required[5].as_str()), (policies, "null", "null"));
}

#[test]
fn row_groups_are_bounded_in_rows_and_in_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let entries: Vec<Value> = (0..100).map(|_| har::conforming()).collect();
    fs::write(folder.path().join("a.har"), har::har(&entries)).unwrap();
    let groups = |arguments: &[&str]| {
        let ran = export(folder.path(), &[&["a.har", "--overwrite"], arguments].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let reader = reader(&folder.path().join("out"), "exchanges");
        reader.metadata().row_groups().iter().map(RowGroupMetaData::num_rows).collect::<Vec<i64>>()
    };
    assert_eq!(groups(&[]), [100]);
    assert_eq!(groups(&["--group-rows", "40"]), [40, 40, 20]);
    let small = groups(&["--group-bytes", "4KiB"]);
    assert!(small.len() > 5 && small.iter().sum::<i64>() == 100, "{small:?}");
    // A row is larger than that.
    assert_eq!(groups(&["--group-bytes", "1"]), [1; 100]);
}

#[test]
fn the_same_recordings_give_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), mixed()).unwrap();
    let bytes = || {
        assert_eq!(export(folder.path(), &["a.har", "--overwrite"]).status, 0);
        TABLES.map(|table| fs::read(folder.path().join(format!("out/{table}.parquet"))).unwrap())
    };
    assert_eq!(bytes(), bytes());
}

#[test]
fn no_column_holds_a_secret_and_one_that_a_later_exchange_shows_is_taken_out_of_earlier_ones() {
    let folder = tempfile::tempdir().unwrap();
    let late = "Zk3vQ9xLr7Tn2Wb8";
    let early = har::get(&format!("{POLICY}?note={late}"), Some(&har::bearer()), 200, har::POLICY);
    let shown = har::get(POLICY, None, 200, &format!("{{\"client_secret\":\"{late}\"}}"));
    fs::write(folder.path().join("late.har"), har::har(&[early, shown])).unwrap();
    fs::write(folder.path().join("a.har"), secrets::EXPORT).unwrap();
    let ran = export(folder.path(), &["a.har", "late.har"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let out = folder.path().join("out");
    let all: Vec<String> = TABLES.iter().flat_map(|table| rows(&out, table)).map(|row| row.to_string()).collect();
    let all = all.join("\n");
    shows_none(&all);
    assert!(all.contains("note=") && !all.contains(late), "{all}");
    for secret in ["eyJ", "noise"] {
        assert!(!all.contains(secret), "{secret} is in {all}");
    }
    for table in TABLES {
        let file = fs::read(out.join(format!("{table}.parquet"))).unwrap();
        shows_none(&String::from_utf8_lossy(&file));
    }
}

#[test]
fn in_a_browsers_export_callers_are_unknown_and_authentication_is_not_checked() {
    let folder = tempfile::tempdir().unwrap();
    let stripped = har::har(&[har::get(POLICY, None, 200, har::POLICY), har::get(POLICY, None, 403, "{}")]);
    let out = folder.path().join("out");
    let path = out.to_str().unwrap();
    let ran = run_with_input(["export", "--parquet", path, "-"], stripped.as_bytes());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let unknown = ["unknown", "unknown (the file lacks Authorization)", "-"].map(str::to_owned).to_vec();
    assert_eq!(columns(&out, "exchanges", &["credential", "caller", "source"]), [unknown.clone(), unknown]);
    let aspects = columns(&out, "findings", &["rule", "aspect"]);
    assert!(aspects.iter().any(|row| row[1] == "auth") && !aspects.iter().any(|row| row[0].starts_with("auth.")));
    assert_eq!(rows(&out, "tokens").len(), 0);
    // One entry with the header settles it.
    let with = har::har(&[har::get(POLICY, None, 200, har::POLICY), har::conforming()]);
    let ran = run_with_input(["export", "--overwrite", "--parquet", path, "-"], with.as_bytes());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(columns(&out, "exchanges", &["credential"]).concat(), ["missing", "token"]);
}

#[test]
fn filters_are_those_of_the_audit_and_stand_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), mixed()).unwrap();
    let filters = ["--client", "svc-1", "--operation", "getRateLimitPolicy", "--since", "2025-11-21"];
    let ran = export(folder.path(), &[&["a.har", "--format", "json"], &filters[..]].concat());
    let summary: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&summary["summary"]["exchanges"], &summary["leftOut"]), (&4.into(), &2.into()), "{}", ran.stderr);
    let audit = run_in(folder.path(), [&["audit", "a.har", "--format", "json"], &filters[..]].concat());
    let audit: Value = serde_json::from_str(&audit.stdout).unwrap();
    for key in ["verdicts", "exchanges"] {
        assert_eq!(summary["summary"][key], audit["summary"][key]);
    }
    for key in ["rules", "unchecked"] {
        assert_eq!(summary["summary"][key], audit[key]);
    }
    let reader = reader(&folder.path().join("out"), "findings");
    let facts = reader.metadata().file_metadata().key_value_metadata().unwrap().clone();
    let fact = |name: &str| facts.iter().find(|fact| fact.key == name).unwrap().value.clone().unwrap();
    let shown = "--since 2025-11-21T00:00:00Z --client svc-1 --operation getRateLimitPolicy";
    assert_eq!(fact("contrail.filters"), shown);
    assert_eq!(fact("contrail.contract-hash"), audit["contract"]["hash"].as_str().unwrap());
}
