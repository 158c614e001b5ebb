//! Acts: the elements that the steps of a trial consist of.

use fsverdict_disk::calibrate::Grid;
use fsverdict_judgement::plan::{ArrayState, Phase, Service};

/// The journal's name of the step in which layers are sealed.
pub(super) const SEALING: &str = "seal";

/// One thing that is done.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "`words` says what each does")]
pub enum Act<'a> {
    Claim,
    Discard,
    Scheduler(&'a str),
    DescribeDevice,
    Calibrate(Grid),
    LookAfterCuts,
    LookAfterRot,
    Stage,
    ShutIn,
    Pause,
    DiscardAgain,
    /// With the layer at the place of this number, counted from the devices up.
    Layer(usize, OfLayer),
    /// The last of the candidate's devices is missing from now on.
    TakeOut,
    /// It is back, and all is there again as often as it should be.
    PutBack,
    /// Starts work on an array beside the phase …
    Begin(ArrayState),
    /// … and waits for it; its duration is kept with the other times.
    Finish(ArrayState),
    /// A line for the shell, off the clocks.
    Aside(&'a Phase, AsideLine),
    StartService(&'a Service),
    StopService(&'a Service),
    /// On both clocks: until it has returned, and until it is durable.
    Timed(Timed<'a>, CacheState),
    /// Writes the measured times into the journal.
    Record,
    /// Judges the checker's result.
    Judge,
    NoChecker(&'a str),
    DescribeMount,
    Settle(&'a str),
    /// Checks the filesystem that is about to be remade.
    CheckAged,
    /// On the same device, and untimed.
    MakeAnew,
    /// Writes the data again that the phase reads.
    CopyAgain(&'a Phase),
    /// Before a repetition, removes the files that the phase changed, and writes them again.
    RenewFiles(&'a Phase),
    ShowFolder,
    Unmount,
    SyncDevice,
    ForgetDevice,
    ForgetFolder(&'a str),
    Mount,
    Verify(&'a Phase),
    VerifyDevice(&'a Phase),
    /// It is read from a device that was never written.
    NeverStored(&'a Phase),
    VerifyAll,
    /// Only if it still is, after an error.
    UnmountLeft,
    Release,
}

/// Which of a phase's lines that are not its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsideLine {
    Before,
    After,
}

impl AsideLine {
    /// The line itself, where the phase has one.
    pub fn line_of(self, phase: &Phase) -> Option<&str> {
        match self {
            AsideLine::Before => phase.before.as_deref(),
            AsideLine::After => phase.after.as_deref(),
        }
    }

    /// As a plan has it.
    pub const fn plan_key(self) -> &'static str {
        match self {
            AsideLine::Before => "before",
            AsideLine::After => "after",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfLayer {
    Make,
    Open,
    /// Opens layers that another trial made.
    Reopen,
    /// To be removed with its last user: a crash leaves nothing, an unmount changes nothing.
    Mark,
    Fill,
    Describe,
    Close,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Timed<'a> {
    Mkfs,
    Mount,
    Unmount,
    /// Layers that are sealed once all is written.
    Seal,
    /// Under this name: of the phase that asks for it, or of the step that ends a trial.
    Check(&'a str),
    Phase(&'a Phase),
    /// A phase on the bare device.
    Raw(&'a Phase),
}

/// Which of the data are in memory when the clocks start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheState {
    /// Nothing was read since mkfs.
    Fresh,
    Warm,
    Cold,
}

/// The call that makes timed work durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durable {
    Syncfs,
    Device,
}

impl CacheState {
    /// As the journal has it.
    pub const fn journal_name(self) -> &'static str {
        match self {
            CacheState::Fresh => "fresh",
            CacheState::Warm => "warm",
            CacheState::Cold => "cold",
        }
    }
}

impl<'a> Timed<'a> {
    /// As the journal has it.
    pub const fn journal_name(self) -> &'a str {
        match self {
            Timed::Mkfs => "mkfs",
            Timed::Mount => "mount",
            Timed::Unmount => "umount",
            Timed::Seal => SEALING,
            Timed::Check(name) => name,
            Timed::Phase(phase) | Timed::Raw(phase) => phase.name.as_str(),
        }
    }

    pub const fn durable(self) -> Durable {
        match self {
            Timed::Mount | Timed::Phase(_) => Durable::Syncfs,
            Timed::Mkfs | Timed::Unmount | Timed::Seal | Timed::Check(_) | Timed::Raw(_) => Durable::Device,
        }
    }
}

impl Act<'_> {
    /// The words for the documentation; `None` for acts that concern only the agent.
    pub const fn describe_act(self) -> Option<&'static str> {
        Some(match self {
            Act::Claim => "claim device",
            Act::Discard | Act::DiscardAgain => "discard",
            Act::Scheduler(_) => "set I/O scheduler",
            Act::Calibrate(_) => "measure the device",
            Act::Stage => "stage datasets",
            Act::ShutIn => "shut in",
            Act::Layer(_, OfLayer::Make) => "make layers",
            Act::Layer(_, OfLayer::Open) => "open them",
            Act::Layer(_, OfLayer::Close) => "close layers",
            Act::Timed(Timed::Mkfs, _) => "mkfs ⏱",
            Act::Timed(Timed::Mount, _) => "mount ⏱",
            Act::Timed(Timed::Unmount, _) => "unmount ⏱",
            Act::Timed(Timed::Seal, _) => "seal ⏱",
            Act::Timed(Timed::Check(_), _) => "fsck ⏱",
            Act::Timed(Timed::Phase(_), _) => "work ⏱ returned ► syncfs ⏱ durable",
            Act::Timed(Timed::Raw(_), _) => "work ⏱ returned ► sync device ⏱ durable",
            Act::Settle(_) => "settle",
            Act::ShowFolder => "make a folder",
            Act::Unmount => "unmount",
            Act::SyncDevice => "sync device",
            Act::ForgetDevice => "forget device",
            Act::ForgetFolder(_) => "syncfs ► drop caches",
            Act::Mount => "mount",
            Act::Verify(_) | Act::VerifyDevice(_) => "verify",
            Act::VerifyAll => "verify all data",
            Act::Release => "release",
            Act::DescribeDevice
            | Act::LookAfterCuts
            | Act::LookAfterRot
            | Act::TakeOut
            | Act::PutBack
            | Act::Aside(..)
            | Act::StartService(_)
            | Act::StopService(_)
            | Act::Begin(_)
            | Act::Finish(_)
            | Act::Pause
            | Act::Layer(_, OfLayer::Reopen | OfLayer::Mark | OfLayer::Fill | OfLayer::Describe)
            | Act::Record
            | Act::Judge
            | Act::NoChecker(_)
            | Act::DescribeMount
            | Act::CheckAged
            | Act::MakeAnew
            | Act::CopyAgain(_)
            | Act::RenewFiles(_)
            | Act::NeverStored(_)
            | Act::UnmountLeft => return None,
        })
    }
}
