//! Documents in several files, joined.

use std::fs;

use serde_json::{Value, json};

use super::join;
use crate::document;

/// Joins the files of a folder, of which the first is the document; gives it with the reasons, in order.
fn joined(files: &[(&str, &str)]) -> (Value, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let file = folder.path().join(files[0].0);
    let mut document = document::read(&file).unwrap();
    let mut reasons: Vec<String> = join(&file, &mut document).into_values().collect();
    reasons.sort_unstable();
    (document, reasons)
}

#[test]
fn entries_of_paths_and_components_become_what_they_refer_to_and_the_rest_gets_names() {
    let (document, reasons) = joined(&[
        (
            "api.yaml",
            "paths: {/a: {$ref: a.yaml}}\ncomponents: {schemas: {B: {$ref: s.json#/B}, C: {$ref: s.json#/B}, D: {}}}\n",
        ),
        ("a.yaml", "get: {parameters: [{schema: {$ref: s.json#/B}}, {$ref: s.json#/D}]}\n"),
        ("s.json", r##"{"B": {"items": {"$ref": "#/D"}, "enum": [{"$ref": "#/D"}]}, "D": {"type": "string"}}"##),
    ]);
    assert_eq!(reasons, [""; 0]);
    assert_eq!(
        document,
        json!({
            "paths": {"/a": {"get": {"parameters":
                [{"schema": {"$ref": "#/components/schemas/B"}}, {"$ref": "#/components/parameters/D"}]}}},
            "components": {
                "schemas": {
                    "B": {"items": {"$ref": "#/components/schemas/D_2"}, "enum": [{"$ref": "#/D"}]},
                    "C": {"$ref": "#/components/schemas/B"},
                    "D": {},
                    "D_2": {"type": "string"},
                },
                "parameters": {"D": {"type": "string"}},
            },
        })
    );
}

#[test]
fn files_that_refer_to_each_other_in_a_circle_end() {
    let (document, reasons) = joined(&[
        ("api.yaml", "components: {schemas: {A: {$ref: a.yaml}}}\n"),
        ("a.yaml", "properties: {b: {$ref: b/b.yaml}}\n"),
        ("b/b.yaml", "properties: {a: {$ref: ../a.yaml}, again: {$ref: ../api.yaml#/components/schemas/A}}\n"),
    ]);
    assert_eq!(reasons, [""; 0]);
    let a = json!({"$ref": "#/components/schemas/A"});
    assert_eq!(
        document["components"]["schemas"],
        json!({"A": {"properties": {"b": {"$ref": "#/components/schemas/b"}}}, "b": {"properties": {"a": a, "again": a}}})
    );
}

#[test]
fn a_discriminator_names_schemas_of_files() {
    let (document, reasons) = joined(&[
        ("api.yaml", "components: {schemas: {Pet: {$ref: pet.yaml}}}\n"),
        (
            "pet.yaml",
            "oneOf: [{$ref: cat.yaml}]\ndiscriminator: {propertyName: kind, mapping: {c: cat.yaml, d: Dog}}\n",
        ),
        ("cat.yaml", "type: object\n"),
    ]);
    assert_eq!(reasons, [""; 0]);
    let pet = &document["components"]["schemas"]["Pet"];
    assert_eq!(pet["discriminator"]["mapping"], json!({"c": "#/components/schemas/cat", "d": "Dog"}));
}

#[test]
fn an_anchor_names_a_schema_of_its_own_file() {
    let (document, reasons) = joined(&[
        (
            "api.yaml",
            "components: {schemas: {A: {$ref: 's.yaml#a'}, B: {$ref: 's.yaml#b'}, C: {$anchor: a, type: object}, \
                 D: {$ref: '#a'}, E: {$ref: s.yaml#/A}}}\n",
        ),
        (
            "s.yaml",
            "A: {$anchor: a, properties: {b: {$ref: '#b'}, c: {$ref: 'api.yaml#a'}}}\n\
                 N: {$id: 'https://s.example/n', not: {$anchor: b, type: 'null'}}\n\
                 B: {items: {$dynamicAnchor: b, items: {$dynamicRef: '#b'}}}\n",
        ),
    ]);
    assert_eq!(reasons, [""; 0]);
    assert_eq!(
        document["components"]["schemas"],
        json!({
            "A": {"properties": {"b": {"$ref": "#/components/schemas/B"}, "c": {"$ref": "#a"}}},
            "B": {"items": {"$dynamicRef": "s.yaml#b"}},
            "C": {"$anchor": "a", "type": "object"},
            "D": {"$ref": "#a"},
            "E": {"$ref": "#/components/schemas/A"},
        })
    );
}

#[test]
fn a_reference_that_leads_nowhere_stays_with_its_reason() {
    let outside = tempfile::NamedTempFile::new().unwrap();
    let name = outside.path().file_name().unwrap().to_str().unwrap();
    let nested = format!("items: [{{$ref: ../../{name}}}, {{$ref: gone.yaml}}, {{$ref: '#/nothing'}}]\n");
    let text = "components: {schemas: {A: {$ref: 'https://a.example/s.json'}, B: {$ref: gone.yaml#/a}, C: {$ref: bad.yaml}, \
                    D: {$ref: sub}, E: {$ref: 'sub/s.yaml#anchor'}, F: {$ref: sub/s.yaml}, G: {$ref: '%ff.yaml'}}}\n";
    let (document, reasons) = joined(&[("api.yaml", text), ("bad.yaml", "a: [\n"), ("sub/s.yaml", &nested)]);
    let expected = [
        "it refers to `%ff.yaml`: its percent-encoding is broken".to_owned(),
        format!("it refers to `../{name}`: the file is outside the folder of the contract"),
        "it refers to `bad.yaml`: `bad.yaml` is not valid YAML: ".to_owned(),
        "it refers to `gone.yaml#/a`: there is no such file".to_owned(),
        "it refers to `https://a.example/s.json`: contrail fetches nothing".to_owned(),
        "it refers to `sub/gone.yaml`: there is no such file".to_owned(),
        "it refers to `sub/s.yaml#/nothing`: `sub/s.yaml` has nothing at `/nothing`".to_owned(),
        "it refers to `sub/s.yaml#anchor`: `sub/s.yaml` has no anchor `anchor`".to_owned(),
        "it refers to `sub`: `sub` is not a regular file".to_owned(),
    ];
    assert_eq!(reasons.len(), expected.len(), "{reasons:#?}");
    for (reason, expected) in reasons.iter().zip(&expected) {
        assert!(reason.starts_with(expected.as_str()), "{reason}\n{expected}");
    }
    assert_eq!(document["components"]["schemas"]["B"], json!({"$ref": "gone.yaml#/a"}));
}

#[test]
fn references_beyond_a_bound_are_bad_places() {
    let names: Vec<String> = (0..1_002).map(|number| format!("s{number}.yaml")).collect();
    let entries = names.iter().enumerate().map(|(number, name)| format!("S{number}: {{$ref: {name}}}"));
    let many = format!("components: {{schemas: {{{}}}}}\n", entries.collect::<Vec<_>>().join(", "));
    let files = names.iter().map(|name| (name.as_str(), "type: object\n"));
    let (document, reasons) = joined(&[("api.yaml", many.as_str())].into_iter().chain(files).collect::<Vec<_>>());
    let reason = |name: &str, what: &str| format!("it refers to `{name}`: {what}");
    let of_files = "the contract has more than 1000 files";
    assert_eq!(reasons, [reason("s1000.yaml", of_files), reason("s1001.yaml", of_files)]);
    assert_eq!(document["components"]["schemas"]["S999"], json!({"type": "object"}));

    let zeros = format!("[{}0]", "0,".repeat(3_999_999));
    let text = "components: {schemas: {A: {$ref: many.json}, B: {$ref: s.yaml}}}\n";
    let (_, reasons) = joined(&[("api.yaml", text), ("many.json", &zeros), ("s.yaml", "type: object\n")]);
    let of_values = "the files of the contract hold more than 4000000 values";
    assert_eq!(reasons, [reason("many.json", of_values), reason("s.yaml", of_values)]);

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("api.yaml");
    fs::write(&file, "components: {schemas: {A: {$ref: large.yaml}}}\n").unwrap();
    fs::File::create(folder.path().join("large.yaml")).unwrap().set_len((64 << 20) + 1).unwrap();
    let reasons = join(&file, &mut document::read(&file).unwrap());
    let of_bytes = reason("large.yaml", "the files of the contract hold more than 67108864 bytes");
    assert_eq!(reasons.into_values().collect::<Vec<_>>(), [of_bytes]);
}

#[test]
fn a_schema_with_an_id_keeps_its_references_and_brings_the_files_along() {
    let (document, reasons) = joined(&[
        ("api.yaml", "components: {schemas: {A: {$ref: a.json}}}\n"),
        ("a.json", r##"{"$id": "https://s.example/a.json", "items": {"$ref": "b.json"}, "not": {"$ref": "#/items"}}"##),
        ("b.json", r#"{"$id": "https://s.example/b.json", "items": {"$ref": "elsewhere.json"}}"#),
    ]);
    assert_eq!(reasons, [""; 0]);
    assert_eq!(
        document["components"]["schemas"],
        json!({
            "A": {"$id": "https://s.example/a.json", "items": {"$ref": "b.json"}, "not": {"$ref": "#/items"}},
            "b": {"$id": "https://s.example/b.json", "items": {"$ref": "elsewhere.json"}},
        })
    );
}
