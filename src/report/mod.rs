//! Reports: each `(&data, &mut dyn Write)`, no IO of its own.
