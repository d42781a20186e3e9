//! The variables of OpenTelemetry that contrail reads: `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SERVICE_NAME` and
//! `OTEL_RESOURCE_ATTRIBUTES`.

use std::{collections::BTreeMap, ffi::OsString};

use contrail_exchange::hex::hex;
use http::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use percent_encoding::percent_decode_str;
use ring::rand::{SecureRandom, SystemRandom};

use super::values::text;
use crate::FleetError;

const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
const ATTRIBUTES: &str = "OTEL_RESOURCE_ATTRIBUTES";
const NAME: &str = "OTEL_SERVICE_NAME";

/// A variable's value by its name.
type Variables<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// What frames a message or concerns one connection only (RFC 9110, section 7.6.1), and what contrail sets itself. A
/// name that ends in `-` stands for all that begin with it.
const OWN: [&str; 11] = [
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "proxy-",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The headers of all requests. Their values are never shown.
pub(super) fn headers(variables: Variables<'_>) -> Result<HeaderMap, FleetError> {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs(HEADERS, variables)? {
        let field = HeaderName::try_from(&*name).ok().zip(HeaderValue::try_from(&*value).ok());
        let (name, mut value) = field.ok_or_else(|| unusable(HEADERS))?;
        let is_own = |own: &&str| if own.ends_with('-') { name.as_str().starts_with(own) } else { name == **own };
        if let Some(own) = OWN.into_iter().find(is_own) {
            let rest = if own.ends_with('-') { "*" } else { "" };
            return Err(FleetError(format!(
                "{HEADERS}: contrail sets `{own}{rest}` itself or never sends it; leave it out"
            )));
        }
        value.set_sensitive(true);
        headers.append(name, value);
    }
    Ok(headers)
}

/// What describes this proxy.
pub(super) fn resource(variables: Variables<'_>) -> Result<Resource, FleetError> {
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    all.insert("service.name".to_owned(), "contrail".to_owned());
    all.insert("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    all.insert("service.instance.id".to_owned(), instance()?);
    all.extend(pairs(ATTRIBUTES, variables)?);
    all.extend(set(NAME, variables)?.map(|name| ("service.name".to_owned(), name)));
    let attributes = all.into_iter().map(|(key, value)| text(key, value)).collect();
    Ok(Resource { attributes, ..Resource::default() })
}

/// A random id of this process: two proxies on one machine are two sources of metrics.
fn instance() -> Result<String, FleetError> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).map_err(|_| FleetError("the system gives no random numbers".to_owned()))?;
    // A UUID of version 4 (RFC 9562, section 5.4).
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let digits = hex(&bytes);
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    Ok(parts.join("-"))
}

fn set(name: &str, variables: Variables<'_>) -> Result<Option<String>, FleetError> {
    let Some(value) = variables(name) else { return Ok(None) };
    let value = value.into_string().map_err(|_| FleetError(format!("{name}: its value is not UTF-8; correct it")))?;
    Ok(Some(value).filter(|value| !value.trim().is_empty()))
}

/// `NAME=VALUE,NAME=VALUE`, values percent-encoded (W3C Baggage without its properties).
fn pairs(name: &str, variables: Variables<'_>) -> Result<Vec<(String, String)>, FleetError> {
    let all = set(name, variables)?.unwrap_or_default();
    let pair = |text: &str| {
        let (key, value) = text.split_once('=')?;
        let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
        let key = key.trim();
        (!key.is_empty()).then(|| (key.to_owned(), value.into_owned()))
    };
    let parts = all.split(',').filter(|part| !part.trim().is_empty());
    parts.map(|part| pair(part).ok_or_else(|| unusable(name))).collect()
}

fn unusable(name: &str) -> FleetError {
    FleetError(format!("{name}: expected NAME=VALUE, percent-encoded and separated by commas"))
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::common::v1::any_value::Value;

    use super::*;

    fn attributes(variables: Variables<'_>) -> BTreeMap<String, String> {
        let all = resource(variables).unwrap().attributes.into_iter();
        all.map(|pair| match pair.value.unwrap().value {
            Some(Value::StringValue(text)) => (pair.key, text),
            other => panic!("{other:?}"),
        })
        .collect()
    }

    #[test]
    fn headers_are_a_list_with_percent_encoded_values() {
        let variables = |_: &str| Some(" api-key = a%20b%3D , x-Tenant=eu=1,,".into());
        let found = headers(&variables).unwrap();
        let shown: Vec<_> = found.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        assert_eq!(shown, [("api-key", "a b="), ("x-tenant", "eu=1")]);
        assert!(!format!("{found:?}").contains("a b="), "{found:?}");
    }

    #[test]
    fn malformed_headers_are_refused_and_not_repeated() {
        for text in ["hunter2", "=hunter2", "na me=hunter2", "a=hunter2%0A", "a=hunter2%ff"] {
            let error = headers(&|_: &str| Some(text.into())).unwrap_err().to_string();
            assert!(error.starts_with("OTEL_EXPORTER_OTLP_HEADERS: ") && !error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn headers_that_frame_a_message_or_concern_a_connection_are_refused() {
        for (text, shown) in [
            ("Transfer-Encoding=hunter2", "`transfer-encoding`"),
            ("api-key=a,connection=hunter2", "`connection`"),
            ("expect=hunter2", "`expect`"),
            ("HOST=hunter2", "`host`"),
            ("content-length=1", "`content-length`"),
            ("content-type=hunter2", "`content-type`"),
            ("te=hunter2", "`te`"),
            ("upgrade=hunter2", "`upgrade`"),
            ("Proxy-Authorization=hunter2", "`proxy-*`"),
        ] {
            let error = headers(&|_: &str| Some(text.into())).unwrap_err().to_string();
            assert!(error.contains(shown) && !error.contains("hunter2"), "{error}");
        }
        let names = "tenant=a,hosts=b,x-proxy-key=c,authorization=d,user-agent=e";
        assert_eq!(headers(&|_: &str| Some(names.into())).unwrap().len(), 5);
    }

    #[test]
    fn a_variable_that_is_not_utf_8_is_refused_and_not_repeated() {
        use std::os::unix::ffi::OsStringExt as _;
        let value = || Some(OsString::from_vec(b"a=hunter2\xff".to_vec()));
        let of = |asked: &'static str| move |name: &str| value().filter(|_| name == asked);
        let error = headers(&of(HEADERS)).unwrap_err().to_string();
        assert_eq!(error, "OTEL_EXPORTER_OTLP_HEADERS: its value is not UTF-8; correct it");
        for name in [NAME, ATTRIBUTES] {
            let error = resource(&of(name)).unwrap_err().to_string();
            assert!(error.starts_with(name) && !error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_resource_names_the_service_and_this_process_unless_the_environment_does() {
        let [one, other] = [(); 2].map(|()| attributes(&|_: &str| None));
        assert_eq!((&*one["service.name"], &*one["service.version"]), ("contrail", env!("CARGO_PKG_VERSION")));
        let id = &one["service.instance.id"];
        assert!(id != &other["service.instance.id"] && id.len() == 36 && &id[14..15] == "4", "{id}");
        let named = attributes(&|name: &str| {
            Some(if name == NAME { "proxy" } else { "service.name=x,service.instance.id=a,deployment=eu" }.into())
        });
        let shown = ["service.name", "service.instance.id", "deployment"].map(|key| &*named[key]);
        assert_eq!(shown, ["proxy", "a", "eu"]);
    }
}
