//! The formats of keys that issuers publish: one list, from which the search, the quick look and `docs/redaction.md`
//! are made.

use std::{ops::Range, sync::LazyLock};

use regex::bytes::Regex;

/// The keys of an issuer that have one shape.
#[cfg_attr(not(test), allow(dead_code))] // the page prints all of it
pub(crate) struct Format {
    pub(crate) issuer: &'static str,
    /// What the keys are.
    pub(crate) what: &'static str,
    /// Texts of which every key holds one; where the key begins with it, no letter, digit or `_` stands before.
    literals: &'static str,
    /// Its first group, if it has one, is the key.
    expression: &'static str,
}

const fn keys(issuer: &'static str, what: &'static str, literals: &'static str, expression: &'static str) -> Format {
    Format { issuer, what, literals, expression }
}

#[rustfmt::skip]
pub(crate) const FORMATS: &[Format] = &[
    keys("age", "secret keys", "AGE-SECRET-KEY-1", "AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    keys("Atlassian", "API tokens", "ATATT3 ATCTT3", "AT[AC]TT3[0-9A-Za-z_=-]{50,}"),
    keys("AWS", "access key ids", "AKIA ASIA", r"A(?:KIA|SIA)[0-9A-Z]{16}\b"),
    keys("Brevo", "API and SMTP keys", "xkeysib- xsmtpsib-", "x(?:key|smtp)sib-[0-9a-f]{64}-[0-9A-Za-z]{16}"),
    keys("Databricks", "access tokens", "dapi", "dapi[0-9a-f]{32}"),
    keys("DigitalOcean", "access, OAuth and refresh tokens", "dop_v1_ doo_v1_ dor_v1_", "do[opr]_v1_[0-9a-f]{64}"),
    keys("Discord", "webhooks", "/webhook", "/webhooks/[0-9]{17,20}/([0-9A-Za-z_-]{60,})"),
    keys("Docker", "access tokens", "dckr_", "dckr_[op]at_[0-9A-Za-z_-]{27,}"),
    keys("Doppler", "tokens", "dp.", r"dp\.(?:pt|ct|sa|scim|audit|st(?:\.[0-9a-z_-]{2,35})?)\.[0-9A-Za-z]{40,44}"),
    keys("Figma", "access tokens", "figd_", "figd_[0-9A-Za-z_-]{40}"),
    keys("GitHub", "tokens", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        "gh[pousr]_[0-9A-Za-z]{20,}|github_pat_[0-9A-Za-z_]{20,}"),
    keys("GitLab", "tokens", "glpat- glrt- gldt- glptt- glcbt- glft- glimt- gloas- glsoat- glagent- glffct-",
        r"gl(?:pat|rt|dt|ptt|cbt|ft|imt|oas|soat|agent|ffct)-[0-9A-Za-z_-]{16,}(?:\.[0-9a-z]{9})?"),
    keys("Google", "API keys, access and refresh tokens, client secrets", "AIza ya29. GOCSPX- 1//0",
        r"AIza[0-9A-Za-z_-]{35}|ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{20,}|1//0[0-9A-Za-z_-]{40,}"),
    keys("Grafana", "service account and Cloud tokens", "glsa_ glc_",
        "glsa_[0-9A-Za-z]{32}_[0-9A-Fa-f]{8}|glc_[0-9A-Za-z+/]{32,}={0,3}"),
    keys("Groq", "API keys", "gsk_", "gsk_[0-9A-Za-z]{52}"),
    keys("HashiCorp", "tokens of Vault", "hvs. hvb.", r"hv[bs]\.[0-9A-Za-z_-]{20,}"),
    keys("HashiCorp", "tokens of Terraform Cloud", ".atlasv1.", r"[0-9A-Za-z]{14}\.atlasv1\.[0-9A-Za-z_=-]{60,}"),
    keys("HubSpot", "access tokens of private apps", "pat-",
        "pat-[a-z]{2}[0-9]-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
    keys("Hugging Face", "access tokens", "hf_", "hf_[0-9A-Za-z]{34}"),
    keys("Linear", "API keys and OAuth tokens", "lin_", "lin_(?:api|oauth)_[0-9A-Za-z]{40,}"),
    keys("Mailgun", "API keys", "key-", r"key-[0-9a-f]{32}\b"),
    keys("Microsoft Teams", "webhooks", "/IncomingWebhook", "/IncomingWebhook/([0-9a-f]{32}[0-9A-Za-z/_-]*)"),
    keys("New Relic", "user keys", "NRAK-", "NRAK-[0-9A-Z]{27}"),
    keys("Notion", "API tokens", "ntn_ secret_", r"ntn_[0-9A-Za-z]{40,}|secret_[0-9A-Za-z]{43}\b"),
    keys("npm", "access tokens", "npm_", "npm_[0-9A-Za-z]{30,}"),
    keys("OpenAI, Anthropic", "API keys, and those of others that begin with `sk-`", "sk-",
        "sk-(?:(?:ant|proj|svcacct|admin|or-v1|lf)-[0-9A-Za-z_-]{20,}|[0-9A-Za-z]{20,})"),
    keys("PlanetScale", "tokens and passwords", "pscale_", "pscale_(?:tkn|oauth|pw)_[0-9A-Za-z_=-]{32,}"),
    keys("Postman", "API keys", "PMAK-", "PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    keys("Pulumi", "access tokens", "pul-", "pul-[0-9a-f]{40}"),
    keys("PyPI", "upload tokens", "pypi-", "pypi-[0-9A-Za-z_-]{50,}"),
    keys("Resend", "API keys", "re_", "re_[0-9A-Za-z]{8}_[0-9A-Za-z]{20,}"),
    keys("RubyGems", "API keys", "rubygems_", "rubygems_[0-9a-f]{48}"),
    keys("SendGrid", "API keys", "SG.", r"SG\.[0-9A-Za-z_-]{16,}\.[0-9A-Za-z_-]{16,}"),
    keys("Sentry", "auth tokens", "sntry", "sntry[a-z]_[0-9A-Za-z_+/=-]{40,}"),
    keys("Shopify", "access tokens and shared secrets", "shpat_ shpca_ shppa_ shpss_",
        "shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{32}"),
    keys("Slack", "tokens", "xox xapp-", "xox[abeoprs]-[0-9A-Za-z-]{10,}|xapp-[0-9A-Za-z-]{20,}"),
    keys("Slack", "webhooks", "/services/T /workflows/T /triggers/T /commands/T /actions/T",
        "/(?:services|workflows|triggers|commands|actions)/(T[0-9A-Z]{8,}/[0-9A-Z]{8,}/[0-9A-Za-z/]{20,})"),
    keys("Square", "access tokens and application secrets", "EAAA sq0",
        r"(EAAA[0-9A-Za-z_-]{60})(?:[^0-9A-Za-z_+/=-]|\z)|(sq0[a-z]{3}-[0-9A-Za-z_-]{22,})"),
    keys("Stripe", "secret and restricted keys, secrets of webhooks", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_",
        "[rs]k_(?:live|test)_[0-9A-Za-z]{10,}|whsec_[0-9A-Za-z+/=]{16,}"),
    keys("Supabase", "access tokens and secret keys", "sbp_ sb_secret_",
        "sbp_[0-9a-f]{40}|sb_secret_[0-9A-Za-z_-]{20,}"),
    keys("Telegram", "tokens of bots", ":AA", "[0-9]{8,10}:AA[0-9A-Za-z_-]{33}"),
];

/// No key is shorter.
pub(super) const SHORTEST: usize = 15;

impl Format {
    pub(crate) fn literals(&self) -> impl Iterator<Item = &'static str> {
        self.literals.split(' ')
    }

    /// Whether a key begins with its literal, a word: then no letter stands before.
    pub(crate) fn is_led(&self) -> bool {
        self.literals.starts_with(char::is_alphanumeric)
    }
}

pub(super) static ALL: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = |format: &Format| {
        let begin = if format.is_led() { r"\b" } else { "" };
        format!("{begin}(?:{})", format.expression)
    };
    Regex::new(&format!("(?-u){}", FORMATS.iter().map(pattern).collect::<Vec<_>>().join("|")))
        .expect("a test compiles it")
});

/// The keys in a text.
pub(super) fn find(text: &[u8], mut emit: impl FnMut(Range<usize>)) {
    for hit in ALL.captures_iter(text) {
        if let Some(key) = hit.iter().flatten().nth(1).or_else(|| hit.get(0)) {
            emit(key.range());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, string::string_regex};

    use super::*;
    use crate::find::hints::hints;

    fn found(text: &str) -> Vec<&str> {
        let mut out = Vec::new();
        find(text.as_bytes(), |range| out.push(&text[range]));
        assert!(out.is_empty() || hints(text.as_bytes()).unwrap().shape, "the quick look missed {text}");
        out
    }

    /// Of each format the issuer's page, or the rule of a public list, and examples: made up, of the published shape,
    /// with a bar that keeps this file from looking like a leak.
    #[rustfmt::skip]
    const EXAMPLES: [(&str, &str); FORMATS.len()] = [
        ("gitleaks `age-secret-key`", "AGE-SECRET-|KEY-1QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHCE"),
        ("TruffleHog `jiratoken`, `atlassian`", "ATATT3|xFfGF0aBcD1eFgH2iJkL3mNoP4qRsT5uVwX6yZaB7cDeF8gHiJ=9KLMNOPQ"),
        ("gitleaks `aws-access-token`", "AKIA|Q7X2M4N6P3R5T2V7"),
        ("gitleaks `sendinblue-api-token`", "xkeysib-|0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef-aB1cD2eF3gH4iJ5k"),
        ("gitleaks `databricks-api-token`", "dapi|0123456789abcdef0123456789abcdef"),
        ("gitleaks `digitalocean-pat`", "dop_v1_|0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"),
        ("TruffleHog `discordwebhook`", "/api/webhooks/|123456789012345678/aB1cD2eF3gH4iJ5kaB1cD2eF3gH4iJ5kaB1cD2eF3gH4iJ5kaB1cD2eF3gH4iJ5k-_9Z"),
        ("TruffleHog `dockerhub`", "dckr_pat_|aB1cD2eF3gH4iJ5kL6mN7oP8qR9"),
        ("TruffleHog `doppler`", "dp.pt.|aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ3aB4c dp.st.dev_a.|aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ3aB4c"),
        ("TruffleHog `figmapersonalaccesstoken`", "figd_|aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ-_"),
        ("gitleaks `github-pat`, `github-fine-grained-pat`", "ghp_|0123456789abcdefghijABCDEFGHIJ012345 github_pat_|11AAAAAAA0aB1cD2eF3gH4_iJ5kL6mN7oP8qR9sT0uV1wX2yZ3"),
        ("gitleaks `gitlab-pat` and the others of GitLab", "glpat-|aB1cD2eF3gH4iJ5kL6mN glrt-|t1_aB1cD2eF3gH4iJ5kL6mN7oP8qR9.01abcdef2"),
        ("gitleaks `gcp-api-key`; https://developers.google.com/identity/protocols/oauth2/web-server", "AIza|SyA1bC2dE3fG4hI5jK6lM7nO8pQ9rS0tU1v ya29.|a0AfB1cD2eF3gH4iJ5kL6m GOCSPX-|aB1cD2eF3gH4iJ5kL6mN7oP8qR9s 1//0|gaB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ3aB4cD"),
        ("gitleaks `grafana-service-account-token`, `grafana-cloud-api-token`", "glsa_|aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV_01abCDef glc_|eyJvIjoiMTIzNDU2IiwibiI6ImEtdG9rZW4iLCJrIjoiYUIxIn0="),
        ("TruffleHog `groq`", "gsk_|aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ3aB4cD5eF6gH7i"),
        ("gitleaks `vault-service-token`", "hvs.|CAESIaB1cD2eF3gH4iJ5kL6mN7oP"),
        ("gitleaks `hashicorp-tf-api-token`", "aB1cD2eF3gH4iJ|.atlasv1.aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ3aB4cD5eF6gH7iJ8kL9mN0oP1qR2s"),
        ("TruffleHog `hubspot_apikey`", "pat-na1-|01234567-89ab-cdef-0123-456789abcdef"),
        ("gitleaks `huggingface-access-token`", "hf_|aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH"),
        ("gitleaks `linear-api-key`", "lin_api_|aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ3a"),
        ("TruffleHog `mailgun`", "key-|0123456789abcdef0123456789abcdef"),
        ("gitleaks `microsoft-teams-webhook`", "/IncomingWebhook/|0123456789abcdef0123456789abcdef/01234567-89ab-cdef-0123-456789abcdef"),
        ("TruffleHog `newrelicuserkey`", "NRAK-|A1B2C3D4E5F6G7H8I9J0K1L2M3N"),
        ("gitleaks `notion-api-token`; TruffleHog `notion`", "ntn_|12345678901aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX secret_|aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ3aB4c"),
        ("gitleaks `npm-access-token`", "npm_|aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2"),
        ("gitleaks `openai-api-key`, `anthropic-api-key`", "sk-|aB1cD2eF3gH4iJ5kL6mNT3Blbk sk-svcacct-|aB1cD2eF3gH4-iJ5kL6mN_7oP sk-ant-|api03-aB1cD2eF3gH4iJ5kL6mN7oP8"),
        ("gitleaks `planetscale-api-token`", "pscale_tkn_|aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ3aB4c"),
        ("gitleaks `postman-api-token`", "PMAK-|0123456789abcdef01234567-0123456789abcdef0123456789abcdef01"),
        ("gitleaks `pulumi-api-token`", "pul-|0123456789abcdef0123456789abcdef01234567"),
        ("gitleaks `pypi-upload-token`", "pypi-|AgEIcHlwaS5vcmcCJDAxMjM0NTY3LTg5YWItY2RlZi0wMTIzLTQ1Njc4OWFi"),
        ("https://resend.com/docs/api-reference/api-keys/create-api-key", "re_|a1B2c3D4_aB1cD2eF3gH4iJ5kL6mN7oP8"),
        ("gitleaks `rubygems-api-token`", "rubygems_|0123456789abcdef0123456789abcdef0123456789abcdef"),
        ("gitleaks `sendgrid-api-token`", "SG.|aB1cD2eF3gH4iJ5kL6mN7o.aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ3aB4c"),
        ("https://docs.sentry.io/security-legal-pii/security/token-formats/", "sntryu_|0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"),
        ("gitleaks `shopify-access-token`", "shpat_|0123456789abcdef0123456789abcdef"),
        ("gitleaks `slack-bot-token` and the others of Slack", "xoxb-|123456789012-1234567890123-aB1cD2eF3gH4iJ5kL6mN7oP8 xapp-|1-A012BCDEF34-1234567890123-0123456789abcdef"),
        ("gitleaks `slack-webhook-url`", "/services/|T024BE7LD/B03QM1ZTP/aB3dE5fG7hI9jK1lM3nO5pQ7 /triggers/|T024BE7LD/1234567890/0123456789abcdef0123"),
        ("gitleaks `square-access-token`; TruffleHog `square`", "EAAA|EaB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ3aB4cD5eF6gH7iJ8kL9mN sq0csp-|aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1"),
        ("gitleaks `stripe-access-token`", "sk_live_|aB1cD2eF3gH4iJ5kL6mN7oP8 rk_test_|aB1cD2eF3gH4iJ5kL6mN7oP8 whsec_|aB1cD2eF3gH4iJ5kL6mN7oP8"),
        ("TruffleHog `supabasetoken`; https://supabase.com/docs/guides/api/api-keys", "sbp_|0123456789abcdef0123456789abcdef01234567 sb_secret_|aB1cD2eF3gH4iJ5kL6mN7o_01abCDef"),
        ("https://core.telegram.org/bots/api#authorizing-your-bot", "110201543|:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0"),
    ];

    #[test]
    fn every_format_is_found_wherever_a_key_of_it_stands() {
        for (format, (_, examples)) in FORMATS.iter().zip(EXAMPLES) {
            let expression = regex::Regex::new(format.expression).unwrap();
            let hir = regex_syntax::parse(format.expression).unwrap();
            assert!(hir.properties().minimum_len().unwrap() >= SHORTEST, "{}", format.expression);
            for example in examples.split(' ').map(|example| example.replace('|', "")) {
                let hit = expression.captures(&example).unwrap_or_else(|| panic!("{example}"));
                let secret = hit.get(1).or_else(|| hit.get(0)).unwrap();
                assert_eq!(secret.end(), example.len(), "{}: {example}", format.issuer);
                assert!(hit.get(1).is_some() || secret.start() == 0, "{}: {example}", format.issuer);
                for text in [
                    example.clone(),
                    format!("see {example}, ok"),
                    format!("{{\"note\":\"{example}\"}}"),
                    format!("https://a.example/{}?x=1", example.trim_start_matches('/')),
                ] {
                    assert_eq!(found(&text), [secret.as_str()], "{}: {text}", format.issuer);
                }
                // The letter of an escape hides none.
                assert!(hints(format!("a\\n{example}\\n").as_bytes()).unwrap().shape, "{example}");
            }
        }
    }

    #[test]
    fn every_format_names_its_issuer_its_keys_and_its_source() {
        for (format, (source, _)) in FORMATS.iter().zip(EXAMPLES) {
            assert!(!format.issuer.is_empty(), "{}", format.what);
            assert!(!source.is_empty() && !format.what.is_empty(), "{}", format.issuer);
        }
    }

    #[test]
    fn what_only_begins_like_a_key_is_none() {
        for text in [
            "a sk-8",
            "<div class=\"sk-spinner-circle-wrapper-item\">",
            "task-0123456789abcdefghijklmn",
            "key-value-pairs-of-all-sorts-and-kinds",
            "Asia/Ho_Chi_Minh",
            "re_authentication_of_everybody_needed",
            "pat-ch-and-go-to-the-next-one",
            "/services/internal/things-of-a-tenant",
            "/webhooks/wh_1a2b3c4d5e6f7g8h",
            "secret_store_of_the_whole_wide_organization_x",
            "AB:AA:12:34:56:78",
        ] {
            assert!(found(text).is_empty(), "{text}");
        }
    }

    /// Texts that an expression matches.
    fn matching(expression: &str) -> impl Strategy<Value = String> + use<> {
        string_regex(&expression.replace(r"\b", "").replace(r"|\z", "")).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8))]
        #[test]
        fn the_quick_look_sees_every_match_of_every_format(
            keys in FORMATS.iter().map(|format| matching(format.expression)).collect::<Vec<_>>(),
        ) {
            for key in keys {
                prop_assert!(hints(key.as_bytes()).is_some_and(|hints| hints.shape), "{}", key);
                prop_assert!(!found(&key).is_empty(), "{}", key);
            }
        }
    }
}
