//! `contrail redact` on fixtures of contrail's own: they are folded anew, so that the places that were redacted, sizes,
//! labels and body files agree, and replay goes on working.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{ContractArgs, Failure, record};
use crate::{
    contract::CheckOptions,
    exchange::Exchange,
    recording::{self, Check, FoldOptions, FoldSource, Head, Keep, Take},
    redact::Redactor,
};

/// A fixture of contrail's own.
pub(super) struct Own {
    har: PathBuf,
    /// The folder with a file per body; `None` where all is in one file.
    folder: Option<PathBuf>,
    head: Head,
    /// Its files.
    pub(super) files: BTreeSet<PathBuf>,
}

impl Own {
    /// The fixture that `named` is: a file, or a folder with one; `None` for anything else.
    pub(super) fn at(named: &Path) -> Option<Self> {
        let inside = recording::sources(named).ok()?;
        let [har] = inside.as_slice() else { return None };
        let mut opened = recording::open(har).ok()?;
        // What follows the entries says something of the file, too.
        if opened.by_ref().any(|entry| entry.is_err()) {
            return None;
        }
        let head = opened.head().clone();
        if !head.by_contrail || head.journal {
            return None;
        }
        let parent = har.parent().unwrap_or(Path::new(""));
        let mut files: BTreeSet<PathBuf> = bodies(har).into_iter().map(|name| parent.join(name)).collect();
        let folder = (named.is_dir() || !files.is_empty()).then(|| parent.to_path_buf());
        files.insert(har.clone());
        Some(Self { har: har.clone(), folder, head, files })
    }

    /// Where it is.
    pub(super) fn place(&self) -> &Path {
        self.folder.as_deref().unwrap_or(&self.har)
    }

    /// Folds it into `to`. Gives the HAR file there, and what could be replayed before and cannot be any more.
    pub(super) fn fold(
        &self,
        to: &Path,
        redactor: &Redactor,
        contract: &ContractArgs,
    ) -> Result<(PathBuf, Vec<String>), Failure> {
        let contract = contract.load()?;
        let options =
            CheckOptions { tenant_origins: vec![recording::TENANT_ORIGIN.to_owned()], ..CheckOptions::default() };
        let check = |exchange: &Exchange| contract.check(exchange, &options);
        let told = |har: &Path| -> Result<Vec<String>, Failure> {
            let name = har.display().to_string();
            Ok(record::replayed(har, &name, &contract)?
                .into_iter()
                .map(|problem| problem.replace(&name, "").trim().to_owned())
                .collect())
        };
        let before = told(&self.har)?;
        let today = recording::today();
        let source = FoldSource { paths: vec![self.har.clone()], take: Take::All };
        let folded = recording::fold(
            &[source],
            to,
            &FoldOptions {
                check: Some(Check { contract: contract.hash(), check: &check }),
                keep: &[Keep::All],
                keep_host: true,
                unproven: self.head.unproven,
                recorded: self.head.recorded.as_deref(),
                ..FoldOptions::new(redactor, &today)
            },
        )?;
        let lost = told(&folded.har)?.into_iter().filter(|problem| !before.contains(problem)).collect();
        Ok((folded.har, lost))
    }
}

/// The names of a HAR file's body files.
fn bodies(har: &Path) -> Vec<String> {
    let text = fs::read(har).unwrap_or_default();
    let Ok(document) = serde_json::from_slice::<Value>(&text) else { return Vec::new() };
    let entries = document["log"]["entries"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names = entries.iter().flat_map(|entry| [&entry["request"]["postData"], &entry["response"]["content"]]);
    names.filter_map(|body| body["_file"].as_str().map(str::to_owned)).collect()
}
