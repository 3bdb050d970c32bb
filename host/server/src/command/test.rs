//! `sluicebox test`: golden folders as a command.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::cli::TestArgs;
use crate::command::golden::{self, Mode};
use crate::command::{answer, say};
use crate::exit::Exit;

pub(super) fn test(args: &TestArgs) -> Result<Exit> {
    let mut folders = Vec::new();
    args.folders.iter().try_for_each(|folder| collect(folder, &mut folders))?;
    if folders.is_empty() {
        say("no folder with a sluicebox.yaml was found");
        return Ok(Exit::Usage);
    }
    let modes: &[Mode] = if args.interrupted { &[Mode::Straight, Mode::Interrupted] } else { &[Mode::Straight] };
    let mut failed = 0;
    for folder in &folders {
        for mode in modes {
            let name = format!("{}{}", folder.display(), mode.suffix());
            match golden::run(folder, *mode, args.bless) {
                Ok(()) => answer(&format!("ok     {name}\n")),
                Err(error) => {
                    failed += 1;
                    answer(&format!("FAILED {name}\n"));
                    say(&format!("{error:#}"));
                }
            }
        }
    }
    answer(&format!("{} passed, {failed} failed\n", folders.len() * modes.len() - failed));
    Ok(if failed == 0 { Exit::Done } else { Exit::Failed })
}

/// Folders with a `sluicebox.yaml`, at any depth, in order.
fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    if folder.join("sluicebox.yaml").is_file() {
        found.push(folder.to_owned());
        return Ok(());
    }
    let mut inner: Vec<PathBuf> = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    inner.sort();
    inner.iter().filter(|path| path.is_dir()).try_for_each(|path| collect(path, found))
}
