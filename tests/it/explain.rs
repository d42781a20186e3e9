//! `contrail explain`: what a rule means, and where the contract in force states it.

use std::fs;

use serde_json::Value;

use crate::{
    contract::vendor,
    support::{
        command::run_in,
        golden::{assert_line, assert_output},
    },
};

#[test]
fn explain_states_what_a_rule_means_and_suggests_the_nearest_for_an_unknown_one() {
    let folder = tempfile::tempdir().unwrap();
    let told = run_in(folder.path(), ["explain", "auth.scope"]);
    assert_eq!(told.status, 0);
    assert_output("explain/explain_states_what_a_rule_means_and_suggests_the_nearest_for_an_unknown_one", &told);
    let aspect = run_in(folder.path(), ["explain", "required-scope"]);
    assert_output("explain/explain_states_what_a_rule_means_and_suggests_the_nearest_for_an_unknown_one-2", &aspect);
    let all = run_in(folder.path(), ["explain"]).stdout;
    for name in [
        "  operation.undocumented      gap        no documented operation has this method and path",
        "  transport.incomplete        violation  the response ended before it was whole, so its body was not judged",
        "  response-required           The documentation does not show which fields are always present, so none was \
         missed",
    ] {
        assert_line(&all, name);
    }
    let unknown = run_in(folder.path(), ["explain", "auth.scop"]);
    assert_eq!((unknown.status, unknown.stdout.as_str()), (2, ""));
    assert_eq!(
        unknown.stderr,
        "contrail: `auth.scop` is not a rule; did you mean `auth.scope`? `contrail explain` lists them all\n"
    );
    assert_eq!(
        run_in(folder.path(), ["explain", "path.param"]).stderr,
        "contrail: `path.param` is not a rule; did you mean `path.parameter`? `contrail explain` lists them all\n"
    );
    assert_eq!(
        run_in(folder.path(), ["explain", "AUTH.SCOPE"]).stderr,
        "contrail: `AUTH.SCOPE` is not a rule; did you mean `auth.scope`? `contrail explain` lists them all\n"
    );
}

#[test]
fn explain_states_what_another_word_of_the_output_means_whatever_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    vendor(folder.path());
    let word = run_in(folder.path(), ["explain", "exhausted", "--contract", "vendor.yaml"]);
    assert_eq!(word.status, 0);
    assert_output("explain/explain_states_what_another_word_of_the_output_means_whatever_the_contract", &word);
    let json: Value = serde_json::from_str(&run_in(folder.path(), ["explain", "--format", "json"]).stdout).unwrap();
    assert!(json["words"].as_array().unwrap().iter().any(|word| word["name"] == "host-denied"));
    let all = run_in(folder.path(), ["explain"]).stdout;
    assert_line(&all, "  exhausted                   The reason of a miss");
}

#[test]
fn explain_cites_the_contract_in_force() {
    let folder = tempfile::tempdir().unwrap();
    vendor(folder.path());
    let ran = |arguments: &str| run_in(folder.path(), arguments.split_whitespace());
    let told = ran("explain query.parameter --contract built-in --contract vendor.yaml");
    assert_output("explain/explain_cites_the_contract_in_force", &told);
    let aspect = ran("explain response-body --contract vendor.yaml");
    assert_output("explain/explain_cites_the_contract_in_force-2", &aspect);
    let overlay = "overlay: 1.0.0\ninfo: {title: x, version: '1'}\nactions:\n- target: $.paths['/users'].get\n  \
                   update: {parameters: [{name: X-A, in: header, schema: {type: integer}}]}\n";
    fs::write(folder.path().join("o.yaml"), overlay).unwrap();
    let stated = |arguments: &str| -> Value {
        let told: Value = serde_json::from_str(&ran(arguments).stdout).unwrap();
        told["contract"].clone()
    };
    let at = |stated: &Value| stated[0]["at"].clone();
    let header = "explain header.parameter --format json --contract vendor.yaml";
    assert_eq!(at(&stated(header)), serde_json::json!([]));
    let shown = stated(&format!("{header} --overlay o.yaml"));
    assert_eq!(at(&shown), serde_json::json!(["/paths/~1users/get/parameters/1"]));
    assert_eq!(shown[0]["title"], "Vendor");
    // The built-in contract alone is its documentation.
    assert_eq!(stated("explain header.parameter --format json --contract built-in"), Value::Null);
    let missing = ran("explain query.parameter --contract missing.yaml");
    assert_eq!((missing.status, missing.stdout.as_str()), (2, ""));
    // Another contract may ask for an API key, for which there is no token endpoint.
    let now = |contract: &str| ran(&format!("explain auth.missing --contract {contract}")).stdout;
    assert!(now("built-in").contains("Get a token at the token endpoint"));
    let other = now("vendor.yaml");
    assert!(!other.contains("token endpoint") && other.contains("a credential that `security` asks for"), "{other}");
}
