//! Snapshots sent as streams of bytes, and received beside what is there.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::sync::Arc;

use fsverdict_judgement::plan::Operation;
use fsverdict_linux::sandbox::program::require_success;
use fsverdict_workload::workload::{Ledger, OperationResult, WorkError};
use rustix::fs::{MemfdFlags, memfd_create};

use super::super::error::TrialError;
use super::super::tools::StreamEnd;
use super::snapshots::timed_result;
use super::{MOUNT, Stack};

impl Stack<'_> {
    /// Sends the newest snapshot into memory: what changed since the one that was sent last, or all of it.
    pub(in crate::trial) fn send_snapshot(
        &mut self,
        ledger: &mut Ledger,
    ) -> Result<OperationResult, TrialError> {
        let operation = Operation::SnapshotSend;
        let none = WorkError::NoSnapshot { operation: operation.name() };
        let newest = ledger.newest_snapshot().ok_or(none)?;
        let base = ledger.sent_snapshot().filter(|sent| sent.id != newest.id).map(|sent| sent.id.as_str());
        let memory = memfd_create("fsverdict-stream", MemfdFlags::CLOEXEC).map_err(std::io::Error::from);
        let stream = Arc::new(File::from(memory.map_err(TrialError::io_error("keep a stream in memory"))?));
        self.run_stream(operation, &newest.id, base, &StreamEnd::Output(Arc::clone(&stream)))?;
        ledger.send_newest_snapshot();
        let bytes = stream.metadata().map_err(TrialError::io_error("measure a stream"))?.len();
        self.stream = Some(stream);
        Ok(OperationResult { logical_bytes: bytes, ..timed_result("send") })
    }

    /// Receives the stream that was sent last.
    pub(in crate::trial) fn receive_snapshot(
        &mut self,
        ledger: &mut Ledger,
    ) -> Result<OperationResult, TrialError> {
        let operation = Operation::SnapshotReceive;
        let none = WorkError::NoSnapshot { operation: operation.name() };
        let (Some(stream), Some(sent)) = (self.stream.take(), ledger.sent_snapshot()) else {
            return Err(none.into());
        };
        let id = sent.id.clone();
        let streams = self.filesystem.snapshots.and_then(|programs| programs.streams);
        if let Some(folder) = streams.and_then(|streams| streams.folder) {
            std::fs::create_dir_all(std::path::Path::new(MOUNT).join(folder))
                .map_err(TrialError::io_error("make the folder that snapshots are received in"))?;
        }
        (&*stream).seek(SeekFrom::Start(0)).map_err(TrialError::io_error("read a stream again"))?;
        let bytes = stream.metadata().map_err(TrialError::io_error("measure a stream"))?.len();
        self.run_stream(operation, &id, None, &StreamEnd::Input(stream))?;
        ledger.receive_sent_snapshot(streams.and_then(|streams| streams.shown_as(&id)));
        Ok(OperationResult { logical_bytes: bytes, ..timed_result("receive") })
    }

    fn run_stream(
        &mut self,
        operation: Operation,
        id: &str,
        base: Option<&str>,
        end: &StreamEnd,
    ) -> Result<(), TrialError> {
        for argv in self.snapshot_lines(operation, id, base)? {
            require_success(self.tools.run_streaming(self.sink, operation.name(), argv, end)?)?;
        }
        Ok(())
    }
}
