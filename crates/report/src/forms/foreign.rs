//! The formats of other tools: OpenMetrics, which Prometheus and its kin read, and the result file of the Phoronix Test
//! Suite.

use std::fmt::Write;

use maud::{Markup, PreEscaped, html};

use crate::Report;
use crate::wording::one_line;
use fsverdict_judgement::journal::{Status, Trial, Unit, metric};
use fsverdict_judgement::plan::Better;
use fsverdict_judgement::verdict::PhaseEstimate;

/// A format of another tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignFormat {
    OpenMetrics,
    Phoronix,
}

pub(crate) fn write(report: &Report<'_>, format: ForeignFormat) -> String {
    match format {
        ForeignFormat::OpenMetrics => write_metrics(report),
        ForeignFormat::Phoronix => {
            format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", write_results(report).into_string())
        }
    }
}

/// Labels of OpenMetrics, with special characters escaped.
pub(crate) fn describe_labels(labels: &[(&str, &str)]) -> String {
    let each = labels.iter().map(|(name, value)| {
        let value = one_line(value).replace('\\', "\\\\").replace('"', "\\\"");
        format!("{name}=\"{value}\"")
    });
    each.collect::<Vec<_>>().join(",")
}

/// Every estimate with its interval, and the ranking.
fn write_metrics(report: &Report<'_>) -> String {
    let run = report.judged.run.header.id.as_str();
    let mut text = String::new();
    let mut family = |name: &str, help: &str, samples: Vec<(String, f64)>| {
        let _ = writeln!(text, "# TYPE {name} gauge\n# HELP {name} {help}");
        for (labels, value) in samples {
            let _ = writeln!(text, "{name}{{{labels}}} {value}");
        }
    };
    let estimates = |value: fn(&PhaseEstimate) -> Option<f64>| -> Vec<(String, f64)> {
        let all = report.judged.estimates.iter();
        all.filter_map(|one| {
            let labels = [
                ("run", run),
                ("candidate", &one.candidate),
                ("phase", &one.phase),
                ("metric", &one.metric),
                ("unit", one.unit.word()),
            ];
            Some((describe_labels(&labels), value(one)?))
        })
        .collect()
    };
    family("fsverdict_estimate", "An estimate, in its unit.", estimates(|one| Some(one.estimate.point)));
    family(
        "fsverdict_estimate_low",
        "The lower end of its 95 % interval.",
        estimates(|one| one.estimate.low),
    );
    family(
        "fsverdict_estimate_high",
        "The upper end of its 95 % interval.",
        estimates(|one| one.estimate.high),
    );
    let ranking = report.judged.verdict.ranking.iter().map(|rank| {
        let labels = describe_labels(&[("run", run), ("candidate", &rank.candidate)]);
        (labels, rank.behind.as_ref().map_or(1.0, |behind| behind.point))
    });
    family("fsverdict_times", "How many times as much as the leader a candidate takes.", ranking.collect());
    text + "# EOF\n"
}

/// The result file: a system for each candidate, and a result for each phase in the goal's metric.
fn write_results(report: &Report<'_>) -> Markup {
    let judged = &report.judged;
    let header = &judged.run.header;
    let goal = judged.plan.goal.metric.as_str();
    let time = header.started.strftime("%Y-%m-%d %H:%M:%S").to_string();
    let client = concat!("fsverdict ", env!("CARGO_PKG_VERSION"));
    let kernel = header.kernel().map_or_else(String::new, |kernel| format!("Kernel: {}", one_line(kernel)));
    let names = judged.verdict.ranking.iter().map(|rank| rank.candidate.as_str());
    let phases = judged
        .headline()
        .filter(|phase| judged.estimates.iter().any(|one| one.phase == phase.name && one.metric == goal));
    let element = |name: &str, text: &str| {
        let text = html! { (one_line(text)) };
        PreEscaped(format!("<{name}>{}</{name}>\n", text.into_string()))
    };
    let open = |name: &str| PreEscaped(format!("<{name}>\n"));
    let close = |name: &str| PreEscaped(format!("</{name}>\n"));
    html! {
        (open("PhoronixTestSuite"))
        (open("Generated"))
        (element("Title", &header.title)) (element("Description", &report.sentence)) (element("Notes", &header.fidelity))
        (element("LastModified", &time)) (element("TestClient", client)) (element("InternalTags", ""))
        (element("ReferenceID", "")) (element("PreSetEnvironmentVariables", ""))
        (close("Generated"))
        @for name in names {
            @let filesystem = judged.plan.find_candidate(name).map_or("", |candidate| candidate.filesystem.as_str());
            (open("System"))
            (element("Identifier", name)) (element("TestClientVersion", client))
            (element("Hardware", &describe_hardware(report))) (element("Software", &format!("{kernel}, File-System: {filesystem}")))
            (element("User", "")) (element("TimeStamp", &time)) (element("Notes", ""))
            (close("System"))
        }
        @for phase in phases {
            @let found: Vec<&PhaseEstimate> = judged.estimates.iter().filter(|one| one.phase == phase.name && one.metric == goal).collect();
            @let unit = found.first().map_or(Unit::Seconds, |one| one.unit);
            @let known = metric(goal);
            (open("Result"))
            (element("Identifier", "")) (element("ProfileVersion", "")) (element("Title", &header.title)) (element("AppVersion", ""))
            (element("Arguments", &phase.name)) (element("Description", &format!("Phase: {}", phase.name)))
            (element("Scale", if unit == Unit::Seconds { "Seconds" } else { unit.word() }))
            (element("Proportion", if known.is_some_and(|known| known.better == Better::Higher) { "HIB" } else { "LIB" }))
            (element("DisplayFormat", "BAR_GRAPH"))
            (open("Data"))
            @for one in found {
                (open("Entry"))
                (element("Identifier", &one.candidate)) (element("Value", &one.estimate.point.to_string()))
                (element("RawString", &list_values(report, one)))
                (close("Entry"))
            }
            (close("Data"))
            (close("Result"))
        }
        (close("PhoronixTestSuite"))
    }
}

fn describe_hardware(report: &Report<'_>) -> String {
    let facts = &report.judged.run.header.environment;
    let fact = |name: &str, label: &str| facts.get(name).map(|value| format!("{label}: {value}"));
    let parts = [fact("cpu.model", "Processor"), fact("device.kind", "Disk")];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The values of single trials, as the suite has them: with colons between.
fn list_values(report: &Report<'_>, of: &PhaseEstimate) -> String {
    let is_own = |trial: &&&Trial| trial.id.candidate == of.candidate && trial.status == Status::Ok;
    let values = report.judged.trials.iter().filter(is_own).flat_map(|trial| &trial.observations);
    let values = values.filter(|one| one.phase == of.phase).flat_map(|one| &one.measurements);
    let values = values.filter(|one| one.metric == of.metric).map(|one| one.value.to_string());
    values.collect::<Vec<_>>().join(":")
}

#[cfg(test)]
mod tests {
    use super::ForeignFormat;
    use crate::Format;
    use crate::fixtures::{demo, page_of};

    #[test]
    fn metrics_end_as_the_standard_wants_and_each_family_is_described_once() {
        let text = page_of(demo(3).finish(), None, Format::Foreign(ForeignFormat::OpenMetrics));
        assert!(text.ends_with("# EOF\n"));
        assert_eq!(text.matches("# TYPE fsverdict_estimate gauge").count(), 1);
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        for sample in samples {
            let (_, value) = sample.rsplit_once(' ').unwrap();
            assert!(value.parse::<f64>().is_ok(), "{sample}");
        }
    }

    #[test]
    fn a_result_file_has_the_elements_of_its_schema_in_their_order() {
        let mut story = demo(3);
        story.plan.title = "a <b> & \"c\"".to_owned();
        let text = page_of(story.finish(), None, Format::Foreign(ForeignFormat::Phoronix));
        assert!(text.starts_with("<?xml ") && !text.contains("<b>"), "{text}");
        for order in [
            [
                "<Generated>",
                "<Title>",
                "<LastModified>",
                "<TestClient>",
                "<System>",
                "<Hardware>",
                "<Result>",
                "<Scale>",
            ],
            [
                "<Proportion>",
                "<DisplayFormat>",
                "<Data>",
                "<Entry>",
                "<Value>",
                "<RawString>",
                "</Result>",
                "</PhoronixTestSuite>",
            ],
        ] {
            let places: Vec<usize> =
                order.iter().map(|name| text.find(name).unwrap_or_else(|| panic!("{name}"))).collect();
            assert!(places.is_sorted(), "{places:?}");
        }
    }
}
