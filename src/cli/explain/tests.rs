//! The page of the rules, `docs/rules.md`.

use std::fmt::Write as _;

use contrail_exchange::finding::{Rule, Unchecked};

use super::{
    explained::{Explained, InForce},
    name::Name,
    show::lines,
    words::WORDS,
};

/// The text in lines of a page.
fn page_lines(text: &str) -> String {
    lines(text, 98).join("\n")
}

/// `docs/rules.md`.
fn markdown() -> String {
    let mut out = String::from(
        "# Rules\n\n\
         A finding is a *violation* if the documentation states something and the exchange contradicts it,\n\
         and a *gap* if the documentation is silent. Sections are those of the tenant's documentation.\n\
         `contrail explain RULE` prints the same with an example and advice, and with `--contract` the\n\
         places of that contract.\n\n\
         At a token endpoint of whose responses the document shows no body (section 5), contrail reports gaps\n\
         and `transport.incomplete` only. What would be a violation of its request body leaves `request-body`\n\
         unchecked. Any other token endpoint is judged like any other operation.\n",
    );
    for rule in Rule::ALL {
        let explained = InForce(None).explain(Name::Rule(*rule));
        let means = format!("*{}*: {}", rule.kind().name(), explained.means);
        let source = format!("**Source:** {}", explained.source);
        let _ = write!(out, "\n## `{}`\n\n{}\n\n{}\n", rule.id(), page_lines(&means), page_lines(&source));
    }
    out.push_str(
        "\n# What can be unchecked\n\nEvery exchange lists what could not be checked (`unchecked`), so that a green result never claims\nmore \
         than was checked. `contrail explain NAME` states what would let it be checked.\n\n| name | why |\n|---|---|\n",
    );
    for name in Unchecked::ALL {
        let Explained { means, source, .. } = InForce(None).explain(Name::Aspect(name));
        let why = format!("{means} {source}");
        let _ = writeln!(out, "| `{}` | {} |", name.name(), why.trim_end());
    }
    out.push_str(
        "\n# Other words\n\n`contrail explain WORD` prints what to do about one, too.\n\n| word | means |\n|---|---|\n",
    );
    for word in WORDS {
        let _ = writeln!(out, "| `{}` | {} |", word.name, word.means);
    }
    out
}

#[test]
fn the_rules_page_holds_what_explain_prints() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/rules.md");
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        std::fs::write(file, markdown()).unwrap();
    }
    let page = std::fs::read_to_string(file).unwrap();
    assert!(page == markdown(), "docs/rules.md is out of date; run with UPDATE_GOLDENS=1 and review the change");
}
