//! What is made from the options themselves: the tables of `docs/configuration.md` and the JSON Schema of
//! `contrail.toml`.

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use serde_json::{Value, json};

use super::is_setting;

const BEGIN: &str = "<!-- made by `UPDATE_GOLDENS=1 cargo test --test it configuration`: begin -->\n";
const END: &str = "<!-- end -->\n";

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

const PROXIES: [&str; 3] = ["record", "watch", "replay"];

/// The heading below which an option of these commands has its row.
fn heading(commands: &[String]) -> String {
    match commands {
        [one] => format!("`{one}`"),
        all if all.iter().all(|command| PROXIES.contains(&command.as_str())) => "The proxies".to_owned(),
        _ => "Several commands".to_owned(),
    }
}

/// The commands, by those that lack the option where these are fewer.
fn listed(commands: &[String], all: &[String]) -> String {
    let lack: Vec<&str> = all.iter().filter(|command| !commands.contains(command)).map(String::as_str).collect();
    if lack.is_empty() {
        "every command".to_owned()
    } else if lack.len() < commands.len() {
        format!("all but {}", lack.join(", "))
    } else {
        commands.join(", ")
    }
}

/// The variable of an option by the rule of the page: a destination or an act names its command.
fn assert_variable(command: &str, argument: &clap::Arg, long: &str) {
    let name = |words: &str| format!("CONTRAIL_{}", words.to_uppercase().replace('-', "_"));
    if long == "control" {
        return assert_eq!(argument.get_env(), None, "what a command finds the listener by has this name");
    }
    let variable = argument.get_env().unwrap_or_else(|| panic!("--{long} has no variable")).to_string_lossy();
    let is_by_rule = variable == name(long) || variable == name(&format!("{command}_{long}"));
    assert!(is_by_rule, "{variable} of --{long}");
}

/// One row per option, below the command that has it; an option that means the same in several commands is one row.
fn tables() -> String {
    let mut rows: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    let root = contrail::cli::command();
    let all: Vec<String> = root.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    for command in root.get_subcommands() {
        for argument in command.get_arguments() {
            let help = cell(&argument.get_help().map(ToString::to_string).unwrap_or_default());
            let values: Vec<String> =
                argument.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
            let Some(long) = argument.get_long() else { continue };
            if long == "help" || long == "version" {
                continue;
            }
            assert_variable(command.get_name(), argument, long);
            let takes = argument.get_action().takes_values();
            let choices: Vec<String> =
                argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
            let value = match (takes, choices.is_empty()) {
                (false, _) => String::new(),
                (true, false) => format!(" {}", choices.join("\\|")),
                (true, true) => format!(" {}", cell(&values.join(" "))),
            };
            let defaults = argument.get_default_values().iter().filter(|_| takes);
            let defaults: Vec<String> = defaults.map(|value| format!("`{}`", value.to_string_lossy())).collect();
            let default =
                if defaults.is_empty() { String::new() } else { format!(" [default: {}]", defaults.join(", ")) };
            let row = rows.entry((format!("`--{long}{value}`"), format!("{help}{default}"))).or_default();
            row.push(command.get_name().to_owned());
        }
    }
    let mut groups: BTreeMap<String, String> = BTreeMap::new();
    for ((option, help), commands) in rows {
        let heading = heading(&commands);
        let few = heading == "Several commands" || heading == "The proxies" && commands.len() < PROXIES.len();
        let of = if few { format!(" ({})", listed(&commands, &all)) } else { String::new() };
        writeln!(groups.entry(heading).or_default(), "| {option} | {help}{of} |").unwrap();
    }
    let named = ["Several commands".to_owned(), "The proxies".to_owned()];
    let mut page = String::new();
    for heading in named.into_iter().chain(all.iter().map(|command| format!("`{command}`"))) {
        if let Some(rows) = groups.get(&heading) {
            write!(page, "### {heading}\n\n| option | meaning |\n|---|---|\n{rows}\n").unwrap();
        }
    }
    page
}

#[test]
fn the_configuration_page_names_every_option_variable_and_default() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = page.split_once(BEGIN).unwrap();
    let (table, tail) = rest.split_once(END).unwrap();
    let made = tables();
    if std::env::var_os("UPDATE_GOLDENS").is_some_and(|value| value == "1") {
        std::fs::write(&path, format!("{head}{BEGIN}{made}{END}{tail}")).unwrap();
        return;
    }
    for (held, made) in table.lines().zip(made.lines()) {
        assert_eq!(
            held, made,
            "docs/configuration.md is behind; run UPDATE_GOLDENS=1 cargo test --test it configuration"
        );
    }
    assert_eq!(table, made, "docs/configuration.md is behind; run UPDATE_GOLDENS=1 cargo test --test it configuration");
}

/// The JSON Schema of `contrail.toml`: the options of the command line, at the top or in a table of one command.
fn schema() -> Value {
    let of = |argument: &clap::Arg| {
        let choices: Vec<String> =
            argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
        let one = match (argument.get_action().takes_values(), choices.is_empty()) {
            (false, _) => json!({"type": "boolean"}),
            (true, false) => json!({"enum": choices}),
            (true, true) => json!({"type": ["string", "number", "boolean"]}),
        };
        let mut schema = match argument.get_action() {
            clap::ArgAction::Append => json!({"anyOf": [one, {"type": "array", "items": one}]}),
            _ => one,
        };
        schema["description"] = json!(argument.get_help().map(ToString::to_string).unwrap_or_default());
        schema
    };
    let (mut top, mut tables) = (serde_json::Map::new(), serde_json::Map::new());
    for command in contrail::cli::command().get_subcommands() {
        let mut own = serde_json::Map::new();
        for argument in command.get_arguments().filter(|argument| argument.get_env().is_some()) {
            let long = argument.get_long().unwrap();
            if ["config", "no-config"].contains(&long) {
                continue;
            }
            own.insert(long.to_owned(), of(argument));
            if is_setting(argument) {
                top.entry(long).or_insert_with(|| of(argument));
            }
        }
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let table = json!({"type": "object", "description": about, "properties": own, "additionalProperties": false});
        // `contract` and `explain` are options of some commands, too.
        let name = command.get_name();
        let option = top.get(name).cloned();
        tables.insert(name.to_owned(), option.map_or(table.clone(), |option| json!({"anyOf": [option, table]})));
    }
    let text = json!({"type": "string", "minLength": 1});
    let suppression = json!({
        "type": "object",
        "properties": {
            "rule": text, "operation": text, "at": text, "reason": text,
            "until": {"type": "string", "description": "The last day on which it holds, such as 2027-01-31"},
        },
        "required": ["rule", "reason", "until"],
        "additionalProperties": false,
    });
    top.append(&mut tables);
    top.insert("suppress".to_owned(), json!({"type": "array", "items": suppression}));
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "contrail.toml",
        "type": "object",
        "properties": top,
        "additionalProperties": false,
    })
}

#[test]
fn the_schema_of_the_file_is_that_of_the_options_and_takes_the_example() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schemas/contrail.toml.json");
    let made = format!("{:#}\n", schema());
    if std::env::var_os("UPDATE_GOLDENS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &made).unwrap();
    }
    let held = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        held == made,
        "docs/schemas/contrail.toml.json is behind; run UPDATE_GOLDENS=1 cargo test --test it schema"
    );
    let schema = jsonschema::draft7::new(&schema()).unwrap();
    let takes = |text: &str| schema.is_valid(&serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap());
    let page = include_str!("../../../docs/configuration.md");
    assert!(takes(page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap()));
    assert!(takes("[contract]\ncheck = true\n") && takes("contract = [\"a.yaml\"]\n"));
    for wrong in ["out = \"a\"", "denny = []", "[record]\nappend = 1", "config = \"x\"", "[[suppress]]\nrule = \"x\""] {
        assert!(!takes(wrong), "{wrong}");
    }
}
