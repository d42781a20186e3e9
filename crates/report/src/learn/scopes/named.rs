//! The scopes that a refusal names: in its challenge (RFC 6750, section 3) and in its body.
//!
//! In a list of scopes every word is a name. In a sentence that mentions a scope a word is one that has a sign which
//! names of scopes have and plain words do not, and so is each of the single words behind the sentence's colon. A word
//! too many leaves the scope undecided; a name too few would state one that the tenant contradicts.

use std::collections::BTreeSet;

use contrail_exchange::{
    Response,
    json::{Kind, Node},
};

/// Maximum names of one refusal; the second already leaves the scope undecided.
const MAX_NAMES: usize = 20;

/// The scopes that a refusal names.
pub(super) fn named(response: &Response) -> BTreeSet<String> {
    let mut names = Names::default();
    for challenge in response.headers.get_all("www-authenticate").filter_map(|value| value.to_str().ok()) {
        parameters(challenge, "scope").for_each(|scopes| names.list(scopes));
        parameters(challenge, "error_description").for_each(|text| names.sentence(text));
    }
    match response.body.document() {
        Ok(document) => names.json(document.root()),
        Err(_) => names.sentence(&String::from_utf8_lossy(&response.body.content)),
    }
    names.0
}

/// Whether a text in lower case mentions a scope. `The scope of your subscription` is no scope of a token.
pub(super) fn mentions_scope(text: &str) -> bool {
    text.match_indices("scope").any(|(at, scope)| !text[at + scope.len()..].starts_with(" of "))
}

/// Whether a challenge asks for another authentication of the user (RFC 9470), which no scope replaces.
pub(super) fn is_step_up(response: &Response) -> bool {
    let mut challenges = response.headers.get_all("www-authenticate").filter_map(|value| value.to_str().ok());
    challenges.any(|one| parameters(one, "error").any(|error| error == "insufficient_user_authentication"))
}

/// The values of a parameter of challenges, quoted or not.
fn parameters<'a>(challenges: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    challenges.match_indices(['s', 'S', 'e', 'E']).filter_map(move |(at, _)| {
        let (before, rest) = challenges.split_at(at);
        let starts = before.is_empty() || before.ends_with([' ', '\t', ',']);
        let is_name = rest.get(..name.len()).is_some_and(|held| held.eq_ignore_ascii_case(name));
        let value = rest.get(name.len()..).filter(|_| starts && is_name)?;
        let value = value.trim_start().strip_prefix('=')?.trim_start();
        Some(match value.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next().unwrap_or_default(),
            None => value.split([',', ' ', '\t']).next().unwrap_or_default(),
        })
    })
}

#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    /// Every string of a body. Those below a name that mentions a scope are lists.
    fn json(&mut self, root: Node<'_>) {
        let mut open = vec![(root, false)];
        while let Some((node, is_list)) = open.pop() {
            match node.kind() {
                Kind::Object => open.extend(
                    node.members().map(|(name, value)| (value, is_list || mentions_scope(&name.to_ascii_lowercase()))),
                ),
                Kind::Array => open.extend(node.items().map(|item| (item, is_list))),
                Kind::String if is_list => self.list(&node.as_str().unwrap_or_default()),
                Kind::String => self.sentence(&node.as_str().unwrap_or_default()),
                Kind::Null | Kind::Boolean | Kind::Number => {}
            }
        }
    }

    fn list(&mut self, text: &str) {
        words(text).for_each(|word| self.add(word));
    }

    fn sentence(&mut self, text: &str) {
        if !mentions_scope(&text.to_ascii_lowercase()) {
            return;
        }
        let has_sign = |word: &&str| word.contains([':', '.', '/', '_']) && word.starts_with(char::is_alphabetic);
        words(text).filter(has_sign).for_each(|word| self.add(word));
        let Some((_, listed)) = text.rsplit_once(": ") else { return };
        if listed.split(',').all(|item| words(item).count() == 1) {
            self.list(listed);
        }
    }

    fn add(&mut self, word: &str) {
        // The name of the error, `insufficient_scope`, is none of a scope.
        if self.0.len() < MAX_NAMES && !word.to_ascii_lowercase().contains("scope") {
            self.0.insert(word.to_owned());
        }
    }
}

/// The words of a text without what surrounds them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_between = |sign: char| sign.is_whitespace() || ",;|=&\"'`()[]{}<>".contains(sign);
    text.split(is_between).map(|word| word.trim_matches(['.', ':', '!', '?', '/', '*'])).filter(|word| !word.is_empty())
}
