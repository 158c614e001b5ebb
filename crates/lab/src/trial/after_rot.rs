//! Examines a device on which one block after another is rotten, in one guest: mounts it, reads everything, writes,
//! unmounts, checks, repairs and reads again, and reports the outcome and which part of the system noticed.

mod outcome;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use fsverdict_judgement::journal::{Event, RotWitness, SyncAnswer};
use fsverdict_linux::host::kernel_log::LogLine;
use fsverdict_stack::filesystem::FsckStatus;
use fsverdict_workload::workload::SavedReading;

use super::agent::Agent;
use super::changing_devices::{ChangingDevices, LogPauses};
use super::error::TrialError;
use super::spec::RotLook;
use super::stack::{MOUNT, Stack};
use super::sync_after_error::TriedSyncs;

/// Name of the file that is written beside the saved ones; it must not replace any.
const TAKEN: &str = "fsverdict-after-rot";
const TAKEN_BYTES: usize = 1 << 20;

/// Observations about one rotten block.
#[derive(Default)]
struct RotSeen {
    told: Vec<String>,
    noticed: BTreeSet<RotWitness>,
    /// The first reading, and whether anything had given a warning by then.
    first: SavedReading,
    warned: bool,
    /// The last reading; `None` if the filesystem could no longer be mounted.
    last: Option<SavedReading>,
    repaired: bool,
    /// It cannot be written to, or its checker has complaints that stay.
    impaired: bool,
    /// The result of fsync, if the block refuses writes.
    sync: Option<SyncAnswer>,
}

impl Agent<'_> {
    /// Messages that the kernel logs about the first device, on which nothing is rotten, are ignored for all others.
    pub(super) fn look_after_rot(&mut self, stack: &mut Stack<'_>) -> Result<(), TrialError> {
        let Some(look) = self.spec.rot.clone() else { return Ok(()) };
        let devices = ChangingDevices::for_stack(stack);
        let mut usual: BTreeSet<String> = BTreeSet::new();
        // Of one block there may be more than ten messages, so that each is waited for in real time, too.
        let mut pauses = LogPauses::new(true);
        loop {
            stack.forget_device()?;
            pauses.wait(stack);
            let Some(at) = devices.next()? else { return Ok(()) };
            let number = at.to_string();
            stack.begin_step(&number);
            let mut seen = RotSeen::default();
            let rewrites = look.rewrites.get(at).copied().unwrap_or(false);
            let usual_now = if at == 0 { None } else { Some(&usual) };
            let heard = self.examine_rot(stack, &look, rewrites, &mut seen, usual_now)?;
            if at == 0 {
                usual.extend(heard);
            }
            let finding = seen.into_finding(number);
            stack.sink.send_event(&Event::AfterRot(finding));
        }
    }

    /// Opens the layers below the filesystem, examines it, and closes them again; returns the kernel's messages.
    fn examine_rot(
        &self,
        stack: &mut Stack<'_>,
        look: &RotLook,
        rewrites: bool,
        seen: &mut RotSeen,
        usual: Option<&BTreeSet<String>>,
    ) -> Result<Vec<String>, TrialError> {
        let mut hearing = RotHearing { usual: usual.cloned(), heard: Vec::new() };
        let looked = match self.reopen_layers(stack) {
            Ok(()) => self.mounted_rot(stack, look, rewrites, seen, &mut hearing),
            Err(error) => {
                seen.noticed.insert(RotWitness::Mount);
                seen.told.push(error.to_string());
                Ok(())
            }
        };
        hearing.read_kernel_messages(stack, seen);
        looked.and(self.close_layers(stack)).map(|()| hearing.heard)
    }

    fn mounted_rot(
        &self,
        stack: &mut Stack<'_>,
        look: &RotLook,
        rewrites: bool,
        seen: &mut RotSeen,
        hearing: &mut RotHearing,
    ) -> Result<(), TrialError> {
        let mut refused = stack.mount_rotten()?;
        if let Some(reason) = &refused {
            seen.noticed.insert(RotWitness::Mount);
            seen.told.push(reason.clone());
            hearing.read_kernel_messages(stack, seen);
            repair_until_clean(stack, seen)?;
            refused = stack.mount_rotten()?;
        }
        if refused.is_some() {
            return Ok(());
        }
        let mut first = SavedReading::default();
        self.read_saved(look, &mut first);
        if !first.errors.is_empty() {
            seen.noticed.insert(RotWitness::Read);
        }
        hearing.read_kernel_messages(stack, seen);
        note_pool_errors(stack, seen)?;
        seen.warned = !seen.noticed.is_empty();
        seen.first = first;
        let written = write_beside().and_then(|()| if rewrites { write_over(look) } else { Ok(()) });
        if let Err(error) = written {
            seen.noticed.insert(RotWitness::Write);
            seen.told.push(format!("writing: {error}"));
            seen.impaired = true;
        }
        hearing.read_kernel_messages(stack, seen);
        note_pool_errors(stack, seen)?;
        stack.unmount_state()?;
        if let Some(what) = stack.find_complaint()? {
            seen.noticed.insert(RotWitness::Checker);
            seen.told.push(what);
            repair_until_clean(stack, seen)?;
        }
        if stack.mount_rotten()?.is_some() {
            return Ok(());
        }
        let mut last = SavedReading::default();
        self.read_saved(look, &mut last);
        if let Err(error) = take_away(seen.impaired) {
            seen.noticed.insert(RotWitness::Write);
            seen.told.push(format!("reading and removing what was written: {error}"));
            last.broken.entry("writable").or_insert_with(|| error.to_string());
        }
        hearing.read_kernel_messages(stack, seen);
        let tried = rewrites.then(|| TriedSyncs::overwrite_files(look));
        stack.unmount_state()?;
        seen.last = Some(last);
        if let Some(tried) = tried
            && stack.mount_rotten()?.is_none()
        {
            seen.note_syncs(&tried);
            stack.unmount_state()?;
        }
        Ok(())
    }

    fn read_saved(&self, look: &RotLook, reading: &mut SavedReading) {
        for folder in &look.folders {
            let Ok(material) = self.materials.get(&folder.dataset) else { continue };
            // Reads files one after another, as programs do, so that an unreadable block fails only the read that
            // needs it.
            let SavedReading { broken, errors, .. } =
                folder.check_after_cut(Path::new(MOUNT), &material.prepared, u64::MAX, None);
            for (promise, what) in broken {
                reading.broken.entry(promise).or_insert(what);
            }
            reading.errors.extend(errors);
        }
    }
}

/// Messages of the kernel that it does not log about an intact device.
struct RotHearing {
    /// None while the device is whole.
    usual: Option<BTreeSet<String>>,
    heard: Vec<String>,
}

impl RotHearing {
    fn read_kernel_messages(&mut self, stack: &mut Stack<'_>, seen: &mut RotSeen) {
        for line in stack.said_at_all().into_iter().filter(LogLine::is_warning) {
            let words: String = line.text.chars().filter(|letter| !letter.is_ascii_digit()).collect();
            match &self.usual {
                None => self.heard.push(words),
                Some(usual) if usual.contains(&words) => {}
                Some(_) => {
                    seen.noticed.insert(RotWitness::Kernel);
                    seen.told.push(line.text);
                }
            }
        }
    }
}

/// Notes what a pool has counted: it logs no message of an error that it corrects.
fn note_pool_errors(stack: &mut Stack<'_>, seen: &mut RotSeen) -> Result<(), TrialError> {
    if let Some(counted) = stack.counted_by_pool()? {
        seen.noticed.insert(RotWitness::Kernel);
        seen.told.push(counted);
    }
    Ok(())
}

/// Writes a durable file beside the saved ones.
fn write_beside() -> std::io::Result<()> {
    let mut file = File::create_new(Path::new(MOUNT).join(TAKEN))?;
    file.write_all(&vec![0x5a; TAKEN_BYTES])?;
    file.sync_all()
}

/// Writes each file's own content over itself, which shows whether the medium refuses writes.
fn write_over(look: &RotLook) -> std::io::Result<()> {
    use std::os::unix::fs::FileExt;
    for folder in &look.folders {
        for entry in std::fs::read_dir(Path::new(MOUNT).join(&folder.into))? {
            let path = entry?.path();
            let bytes = std::fs::read(&path)?;
            File::options().write(true).open(&path)?.write_all_at(&bytes, 0)?;
        }
    }
    let mount = File::open(MOUNT)?;
    rustix::fs::syncfs(&mount)?;
    Ok(())
}

/// Checks that the file that was written holds its content, if it could be written, and removes it.
fn take_away(was_refused: bool) -> std::io::Result<()> {
    let path = Path::new(MOUNT).join(TAKEN);
    if was_refused {
        let _ = std::fs::remove_file(&path);
        return Ok(());
    }
    if std::fs::read(&path)? != vec![0x5a; TAKEN_BYTES] {
        return Err(std::io::Error::other("another content was read than was written"));
    }
    std::fs::remove_file(&path)
}

/// Lets the checker repair the filesystem, by one method after another, until it finds no fault.
fn repair_until_clean(stack: &mut Stack<'_>, seen: &mut RotSeen) -> Result<(), TrialError> {
    if stack.filesystem.pool.is_some() {
        // The scrub that complained has repaired what it could; a second one finds what it could not.
        seen.impaired = stack.find_complaint()?.is_some();
        seen.repaired = !seen.impaired;
        return Ok(());
    }
    for options in stack.filesystem.recovery.repairs {
        let record = stack.repair_with(options)?;
        let meaning = record.exit.and_then(|status| stack.filesystem.repair_status_of(status));
        seen.repaired = true;
        match stack.find_complaint()? {
            None => {
                seen.impaired = false;
                return Ok(());
            }
            Some(_) => {
                let words = meaning.map_or("no answer", FsckStatus::words);
                seen.told.push(format!("{}: {words}", record.argv.join(" ")));
            }
        }
    }
    seen.impaired = true;
    Ok(())
}
