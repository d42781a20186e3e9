//! `--name value` options of the subcommands.

use crate::Error;

/// Calls `take` with each option's name and a way to its value; false from it means that there is no such option.
pub fn each(
    args: &[String],
    mut take: impl FnMut(&str, &mut dyn FnMut() -> Result<String, Error>) -> Result<bool, Error>,
) -> Result<(), Error> {
    let mut rest = args.iter();
    while let Some(name) = rest.next() {
        let mut value = || Ok(rest.next().ok_or_else(|| format!("{name} needs a value"))?.clone());
        if !take(name, &mut value)? {
            return Err(format!("`{name}` is no option here").into());
        }
    }
    Ok(())
}
