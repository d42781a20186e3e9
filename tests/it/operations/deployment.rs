//! The examples of `examples/compose.yaml` and `examples/kubernetes/`: contrail takes their arguments, and their probes
//! and times fit these.

use std::{fs, path::Path};

use contrail_fleet::{RemoteUrl, Scheme};
use serde_json::Value;

/// The documents of a file of YAML.
fn documents(name: &str) -> Vec<Value> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name)).unwrap();
    serde_saphyr::from_multiple(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn strings(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect()
}

/// The value of an option among arguments, after contrail has taken them all.
fn option(arguments: &[&str], name: &str) -> String {
    let line = ["contrail"].iter().chain(arguments);
    let matches = contrail::cli::command().try_get_matches_from(line).unwrap_or_else(|error| panic!("{error}"));
    let (_, matches) = matches.subcommand().unwrap();
    let mut values = matches.get_raw(name).unwrap_or_else(|| panic!("no --{name} in {arguments:?}"));
    values.next().unwrap().to_str().unwrap().to_owned()
}

fn port(address: &str) -> u64 {
    address.rsplit(':').next().unwrap().parse().unwrap()
}

fn seconds(text: &str) -> u64 {
    text.trim_end_matches('s').parse().unwrap()
}

/// The pods of the Kubernetes examples, each with its contrail.
fn pods() -> Vec<(Value, Value)> {
    let all = ["kubernetes/gateway.yaml", "kubernetes/sidecar.yaml"].into_iter().flat_map(documents);
    let pods = all.filter_map(|document| document.pointer("/spec/template/spec").cloned());
    let with_contrail = pods.map(|pod| {
        let lists = ["containers", "initContainers"].iter().filter_map(|list| pod[list].as_array());
        let contrail = lists.flatten().find(|container| container["name"] == "contrail").unwrap().clone();
        (pod, contrail)
    });
    with_contrail.collect()
}

#[test]
fn the_probes_of_the_kubernetes_examples_ask_the_metrics_listener() {
    assert_eq!(pods().len(), 2);
    for (_, contrail) in pods() {
        let metrics = port(&option(&strings(&contrail["args"]), "metrics"));
        let ports = contrail["ports"].as_array().unwrap();
        let named = ports.iter().find(|port| port["name"] == "metrics").unwrap();
        assert_eq!(named["containerPort"], metrics);
        for (probe, path) in [("startupProbe", "/readyz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")]
        {
            assert_eq!(contrail[probe]["httpGet"], serde_json::json!({"path": path, "port": "metrics"}), "{probe}");
        }
    }
}

#[test]
fn the_grace_period_of_the_kubernetes_examples_is_longer_than_the_drain_and_what_comes_before() {
    for (pod, contrail) in pods() {
        let drain = seconds(&option(&strings(&contrail["args"]), "drain"));
        let before = contrail.pointer("/lifecycle/preStop/sleep/seconds").map_or(0, |sleep| sleep.as_u64().unwrap());
        let grace = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
        assert!(grace > drain + before, "{grace} {drain} {before}");
    }
}

#[test]
fn no_contrail_of_the_kubernetes_examples_is_root_or_writes_to_its_image() {
    for (pod, contrail) in pods() {
        let of_both =
            |name: &str| [&contrail, &pod].into_iter().find_map(|own| own["securityContext"].get(name).cloned());
        assert_eq!(of_both("runAsNonRoot"), Some(true.into()));
        assert_eq!(of_both("readOnlyRootFilesystem"), Some(true.into()));
        let mounts: Vec<&str> = contrail["volumeMounts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|mount| mount["mountPath"].as_str().unwrap())
            .collect();
        let arguments = strings(&contrail["args"]);
        let trail = option(&arguments, "trail");
        assert!(mounts.iter().any(|mount| Path::new(&trail).starts_with(mount)), "{trail} {mounts:?}");
        for file in
            ["cert", "key"].iter().filter(|file| arguments.iter().any(|own| own.contains(&format!("--{file}="))))
        {
            assert!(mounts.iter().any(|mount| Path::new(&option(&arguments, file)).starts_with(mount)), "{file}");
        }
    }
}

#[test]
fn the_ports_of_the_kubernetes_service_lead_to_the_listener() {
    let documents = documents("kubernetes/gateway.yaml");
    let service = documents.iter().find(|document| document["kind"] == "Service").unwrap();
    assert_eq!(service["spec"]["ports"][0]["targetPort"], "https");
    let (_, contrail) = pods().swap_remove(0);
    let listener = port(&option(&strings(&contrail["args"]), "tls_listen"));
    let named = contrail["ports"].as_array().unwrap().iter().find(|port| port["name"] == "https").unwrap();
    assert_eq!(named["containerPort"], listener);
}

/// The services of the compose example, with the defaults of its variables.
fn services() -> Value {
    let mut documents = documents("compose.yaml");
    documents.swap_remove(0)["services"].take()
}

/// What Compose makes of `${NAME:-default}`.
fn with_defaults(text: &str) -> String {
    let Some((before, rest)) = text.split_once("${") else { return text.to_owned() };
    let (variable, after) = rest.split_once('}').unwrap();
    let (_, default) = variable.split_once(":-").unwrap_or_else(|| panic!("{variable} has no default"));
    format!("{before}{default}{}", with_defaults(after))
}

/// The value of an option of the compose example's contrail.
fn of_compose(service: &Value, name: &str) -> String {
    let arguments: Vec<String> = strings(&service["command"]).into_iter().map(with_defaults).collect();
    option(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), name)
}

#[test]
fn the_compose_example_checks_the_health_by_the_metrics_listener_and_waits_for_the_drain_and_the_trail() {
    let services = services();
    let service = &services["contrail"];
    let metrics = port(&of_compose(service, "metrics"));
    let check = strings(&service["healthcheck"]["test"]);
    assert_eq!(check.last().copied(), Some(&*format!("http://127.0.0.1:{metrics}/readyz")));
    let listener = port(&of_compose(service, "listen"));
    let published: Vec<u64> = strings(&service["ports"]).into_iter().map(port).collect();
    assert_eq!(published, [listener, metrics]);
    let grace = seconds(service["stop_grace_period"].as_str().unwrap());
    assert!(grace > 2 * seconds(&of_compose(service, "drain")));
}

#[test]
fn the_places_of_the_compose_example_are_services_that_are_healthy_before_the_proxy_starts() {
    let services = services();
    let service = &services["contrail"];
    let awaited: Vec<&str> = service["depends_on"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(awaited, ["nats", "store"]);
    for name in awaited {
        assert_eq!(service["depends_on"][name]["condition"], "service_healthy");
        assert!(services[name]["healthcheck"]["test"].is_array(), "{name}");
        assert!(services[name]["volumes"].is_array(), "{name}");
    }
    let trail: RemoteUrl = of_compose(service, "trail").parse().unwrap();
    assert_eq!((trail.scheme(), trail.host()), (Scheme::Nats, "nats"));
    assert!(strings(&services["nats"]["command"]).contains(&"--jetstream"));
}

#[test]
fn the_store_of_the_compose_example_has_the_bucket_the_address_and_the_password_that_the_proxy_uses() {
    let services = services();
    let (own, store) = (&services["contrail"]["environment"], &services["store"]["environment"]);
    assert_eq!(own["AWS_ENDPOINT_URL"], format!("http://store{}", store["VGW_PORT"].as_str().unwrap()));
    assert_eq!(own["AWS_ACCESS_KEY_ID"], store["ROOT_ACCESS_KEY"]);
    assert_eq!(own["AWS_SECRET_ACCESS_KEY"], store["ROOT_SECRET_KEY"]);
    // A folder of the server is a bucket.
    let folder = store["VGW_BACKEND_ARGS"].as_str().unwrap();
    let mount = strings(&services["store"]["volumes"])[0].split_once(':').unwrap().1;
    let bucket = Path::new(mount).strip_prefix(folder).unwrap().to_str().unwrap();
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/compose.yaml")).unwrap();
    let (_, url) = text.split_once("TRAIL=s3://").unwrap();
    assert!(url.starts_with(&format!("{bucket}/")), "{bucket}");
    // Buffers and copies are on the volume.
    let volume = strings(&services["contrail"]["volumes"])[0].split_once(':').unwrap().1;
    for variable in ["XDG_STATE_HOME", "XDG_CACHE_HOME"] {
        assert!(Path::new(own[variable].as_str().unwrap()).starts_with(volume), "{variable}");
    }
}
