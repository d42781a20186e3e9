//! The only file that knows all stages: capture → check → findings → redact → journal, console, counters.
