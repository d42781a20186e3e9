//! Copies of what a command reads from a store, each downloaded once as long as its `ETag` is the same.
//!
//! ```text
//! ~/.cache/contrail/NAME/lock              one command at a time
//! ~/.cache/contrail/NAME/etags.json        which version of each object is here
//! ~/.cache/contrail/NAME/objects/KEY       the objects under their own names
//! ```

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    future::poll_fn,
    io::{self, Write as _},
    path::{Path as FilePath, PathBuf},
};

use contrail_recording::{body_file_names, make_folder, private};
use object_store::{Error, ObjectMeta, ObjectStoreExt as _, path::Path};
use serde::{Deserialize, Serialize};

use super::{
    connect::Place,
    error,
    listing::{below, next},
};
use crate::{FleetError, RemoteUrl, Scheme, cache};

/// A local copy of what a URL names: an object with the body files beside it, or a folder of all objects below it.
///
/// # Errors
///
/// The store refuses or cannot be reached, has nothing of this name, or the copy cannot be written.
pub(crate) fn fetch(url: &RemoteUrl) -> Result<PathBuf, FleetError> {
    if url.scheme() == Scheme::File {
        return Ok(url.folder());
    }
    let place = Place::of(url)?;
    let unwritable = |error: io::Error| FleetError(format!("cannot keep a copy of {url}: {error}"));
    let home = cache().ok_or_else(|| {
        FleetError(format!("cannot keep a copy of {url}: neither XDG_CACHE_HOME nor HOME is set; set one"))
    })?;
    let folder = home.join(place.cache_name());
    let made = make_folder(&folder.join("objects"));
    made.map_err(|error| FleetError(format!("cannot keep a copy of {url}: {}", error.with_cause())))?;
    let lock = private().write(true).create(true).truncate(false).open(folder.join("lock")).map_err(unwritable)?;
    lock.lock().map_err(unwritable)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(unwritable)?;
    let fetched = runtime.block_on(Copies::open(&place, &folder).fetch());
    runtime.shutdown_background();
    fetched.map_err(|failure| match failure {
        Failure::Store(error) => error::said(url, "read", &error),
        Failure::Nothing => FleetError(format!("cannot read {url}: there is nothing of this name")),
        Failure::System(error) => unwritable(error),
    })
}

/// Why there is no copy.
#[derive(Debug)]
enum Failure {
    Store(Error),
    Nothing,
    System(io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// The version of an object that is here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Version {
    etag: Option<String>,
    size: u64,
    modified: i64,
}

/// The copies of a bucket's objects.
struct Copies<'a> {
    place: &'a Place,
    folder: &'a FilePath,
    versions: BTreeMap<String, Version>,
}

impl<'a> Copies<'a> {
    fn open(place: &'a Place, folder: &'a FilePath) -> Self {
        let text = fs::read(folder.join("etags.json")).unwrap_or_default();
        // Without it, everything is downloaded again.
        let versions = serde_json::from_slice(&text).unwrap_or_default();
        Self { place, folder, versions }
    }

    async fn fetch(mut self) -> Result<PathBuf, Failure> {
        let prefix = &self.place.prefix;
        let fetched = if prefix.is_root() {
            // A store answers for the bucket itself here.
            self.all(prefix).await
        } else {
            match self.place.store.head(prefix).await {
                Ok(object) => self.one(&object).await,
                Err(Error::NotFound { .. }) => self.all(prefix).await,
                // An answer to HEAD has no body with a code; one to a listing does.
                Err(error) => match self.all(prefix).await {
                    Err(Failure::Nothing) => Err(error.into()),
                    listed => listed,
                },
            }
        };
        // What was downloaded before a failure is not downloaded again.
        self.keep_versions()?;
        fetched.map(|()| self.local(prefix))
    }

    /// An object, and the body files that it names.
    async fn one(&mut self, object: &ObjectMeta) -> Result<(), Failure> {
        self.copy(object).await?;
        let har = self.local(&object.location);
        if !har.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("har")) {
            return Ok(());
        }
        let folder: Vec<_> = object.location.parts().collect();
        for name in body_file_names(&fs::read(&har)?.into()) {
            // What leaves the folder is refused where it is read.
            let Ok(name) = Path::parse(&name) else { continue };
            let location = folder[..folder.len() - 1].iter().cloned().chain(name.parts()).collect();
            match self.place.store.head(&location).await {
                Ok(body) => self.copy(&body).await?,
                Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// All recordings below a prefix; copies of what is gone there go, too.
    async fn all(&mut self, prefix: &Path) -> Result<(), Failure> {
        let found = below(&*self.place.store, prefix).await?;
        if found.is_empty() {
            return Err(Failure::Nothing);
        }
        let is_below = |key: &str| Path::from(key).prefix_matches(prefix);
        let there: HashSet<&str> = found.iter().map(|object| object.location.as_ref()).collect();
        let is_gone = |key: &&String| is_below(key) && !there.contains(key.as_str());
        for key in self.versions.keys().filter(is_gone).cloned().collect::<Vec<_>>() {
            match fs::remove_file(self.local(&Path::from(&*key))) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                _ => self.versions.remove(&key),
            };
        }
        for object in &found {
            self.copy(object).await?;
        }
        Ok(())
    }

    /// Downloads an object, unless this version is here.
    async fn copy(&mut self, object: &ObjectMeta) -> Result<(), Failure> {
        let (key, local) = (object.location.as_ref().to_owned(), self.local(&object.location));
        let modified = object.last_modified.timestamp_millis();
        let version = Version { etag: object.e_tag.clone(), size: object.size, modified };
        let is_here = fs::metadata(&local).is_ok_and(|file| file.is_file() && file.len() == object.size);
        if is_here && self.versions.get(&key) == Some(&version) {
            return Ok(());
        }
        let folder = local.parent().unwrap_or(self.folder);
        make_folder(folder).map_err(io::Error::other)?;
        // Its mode is 0600.
        let mut file = tempfile::NamedTempFile::new_in(self.folder)?;
        let mut content = self.place.store.get(&object.location).await?.into_stream();
        while let Some(piece) = next(poll_fn(|context| content.as_mut().poll_next(context))).await? {
            file.write_all(&piece)?;
        }
        file.persist(&local).map_err(|error| error.error)?;
        self.versions.insert(key, version);
        Ok(())
    }

    fn keep_versions(&self) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(self.folder)?;
        serde_json::to_writer(&mut file, &self.versions)?;
        file.persist(self.folder.join("etags.json")).map(drop).map_err(|error| error.error)
    }

    /// Where the copy of an object is.
    fn local(&self, location: &Path) -> PathBuf {
        let objects = self.folder.join("objects");
        location.parts().fold(objects, |path, part| path.join(part.as_ref()))
    }
}
