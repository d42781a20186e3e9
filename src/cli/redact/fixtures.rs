//! `contrail redact` on fixtures of contrail's own: they are folded again, so that the places that were redacted,
//! sizes, labels and body files agree, and replay still works.

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use contrail_contract::CheckOptions;
use contrail_exchange::Exchange;
use contrail_recording::{
    self as recording, Check, FoldOptions, FoldSource, Head, Keep, Sealed, Staged, Take, WriteError,
};
use contrail_redact::Redactor;

use super::{Args, summary::Summary};
use crate::cli::{
    ContractArgs, Failure,
    printer::{Printer, line},
    progress::folding,
    record,
    scan::Content,
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
    /// The fixture that `named` is: a file, or a folder with one; `None` for anything else. `heads` are what the files
    /// state about themselves that can be read.
    pub(super) fn at(named: &Path, heads: &HashMap<PathBuf, Head>) -> Option<Self> {
        let inside = recording::sources(named).ok()?;
        let [har] = inside.as_slice() else { return None };
        let head = heads.get(har).filter(|head| head.by_contrail && !head.journal)?.clone();
        let parent = har.parent().unwrap_or(Path::new(""));
        let mut files: BTreeSet<PathBuf> = recording::body_files(har).into_iter().collect();
        let folder = (named.is_dir() || !files.is_empty()).then(|| parent.to_path_buf());
        files.insert(har.clone());
        Some(Self { har: har.clone(), folder, head, files })
    }

    /// Where it is.
    pub(super) fn place(&self) -> &Path {
        self.folder.as_deref().unwrap_or(&self.har)
    }

    /// Writes it without its secrets: in place `later`, to `--out`, or to standard output.
    pub(super) fn write(
        &self,
        args: &Args,
        redactor: &Redactor,
        later: &RefCell<Vec<Sealed>>,
        summary: &mut Summary,
    ) -> Result<(), Failure> {
        let scratch = tempfile::tempdir()?;
        let to = match &args.out {
            _ if args.in_place => self.place().to_path_buf(),
            Some(out) => out.clone(),
            None => scratch.path().join("out.har"),
        };
        let later = args.in_place.then_some(later);
        let Refolded { har, lost, left } = self.fold(&to, redactor, &args.contract, later)?;
        if !args.in_place && args.out.is_none() {
            let mut printer = Printer::stdout();
            printer.write_all(&fs::read(&har)?)?;
            printer.flush()?;
        }
        summary.left += left;
        summary.lost += lost.len();
        for problem in lost {
            line(&format!("{}: after redaction, {problem}", self.place().display()));
        }
        Ok(())
    }

    /// Folds it into `to`; `later` takes what is to be put into its place with others.
    fn fold(
        &self,
        to: &Path,
        redactor: &Redactor,
        contract: &ContractArgs,
        later: Option<&RefCell<Vec<Sealed>>>,
    ) -> Result<Refolded, Failure> {
        let contract = contract.load()?;
        let options =
            CheckOptions { tenant_origins: vec![recording::TENANT_ORIGIN.to_owned()], ..CheckOptions::default() };
        let check = |exchange: &Exchange| contract.check(exchange, &options);
        let unreplayable = |har: &Path| -> Result<Vec<String>, Failure> {
            let name = har.display().to_string();
            Ok(record::replayed(har, &name, &contract)?
                .problems
                .into_iter()
                .map(|problem| problem.replace(&name, "").trim().to_owned())
                .collect())
        };
        let before = unreplayable(&self.har)?;
        let found = RefCell::new((Vec::new(), 0));
        let prove = |staged: &Staged| {
            let proof = || -> Result<(), Failure> {
                let mut found = found.borrow_mut();
                found.0 = unreplayable(staged.har())?;
                for (file, _) in staged.files() {
                    Content::read(file)?.parts(redactor, |_, cleaned| found.1 += cleaned.sightings.len());
                }
                Ok(())
            };
            proof().map_err(WriteError::Check)
        };
        let (today, progress) = (recording::today(), folding());
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
                later,
                prove: Some(&prove),
                progress: Some(&progress),
                ..FoldOptions::new(redactor, &today)
            },
        )?;
        let (after, left) = found.into_inner();
        let lost = after.into_iter().filter(|problem| !before.contains(problem)).collect();
        Ok(Refolded { har: folded.har, lost, left })
    }
}

/// A fixture that was folded again.
struct Refolded {
    /// Its HAR file.
    har: PathBuf,
    /// What could be replayed before and cannot be any more.
    lost: Vec<String>,
    /// Secrets that are still in it.
    left: usize,
}
