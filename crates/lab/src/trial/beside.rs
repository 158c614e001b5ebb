//! What goes on around a phase and beside it, off its clocks: lines before and after, services, and its background.

use std::path::Path;

use fsverdict_judgement::plan::{Phase, Service};
use fsverdict_workload::workload::{CommandContext, command_program};

use super::act::AsideLine;
use super::agent::Agent;
use super::company::{Companion, CompanionLines};
use super::complaint::ended_well;
use super::error::TrialError;
use super::phase::SCRATCH;
use super::stack::{MOUNT, Stack};

impl Agent<'_> {
    /// Does what is asked for before or after a phase, off the clocks.
    pub(super) fn aside(
        &mut self,
        stack: &mut Stack<'_>,
        phase: &Phase,
        line: AsideLine,
    ) -> Result<(), TrialError> {
        let Some(text) = line.of(phase) else { return Ok(()) };
        let device = stack.top();
        let step = format!("{} {}", line.word(), phase.name);
        let record = command_program(text, &self.command_context(&device, phase)).run(&step)?;
        stack.sink.command(&record);
        ended_well(&step, record, stack, |_| None)?;
        self.ledger.mark_all_unsure();
        Ok(())
    }

    pub(super) fn start_service(
        &mut self,
        stack: &mut Stack<'_>,
        service: &Service,
    ) -> Result<(), TrialError> {
        let lines = CompanionLines {
            line: &service.start,
            ready: service.ready.as_deref(),
            stop: service.stop.as_deref(),
        };
        let companion = self.companion(stack, &service.name, "service", lines, false)?;
        self.company.join(companion.await_ready(service.within)?);
        self.ledger.mark_all_unsure();
        Ok(())
    }

    pub(super) fn stop_service(
        &mut self,
        stack: &mut Stack<'_>,
        service: &Service,
    ) -> Result<(), TrialError> {
        if let Some(record) = self.company.part(service)? {
            stack.sink.command(&record);
        }
        Ok(())
    }

    /// What goes on in the background of a phase begins.
    pub(super) fn start_beside(
        &mut self,
        stack: &mut Stack<'_>,
        phase: &Phase,
    ) -> Result<Option<Companion>, TrialError> {
        let Some(line) = &phase.beside else { return Ok(None) };
        // It may have its own ideas of signals; of SIGKILL nobody has.
        let stop = Some("kill -KILL \"$SERVICE\"");
        let lines = CompanionLines { line, ready: None, stop };
        let companion = self.companion(stack, &phase.name, "background of phase", lines, phase.network)?;
        Ok(Some(companion.await_ready(self.spec.limit)?))
    }

    /// It is stopped; that it did not go on until now is told before anything that the phase itself met.
    pub(super) fn end_beside(
        &mut self,
        stack: &mut Stack<'_>,
        phase: &Phase,
        beside: Option<Companion>,
    ) -> Result<(), TrialError> {
        let Some(companion) = beside else { return Ok(()) };
        let record = companion.check(&format!("before phase `{}` was over", phase.name))?.end()?;
        stack.sink.command(&record);
        self.ledger.mark_all_unsure();
        Ok(())
    }

    fn companion(
        &self,
        stack: &Stack<'_>,
        name: &str,
        what: &'static str,
        lines: CompanionLines<'_>,
        network: bool,
    ) -> Result<Companion, TrialError> {
        let device = stack.top();
        let context = CommandContext {
            mount: Path::new(MOUNT),
            device: &device,
            scratch: Path::new(SCRATCH),
            datasets: &self.variables,
            network,
            limit: self.spec.limit,
        };
        let shell = |wrapper: &str| command_program(wrapper, &context);
        let companion = Companion::start(name, what, lines, Path::new(SCRATCH), shell)?;
        companion.report_kill(stack.sink.for_thread());
        Ok(companion)
    }
}
