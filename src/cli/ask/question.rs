//! A question as far as it was understood: what it changes of a plan, and how it is told before it is asked.

use std::path::PathBuf;

use fsverdict_disk::device::Model;
use fsverdict_judgement::plan::{DeviceSource, Plan, Preset, RequiredProperty, contestants};
use fsverdict_report::listing;
use fsverdict_text::{Bytes, Reason, duration_text, quoted};

use super::super::CliError;
use super::folder::folder_plan;

/// What is to be found out, as far as it was understood.
pub(super) struct Question {
    pub(super) work: AskedWork,
    pub(super) device: Option<AskedDevice>,
    pub(super) must: Vec<RequiredProperty>,
}

/// Where a plan names the models of its devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlanModels {
    /// Several, among which candidates are not compared.
    Matrix,
    Device,
    None,
}

pub(super) enum AskedWork {
    Preset(&'static Preset),
    Folder(PathBuf),
}

/// What it is asked of.
pub(super) struct AskedDevice {
    pub(super) source: DeviceSource,
    /// For people.
    pub(super) shown: String,
}

impl Question {
    /// The plan before its settings, and what it is called.
    pub(super) fn plan_text(&self) -> Result<(String, String), CliError> {
        match &self.work {
            AskedWork::Preset(preset) => Ok((preset.toml.to_owned(), preset.name.to_owned())),
            AskedWork::Folder(folder) => {
                let path = folder.to_str().ok_or_else(|| {
                    CliError::Usage(Reason::new(
                        format!("{} has a name that no plan can hold", folder.display()),
                        "a plan is text in UTF-8; rename the folder, or name one above it",
                    ))
                })?;
                Ok((folder_plan(path), "folder".to_owned()))
            }
        }
    }

    /// What the question changes of the plan.
    pub(super) fn settings(&self) -> Vec<String> {
        let mut set: Vec<String> =
            self.must.iter().map(|property| format!("goal.require.{}=true", property.word())).collect();
        let has = |property| self.must.contains(&property);
        if has(RequiredProperty::Encryption) && !self.has_layers() {
            if !self.has_matrix() {
                // All candidates of the plan are named, none of them encrypted.
                set.push("matrix.filesystem=[\"ext4\", \"xfs\", \"btrfs\"]".to_owned());
            }
            set.push("matrix.encryption=[\"luks2\"]".to_owned());
        }
        if (has(RequiredProperty::Windows) || has(RequiredProperty::Macos)) && !self.names_foreign() {
            set.push("matrix.filesystem=[\"exfat\", \"ntfs3\", \"vfat\"]".to_owned());
        }
        if let Some(AskedDevice { source: DeviceSource::Model { name, .. }, .. }) = &self.device {
            match self.models() {
                PlanModels::Matrix => set.push(format!("matrix.model=[\"{name}\"]")),
                PlanModels::Device => {
                    set.push(format!("device.model=\"{name}\""));
                    set.extend(self.smaller_device(name).map(|size| format!("device.size=\"{size}B\"")));
                }
                PlanModels::None => {}
            }
        }
        set
    }

    /// How large a device is that cannot be as large as the plan's, where that is of terabytes.
    fn smaller_device(&self, name: &str) -> Option<u64> {
        const TERABYTES: u64 = 2_000_000_000_000;
        const ENOUGH: u64 = 64_000_000_000;
        let capacity = Model::named(name.split(':').next().unwrap_or(name)).ok()?.capacity();
        (self.preset_has("\nsize  = \"2TB\"") && capacity < TERABYTES).then_some(capacity.min(ENOUGH))
    }

    /// Whether it is asked by a preset in whose text this stands.
    fn preset_has(&self, text: &str) -> bool {
        matches!(&self.work, AskedWork::Preset(preset) if preset.toml.contains(text))
    }

    fn has_matrix(&self) -> bool {
        matches!(self.work, AskedWork::Folder(_)) || self.preset_has("\n[matrix]")
    }

    /// Whether the plan names candidates that other systems read: the rest is ruled out by what is required.
    fn names_foreign(&self) -> bool {
        self.preset_has("filesystem = \"exfat\"")
    }

    /// Whether the plan says itself which layers are tried: those without encryption are left out then.
    fn has_layers(&self) -> bool {
        self.preset_has("\nlayers")
    }

    /// Where the plan names its models; the size of a device is the plan's own, which knows how much is written.
    fn models(&self) -> PlanModels {
        match &self.work {
            AskedWork::Preset(preset) if preset.toml.contains("\nmodel      = [") => PlanModels::Matrix,
            AskedWork::Preset(preset) if !preset.toml.contains("\nmodel = ") => PlanModels::None,
            _ => PlanModels::Device,
        }
    }

    /// What is put in the place of the plan's device as a whole.
    pub(super) fn replaced_device(&self) -> Option<DeviceSource> {
        let source = &self.device.as_ref()?.source;
        let in_place = matches!(source, DeviceSource::Model { .. }) && self.models() != PlanModels::None;
        (!in_place).then(|| source.clone())
    }

    pub(super) fn told(&self, name: &str, plan: &Plan) -> String {
        let work = match &self.work {
            AskedWork::Preset(preset) => format!("{} (preset {name})", preset.summary),
            AskedWork::Folder(folder) => format!(
                "up to {} of {}: copied, read back, searched and removed",
                Bytes(200_000_000),
                quoted(&folder.to_string_lossy())
            ),
        };
        let device = self.device.as_ref().map_or("the plan's own".to_owned(), |device| device.shown.clone());
        let must = match self.must.as_slice() {
            [] => String::new(),
            all => {
                format!("; must have: {}", all.iter().map(|one| one.word()).collect::<Vec<_>>().join(", "))
            }
        };
        let names: Vec<&str> = contestants(plan).map(|candidate| candidate.name.as_str()).collect();
        let time = plan.protocol.budget.map_or(String::new(), |time| {
            format!("; time: up to {} (--for), and less where it is decided before", duration_text(time))
        });
        format!("work: {work}; device: {device}{must}; candidates: {}{time}", listing(&names, 8))
    }
}
