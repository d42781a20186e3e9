//! The mix `vendor`: a request for each operation of a contract that the sandbox answers with success.
//!
//! `contrail demo --contract` makes the requests; where its recording has a label in place of a secret, the request has
//! the label. Each is sent once, as one of the bench's clients whose token has all scopes, to `contrail sandbox
//! --contract` behind `contrail watch --enforce all`. What passes is the mix, with the answers as the sandbox gave them.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hyper::HeaderMap;
use serde_json::{Value, json};

use crate::{
    Error,
    front::Front,
    load::{self, Traffic},
    measure,
    traffic::{Mix, VENDOR},
};

/// Fields that the bench, or HTTP itself, gives to each message.
const OWN: [&str; 9] = [
    "host",
    "authorization",
    "user-agent",
    "accept",
    "connection",
    "content-length",
    "content-type",
    "transfer-encoding",
    "date",
];

/// Makes the mix of a contract; its file goes to `scratch`.
pub async fn make(contrail: &Path, contract: &Path, scratch: &Path) -> Result<PathBuf, Error> {
    let contract = std::path::absolute(contract)?;
    let file = scratch.join("vendor.json");
    let mut exchanges = asked(contrail, &contract, scratch)?;
    let documented = exchanges.len();
    write(&file, &contract, &scopes(contrail, &contract)?, "", &exchanges)?;
    let traffic = Traffic::of(Mix::of(&file)?, 1)?;

    let named = |subcommand| {
        let mut command = Command::new(contrail);
        command.arg(subcommand).arg("--contract").arg(&contract).args(["--listen", "127.0.0.1:0"]);
        command
    };
    let marker = measure::marker(VENDOR, &Front::Http1);
    let sandbox = measure::start(&mut named("sandbox"), None, marker)?;
    let upstream = format!("http://{}", sandbox.address);
    let mut watch = named("watch");
    let watch = measure::start(watch.args(["--upstream", &upstream, "--enforce", "all"]), None, marker)?;
    let mut passed = Vec::new();
    for (n, mut exchange) in exchanges.drain(..).enumerate() {
        let (head, body) = load::ask(&traffic, n, watch.address).await?;
        if head.status.is_success() {
            let media_type = head.headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
            exchange["answer"] = json!({
                "status": head.status.as_u16(), "headers": fields(&head.headers),
                "type": media_type, "base64": STANDARD.encode(body),
            });
            passed.push(exchange);
        }
    }
    if passed.is_empty() {
        return Err(format!("the sandbox of `{}` answers no request with success", contract.display()).into());
    }
    let name = contract.file_name().unwrap_or_default().to_string_lossy();
    let summary = format!("{} of {documented} requests that `demo --contract` makes for {name}", passed.len());
    write(&file, &contract, &scopes(contrail, &contract)?, &summary, &passed)?;
    Ok(file)
}

fn write(file: &Path, contract: &Path, scopes: &str, summary: &str, exchanges: &[Value]) -> Result<(), Error> {
    let mix = json!({"summary": summary, "contract": contract, "scopes": scopes, "exchanges": exchanges});
    Ok(std::fs::write(file, mix.to_string())?)
}

/// The requests of the demo's recording, as exchanges of a mix without their answers.
fn asked(contrail: &Path, contract: &Path, scratch: &Path) -> Result<Vec<Value>, Error> {
    let demo = scratch.join("demo");
    let mut command = Command::new(contrail);
    command.args(["demo", "--contract"]).arg(contract).arg("--out").arg(&demo);
    let output = command.stdin(Stdio::null()).output()?;
    let folder = demo.join("tenant");
    let Ok(text) = std::fs::read_to_string(folder.join("tenant.har")) else {
        let said = [output.stderr, output.stdout].concat();
        return Err(format!("{command:?} recorded nothing: {}", String::from_utf8_lossy(&said)).into());
    };
    let recorded: Value = serde_json::from_str(&text)?;
    let mut asked: Vec<Value> = Vec::new();
    for entry in recorded["log"]["entries"].as_array().into_iter().flatten() {
        let request = &entry["request"];
        let url = request["url"].as_str().unwrap_or_default();
        let path = url.splitn(4, '/').nth(3).unwrap_or_default();
        let headers: Vec<_> = request["headers"].as_array().into_iter().flatten().collect();
        let field = |wanted: &str| {
            let found = headers.iter().find(|field| field["name"].as_str().is_some_and(|name| name == wanted));
            found.and_then(|field| field["value"].as_str())
        };
        let others = headers.iter().filter_map(|field| Some((field["name"].as_str()?, field["value"].as_str()?)));
        let others: Vec<_> = others.filter(|(name, _)| !OWN.contains(name)).collect();
        let mut exchange = json!({
            "operation": entry["_contrail"]["operation"].as_str().unwrap_or("-"),
            "method": request["method"], "path": format!("/{path}"), "headers": others,
            "answer": {"base64": ""},
        });
        if let Some(sent) = request.get("postData") {
            let content = match (sent["_file"].as_str(), sent["_encoding"].as_str()) {
                (Some(file), _) => std::fs::read(folder.join(file))?,
                (None, Some("base64")) => STANDARD.decode(sent["text"].as_str().unwrap_or_default())?,
                (None, _) => sent["text"].as_str().unwrap_or_default().as_bytes().to_vec(),
            };
            // The file of a body of JSON is laid out for readers.
            let laid_out =
                entry["_contrail"]["laidOut"].as_array().is_some_and(|sides| sides.contains(&json!("request")));
            let content =
                if laid_out { serde_json::from_slice::<Value>(&content)?.to_string().into() } else { content };
            exchange["body"] = json!({
                "type": field("content-type").unwrap_or_default(), "base64": STANDARD.encode(content),
            });
        }
        // Two operations may ask the same, and the origin has one answer to it.
        let same = |other: &Value| (&other["method"], &other["path"]) == (&exchange["method"], &exchange["path"]);
        if !asked.iter().any(same) {
            asked.push(exchange);
        }
    }
    Ok(asked)
}

/// All scopes that the contract has, for a token.
fn scopes(contrail: &Path, contract: &Path) -> Result<String, Error> {
    let mut command = Command::new(contrail);
    command.args(["contract", "--format", "json", "--contract"]).arg(contract);
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    let outline: Value = serde_json::from_slice(&output.stdout)?;
    let required =
        outline["operations"].as_array().into_iter().flatten().flat_map(|operation| texts(&operation["scopes"]));
    let mut scopes: Vec<&str> = texts(&outline["scopes"]).chain(required).collect();
    scopes.sort_unstable();
    scopes.dedup();
    Ok(scopes.join(" "))
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn fields(headers: &HeaderMap) -> Vec<(&str, &str)> {
    let fields = headers.iter().filter(|(name, _)| !OWN.contains(&name.as_str()));
    fields.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))).collect()
}
