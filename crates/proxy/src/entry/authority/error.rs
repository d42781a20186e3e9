//! Why there is no usable authority, and what to do about it.

use std::{fmt, io, path::PathBuf};

use super::location::rotation;

/// Why there is no usable authority.
#[derive(Debug)]
#[non_exhaustive]
pub enum AuthorityError {
    /// No `--ca-dir`, and the environment names no home.
    NoHome,
    /// A file or folder of the authority could not be read or made.
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The key, or a folder that holds it, can be read by others.
    Exposed {
        /// Which.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A file of the authority is not what contrail wrote.
    Damaged {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The authority's time is over.
    Expired {
        /// Its folder.
        folder: PathBuf,
    },
    /// A certificate could not be made or used.
    Certificate(String),
}

impl fmt::Display for AuthorityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHome => f.write_str("no place for the certificate authority: neither XDG_DATA_HOME nor HOME is set; name one with --ca-dir DIR"),
            Self::Io { path, .. } => {
                write!(f, "cannot use the certificate authority at `{}` (--ca-dir DIR names another place)", path.display())
            }
            Self::Exposed { path, mode } => write!(
                f,
                "`{}` can be read by others (mode {mode:04o}), so its key may be known; `{}` makes a new one, or, if you are \
                 sure, `chmod go= {}`",
                path.display(),
                rotation(path),
                path.display()
            ),
            Self::Damaged { path, reason } => {
                write!(f, "`{}` is not usable: {reason}; `{}` makes a new authority", path.display(), rotation(path))
            }
            Self::Expired { folder } => {
                let rotation = rotation(folder);
                write!(f, "the certificate authority in `{}` has expired; `{rotation}` makes a new one", folder.display())
            }
            Self::Certificate(reason) => write!(f, "cannot make a certificate: {reason}"),
        }
    }
}

impl std::error::Error for AuthorityError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<rcgen::Error> for AuthorityError {
    fn from(error: rcgen::Error) -> Self {
        Self::Certificate(error.to_string())
    }
}
