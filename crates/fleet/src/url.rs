//! URLs of places beyond this machine: `s3://BUCKET/PREFIX`, `gs://…`, `az://…`, `file:///FOLDER`, `nats://HOST/STREAM`.

use std::{
    error::Error,
    ffi::OsStr,
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

use percent_encoding::percent_decode_str;

/// A place beyond this machine. It is shown without credentials.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RemoteUrl {
    scheme: Scheme,
    userinfo: Option<String>,
    host: String,
    path: String,
}

/// What kind of place it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Amazon S3, and what speaks its protocol.
    S3,
    /// Google Cloud Storage.
    Gs,
    /// Azure Blob Storage.
    Az,
    /// A folder, used like a store.
    File,
    /// A stream of NATS JetStream.
    Nats,
}

impl Scheme {
    const ALL: [Self; 5] = [Self::S3, Self::Gs, Self::Az, Self::File, Self::Nats];

    /// What a URL begins with.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Gs => "gs",
            Self::Az => "az",
            Self::File => "file",
            Self::Nats => "nats",
        }
    }

    /// What a URL looks like.
    const fn form(self) -> &'static str {
        match self {
            Self::S3 => "s3://BUCKET/PREFIX",
            Self::Gs => "gs://BUCKET/PREFIX",
            Self::Az => "az://CONTAINER/PREFIX",
            Self::File => "file:///FOLDER",
            Self::Nats => "nats://HOST/STREAM",
        }
    }
}

/// Why a text is no URL of a place beyond this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum UrlError {
    /// It has none of the schemes.
    Scheme,
    /// The two slashes behind the scheme are missing.
    Slashes(Scheme),
    /// It names no bucket, container or host.
    NoHost(Scheme),
    /// It names no stream.
    NoStream,
    /// The folder of `file://` is not absolute, or on another machine.
    NoFolder,
    /// Credentials belong in the environment.
    Credentials,
    /// It has a query or a fragment.
    Query,
    /// A part of its path is `.`, `..`, empty, or no UTF-8.
    Path,
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Slashes(scheme) => {
                let (name, form) = (scheme.name(), scheme.form());
                return write!(f, "a URL has two slashes here; write {form}, or ./{name}:… for a path of that name");
            }
            Self::Scheme => {
                "expected a path, or a URL such as s3://BUCKET/PREFIX, gs://…, az://…, file:///FOLDER or nats://HOST/STREAM"
            }
            Self::NoHost(Scheme::Nats) => "it names no host; expected nats://HOST[:PORT]/STREAM",
            Self::NoHost(Scheme::Az) => "it names no container; expected az://CONTAINER/PREFIX",
            Self::NoHost(_) => "it names no bucket; expected s3://BUCKET/PREFIX or gs://BUCKET/PREFIX",
            Self::NoStream => "it names no stream; expected nats://HOST[:PORT]/STREAM",
            Self::NoFolder => "expected file:///FOLDER, an absolute folder on this machine",
            Self::Credentials => "credentials do not belong in it; the store's variables take them, such as AWS_ACCESS_KEY_ID",
            Self::Query => "a query or a fragment does not belong in it",
            Self::Path => "its path has a part that is empty, `.`, `..` or no UTF-8",
        })
    }
}

impl Error for UrlError {}

impl RemoteUrl {
    /// Whether a value is meant as such a URL rather than as a path: it begins with one of the schemes and a colon.
    #[must_use]
    pub fn is_meant(value: &OsStr) -> bool {
        let text = value.to_string_lossy();
        text.split_once(':').is_some_and(|(name, _)| scheme(name).is_some())
    }

    /// What kind of place it is.
    #[must_use]
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// User and password of `nats://`, still encoded. Never to be shown.
    #[must_use]
    pub fn userinfo(&self) -> Option<&str> {
        self.userinfo.as_deref()
    }

    /// The bucket or container, or the host with its port, if any; empty for `file://`.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The prefix, folder or stream, decoded, without a slash at its begin or end.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The folder of `file://`.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        Path::new("/").join(&self.path)
    }
}

fn scheme(name: &str) -> Option<Scheme> {
    Scheme::ALL.into_iter().find(|scheme| name.eq_ignore_ascii_case(scheme.name()))
}

impl FromStr for RemoteUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let (name, rest) = text.split_once(':').ok_or(UrlError::Scheme)?;
        let scheme = scheme(name).ok_or(UrlError::Scheme)?;
        let rest = rest.strip_prefix("//").ok_or(UrlError::Slashes(scheme))?;
        if rest.contains(['?', '#']) {
            return Err(UrlError::Query);
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (userinfo, host) = match authority.rsplit_once('@') {
            Some((_, _)) if scheme != Scheme::Nats => return Err(UrlError::Credentials),
            Some((userinfo, host)) => (Some(userinfo.to_owned()), host),
            None => (None, authority),
        };
        match scheme {
            Scheme::File if !["", "localhost"].contains(&host) || !rest.contains('/') => {
                return Err(UrlError::NoFolder);
            }
            Scheme::File => {}
            _ if host.is_empty() => return Err(UrlError::NoHost(scheme)),
            _ => {}
        }
        let host = if scheme == Scheme::File { String::new() } else { host.to_owned() };
        let path = path.strip_suffix('/').unwrap_or(path);
        let path = percent_decode_str(path).decode_utf8().map_err(|_| UrlError::Path)?.into_owned();
        if !path.is_empty() && path.split('/').any(|part| ["", ".", ".."].contains(&part)) {
            return Err(UrlError::Path);
        }
        match scheme {
            Scheme::Nats if path.is_empty() => Err(UrlError::NoStream),
            Scheme::File if path.is_empty() => Err(UrlError::NoFolder),
            _ => Ok(Self { scheme, userinfo, host, path }),
        }
    }
}

impl fmt::Display for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.name(), self.host)?;
        if self.path.is_empty() { Ok(()) } else { write!(f, "/{}", self.path) }
    }
}

impl fmt::Debug for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<RemoteUrl, UrlError> {
        text.parse()
    }

    #[test]
    fn a_url_names_a_bucket_and_a_prefix() {
        let url = parsed("s3://audit/eu/proxies/").unwrap();
        assert_eq!((url.scheme(), url.host(), url.path()), (Scheme::S3, "audit", "eu/proxies"));
        assert_eq!(url.to_string(), "s3://audit/eu/proxies");
        assert_eq!(parsed("GS://b").unwrap().to_string(), "gs://b");
        assert_eq!(parsed("file:///var/lib/a%20b").unwrap().path(), "var/lib/a b");
        assert_eq!(parsed("file:///var/x").unwrap().to_string(), "file:///var/x");
    }

    #[test]
    fn credentials_are_never_shown() {
        let url = parsed("nats://user:hunter2@broker:4222/TRAIL").unwrap();
        assert_eq!((url.userinfo(), url.host(), url.path()), (Some("user:hunter2"), "broker:4222", "TRAIL"));
        assert_eq!(format!("{url} {url:?}"), "nats://broker:4222/TRAIL nats://broker:4222/TRAIL");
        assert_eq!(parsed("s3://key:secret@bucket/x"), Err(UrlError::Credentials));
    }

    #[test]
    fn what_names_no_place_is_refused() {
        for (text, error) in [
            ("trail", UrlError::Scheme),
            ("ftp://host/x", UrlError::Scheme),
            ("s3:/bucket", UrlError::Slashes(Scheme::S3)),
            ("NATS:host/S", UrlError::Slashes(Scheme::Nats)),
            ("s3://", UrlError::NoHost(Scheme::S3)),
            ("s3:///prefix", UrlError::NoHost(Scheme::S3)),
            ("nats://host", UrlError::NoStream),
            ("file://", UrlError::NoFolder),
            ("file://host/x", UrlError::NoFolder),
            ("s3://b/x?versionId=1", UrlError::Query),
            ("s3://b/x/../y", UrlError::Path),
            ("s3://b/x//y", UrlError::Path),
            ("s3://b/%2e%2e/y", UrlError::Path),
        ] {
            assert_eq!(parsed(text), Err(error), "{text}");
        }
    }

    #[test]
    fn a_path_is_not_taken_for_a_url() {
        for path in ["trail", "./s3:/x", "https://host/x", "a://b"] {
            assert!(!RemoteUrl::is_meant(path.as_ref()), "{path}");
        }
        for url in ["s3://", "s3:/bucket", "s3:bucket", "File:x"] {
            assert!(RemoteUrl::is_meant(url.as_ref()), "{url}");
        }
    }
}
