//! The contract: the built-in document, what other documents and overlays make of it, and `contrail contract`.

use std::{fs, path::Path};

use contrail_contract::Contract;
use serde_json::Value;

use crate::support::{
    cases,
    command::run_in,
    golden::{assert_line, assert_output},
    har,
};

const CONNECTION_GROUPS: &str = "$.paths['/connections/{id}/directory-provisioning/synchronized-groups'].get";

/// OpenAPI's own JSON Schema for 3.1 documents.
fn openapi_schema() -> jsonschema::Validator {
    let text = include_str!("../data/openapi/3.1.json");
    jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap()
}

fn faults(document: &Value) -> Vec<String> {
    openapi_schema().iter_errors(document).map(|fault| format!("{} {fault}", fault.instance_path())).collect()
}

#[test]
fn the_built_in_document_is_valid_by_openapis_own_schema() {
    assert_eq!(faults(Contract::built_in().document()), Vec::<String>::new());
    // The schema can say no.
    let mut broken = Contract::built_in().document().clone();
    broken["info"].as_object_mut().unwrap().shift_remove("title");
    assert_eq!(faults(&broken).len(), 1);
}

#[test]
fn every_fact_of_the_built_in_document_names_its_section() {
    let contract = Contract::built_in();
    let document = contract.document();
    let holders =
        ["/components/schemas", "/components/headers", "/components/responses", "/components/securitySchemes"];
    for holder in holders {
        for (name, held) in document.pointer(holder).unwrap().as_object().unwrap() {
            assert!(held["x-contrail-source"].is_string(), "{holder}/{name}");
        }
    }
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap().iter().filter(|(key, _)| *key != "servers") {
            assert!(operation["x-contrail-source"].is_string(), "{method} {path}");
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                assert!(parameter["x-contrail-source"].is_string(), "{method} {path}: {}", parameter["name"]);
            }
        }
    }
}

#[test]
fn an_exported_contract_is_valid_and_gives_the_same_verdict_on_every_case() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["exported.yaml", "exported.json"] {
        let ran = run_in(folder.path(), ["contract", "--export", name]);
        assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
        let exported = Contract::load(&[folder.path().join(name)], &[]).unwrap();
        assert_eq!(exported.hash(), Contract::built_in().hash(), "{name}");
        assert_eq!(faults(exported.document()), Vec::<String>::new());
        for case in cases::all().iter().filter(|case| case.is_built_in()) {
            let (exchange, options) = (case.exchange(), case.options());
            assert_eq!(
                exported.check(&exchange, &options),
                Contract::built_in().check(&exchange, &options),
                "{}",
                case.name
            );
        }
    }
    let yaml = fs::read_to_string(folder.path().join("exported.yaml")).unwrap();
    assert_eq!(run_in(folder.path(), ["contract", "--export"]).stdout, yaml);
}

#[test]
fn an_export_of_several_documents_is_refused_with_their_names() {
    let folder = tempfile::tempdir().unwrap();
    vendor(folder.path());
    for export in [&["--export", "all.yaml"][..], &["--export"]] {
        let options = ["contract", "--contract", "built-in", "--contract", "vendor.yaml"];
        let ran = run_in(folder.path(), options.iter().chain(export));
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
        let said = "--export writes one document, and --contract names several (`built-in`, `vendor.yaml`)";
        assert_eq!(ran.stderr, format!("contrail: {said}; export each by itself\n"));
    }
}

#[test]
fn a_property_deleted_from_the_yaml_turns_its_traffic_from_conforms_to_gap() {
    let text = include_str!("../../contracts/tenant-management.yaml");
    let property = "        display_name:\n          type: string\n";
    assert_eq!(text.matches(property).count(), 1);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deleted.yaml");
    fs::write(&file, text.replace(property, "")).unwrap();
    let deleted = Contract::load(std::slice::from_ref(&file), &[]).unwrap();
    let name = "4.2-connection-profile-templates: fields: every documented field with its documented value conforms";
    let case = cases::all().into_iter().find(|case| case.name == name).unwrap();
    let rules = |contract: &Contract| {
        let verdict = contract.check(&case.exchange(), &case.options());
        verdict.findings.iter().map(|finding| format!("{} {}", finding.rule, finding.at)).collect::<Vec<_>>()
    };
    assert_eq!(rules(&Contract::built_in()), [""; 0]);
    assert_eq!(rules(&deleted), ["response.body.undocumented /connection_profile_templates/0/display_name"]);
}

#[test]
fn bearer_format_deleted_from_the_yaml_makes_every_token_one_that_may_be_opaque() {
    let text = include_str!("../../contracts/tenant-management.yaml");
    let format = "      bearerFormat: JWT\n";
    assert_eq!(text.matches(format).count(), 1);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deleted.yaml");
    fs::write(&file, text.replace(format, "")).unwrap();
    let deleted = Contract::load(std::slice::from_ref(&file), &[]).unwrap();
    let case = cases::all().into_iter().find(|case| case.name.ends_with("a malformed token: no JWT, let in")).unwrap();
    let rules = |contract: &Contract| {
        let verdict = contract.check(&case.exchange(), &case.options());
        let found = verdict.findings.iter().map(|finding| finding.rule.id()).collect::<Vec<_>>();
        (found, verdict.unchecked.iter().map(contrail_exchange::finding::Unchecked::name).collect::<Vec<_>>())
    };
    assert_eq!(rules(&Contract::built_in()), (vec!["auth.malformed", "auth.unenforced"], vec![]));
    assert_eq!(rules(&deleted), (vec![], vec!["auth"]));
}

#[test]
fn the_contract_is_shown_with_operations_scopes_limits_and_everything_that_is_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let shown = run_in(folder.path(), ["contract"]).stdout;
    for text in [
        "Tenant Management Interface 2.0\nbase path /api/v2; sha256 HASH",
        "  getRateLimitPolicy\n    GET /rate-limit-policies/{id}",
        "      scope     read:rate_limit_policies",
        "Scopes: 242 of 89 resources",
        "  getSynchronizedGroups take                                              integer: 1 to 100; default 50  \
         [4.3, 8]",
        "  Presentation                                                            object: required \
         `org.iso.18013.5.1.mDL`; no other properties  [2.4]",
        "  getSynchronizedGroups                            required-scope  [4, 5]",
        "Not implemented: stated by the document, not checked by contrail\n  nothing",
    ] {
        assert_line(&shown, text);
    }
    let json: Value = serde_json::from_str(&run_in(folder.path(), ["contract", "--format", "json"]).stdout).unwrap();
    assert_eq!(json["scopes"].as_array().unwrap().len(), 242);
    assert_eq!(json["operations"][0]["scopes"][0][0], "read:rate_limit_policies");
    assert_eq!(json["operations"].as_array().unwrap().len(), 7);
}

#[test]
fn an_overlay_shows_in_the_contract_and_an_idle_action_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("o.yaml"),
        format!(
            "overlay: 1.0.0\ninfo: {{title: t, version: '1'}}\nactions:\n  - target: \"{CONNECTION_GROUPS}\"\n    update: \
             {{security: [{{bearerAuth: ['read:directory_provisionings']}}]}}\n  - target: $.nowhere\n    remove: true\n"
        ),
    )
    .unwrap();
    let shown = run_in(folder.path(), ["contract", "--overlay", "o.yaml"]).stdout;
    assert_line(&shown, "      scope     read:directory_provisionings");
    let warning = "overlay `o.yaml`, action 2: its target `$.nowhere` selects nothing, so it changes nothing";
    assert!(shown.ends_with(&format!("\nWarnings\n  {warning}\n")), "{shown}");
    let json = run_in(folder.path(), ["contract", "--overlay", "o.yaml", "--format", "json"]).stdout;
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["warnings"], serde_json::json!([warning]));
    let exported = run_in(folder.path(), ["contract", "--overlay", "o.yaml", "--export", "e.json"]);
    assert_eq!(exported.status, 0);
    let read_back = Contract::load(&[folder.path().join("e.json")], &[]).unwrap();
    let overlaid = Contract::load(&[], &[folder.path().join("o.yaml")]).unwrap();
    assert_eq!(read_back.hash(), overlaid.hash());
}

#[test]
fn every_command_warns_at_its_start_of_what_in_a_contract_is_mostly_a_slip_and_keeps_its_exit_status() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("o.yaml"),
        "overlay: 1.0.0\nactions:\n  - target: $.paths['/connections/{id}/directory-provisioning/synchronised-groups'].get\n    \
         update: {security: [{bearerAuth: ['read:directory_provisionings']}]}\n  - target: \
         $.paths['/connection-profiles/templates'].get\n    update: {security: [{oAuth2ClientCredentials: \
         ['read:conection_profiles']}]}\n",
    )
    .unwrap();
    fs::write(
        folder.path().join("empty.har"),
        r#"{"log":{"version":"1.2","creator":{"name":"x","version":"1"},"entries":[]}}"#,
    )
    .unwrap();
    let expected = "contrail: warning: overlay `o.yaml`, action 1: its target \
                    `$.paths['/connections/{id}/directory-provisioning/synchronised-groups'].get` selects nothing, so it \
                    changes nothing\ncontrail: warning: \
                    `/paths/~1connection-profiles~1templates/get/security/0/oAuth2ClientCredentials` asks for the scope \
                    `read:conection_profiles`, which the security scheme does not declare\n";
    for command in [
        &["contract"][..],
        &["verify", "empty.har"],
        &["audit", "empty.har"],
        &["diff", "empty.har", "empty.har"],
        &["import", "empty.har", "--out", "imported.har"],
        &["watch", "--upstream", "sandbox", "--", "true"],
        &["record", "--upstream", "sandbox", "--out", "recorded", "--", "false"],
        &["replay", "empty.har", "--", "true"],
    ] {
        let at = command.iter().position(|word| *word == "--").unwrap_or(command.len());
        let (before, after) = command.split_at(at);
        let with = run_in(folder.path(), [before, &["--overlay", "o.yaml"], after].concat());
        let _ = fs::remove_file(folder.path().join("imported.har"));
        let without = run_in(folder.path(), command);
        let _ = fs::remove_file(folder.path().join("imported.har"));
        assert_eq!(with.stderr.matches(expected).count(), 1, "{command:?}: {}", with.stderr);
        assert!(!without.stderr.contains("warning"), "{command:?}: {}", without.stderr);
        assert_eq!(with.status, without.status, "{command:?}: {}", with.stderr);
    }
}

#[test]
fn a_contract_without_an_operation_is_a_warning_at_the_start_and_a_finding_of_its_check() {
    let folder = tempfile::tempdir().unwrap();
    for (name, rest) in [("empty.yaml", "paths: {}"), ("schemas.yaml", "components: {schemas: {A: {type: string}}}")] {
        let text = format!("openapi: 3.1.0\ninfo: {{title: Shop, version: '1'}}\n{rest}\n");
        fs::write(folder.path().join(name), text).unwrap();
        let expected =
            format!("`{name}` has no operation under `paths`, so it judges no exchange; is it the right file?");
        for command in [
            &["watch", "--upstream", "sandbox", "--contract", name, "--allow", "unused", "--", "true"][..],
            &["contract", "--contract", name, "--contract", "built-in"],
        ] {
            let ran = run_in(folder.path(), command);
            assert_eq!(ran.status, 0, "{}", ran.stderr);
            assert!(ran.stderr.contains(&format!("contrail: warning: {expected}\n")), "{command:?}: {}", ran.stderr);
        }
        let checked = run_in(folder.path(), ["contract", "--check", "--contract", name]);
        assert_eq!(checked.status, 1, "{}", checked.stdout);
        assert!(
            checked.stdout.contains(&format!("\nWithout effect, or not declared\n  {expected}\n")),
            "{}",
            checked.stdout
        );
        assert!(checked.stdout.ends_with("\n0 places broken, 1 statement without effect\n"), "{}", checked.stdout);
    }
}

#[test]
fn a_flood_of_warnings_is_cut_and_the_contract_lists_them_all() {
    let folder = tempfile::tempdir().unwrap();
    let actions: Vec<String> = (0..14).map(|at| format!("  - {{target: $.nowhere{at}, remove: true}}\n")).collect();
    let actions = actions.concat();
    fs::write(folder.path().join("o.yaml"), format!("overlay: 1.0.0\nactions:\n{actions}")).unwrap();
    let ran = run_in(folder.path(), ["contract", "--overlay", "o.yaml"]);
    assert_eq!(ran.stderr.matches("selects nothing").count(), 10, "{}", ran.stderr);
    assert!(
        ran.stderr.ends_with("contrail: 4 more warnings; `contrail contract --check` lists them\n"),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.stdout.matches("selects nothing").count(), 14);
}

/// Runs `contrail contract` on a file of this text and gives its complaint.
fn complaint(folder: &Path, option: &str, name: &str, text: &str) -> String {
    fs::write(folder.join(name), text).unwrap();
    let ran = run_in(folder, ["contract", option, name]);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{name}");
    ran.stderr
}

#[test]
fn an_unusable_contract_or_overlay_is_status_2_and_one_line_that_names_its_place() {
    let folder = tempfile::tempdir().unwrap();
    for (option, name, text, expected) in [
        (
            "--contract",
            "a.json",
            "{\"openapi\": \"3.1.0\",}",
            "contrail: `a.json` is not valid JSON: a syntax error at line 1 column 21",
        ),
        (
            "--contract",
            "b.yaml",
            "a: 1\na: 2\n",
            "contrail: `b.yaml` is not valid YAML: duplicate key `a` at line 2 column 1",
        ),
        (
            "--contract",
            "c.yaml",
            "swagger: '2.0'\n",
            "contrail: `c.yaml`: not an OpenAPI document that contrail can use: it is a Swagger 2.0 document; \
             contrail takes OpenAPI 3.0 to 3.2",
        ),
        (
            "--overlay",
            "f.yaml",
            "overlay: 1.0.0\nactions: [{target: '$['}]\n",
            "contrail: the overlay `f.yaml` is unusable: action 1: `target` `$[` is not a JSONPath expression: at \
             position 1, parser error",
        ),
    ] {
        let said = complaint(folder.path(), option, name, text);
        assert_line(&said, expected);
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let missing = run_in(folder.path(), ["contract", "--contract", "missing.yaml"]);
    assert_output("contract/an_unusable_contract_or_overlay_is_status_2_and_one_line_that_names_its_place", &missing);
}

#[test]
fn a_bad_place_is_a_warning_at_the_start_and_listed_by_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let text = "openapi: 3.1.0\npaths: {/a: {get: {parameters: [{$ref: '#/x'}, {name: n, in: query, schema: {pattern: '('}}, \
                {name: m, in: query, schema: {$ref: './other.yaml#/X'}}]}}}\n";
    fs::write(folder.path().join("api.yaml"), text).unwrap();
    let ran = run_in(folder.path(), ["contract", "--contract", "api.yaml"]);
    assert_output("contract/a_bad_place_is_a_warning_at_the_start_and_listed_by_the_contract", &ran);
    assert_eq!(
        ran.stderr,
        "contrail: warning: `api.yaml`: 3 places of the contract are unusable, first this: \
         `/paths/~1a/get/parameters/0/$ref`: it refers to `#/x`, which the document does not define; `contrail contract \
         --check` lists them\n"
    );
    assert_eq!(ran.status, 0);
}

#[test]
fn a_document_of_openapi_3_0_is_a_contract_too() {
    let folder = tempfile::tempdir().unwrap();
    let text = "openapi: 3.0.3\ninfo: {title: Pets, version: '1'}\nservers: [{url: 'https://pets.example/v1'}]\npaths:\n  /pets/{id}:\n    get:\n      operationId: getPet\n      x-contrail-lifecycle: beta\n      parameters: [{name: id, in: path, required: true, schema: {type: integer, minimum: 0, exclusiveMinimum: true}}]\n      responses: {'200': {description: a pet}}\n";
    fs::write(folder.path().join("pets.yaml"), text).unwrap();
    let shown = run_in(folder.path(), ["contract", "--contract", "pets.yaml"]);
    assert_eq!(shown.status, 0, "{}", shown.stderr);
    for text in [
        "Pets 1\nbase path /v1; sha256 HASH",
        "    GET /pets/{id}",
        "  getPet id  integer: more than 0",
        "      stage     beta",
    ] {
        assert_line(&shown.stdout, text);
    }
}

#[test]
fn what_an_operation_asks_for_and_scopes_of_any_form_are_shown_as_in_the_document() {
    let folder = tempfile::tempdir().unwrap();
    let text = "openapi: 3.1.0\ninfo: {title: Shop, version: '1'}\npaths:\n  /a: {get: {operationId: open, responses: {}}}\n  \
                /b: {get: {operationId: keyed, security: [{key: []}], responses: {}}}\n  /c: {get: {operationId: either, \
                security: [{}, {token: []}], responses: {}}}\n  /d: {get: {operationId: any, security: [{token: []}], \
                responses: {}}}\n  /e: {get: {operationId: scoped, security: [{oauth: ['orders:read']}], responses: \
                {}}}\n  /f: {get: {operationId: dangling, security: [{gone: [], other: []}, {odd: []}], responses: \
                {}}}\ncomponents:\n  securitySchemes:\n    key: {type: apiKey, in: header, name: X-Key}\n    odd: {}\n    \
                other: {$ref: '#/components/securitySchemes/token'}\n    token: {type: http, scheme: bearer}\n    oauth: {type: oauth2, flows: {clientCredentials: {tokenUrl: /token, scopes: \
                {'orders:read': x, 'orders:write': x, admin: x, 'read:users': x}}}}\n";
    fs::write(folder.path().join("shop.yaml"), text).unwrap();
    let shown = run_in(folder.path(), ["contract", "--contract", "shop.yaml"]).stdout;
    for text in [
        "  open\n    GET /a\n      asks for  not stated",
        "  keyed\n    GET /b\n      asks for  key (apiKey in header X-Key)",
        "  either\n    GET /c\n      asks for  nothing, or token (http bearer)",
        "  any\n    GET /d\n      scope     none: the document asks for a token without one",
        "  scoped\n    GET /e\n      scope     orders:read",
        "  dangling\n    GET /f\n      asks for  gone (not defined) and other (http bearer), or odd (of no type)",
        "\nScopes: 4\n  admin\n  orders:read\n  orders:write\n  users         read\n",
    ] {
        assert_line(&shown, text);
    }
    let tenant = run_in(folder.path(), ["contract"]).stdout;
    assert!(
        tenant.contains("  requestToken\n    POST /oauth/token/\n") && tenant.contains("asks for  nothing\n"),
        "{tenant}"
    );
}

#[test]
fn the_built_in_contract_states_something_of_each_rule_that_its_documentation_states() {
    let contract = Contract::built_in();
    let silent: Vec<_> = contrail_exchange::finding::Rule::ALL
        .iter()
        .filter(|rule| contract.documents()[0].states(**rule).is_empty())
        .collect();
    let silent: Vec<_> = silent.into_iter().map(|rule| rule.id()).collect();
    assert_eq!(silent, ["header.parameter", "cookie.parameter", "response.header", "transport.incomplete"]);
    for rule in contrail_exchange::finding::Rule::ALL {
        for at in contract.documents()[0].states(*rule) {
            assert!(contract.document().pointer(&at).is_some(), "{rule}: {at}");
        }
    }
}

/// Two documents that both have `GET /api/v2/rate-limit-policies/{id}`, by other rules.
pub fn vendor(folder: &Path) {
    let text = "openapi: 3.0.3\ninfo: {title: Vendor, version: '7'}\nservers: [{url: 'https://t.example/api/v2'}]\npaths:\n  \
                /rate-limit-policies/{id}:\n    parameters: [{name: id, in: path, required: true, schema: {type: integer}}]\n    \
                get: {operationId: theirs, responses: {'200': {description: x}}}\n  /users:\n    get: {operationId: \
                listUsers, parameters: [{name: page, in: query, schema: {$ref: '#/components/schemas/RateLimitPolicy'}}], \
                responses: {'200': {description: x}}}\ncomponents: {schemas: {RateLimitPolicy: {type: integer}}}\n";
    fs::write(folder.join("vendor.yaml"), text).unwrap();
    let entry = |path: &str| {
        serde_json::json!({"request": {"method": "GET", "url": format!("https://t.example/api/v2{path}"), "headers": []},
            "response": {"status": 200, "headers": []}})
    };
    let entries =
        [entry("/rate-limit-policies/rlp_1"), entry("/users?page=1"), entry("/users?page=x"), entry("/other")];
    let har =
        serde_json::json!({"log": {"version": "1.2", "creator": {"name": "x", "version": "1"}, "entries": entries}});
    fs::write(folder.join("x.har"), har.to_string()).unwrap();
}

fn operations_and_rules(folder: &Path, contracts: &[&str]) -> Vec<(Value, Vec<String>)> {
    let options = contracts.iter().flat_map(|contract| ["--contract", contract]);
    let arguments = ["verify", "--format", "json", "x.har"].into_iter().chain(options);
    let report: Value = serde_json::from_str(&run_in(folder, arguments.collect::<Vec<_>>()).stdout).unwrap();
    let rules = |exchange: &Value| {
        let findings = exchange["findings"].as_array().unwrap().iter();
        let rules = findings.map(|finding| finding["rule"].as_str().unwrap().to_owned());
        rules.filter(|rule| rule != "response.body" && !rule.starts_with("response")).collect()
    };
    report["exchanges"].as_array().unwrap().iter().map(|one| (one["operation"].clone(), rules(one))).collect()
}

#[test]
fn the_first_contract_that_has_the_operation_judges_the_exchange() {
    let folder = tempfile::tempdir().unwrap();
    vendor(folder.path());
    let found = |contracts: &[&str]| operations_and_rules(folder.path(), contracts);
    let undocumented = (Value::Null, vec!["operation.undocumented".to_owned()]);
    let users =
        [("listUsers".into(), vec![]), ("listUsers".into(), vec!["query.parameter".to_owned()]), undocumented.clone()];
    let built_in_first = found(&["built-in", "vendor.yaml"]);
    assert_eq!(built_in_first[0].0, "getRateLimitPolicy");
    assert_eq!(built_in_first[1..], users);
    let vendor_first = found(&["vendor.yaml", "built-in"]);
    assert_eq!(vendor_first[0], ("theirs".into(), vec!["path.parameter".to_owned()]));
    assert_eq!(vendor_first[1..], users);
    assert_eq!(found(&["built-in"])[1..], [undocumented.clone(), undocumented.clone(), undocumented]);
}

#[test]
fn several_contracts_come_from_the_variable_and_the_file_too() {
    let folder = tempfile::tempdir().unwrap();
    vendor(folder.path());
    fs::write(folder.path().join("contrail.toml"), "contract = [\"built-in\", \"vendor.yaml\"]\n").unwrap();
    let shown = run_in(folder.path(), ["contract"]);
    assert_eq!(shown.status, 0, "{}", shown.stderr);
    assert!(shown.stdout.starts_with("Tenant Management Interface 2.0\ndocument `built-in`\n"), "{}", shown.stdout);
    assert_line(&shown.stdout, "Vendor 7\ndocument `vendor.yaml`");
    let json: Value = serde_json::from_str(&run_in(folder.path(), ["contract", "--format", "json"]).stdout).unwrap();
    assert_eq!(json["contract"]["title"], "Tenant Management Interface + Vendor");
    assert_eq!(json["documents"][1]["operations"], 2);
}

#[test]
fn the_check_of_a_contract_lists_what_is_broken_not_shown_and_never_judged() {
    let folder = tempfile::tempdir().unwrap();
    let text = "openapi: 3.1.0\ninfo: {title: T, version: '1'}\npaths: {/a: {get: {operationId: getA, parameters: [{$ref: \
                '#/x'}], callbacks: {}, responses: {'200': {description: x}}}}}\n";
    let text = format!("{text}components: {{schemas: {{T: {{type: string, enum: [1]}}}}}}\n");
    fs::write(folder.path().join("api.yaml"), text).unwrap();
    let overlay = "overlay: 1.0.0\ninfo: {title: o, version: '1'}\nactions: [{target: $.nothing, update: {a: 1}}]\n";
    fs::write(folder.path().join("o.yaml"), overlay).unwrap();
    let check = |more: &[&str]| {
        let arguments = ["contract", "--check", "--contract", "api.yaml"].iter().chain(more).copied();
        run_in(folder.path(), arguments.collect::<Vec<_>>())
    };
    let ran = check(&["--overlay", "o.yaml"]);
    assert_eq!(
        ran.stdout,
        "`api.yaml`: T 1, 1 operation\n\nBroken: contrail cannot judge by these places, so what they restrict is \
         unchecked\n  /paths/~1a/get/parameters/0/$ref: it refers to `#/x`, which the document does not define\n\nWithout \
         effect, or not declared\n  overlay `o.yaml`, action 1: its target `$.nothing` selects nothing, so it changes \
         nothing\n\nNot shown: contrail reports these as unchecked or as gaps\n  error-body: 1 place: getA\n  error-status: \
         1 place: getA\n  response-body: 1 place: getA\n\nContradictory: schemas that exclude what they ask for, and \
         examples that break the schemas beside them\n  /components/schemas/T: no value conforms: none of those that it \
         lists has its type\n\nNever judged: the contract states it, and contrail does not check it\n  \
         /paths/~1a/get/callbacks: callbacks are not checked\n\n1 place broken, 1 statement without effect\n"
    );
    assert_eq!((ran.status, &*ran.stderr), (1, ""));
    let json: Value = serde_json::from_str(&check(&["--format", "json"]).stdout).unwrap();
    assert_eq!(json["broken"][0]["at"], "/paths/~1a/get/parameters/0/$ref");
    assert_eq!(json["contradictory"][0]["at"], "/components/schemas/T");
    assert_eq!(json["summary"], serde_json::json!({"broken": 1, "warnings": 0}));
    let sound = run_in(folder.path(), ["contract", "--check"]);
    assert_eq!(sound.status, 0, "{}", sound.stdout);
    assert_output("contract/the_check_of_a_contract_lists_what_is_broken_not_shown_and_never_judged", &sound);
}

#[test]
fn a_contract_in_several_files_exports_as_one_document() {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cases/contracts/library/openapi.yaml");
    let folder = tempfile::tempdir().unwrap();
    let overlay = "overlay: 1.1.0\ninfo: {title: o, version: '1'}\nactions:\n  - {target: \"$.paths['/books'].get.operationId\", \
                   update: allBooks}\n";
    fs::write(folder.path().join("o.yaml"), overlay).unwrap();
    let options = ["contract", "--contract", library.to_str().unwrap(), "--overlay", "o.yaml"];
    let exported = run_in(folder.path(), options.iter().chain(&["--export", "one.yaml"]));
    assert_eq!(exported.status, 0, "{}", exported.stderr);
    let one = Contract::load(&[folder.path().join("one.yaml")], &[]).unwrap();
    let several = Contract::load(std::slice::from_ref(&library), &[folder.path().join("o.yaml")]).unwrap();
    assert_eq!(one.hash(), several.hash());
    let ids: Vec<&str> = one.operations().map(|operation| &*operation.id).collect();
    assert_eq!(ids, ["allBooks", "queryBooks", "copyBook", "getShelf"]);
    let check = run_in(folder.path(), options.iter().chain(&["--check", "--format", "json"]));
    let json: Value = serde_json::from_str(&check.stdout).unwrap();
    assert_eq!(
        json["broken"],
        serde_json::json!([{
            "at": "/paths/~1shelves~1{id}/get/responses/404/$ref",
            "reason": "it refers to `schemas/errors.yaml#/NotFound`: there is no such file",
        }])
    );
}

#[test]
fn a_contract_reads_no_file_outside_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("api")).unwrap();
    fs::write(folder.path().join("secret.json"), r#"{"type": "integer"}"#).unwrap();
    std::os::unix::fs::symlink(folder.path().join("secret.json"), folder.path().join("api/link.json")).unwrap();
    let absolute = folder.path().join("secret.json").display().to_string();
    for target in ["../secret.json", "link.json", &absolute] {
        let text = format!(
            "openapi: 3.1.0\ninfo: {{title: T, version: '1'}}\npaths: {{}}\ncomponents: {{schemas: {{A: {{$ref: '{target}'}}}}}}\n"
        );
        fs::write(folder.path().join("api/api.yaml"), text).unwrap();
        let contract = Contract::load(&[folder.path().join("api/api.yaml")], &[]).unwrap();
        let reasons: Vec<String> =
            contract.documents()[0].unusable_places().map(|place| place.reason.clone()).collect();
        assert_eq!(reasons, [format!("it refers to `{target}`: the file is outside the folder of the contract")]);
        assert_eq!(contract.document()["components"]["schemas"]["A"], serde_json::json!({"$ref": target}));
    }
}

#[test]
fn the_page_about_contracts_lists_every_key_of_contrails_own() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/contracts.md")).unwrap();
    let mut folders = vec![root.join("crates/contract/src")];
    let mut found = std::collections::BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
                continue;
            }
            let text = fs::read_to_string(entry).unwrap();
            for (_, rest) in text.match_indices("\"x-contrail-").map(|(at, _)| text.split_at(at + 1)) {
                let end = rest.find(|character: char| !character.is_ascii_lowercase() && character != '-');
                found.insert(rest[..end.unwrap()].to_owned());
            }
        }
    }
    // A prefix, and members of a document that only the build sees.
    found.retain(|key| !["x-contrail-", "x-contrail-copies", "x-contrail-other-side"].contains(&key.as_str()));
    assert!(found.len() >= 10, "{found:?}");
    for key in found {
        assert!(page.contains(&format!("| `{key}` |")), "{}", page);
    }
}

#[test]
fn without_a_contract_nothing_is_judged_and_nothing_conforms() {
    let folder = tempfile::tempdir().unwrap();
    let bodies = [har::conforming(), har::get("/v1/things", None, 200, "{}")];
    fs::write(folder.path().join("a.har"), har::har(&bodies)).unwrap();
    let ran = run_in(folder.path(), ["verify", "a.har", "--contract", "none"]);
    assert_output("contract/without_a_contract_nothing_is_judged_and_nothing_conforms", &ran);
    let ran = run_in(folder.path(), ["verify", "a.har", "--contract", "none", "--format", "json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["exchanges"][0]["verdict"], "unjudged");
    assert_eq!((&report["summary"]["exchanges"], &report["summary"]["conforms"]), (&2.into(), &0.into()));
    for others in [["--contract", "built-in"], ["--overlay", "a.har"]] {
        let ran = run_in(folder.path(), ["verify", "a.har", "--contract", "none"].into_iter().chain(others));
        assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
        assert!(ran.stderr.contains("--contract none goes with no other --contract"), "{}", ran.stderr);
    }
    let imported = run_in(folder.path(), ["import", "a.har", "--out", "fx.har", "--contract", "none"]);
    assert_eq!(imported.status, 0, "{}", imported.stderr);
    let replayed = run_in(folder.path(), "replay fx.har --contract none --allow unused -- true".split(' '));
    assert_output("contract/a_replay_without_a_contract", &replayed);
}
