//! The store that a URL names, with credentials by the store's own variables.

use std::{env, ffi::OsString, sync::Arc, time::Duration};

use contrail_recording::make_folder;
use object_store::{
    BackoffConfig, ObjectStore, RetryConfig, aws::AmazonS3Builder, azure::MicrosoftAzureBuilder,
    gcp::GoogleCloudStorageBuilder, local::LocalFileSystem, path::Path,
};

use super::{environment, error, http::Connector};
use crate::{FleetError, RemoteUrl, Scheme, folders::name_of};

/// A store, and a place in it.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) url: RemoteUrl,
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) prefix: Path,
}

impl Place {
    /// The place that a URL names. Nothing is sent yet.
    pub(super) fn of(url: &RemoteUrl) -> Result<Self, FleetError> {
        let shown = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        let variables: Vec<_> = env::vars_os().filter_map(shown).collect();
        environment::check(url, &variables)?;
        let wrong = |source: object_store::Error| error::unusable(url, &source);
        let store: Arc<dyn ObjectStore> = match url.scheme() {
            Scheme::S3 => {
                let builder = AmazonS3Builder::from_env().with_bucket_name(url.host()).with_retry(retries());
                Arc::new(builder.with_http_connector(Connector).build().map_err(wrong)?)
            }
            Scheme::Gs => {
                let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(url.host()).with_retry(retries());
                Arc::new(builder.with_http_connector(Connector).build().map_err(wrong)?)
            }
            Scheme::Az => {
                let builder = MicrosoftAzureBuilder::from_env().with_container_name(url.host()).with_retry(retries());
                Arc::new(builder.with_http_connector(Connector).build().map_err(wrong)?)
            }
            Scheme::File | Scheme::Nats => {
                let folder = url.folder();
                make_folder(&folder)
                    .map_err(|error| FleetError(format!("cannot use {url}: {}", error.with_cause())))?;
                let store = LocalFileSystem::new_with_prefix(&folder);
                let store = store.map_err(|source| error::said(url, "use", &source))?;
                return Ok(Self { url: url.clone(), store: Arc::new(store.with_fsync(true)), prefix: Path::default() });
            }
        };
        let prefix = Path::parse(url.path()).map_err(|source| error::said(url, "use", &source.into()))?;
        Ok(Self { url: url.clone(), store, prefix })
    }

    /// A name for the folder with copies of this bucket's objects; servers of another address have their own.
    pub(super) fn cache_name(&self) -> String {
        let names = environment::ADDRESSES.into_iter().chain(["AZURE_STORAGE_ACCOUNT_NAME"]);
        let address: Vec<String> = names.filter_map(|name| env::var(name).ok()).collect();
        name_of(&format!("{}://{} {}", self.url.scheme().name(), self.url.host(), address.join(" ")))
    }
}

/// The uploader tries again itself, with waits that grow; a command does not wait long.
fn retries() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig { max_backoff: Duration::from_secs(2), ..BackoffConfig::default() },
        max_retries: 3,
        retry_timeout: Duration::from_secs(10),
    }
}
