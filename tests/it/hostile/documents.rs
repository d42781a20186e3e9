//! Documents of contracts that are made to use up time, memory or stack.

use std::{fs, path::Path};

use serde_json::Value;

/// Runs `contract --check` on a document, in a process with 600 MB of address space.
fn checked_within_bounds(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).unwrap();
    let command =
        format!("ulimit -v 600000; exec '{}' contract --check --contract {name}", env!("CARGO_BIN_EXE_contrail"));
    let started = std::time::Instant::now();
    let ran = std::process::Command::new("sh").args(["-c", &command]).current_dir(folder).output().unwrap();
    let status = ran.status.code();
    assert!(matches!(status, Some(0..=2)), "{name}: {status:?} {}", String::from_utf8_lossy(&ran.stderr));
    assert!(started.elapsed() < std::time::Duration::from_secs(120), "{name}: {:?}", started.elapsed());
}

#[test]
fn no_document_uses_unbounded_time_memory_or_stack() {
    let folder = tempfile::tempdir().unwrap();
    let with = |schemas: Value| {
        let content = serde_json::json!({"application/json": {"schema": {"$ref": "#/components/schemas/s0"}}});
        serde_json::json!({"openapi": "3.1.0", "info": {"title": "x", "version": "1"}, "components": {"schemas": schemas},
            "paths": {"/x": {"get": {"responses": {"200": {"description": "x", "content": content}}}}}})
        .to_string()
    };
    let refer = |to: usize| serde_json::json!({"$ref": format!("#/components/schemas/s{to}")});
    let all = |count: usize, schema: &dyn Fn(usize) -> Value| -> Value {
        (0..count).map(|index| (format!("s{index}"), schema(index))).collect::<serde_json::Map<_, _>>().into()
    };
    let several = |keyword: &str, index: usize, count: usize| {
        let parts: Vec<Value> = (1..=5).map(|step| refer((index + step) % count)).collect();
        serde_json::json!({ keyword: parts })
    };
    for (name, schemas) in [
        ("chain.json", all(5_000, &|index| refer((index + 1).min(4_999)))),
        ("circle.json", all(2_000, &|index| refer((index + 1) % 2_000))),
        ("all-of.json", all(60, &|index| several("allOf", index, 61 - usize::from(index > 55)))),
        ("one-of.json", all(60, &|index| several("oneOf", index, 60))),
        ("any-of.json", all(60, &|index| several("anyOf", index, 60))),
    ] {
        checked_within_bounds(folder.path(), name, &with(schemas));
    }
    let level = |level: usize| format!("x{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 9].join(","));
    let aliases = (1..64).map(level).collect::<Vec<_>>().concat();
    let head = "openapi: 3.1.0\ninfo: {title: x, version: '1'}\npaths: {}\n";
    checked_within_bounds(folder.path(), "aliases.yaml", &format!("{head}x0: &a0 [1]\n{aliases}"));
    let deep = 200_000;
    checked_within_bounds(folder.path(), "deep.yaml", &format!("{head}x: {}{}\n", "[".repeat(deep), "]".repeat(deep)));
    checked_within_bounds(folder.path(), "deep.json", &format!("{{\"x\":{}{}}}", "[".repeat(deep), "]".repeat(deep)));
    checked_within_bounds(
        folder.path(),
        "blocks.yaml",
        &(0..3_000).map(|level| format!("{}a:\n", " ".repeat(level))).collect::<Vec<_>>().concat(),
    );
}
