//! A connection to a broker, and the stream of a trail.

use std::{error::Error, path::PathBuf, time::Duration};

use async_nats::{
    Client, ConnectOptions, Event, ServerAddr,
    jetstream::{
        self, Context, ErrorCode,
        context::GetStreamErrorKind,
        stream::{Config, Info, StorageType, Stream},
    },
};

use super::address::{Address, Credentials};
use crate::FleetError;

/// How long a connection, and an answer to a question about the stream, may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Connects to a server of the address. `on_event` gets what happens to the connection later.
pub(super) async fn connect(
    address: &Address,
    on_event: impl Fn(Event) + Send + Sync + Clone + 'static,
) -> Result<Client, FleetError> {
    let mut servers = Vec::new();
    for server in address.servers() {
        let parsed: Result<ServerAddr, _> = server.parse();
        servers.push(parsed.map_err(|error| cannot_connect(address, error))?);
    }
    let options = authorized(ConnectOptions::new(), address).await?;
    let options = options.name("contrail").connection_timeout(PATIENCE).request_timeout(Some(PATIENCE)).event_callback(
        move |event| {
            on_event(event);
            std::future::ready(())
        },
    );
    options.connect(servers).await.map_err(|error| cannot_connect(address, error))
}

/// The options with what the address or NATS' own variables say of credentials and certificates.
async fn authorized(mut options: ConnectOptions, address: &Address) -> Result<ConnectOptions, FleetError> {
    let variable = |name: &'static str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let file = |name: &'static str| variable(name).map(PathBuf::from);
    let unreadable = |name: &str, path: &PathBuf, error: std::io::Error| {
        FleetError(format!("{name}: cannot read `{}`: {error}", path.display()))
    };
    options = match &address.credentials {
        Some(Credentials::Token(token)) => options.token(token.clone()),
        Some(Credentials::User(user, password)) => options.user_and_password(user.clone(), password.clone()),
        None => {
            if let Some(path) = file("NATS_CREDS") {
                options.credentials_file(&path).await.map_err(|error| unreadable("NATS_CREDS", &path, error))?
            } else if let Some(path) = file("NATS_NKEY") {
                let seed = std::fs::read_to_string(&path).map_err(|error| unreadable("NATS_NKEY", &path, error))?;
                options.nkey(seed.trim().to_owned())
            } else if let Some(token) = variable("NATS_TOKEN") {
                options.token(token)
            } else if let Some(user) = variable("NATS_USER") {
                match variable("NATS_PASSWORD") {
                    Some(password) => options.user_and_password(user, password),
                    // As NATS' own tools read it.
                    None => options.token(user),
                }
            } else {
                options
            }
        }
    };
    // The library names neither the variable nor the file.
    let readable = |name: &'static str| match file(name) {
        Some(path) => std::fs::read(&path).map_err(|error| unreadable(name, &path, error)).map(|_| Some(path)),
        None => Ok(None),
    };
    let authorities = readable("NATS_CA")?;
    let certificate = match (readable("NATS_CERT")?, readable("NATS_KEY")?) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        _ => return Err(FleetError("NATS_CERT and NATS_KEY go together; set both, or neither".to_owned())),
    };
    options = options.require_tls(authorities.is_some() || certificate.is_some());
    if let Some(path) = authorities {
        options = options.add_root_certificates(path);
    }
    if let Some((certificate, key)) = certificate {
        options = options.add_client_certificate(certificate, key);
    }
    Ok(options)
}

/// The JetStream API of a connection.
pub(super) fn jetstream(client: &Client) -> Context {
    let mut context = jetstream::new(client.clone());
    context.set_timeout(PATIENCE);
    context
}

/// The stream of the address; `None` if there is none.
pub(super) async fn find(context: &Context, address: &Address) -> Result<Option<Stream>, FleetError> {
    match context.get_stream(&address.stream).await {
        Ok(stream) => Ok(Some(stream)),
        Err(error) => match error.kind() {
            GetStreamErrorKind::JetStream(refused) if refused.error_code() == ErrorCode::STREAM_NOT_FOUND => Ok(None),
            _ => Err(cannot(address, "find", error)),
        },
    }
}

/// Makes the stream where there is none. One that exists stays as it is, but has to take the subject.
pub(super) async fn ensure(context: &Context, address: &Address, subject: &str) -> Result<(), FleetError> {
    let Some(stream) = find(context, address).await? else {
        let config = Config {
            name: address.stream.clone(),
            subjects: vec![format!("{}.>", address.stream)],
            storage: StorageType::File,
            ..Config::default()
        };
        return match context.create_stream(config).await {
            Ok(_) => Ok(()),
            Err(error) => Err(cannot(address, "make", error)),
        };
    };
    if takes(stream.cached_info(), subject) {
        return Ok(());
    }
    Err(FleetError(format!(
        "the stream {} at {address} does not take the subject `{subject}`; add `{0}.>` to its subjects",
        address.stream
    )))
}

fn takes(info: &Info, subject: &str) -> bool {
    info.config.subjects.iter().any(|pattern| matches(pattern, subject))
}

/// Whether a subject matches a pattern with NATS' wildcards: `*` is one token, `>` one or more at the end.
fn matches(pattern: &str, subject: &str) -> bool {
    let mut tokens = subject.split('.');
    for wanted in pattern.split('.') {
        match (wanted, tokens.next()) {
            (">", Some(_)) => return true,
            ("*", Some(_)) => {}
            (wanted, Some(token)) if wanted == token => {}
            _ => return false,
        }
    }
    tokens.next().is_none()
}

/// The error about a connection.
pub(super) fn cannot_connect(address: &Address, error: impl Error) -> FleetError {
    FleetError(format!("cannot connect to {address}: {}", chain(&error)))
}

/// The error about a stream.
pub(super) fn cannot(address: &Address, doing: &str, error: impl Error) -> FleetError {
    FleetError(format!("cannot {doing} the stream {} at {address}: {}", address.stream, chain(&error)))
}

/// An error with its causes, each once: the library repeats some.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let more = next.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = next.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_subject_matches_patterns_as_the_broker_reads_them() {
        for pattern in ["T.a", "T.*", "T.>", ">", "*.a", "*.*", "*.>"] {
            assert!(matches(pattern, "T.a"), "{pattern}");
        }
        for pattern in ["T", "T.a.b", "T.b", "*", "T.a.>", "U.>", "T.*.*"] {
            assert!(!matches(pattern, "T.a"), "{pattern}");
        }
    }
}
