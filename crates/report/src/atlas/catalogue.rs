//! The catalogue of an atlas: the works and kinds of devices that it shows unless it is told otherwise, the candidates
//! of each kind, and facts that were measured for the documentation.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The most letters of a name in an address.
const LONGEST_NAME: usize = 60;

const TOML: &str = include_str!("catalogue.toml");

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    #[serde(rename = "work")]
    pub works: Vec<CataloguedWork>,
    #[serde(rename = "kind")]
    pub kinds: Vec<AtlasKind>,
    pub candidates: BTreeMap<String, Vec<CataloguedCandidate>>,
    #[serde(rename = "filesystem")]
    pub filesystems: Vec<CataloguedFilesystem>,
    #[serde(rename = "kernel")]
    pub kernels: Vec<KernelFigures>,
    #[serde(rename = "study")]
    pub studies: Vec<CataloguedStudy>,
}

/// A work by the preset that does it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CataloguedWork {
    pub preset: String,
    /// Completes "Which filesystem for …".
    pub about: String,
    /// The share of the preset's data.
    pub scale: Option<f64>,
}

/// A kind of device: a model, and the words for it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtlasKind {
    pub model: String,
    /// The class of real devices that it stands for; empty if none can be told to be of it.
    #[serde(default)]
    pub class: String,
    pub title: String,
    /// Completes a question: "on a USB disk".
    pub place: String,
    /// The set of candidates that is tried on it.
    pub candidates: String,
    /// The properties of such a device that decide; empty if the catalogue does not know the model.
    #[serde(default)]
    pub matters: String,
    #[serde(default)]
    pub drives: Vec<MeasuredDrive>,
}

/// A real drive, and how far the model is from it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredDrive {
    pub name: String,
    pub beside: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CataloguedCandidate {
    pub name: String,
    pub filesystem: String,
    #[serde(default)]
    pub mount: Vec<String>,
    #[serde(default)]
    pub layers: Vec<String>,
}

/// The losses of a filesystem by power cuts and rotten blocks; empty where they were not measured.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CataloguedFilesystem {
    pub name: String,
    pub title: String,
    #[serde(default)]
    pub power_cuts: String,
    #[serde(default)]
    pub rot: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelFigures {
    pub title: String,
    pub figures: String,
    /// The date, the models and the method of the measurement.
    pub base: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CataloguedStudy {
    pub preset: String,
    pub author: String,
    pub question: String,
}

impl Catalogue {
    /// The catalogue inside the program.
    ///
    /// # Errors
    /// Never, which a test shows.
    pub fn built_in() -> Result<Self, toml::de::Error> {
        toml::from_str(TOML)
    }

    /// The kind of a model; one that the catalogue does not know has no facts.
    pub fn find_kind(&self, model: &str, summary: &str) -> AtlasKind {
        let known = self.kinds.iter().find(|kind| kind.model == model || base_name(&kind.model) == model);
        known.cloned().unwrap_or_else(|| AtlasKind {
            model: model.to_owned(),
            class: String::new(),
            title: model.to_owned(),
            place: format!("on {model}: {summary}"),
            candidates: "inside".to_owned(),
            matters: String::new(),
            drives: Vec::new(),
        })
    }
}

impl AtlasKind {
    pub(super) fn page(&self) -> String {
        format!("device-{}.html", safe_name(&self.model))
    }
}

/// A name as a part of paths and addresses.
pub fn safe_name(name: &str) -> String {
    let letters = name.chars();
    let safe = letters.map(|one| if one.is_ascii_alphanumeric() { one.to_ascii_lowercase() } else { '-' });
    safe.take(LONGEST_NAME).collect()
}

/// A model's name without its state.
pub fn base_name(model: &str) -> &str {
    model.split(':').next().unwrap_or(model)
}

#[cfg(test)]
mod tests {
    use super::Catalogue;

    #[test]
    fn the_catalogue_is_whole() {
        let catalogue = Catalogue::built_in().unwrap();
        assert!(catalogue.works.len() >= 10 && catalogue.kinds.len() >= 8);
        for kind in &catalogue.kinds {
            assert!(catalogue.candidates[&kind.candidates].len() >= 8, "{}", kind.model);
        }
        let stick = catalogue.find_kind("usb3-stick", "");
        assert_eq!((stick.title.as_str(), stick.candidates.as_str()), ("USB stick", "carried"));
        assert_eq!(catalogue.find_kind("/tmp/own.toml", "a disk").place, "on /tmp/own.toml: a disk");
    }
}
