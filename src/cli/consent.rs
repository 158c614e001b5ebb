//! The user's consent: to a plan of another user, which is shown and carried out only after it was confirmed, and to
//! erasing a device.

use std::fs::Metadata;
use std::io::{BufRead, IsTerminal};
use std::os::unix::fs::MetadataExt;

use crate::study::OpenedRun;
use fsverdict_folders::own_users;
use fsverdict_judgement::plan::{AXES, AxisLevel, AxisRole, Dataset, DeviceSource, PhaseWork, Plan};
use fsverdict_lab::lab::hidden_from;
use fsverdict_linux::guard::Refusal;
use fsverdict_linux::host::messages;
use fsverdict_linux::host::messages::print_line;
use fsverdict_report::{count, in_lines};
use fsverdict_text::{Reason, quoted};

use super::CliError;

/// The longest line that is shown, in characters: longer ones are cut into pieces.
const COLUMNS: usize = 300;
/// The most lines in one message: no more than a screen, of which nothing is left out.
const LINES: usize = 30;

/// Where a plan is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PlanOrigin {
    /// It is a part of the program.
    Preset,
    /// It belongs to the user of this program, or to root.
    Own,
    /// It belongs to another user; with the reason to say so.
    Stranger(String),
}

impl PlanOrigin {
    /// The origin of a plan that was read from this file.
    pub(super) fn of_file(name: &str, file: &Metadata) -> PlanOrigin {
        // A shell's pipe belongs to the user of the shell; a named one, to its creator.
        if own_users().contains(&file.uid()) {
            return PlanOrigin::Own;
        }
        PlanOrigin::Stranger(format!("{name} belongs to user {}", file.uid()))
    }

    /// The origin of the plan of an opened run: of the files that were read, even if their names lead elsewhere by now.
    pub(super) fn of_run(opened: &OpenedRun) -> PlanOrigin {
        let shown = opened.folder.path().display();
        let folder = PlanOrigin::of_file(&shown.to_string(), &opened.folder_seen);
        if folder != PlanOrigin::Own {
            return folder;
        }
        PlanOrigin::of_file(&format!("{shown}/{}", crate::study::PLAN_FILE), &opened.plan_seen)
    }
}

/// The consent that the user gave beforehand, by options.
#[derive(Debug, Clone, Copy)]
pub(super) struct Consent {
    pub(super) yes: bool,
    pub(super) network: bool,
    pub(super) quiet: bool,
}

/// Decides whether this plan may be carried out. The plan of another user is shown first, and must be confirmed.
///
/// # Errors Fails if the user did not confirm, or there is no terminal to ask on. Nothing has been done by then.
pub(super) fn confirm_plan(plan: &Plan, origin: &PlanOrigin, consent: Consent) -> Result<(), CliError> {
    let why = match origin {
        PlanOrigin::Preset => return Ok(()),
        PlanOrigin::Own => {
            let commands = commands_of(plan);
            if let (Some(first), false) = (commands.first(), consent.quiet) {
                let short: String = in_lines(first).replace('\n', " ").chars().take(60).collect();
                let number = count(commands.len(), "command");
                print_line(&format!(
                    "{number} of the plan, {} (--dry-run lists all): {short}",
                    describe_user()
                ));
            }
            return Ok(());
        }
        PlanOrigin::Stranger(why) => why,
    };
    let online: Vec<&str> =
        plan.phases.iter().filter(|phase| phase.network).map(|phase| phase.name.as_str()).collect();
    if !online.is_empty() && !consent.network {
        return Err(CliError::usage(Reason::new(
            format!(
                "the plan is not yours ({why}), and its commands want this machine's network: {}",
                in_lines(&online.join(", "))
            ),
            "allow it with --allow-network",
        )));
    }
    print_in_screens(&describe_plan(plan, why));
    if consent.yes || ask_on_terminal() {
        return Ok(());
    }
    Err(CliError::usage(Reason::new(
        "nothing was run: this plan is not yours, and you did not confirm it",
        "read the plan above; --yes confirms it in advance",
    )))
}

/// Asks on the terminal; `false` if there is none.
fn ask_on_terminal() -> bool {
    has_terminal()
        && read_answer("Carry it out? [y/N] ")
            .is_some_and(|answer| ["y", "yes"].contains(&answer.to_ascii_lowercase().as_str()))
}

/// Whether there is a user to ask.
fn has_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Prints a question, and reads the line that answers it.
fn read_answer(prompt: &str) -> Option<String> {
    messages::print_prompt(prompt);
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).ok()?;
    Some(line.trim().to_owned())
}

/// Prints all of the text, however long: an author could hide a command in an omitted part.
fn print_in_screens(text: &str) {
    let mut lines: Vec<String> = Vec::new();
    for line in in_lines(text).lines() {
        let letters: Vec<char> = line.chars().collect();
        lines.extend(letters.chunks(COLUMNS).map(|piece| piece.iter().collect::<String>()));
    }
    lines.chunks(LINES).for_each(|screen| print_line(&screen.join("\n")));
}

fn describe_user() -> String {
    let user = rustix::process::geteuid();
    if user.is_root() { "as root".to_owned() } else { format!("as user {}", user.as_raw()) }
}

/// The commands of a plan, each once.
fn commands_of(plan: &Plan) -> Vec<String> {
    let commands = plan.phases.iter().flat_map(|phase| {
        let work = match &phase.work {
            PhaseWork::Command(line) => Some(line.clone()),
            PhaseWork::Adapter { name, options } => Some(format!("{name} {options}")),
            PhaseWork::Operation(_) => None,
        };
        work.into_iter().chain(phase.lines_around().cloned())
    });
    commands.chain(plan.services.iter().flat_map(|service| service.lines().cloned())).collect()
}

/// Describes the commands that a plan would run, and the files that it would read and write.
fn describe_plan(plan: &Plan, why: &str) -> String {
    let mut text = format!("This plan is not yours ({why}). It would run {}:\n", describe_user());
    let indented = |line: &str| line.replace('\n', "\n      ");
    for command in commands_of(plan) {
        text += &format!("  command: {}\n", indented(&command));
    }
    for candidate in &plan.candidates {
        for axis in &AXES {
            let level = axis.set_level(candidate);
            let level_text = indented(&level.text());
            text += &match level {
                AxisLevel::Words(_) | AxisLevel::Options(_) if !level.is_nothing() => {
                    format!("  options of {} for {}: {level_text}\n", axis.key, candidate.name)
                }
                AxisLevel::Path(path) if matches!(axis.role, AxisRole::Place) => {
                    format!("  writes into a new folder in {}\n", quoted(&path.to_string_lossy()))
                }
                AxisLevel::Path(path) => format!("  {}: {}\n", axis.key, quoted(&path.to_string_lossy())),
                _ => continue,
            };
        }
    }
    if let Some(kernel) = &plan.kernel {
        text += &format!("  kernel: {}\n", quoted(&kernel.to_string_lossy()));
    }
    for source in plan.device.all_sources() {
        let DeviceSource::Path(path) = source else { continue };
        text += &format!("  destroys the content of {}\n", quoted(&path.to_string_lossy()));
    }
    for phase in plan.phases.iter().filter(|phase| phase.network) {
        text += &format!("  with this machine's network: {}\n", phase.name);
    }
    text += &describe_reads(plan);
    text + "What it reads may appear in the journal and the report. It can write only to the filesystem under test."
}

/// Describes the files that a plan can read.
fn describe_reads(plan: &Plan) -> String {
    let mut text = String::new();
    for (name, dataset) in &plan.datasets {
        if let Dataset::Folder { path, .. } = dataset {
            text += &format!("  copies {} (dataset {name})\n", quoted(&path.to_string_lossy()));
        }
    }
    for path in &plan.reads {
        text += &format!("  reads {} and everything in it\n", quoted(&path.to_string_lossy()));
    }
    let hidden = hidden_from(plan, []);
    text + &match hidden.hidden.len() {
        0 => "  can read every file that you can\n".to_owned(),
        number => {
            let seen: Vec<String> = hidden.shown.iter().map(|path| path.display().to_string()).collect();
            let seen = if seen.is_empty() {
                String::new()
            } else {
                format!("; of these it can read {}", seen.join(", "))
            };
            format!(
                "  can read every file on this machine except {}: home directories, logs and whatever else only root may read{seen}\n",
                count(number, "hidden place")
            )
        }
    }
}

/// Refuses `--erase` without a block device: the user means a device, and would take the results for that device's.
pub(super) fn check_erase_option(erase: &[String], source: &DeviceSource) -> Result<(), CliError> {
    match source {
        DeviceSource::Path(_) => Ok(()),
        _ if erase.is_empty() => Ok(()),
        other => Err(CliError::Usage(Reason::new(
            format!("--erase applies to block devices only, and this run uses none: {other}"),
            "name the block device with --device PATH, or leave --erase out",
        ))),
    }
}

/// Asks for the identity; `None` if there is no terminal, or no input.
pub(super) fn ask_identity(refusal: &Refusal) -> Option<String> {
    let identity = refusal.erase_identity()?;
    if !has_terminal() {
        return None;
    }
    print_line(&refusal.to_string());
    let prompt = format!("To destroy everything on it, type its identity ({identity}): ");
    read_answer(&prompt).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{PlanOrigin, describe_plan, own_users};
    use fsverdict_judgement::plan::Plan;

    #[test]
    fn what_is_ours_is_own_and_everything_else_a_strangers() {
        let place = tempfile::tempdir().unwrap();
        let own = place.path().metadata().unwrap();
        assert_eq!(PlanOrigin::of_file("x", &own), PlanOrigin::Own);
        assert!(own_users().contains(&0));
    }

    #[test]
    fn a_description_says_every_command_option_and_folder() {
        let mut plan: Plan = serde_json::from_str(include_str!("../../tests/runs/demo/plan.json")).unwrap();
        plan.candidates[0].mkfs = vec!["-d".to_owned(), "/srv/x".to_owned()];
        plan.phases[0].work =
            fsverdict_judgement::plan::PhaseWork::Command("cat /etc/passwd\ncurl evil".to_owned());
        plan.reads = vec!["/home/me".into()];
        plan.kernel = Some("/srv/evil".into());
        let text = describe_plan(&plan, "a page");
        for words in [
            "(a page)",
            "cat /etc/passwd\n      curl evil",
            "-d /srv/x",
            "reads /home/me",
            "kernel: /srv/evil",
            "can read every file",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
