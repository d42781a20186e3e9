//! Which variable is at fault where a store's settings cannot be used. The library names neither variable nor file, and
//! quotes values; only names of variables are shown, since the value of one that names a file may be the key itself.

use std::{error::Error as _, io};

use object_store::Error;

use crate::{RemoteUrl, Scheme};

/// The variables with a file of credentials for Google's store, or with its content, as the library prefers them.
const GOOGLE: [&str; 5] = [
    "GOOGLE_SERVICE_ACCOUNT",
    "GOOGLE_SERVICE_ACCOUNT_PATH",
    "SERVICE_ACCOUNT",
    GOOGLE_KEY,
    "GOOGLE_APPLICATION_CREDENTIALS",
];
const GOOGLE_KEY: &str = "GOOGLE_SERVICE_ACCOUNT_KEY";
const AZURE_KEY: [&str; 3] = ["AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_MASTER_KEY"];
const AZURE_SAS: [&str; 2] = ["AZURE_STORAGE_SAS_KEY", "AZURE_STORAGE_SAS_TOKEN"];

/// What is wrong with which variable or file, if that is known of an error.
pub(super) fn blamed(url: &RemoteUrl, error: &Error, variables: &[(String, String)]) -> Option<String> {
    let text = error.to_string();
    let value = |wanted: &str| variables.iter().find(|(name, _)| name == wanted).map(|(_, value)| &**value);
    let set = |names: &[&'static str]| names.iter().find(|name| value(name).is_some()).copied();
    if let Some((_, rest)) = text.split_once("failed to parse \"") {
        let (quoted, _) = rest.split_once("\" as boolean")?;
        let is_own = |name: &str| ["AWS_", "AZURE_", "GOOGLE_"].iter().any(|prefix| name.starts_with(prefix));
        let (name, _) = variables.iter().find(|(name, value)| value == quoted && is_own(name))?;
        return Some(format!("{name}: expected true or false"));
    }
    match url.scheme() {
        Scheme::S3 if text.contains("Missing SecretAccessKey") => {
            Some("AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not; set both".to_owned())
        }
        Scheme::S3 if text.contains("Missing AccessKeyId") => {
            Some("AWS_SECRET_ACCESS_KEY is set, and AWS_ACCESS_KEY_ID is not; set both".to_owned())
        }
        Scheme::Gs if text.contains("One of service account path or service account key") => {
            Some(format!("a file of a service account and {GOOGLE_KEY} are set; remove one of them"))
        }
        Scheme::Gs if matches!(error, Error::Generic { .. }) => {
            let is_of_credentials = text.contains("credential") || text.contains("service account");
            let name = set(&GOOGLE).or_else(|| is_of_credentials.then_some("the default credentials"))?;
            let file = match value(name) {
                Some(_) if name == GOOGLE_KEY => "it",
                Some(_) => "the file that it names",
                None => "`~/.config/gcloud/application_default_credentials.json`",
            };
            let mut cause = error.source();
            while let Some(next) = cause {
                // A file that opens and cannot be read, such as a folder, fails the parser.
                let parser = next.downcast_ref().filter(|error: &&serde_json::Error| error.is_io());
                let error = next.downcast_ref::<io::Error>().map(ToString::to_string);
                if let Some(error) = error.or_else(|| parser.map(ToString::to_string)) {
                    return Some(format!("{name}: cannot read {file}: {error}"));
                }
                cause = next.source();
            }
            Some(format!("{name}: {file} holds no usable credentials{}", place(&text)))
        }
        Scheme::Az if text.contains("Invalid Access Key") => {
            Some(format!("{}: it is no base64; copy the key again", set(&AZURE_KEY)?))
        }
        Scheme::Az if text.contains("SAS") => {
            Some(format!("{}: it is no shared access signature; copy it again", set(&AZURE_SAS)?))
        }
        Scheme::Az if text.contains("Unable parse source url") => {
            Some("AZURE_STORAGE_ACCOUNT_NAME: it is no name of an account; correct it".to_owned())
        }
        _ => None,
    }
}

/// Where a document is wrong: a field that it lacks, or a line and column. What else the parser states quotes values.
fn place(text: &str) -> String {
    let field = text.rsplit_once("missing field `").and_then(|(_, rest)| rest.split('`').next());
    let position = text.rsplit_once(" at line ").map(|(_, position)| position);
    match (field, position) {
        (Some(field), _) => format!(": it has no `{field}`"),
        (None, Some(position)) => format!(": it cannot be read at line {position}"),
        (None, None) => ": its private key cannot be read".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use object_store::{ObjectStore, azure::MicrosoftAzureBuilder, gcp::GoogleCloudStorageBuilder};

    use super::*;
    use crate::store::http::Connector;

    /// What is blamed for an error of a store that is built with this value.
    fn of(url: &str, name: &str, value: &str, built: Result<impl ObjectStore, Error>) -> String {
        let variables = [("ANOTHER_S", value), ("AZURE_STORAGE_ACCOUNT_NAME", "a"), (name, value)];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let error = built.err().unwrap();
        blamed(&url.parse().unwrap(), &error, &variables).unwrap()
    }

    #[test]
    fn a_file_of_credentials_that_cannot_be_used_is_named_with_its_variable_and_its_content_is_not_quoted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key.json");
        let path = path.to_str().unwrap();
        let google = |name: &str| {
            let builder = GoogleCloudStorageBuilder::new().with_http_connector(Connector).with_bucket_name("b");
            let builder = match name {
                "GOOGLE_APPLICATION_CREDENTIALS" => builder.with_application_credentials(path),
                _ => builder.with_service_account_path(path),
            };
            of("gs://b/p", name, path, builder.build())
        };
        for name in ["GOOGLE_SERVICE_ACCOUNT", "GOOGLE_APPLICATION_CREDENTIALS"] {
            std::fs::create_dir(path).unwrap();
            assert_eq!(
                google(name),
                format!("{name}: cannot read the file that it names: Is a directory (os error 21)")
            );
            std::fs::remove_dir(path).unwrap();
            assert_eq!(
                google(name),
                format!("{name}: cannot read the file that it names: No such file or directory (os error 2)")
            );
            for (content, expected) in [
                ("hunter2", "it cannot be read at line 1 column 1"),
                ("\"hunter2\"", "it cannot be read at line 1 column 9"),
                (r#"{"type":"hunter2"}"#, "it "),
            ] {
                std::fs::write(path, content).unwrap();
                let said = google(name);
                let begin = format!("{name}: the file that it names holds no usable credentials: {expected}");
                assert!(said.starts_with(&begin) && !said.contains("hunter2"), "{said}");
            }
            std::fs::remove_file(path).unwrap();
        }
        let key = r#"{"private_key":"hunter2","private_key_id":"x","client_email":"a@b.example"}"#;
        std::fs::write(path, key).unwrap();
        assert!(google("GOOGLE_SERVICE_ACCOUNT").ends_with(": its private key cannot be read"));
        let built = GoogleCloudStorageBuilder::new()
            .with_http_connector(Connector)
            .with_bucket_name("b")
            .with_service_account_key("hunter2")
            .build();
        let said = of("gs://b/p", "GOOGLE_SERVICE_ACCOUNT_KEY", "hunter2", built);
        assert_eq!(said, format!("{GOOGLE_KEY}: it holds no usable credentials: it cannot be read at line 1 column 1"));
    }

    #[test]
    fn a_key_in_the_place_of_a_files_name_is_not_quoted() {
        let key = r#"{"private_key":"hunter2"}"#;
        let builder = GoogleCloudStorageBuilder::new().with_http_connector(Connector).with_bucket_name("b");
        let said = of("gs://b/p", "GOOGLE_SERVICE_ACCOUNT", key, builder.with_service_account_path(key).build());
        assert!(said.starts_with("GOOGLE_SERVICE_ACCOUNT: cannot read the file that it names: "), "{said}");
        assert!(!said.contains("hunter2"), "{said}");
    }

    #[test]
    fn a_key_that_is_no_base64_and_a_name_that_is_none_are_blamed_on_their_variables() {
        let azure = || MicrosoftAzureBuilder::new().with_http_connector(Connector).with_container_name("c");
        let built = azure().with_account("a").with_access_key("hunter2!").build();
        let said = of("az://c/p", "AZURE_STORAGE_ACCOUNT_KEY", "hunter2!", built);
        assert_eq!(said, "AZURE_STORAGE_ACCOUNT_KEY: it is no base64; copy the key again");
        let built = azure().with_account("a b").with_access_key("YWJj").build();
        let said = of("az://c/p", "AZURE_STORAGE_ACCOUNT_KEY", "YWJj", built);
        assert_eq!(said, "AZURE_STORAGE_ACCOUNT_NAME: it is no name of an account; correct it");
        let sas = object_store::azure::AzureConfigKey::SasKey;
        let built = azure().with_account("a").with_config(sas, "hunter2").build();
        let said = of("az://c/p", "AZURE_STORAGE_SAS_TOKEN", "hunter2", built);
        assert_eq!(said, "AZURE_STORAGE_SAS_TOKEN: it is no shared access signature; copy it again");
        let emulator = object_store::azure::AzureConfigKey::UseEmulator;
        let built = azure().with_account("a").with_config(emulator, "perhaps").build();
        let said = of("az://c/p", "AZURE_STORAGE_USE_EMULATOR", "perhaps", built);
        assert_eq!(said, "AZURE_STORAGE_USE_EMULATOR: expected true or false");
    }
}
