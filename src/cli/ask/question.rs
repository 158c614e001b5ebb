//! A question with its work, device and processor resolved, from parsed words and options of the command line.

use fsverdict_judgement::plan::{Candidate, RequiredProperty, once_each};

use super::super::CliError;
use super::devices::{AskedDevice, choose_device};
use super::features::{Feature, Wish};
use super::lexicon::WorkKind;
use super::parsed::{ParsedQuestion, Worded};
use super::usage;
use super::works::{AskedWork, ExaminedFault, choose_work};

/// A question that can be turned into a plan.
pub(super) struct Question {
    pub(super) work: Worded<AskedWork>,
    pub(super) device: Option<AskedDevice>,
    /// The processor of the place that is named.
    pub(super) cpu: Option<Worded<&'static str>>,
    /// Faults that the candidates are examined for besides their work.
    pub(super) faults: Vec<Worded<&'static ExaminedFault>>,
    /// All else that the words say.
    pub(super) parsed: ParsedQuestion,
    /// Words that the user leaves out.
    pub(super) ignored: Vec<String>,
}

impl Question {
    /// # Errors
    /// Fails if there is no work or more than one, more than one device, or a device that cannot be had.
    pub(super) fn new(
        mut parsed: ParsedQuestion,
        work: Option<&str>,
        device: Option<&str>,
        ignored: &[String],
    ) -> Result<Self, CliError> {
        let (work, faults) = choose_work(&mut parsed, work)?;
        if parsed.places.iter().any(|part| part.value != parsed.places[0].value) {
            let names: Vec<&str> = parsed.places.iter().map(|part| part.words.as_str()).collect();
            let what = format!("more than one place is named: {}", names.join(", "));
            return Err(usage(what, "one question is about one place"));
        }
        let place = parsed.places.first();
        let cpu = place.and_then(|place| Some(Worded::new(place.value.cpu?, &place.words)));
        let device = choose_device(&parsed, device, &work.value)?;
        Ok(Question { work, device, cpu, faults, parsed, ignored: ignored.to_vec() })
    }

    /// The required properties.
    pub(super) fn properties(&self) -> Vec<RequiredProperty> {
        once_each(self.parsed.wished(Wish::Required).filter_map(|part| part.feature.property))
    }

    /// Whether the words name the candidate's filesystem.
    pub(super) fn names_filesystem(&self, candidate: &Candidate) -> bool {
        self.parsed.candidates.iter().any(|part| part.value.filesystem.name == candidate.filesystem)
    }

    /// The name of the preset, or of the plan for a folder.
    pub(super) fn name(&self) -> &'static str {
        self.preset().map_or("folder", |work| work.preset.name)
    }

    pub(super) fn preset(&self) -> Option<&'static WorkKind> {
        match &self.work.value {
            AskedWork::Preset(work) => Some(work),
            AskedWork::Folder(_) => None,
        }
    }

    /// Whether encrypted candidates are tried: the question mentions encryption, or it is about a preset that always has them.
    pub(super) fn mentions_encryption(&self) -> bool {
        !self.preset().is_some_and(|work| work.ask.encrypted_on_request)
            || self.parsed.asks(Wish::Required, Feature::ENCRYPTION)
            || self.parsed.asks(Wish::Compared, Feature::ENCRYPTION)
    }

    /// The plan's text before anything of it is changed: the preset's, or one with the usual work on files.
    ///
    /// # Errors
    /// Fails if a folder's name is no text.
    pub(super) fn text(&self) -> Result<String, CliError> {
        let folder = match &self.work.value {
            AskedWork::Preset(work) => return Ok(work.preset.toml.to_owned()),
            AskedWork::Folder(folder) => folder,
        };
        let path = folder.to_str().ok_or_else(|| {
            usage(
                format!("{} has a name that no plan can hold", folder.display()),
                "a plan is text in UTF-8; rename the folder, or name one above it",
            )
        })?;
        Ok(folder_plan(path))
    }
}

/// A plan for a folder: no preset knows its content. `path` is absolute.
fn folder_plan(path: &str) -> String {
    let escape = |letter: char| match letter {
        '"' | '\\' => format!("\\{letter}"),
        control if control.is_control() => format!("\\U{:08X}", u32::from(control)),
        other => other.to_string(),
    };
    include_str!("folder.toml").replace("{path}", &path.chars().map(escape).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::folder_plan;

    #[test]
    fn a_folder_s_name_stays_within_its_string() {
        let text = folder_plan("/a\"b\\c\nd");
        assert!(text.contains("path = \"/a\\\"b\\\\c\\U0000000Ad\"\n"), "{text}");
    }
}
