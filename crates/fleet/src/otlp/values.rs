//! Attributes as OTLP has them.

use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, InstrumentationScope, KeyValue, any_value::Value};

/// A text.
pub(super) fn text(key: impl Into<String>, value: impl Into<String>) -> KeyValue {
    attribute(key, Value::StringValue(value.into()))
}

/// A number; what is beyond 2^63 is that.
pub(super) fn number(key: impl Into<String>, value: u64) -> KeyValue {
    attribute(key, Value::IntValue(whole(value)))
}

/// Yes or no.
pub(super) fn flag(key: impl Into<String>, value: bool) -> KeyValue {
    attribute(key, Value::BoolValue(value))
}

/// A list of texts.
pub(super) fn list(key: impl Into<String>, values: impl Iterator<Item = &'static str>) -> KeyValue {
    let values = values.map(|value| AnyValue { value: Some(Value::StringValue(value.to_owned())) }).collect();
    attribute(key, Value::ArrayValue(ArrayValue { values }))
}

/// A number as OTLP has it.
pub(super) fn whole(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn attribute(key: impl Into<String>, value: Value) -> KeyValue {
    KeyValue { key: key.into(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

/// Who makes the telemetry.
pub(super) fn scope() -> InstrumentationScope {
    InstrumentationScope {
        name: "contrail".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    }
}
