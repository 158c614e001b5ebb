//! A layer above the mounted filesystem: put there and taken away.

use std::path::Path;
use std::time::{Duration, Instant};

use fsverdict_linux::host::mounts;
use fsverdict_linux::sandbox::program::require_success;
use fsverdict_stack::layer::LayerKind;

use super::super::above::{AboveLayer, BELOW, show_lower};
use super::super::error::TrialError;
use super::super::tools::Trade;
use super::{MOUNT, Stack};

/// The journal's name for the process that serves a filesystem.
const SERVE: &str = "serve the filesystem";
/// How often it is looked whether that is seen.
const LOOK: Duration = Duration::from_millis(1);

/// The folder that the mount point shows, for a candidate with a layer above its filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShownAbove {
    /// The filesystem was not mounted yet.
    Nothing,
    /// The folder that is to lie below, or it was the last.
    Lower { now: bool },
    /// The layer, or it was the last.
    Layer { now: bool },
}

impl Stack<'_> {
    /// Where the filesystem itself is mounted.
    pub(super) fn filesystem_mount(&self) -> &'static str {
        if AboveLayer::of_candidate(self.candidate).is_some() { BELOW } else { MOUNT }
    }

    /// Shows at the mount point the folder that phases see: at first the one that becomes the lower one.
    pub(super) fn show_above(&mut self) -> Result<(), TrialError> {
        let Some(above) = AboveLayer::of_candidate(self.candidate) else { return Ok(()) };
        if above.is_served() {
            let (_, argv) = above.mount_command(MOUNT);
            return self.start_server(argv);
        }
        if self.shown == ShownAbove::Nothing {
            for folder in LayerKind::FOLDERS {
                std::fs::create_dir(Path::new(BELOW).join(folder))
                    .map_err(TrialError::io_error("make a folder of the layer above"))?;
            }
            self.tools.run_required(
                self.sink,
                "show what is to lie below",
                Trade::Mounting,
                show_lower(MOUNT),
            )?;
            self.shown = ShownAbove::Lower { now: true };
        } else {
            let (step, argv) = above.mount_command(MOUNT);
            self.tools.run_required(self.sink, step, Trade::Mounting, argv)?;
            self.shown = ShownAbove::Layer { now: true };
            mounts::forbid_devices(Path::new(MOUNT)).map_err(TrialError::host_error)?;
        }
        Ok(())
    }

    /// Starts the serving process, and waits until its mount appears.
    fn start_server(&mut self, argv: Vec<String>) -> Result<(), TrialError> {
        let mut server = self.tools.start_program(Trade::Mounting, argv)?;
        let began = Instant::now();
        while mounts::mount_at(Path::new(MOUNT)).is_none() {
            if server.has_ended()? || began.elapsed() > self.limit {
                let record = server.stop_within(SERVE, Duration::ZERO)?;
                self.sink.send_command(&record);
                return Err(require_success(record).map_or_else(TrialError::from, |_| not_served()));
            }
            std::thread::sleep(LOOK);
        }
        self.server = Some(server);
        self.shown = ShownAbove::Layer { now: true };
        Ok(())
    }

    /// Ends the process after the unmount; it must have run until then.
    fn end_server(&mut self) -> Result<(), TrialError> {
        let Some(server) = self.server.take() else { return Ok(()) };
        let record = server.stop_within(SERVE, self.limit)?;
        self.sink.send_command(&record);
        require_success(record).map(drop).map_err(TrialError::from)
    }

    /// Takes it away again, if it is there.
    pub(super) fn hide_above(&mut self) -> Result<(), TrialError> {
        let Some(above) = AboveLayer::of_candidate(self.candidate) else { return Ok(()) };
        let (line, hidden) = match self.shown {
            ShownAbove::Lower { now: true } => {
                let argv = ["umount", "-i", MOUNT].map(str::to_owned).into();
                (Some(("take it away", argv)), ShownAbove::Lower { now: false })
            }
            ShownAbove::Layer { now: true } => {
                (above.unmount_command(MOUNT), ShownAbove::Layer { now: false })
            }
            _ => return Ok(()),
        };
        if let Some((step, argv)) = line {
            self.tools.run_required(self.sink, step, Trade::Mounting, argv)?;
        }
        self.shown = hidden;
        self.end_server()
    }
}

fn not_served() -> TrialError {
    TrialError::Host("what was to serve the filesystem ended before it was seen".to_owned())
}
