//! The processes that work for a trial, each of which may be killed from outside. Tests kill every one of them,
//! natively and in guests of the lab uml.

/// A process that works for a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrialProcess {
    pub name: &'static str,
    /// The labs in which it is a process of this machine's kernel; `simulated` is the lab `uml` with a modelled device.
    pub labs: &'static [&'static str],
    /// How its death is noticed.
    pub noticed_by: &'static str,
}

const fn new_process(
    name: &'static str,
    labs: &'static [&'static str],
    noticed_by: &'static str,
) -> TrialProcess {
    TrialProcess { name, labs, noticed_by }
}

const NATIVE: &[&str] = &["native"];
const GUESTS: &[&str] = &["uml", "vm"];
const UML: &[&str] = &["uml"];
const UML_AND_MODELLED: &[&str] = &["uml", "simulated"];
const MODELLED: &[&str] = &["simulated"];

/// Every process that a trial has.
pub const TRIAL_PROCESSES: [TrialProcess; 20] = [
    new_process("supervisor of the agent", NATIVE, "its exit status (lab/drive)"),
    new_process("agent", NATIVE, "the exit status of its supervisor (lab/drive)"),
    new_process("supervisor of a phase", NATIVE, "the record of the phase's command"),
    new_process("first process of a phase", NATIVE, "the record of the phase's command"),
    new_process("phase command", NATIVE, "the record of the phase's command"),
    new_process("service", NATIVE, "the record of the service (trial/company)"),
    new_process("shell of a service", NATIVE, "the record of the service (trial/company)"),
    new_process("background of a phase", NATIVE, "the record of the background (trial/company)"),
    new_process("mkfs", NATIVE, "the record of the tool (trial/tools)"),
    new_process("mount", NATIVE, "the record of the tool (trial/tools)"),
    new_process("umount", NATIVE, "the record of the tool (trial/tools)"),
    new_process("fsck", NATIVE, "the record of the tool (trial/tools)"),
    new_process("FUSE server", NATIVE, "the record of the server (trial/stack/above)"),
    new_process("staging process", NATIVE, "its exit status (lab/held)"),
    new_process("supervisor of a guest", GUESTS, "its exit status (lab/drive)"),
    new_process("guest kernel", GUESTS, "the exit status of its supervisor (lab/drive)"),
    new_process(
        "I/O process of a guest kernel",
        UML,
        "its remains, which its kernel does not reap (lab/first_process)",
    ),
    new_process(
        "stub of a guest kernel",
        UML_AND_MODELLED,
        "what its kernel prints (lab/stub_messages), or its remains (lab/first_process)",
    ),
    new_process("supervisor of a device process", MODELLED, "its exit status (lab/backend)"),
    new_process("device process", MODELLED, "the exit status of its supervisor (lab/backend)"),
];
