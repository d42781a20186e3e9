//! Replaces the secrets in a text with labels: by format, and by value once a secret is known.
//!
//! `echo 'password is hunter2-and-more' | cargo run -p contrail-redact --example redact_text -- hunter2-and-more`

#![allow(clippy::print_stdout)] // a program of its own

use std::{
    env,
    io::{self, Read as _},
};

use contrail_redact::{Plan, Redactor};

/// The text with a label for each secret; equal secrets get equal labels.
fn redact(text: &str, known: &[String]) -> String {
    let redactor = Redactor::new(Plan::default());
    for secret in known {
        redactor.remember(secret.as_bytes());
    }
    redactor.text(text).into_inner()
}

fn main() -> io::Result<()> {
    let known: Vec<String> = env::args().skip(1).collect();
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    print!("{}", redact(&text, &known));
    Ok(())
}

#[test]
fn a_known_secret_is_replaced_wherever_it_occurs() {
    let known = ["hunter2-and-more".to_owned()];
    let text = "Basic aHVudGVyMi1hbmQtbW9yZQ== says hunter2-and-more, twice";
    assert_eq!(redact(text, &known), "Basic !custom-1! says !custom-1!, twice");
}
