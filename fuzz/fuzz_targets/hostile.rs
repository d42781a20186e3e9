#![no_main]

#[path = "../targets.rs"]
#[allow(dead_code, reason = "one target of many")]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::hostile(data));
