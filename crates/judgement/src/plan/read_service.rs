//! `[[service]]`: programs that go on from one phase to another.

use std::time::Duration;

use super::keys::{fill_keys, key_names};
use super::limits::{SERVICES, check_length};
use super::phase::SERVICE;
use super::read_dataset::Datasets;
use super::read_phase::Phases;
use super::read_work::check_line;
use super::{Needs, Phase, PhaseWork, Service};
use fsverdict_text::value::filled_text;
use fsverdict_text::{Node, Section, suggest};

/// How long a service may take to be ready where the plan does not say.
const WITHIN: Duration = Duration::from_secs(60);

pub(super) fn read_services(top: &Section<'_>, phases: &Phases) -> Vec<Service> {
    let mut services: Vec<Service> = Vec::new();
    let Some((entry, nodes)) = top.list_of_tables("service", "services") else { return services };
    if top
        .problems
        .record_error(entry.key_at, check_length("services", Some(nodes.len()), SERVICES))
        .is_none()
    {
        return services;
    }
    for node in nodes {
        let Some(service) = read_service(node, top, phases) else { continue };
        if services.iter().any(|known| known.name == service.name) {
            let message = format!("there are two services `{}`", service.name);
            top.problems.add(node.at, message, "names of services are unique");
        }
        services.push(service);
    }
    services
}

fn read_service(node: &Node, top: &Section<'_>, phases: &Phases) -> Option<Service> {
    let section = Section::new("[[service]]", node, &key_names(SERVICE), top.problems)?;
    let names = phases.names();
    let mut service = Service { within: WITHIN, ..Service::default() };
    let complete = fill_keys(SERVICE, &section, &mut service);
    let lines =
        [("start", Some(&service.start)), ("ready", service.ready.as_ref()), ("stop", service.stop.as_ref())];
    for (key, line) in lines {
        if let (Some(line), Some(entry)) = (line, section.entry(key)) {
            // It may start before a dataset is there as files, so it finds none.
            check_line(line, entry.node.at, &Datasets::new(), top.problems);
        }
    }
    let of_phase = |key: &str, usual: Option<&&str>| {
        let Some(word) = section.get_placed(key, filled_text) else {
            return usual.map(|name| (*name).to_owned());
        };
        if phases.complete && !names.contains(&word.value.as_str()) {
            let message = format!("there is no phase `{}`", word.value);
            top.problems.add(word.at, message, suggest(&word.value, &names));
            return None;
        }
        Some(word.value)
    };
    let (from, to) = (of_phase("from", names.first()), of_phase("to", names.last()));
    let service = Service { from: from?, to: to?, ..service };
    complete?;
    if phases.complete {
        check_place(&service, &phases.list, &section);
    }
    Some(service)
}

/// A filesystem that is in use can neither be unmounted nor checked.
fn check_place(service: &Service, phases: &[Phase], section: &Section<'_>) {
    let at = |name: &str| phases.iter().position(|phase| phase.name == name);
    let (Some(from), Some(to)) = (at(&service.from), at(&service.to)) else { return };
    if from > to {
        let message = format!("`{}` comes after `{}`", service.from, service.to);
        section.problems.add(section.at, message, "a service goes on from an earlier phase to a later one");
        return;
    }
    // A service can begin with a phase that is cold, and with none that goes on to unmount it.
    let always = |phase: &Phase| {
        let is_unmounted =
            matches!(phase.work, PhaseWork::Operation(operation) if operation.needs() != Needs::Mounted);
        is_unmounted || phase.state.is_some() || phase.repeat.is_some() || phase.remake.is_some()
    };
    for (number, phase) in phases.iter().enumerate().take(to + 1).skip(from) {
        if always(phase) || phase.cold && number > from {
            let message =
                format!("`{}` unmounts the filesystem, which `{}` works on", phase.name, service.name);
            let hint = "let the service begin with it, where it is cold, or end before it: from = …, to = …";
            section.problems.add(section.at, message, hint);
        }
    }
}
