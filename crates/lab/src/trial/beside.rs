//! Work around and beside a phase, off its clocks: commands before and after it, services, and its background.

use std::path::Path;

use fsverdict_judgement::plan::{Phase, Service};
use fsverdict_workload::workload::{CommandContext, command_program};

use super::act::AsideLine;
use super::agent::Agent;
use super::companions::{Companion, CompanionLines};
use super::error::TrialError;
use super::phase::SCRATCH;
use super::program_failure::require_good_end;
use super::stack::{MOUNT, Stack};

impl Agent<'_> {
    /// Runs the command before or after a phase, off the clocks.
    pub(super) fn run_aside(
        &mut self,
        stack: &mut Stack<'_>,
        phase: &Phase,
        line: AsideLine,
    ) -> Result<(), TrialError> {
        let Some(text) = line.line_of(phase) else { return Ok(()) };
        let device = stack.top_device();
        let step = format!("{} {}", line.plan_key(), phase.name);
        let record = command_program(text, &self.command_context(&device, phase)).run(&step)?;
        stack.sink.send_command(&record);
        require_good_end(&step, record, stack, |_| None)?;
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
        let companion = self.start_companion(stack, &service.name, "service", lines, false)?;
        self.company.add_service(companion.await_ready(service.within)?);
        self.ledger.mark_all_unsure();
        Ok(())
    }

    pub(super) fn stop_service(
        &mut self,
        stack: &mut Stack<'_>,
        service: &Service,
    ) -> Result<(), TrialError> {
        if let Some(record) = self.company.stop_service(service)? {
            stack.sink.send_command(&record);
        }
        Ok(())
    }

    /// Starts the background of a phase.
    pub(super) fn start_beside(
        &mut self,
        stack: &mut Stack<'_>,
        phase: &Phase,
    ) -> Result<Option<Companion>, TrialError> {
        let Some(line) = &phase.beside else { return Ok(None) };
        // A background may handle other signals in its own way, but not SIGKILL.
        let stop = Some("kill -KILL \"$SERVICE\"");
        let lines = CompanionLines { line, ready: None, stop };
        let companion =
            self.start_companion(stack, &phase.name, "background of phase", lines, phase.network)?;
        Ok(Some(companion.await_ready(self.spec.limit)?))
    }

    /// Stops the background. That it ended too early is reported before any failure of the phase itself.
    pub(super) fn end_beside(
        &mut self,
        stack: &mut Stack<'_>,
        phase: &Phase,
        beside: Option<Companion>,
    ) -> Result<(), TrialError> {
        let Some(companion) = beside else { return Ok(()) };
        let record =
            companion.require_running(&format!("before phase `{}` was over", phase.name))?.stop_and_wait()?;
        stack.sink.send_command(&record);
        self.ledger.mark_all_unsure();
        Ok(())
    }

    fn start_companion(
        &self,
        stack: &Stack<'_>,
        name: &str,
        what: &'static str,
        lines: CompanionLines<'_>,
        network: bool,
    ) -> Result<Companion, TrialError> {
        let device = stack.top_device();
        let context = CommandContext {
            mount: Path::new(MOUNT),
            device: &device,
            scratch: Path::new(SCRATCH),
            datasets: &self.variables,
            network,
            in_guest: self.assignment.bench.is_in_guest(),
            limit: self.spec.limit,
        };
        let shell = |wrapper: &str| command_program(wrapper, &context);
        let companion = Companion::start_shell(name, what, lines, Path::new(SCRATCH), shell)?;
        companion.report_kill(stack.sink.for_thread());
        Ok(companion)
    }
}
