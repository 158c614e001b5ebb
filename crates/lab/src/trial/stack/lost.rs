//! A device of several that answers no more in the midst of a trial, under a filesystem that keeps its copies itself.

use std::fs::File;

use rustix::io::Errno;

use super::super::error::TrialError;
use super::super::programs::NamedTop;
use super::Stack;

impl Stack<'_> {
    /// Makes everything written to the devices themselves durable. A device that answers only with errors is taken as
    /// missing from here on, if the filesystem has copies on others: it is then mounted without that device, as md
    /// continues without one.
    pub(in crate::trial) fn sync_device(&mut self) -> Result<(), TrialError> {
        let synced = |top: &NamedTop| File::open(&top.path)?.sync_all();
        let failed = self.top_devices().into_iter().filter_map(|top| Some((synced(&top).err()?, top)));
        let mut failed: Vec<_> = failed.collect();
        let Some((error, top)) = failed.pop() else { return Ok(()) };
        if failed.is_empty() && self.can_do_without(&top, &error) {
            let which = format!("device {} of {}", top.device, self.candidate.name);
            let text =
                format!("{which} answered no more: where it was mounted after that, it was mounted without");
            self.sink.send_caution("", text);
            self.missing = Some(top.path);
            return Ok(());
        }
        Err(TrialError::io_error("make the device's data durable")(error))
    }

    fn can_do_without(&self, top: &NamedTop, error: &std::io::Error) -> bool {
        let is_io = error.raw_os_error() == Some(Errno::IO.raw_os_error());
        is_io
            && !top.apart
            && self.missing.is_none()
            && self.require_redundancy().is_ok_and(|redundancy| redundancy.is_of_filesystem())
    }
}
