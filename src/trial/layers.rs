//! The layers of a trial, in the order they lie in: each is made and opened on the one below, held open, and gone again with
//! its last user, which is the descriptor kept here.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::layer::{Layer, LayerLine, LayerPlace};
use fsverdict_judgement::plan::Candidate;

use super::act::OfLayer;
use super::error::TrialError;

/// What layers ask of the machine they are opened on.
pub(super) trait Mapper {
    /// Runs a program; it must end well.
    fn must(&mut self, step: &str, argv: Vec<String>) -> Result<(), TrialError>;

    /// Runs a program for the record, however it ends.
    fn note(&mut self, step: &str, argv: Vec<String>) -> Result<(), TrialError>;

    /// Puts the key where it is looked for; the path of the file.
    fn key(&mut self) -> Result<&'static str, TrialError>;

    /// The kernel's own node of the device of this name, and what holds it open. The one below /dev/mapper goes when its
    /// removal is asked for.
    fn opened(&mut self, name: &str) -> Result<(PathBuf, File), TrialError>;

    /// Whether the device of this name goes in time.
    fn goes(&mut self, name: &str) -> bool;
}

#[derive(Debug, Default)]
pub(super) struct OpenLayers {
    each: Vec<OpenLayer>,
}

#[derive(Debug)]
struct OpenLayer {
    layer: &'static Layer,
    /// The kernel's node, once it was opened.
    node: Option<PathBuf>,
    held: Option<File>,
}

/// The name of a candidate's layer for the device mapper, counted from the device up. It is unique on the machine, so that
/// `fsverdict clean` can tell ours and two runs do not collide.
pub(super) fn mapping(device: &str, at: usize) -> String {
    if at == 0 { format!("fsverdict-{device}") } else { format!("fsverdict-{device}-{}", at + 1) }
}

impl OpenLayers {
    /// The layers of a candidate, none of them open.
    pub(super) fn of(candidate: &Candidate) -> Result<Self, TrialError> {
        let find = |name: &str| {
            crate::layer::find(name).ok_or_else(|| TrialError::Unknown(format!("layer `{name}`")))
        };
        Ok(Self::closed(candidate.layers.names().map(find).collect::<Result<Vec<_>, _>>()?))
    }

    fn closed(layers: impl IntoIterator<Item = &'static Layer>) -> Self {
        let closed = |layer| OpenLayer { layer, node: None, held: None };
        OpenLayers { each: layers.into_iter().map(closed).collect() }
    }

    /// The nodes of those that are open, the topmost first.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &Path> {
        self.each.iter().rev().filter_map(|one| one.node.as_deref())
    }

    /// The nodes below `/dev` that their programs need.
    pub(super) fn needs(&self) -> impl Iterator<Item = &'static Path> {
        self.each.iter().flat_map(|one| one.layer.nodes).map(Path::new)
    }

    /// Does one thing with the layer of this number, counted from the device up.
    pub(super) fn act(
        &mut self,
        at: usize,
        act: OfLayer,
        device: &Path,
        mapper: &mut dyn Mapper,
    ) -> Result<(), TrialError> {
        let layer = self.at(at)?.layer;
        match act {
            OfLayer::Make => self.run(layer.make, at, device, mapper),
            OfLayer::Open => self.open(at, device, mapper),
            OfLayer::Mark => self.run(Some(layer.mark), at, device, mapper),
            OfLayer::Describe => {
                let Some(line) = layer.describe else { return Ok(()) };
                let argv = self.argv(line, at, device, mapper)?;
                mapper.note(line.step, argv)
            }
            OfLayer::Close => self.close(at, device, mapper),
        }
    }

    fn run(
        &self,
        line: Option<LayerLine>,
        at: usize,
        device: &Path,
        mapper: &mut dyn Mapper,
    ) -> Result<(), TrialError> {
        let Some(line) = line else { return Ok(()) };
        let argv = self.argv(line, at, device, mapper)?;
        mapper.must(line.step, argv)
    }

    /// Holds it open until the trial ends.
    fn open(&mut self, at: usize, device: &Path, mapper: &mut dyn Mapper) -> Result<(), TrialError> {
        self.run(Some(self.at(at)?.layer.open), at, device, mapper)?;
        let (node, held) = mapper.opened(&mapping(&name_of(device), at))?;
        if let Some(one) = self.each.get_mut(at) {
            (one.node, one.held) = (Some(node), Some(held));
        }
        Ok(())
    }

    /// Lets go of it, if it is open, and waits until it is gone.
    fn close(&mut self, at: usize, device: &Path, mapper: &mut dyn Mapper) -> Result<(), TrialError> {
        let Some(one) = self.each.get_mut(at) else { return Ok(()) };
        one.held = None;
        let name = mapping(&name_of(device), at);
        if one.node.is_some() && !mapper.goes(&name) {
            let left = format!("the device {name} of the layer {} is still there", one.layer.name);
            return Err(TrialError::Host(left));
        }
        one.node = None;
        Ok(())
    }

    fn at(&self, at: usize) -> Result<&OpenLayer, TrialError> {
        self.each.get(at).ok_or_else(|| TrialError::Host(format!("there is no layer {}", at + 1)))
    }

    fn argv(
        &self,
        line: LayerLine,
        at: usize,
        device: &Path,
        mapper: &mut dyn Mapper,
    ) -> Result<Vec<String>, TrialError> {
        let below = match at.checked_sub(1) {
            None => device,
            Some(below) => {
                let node = self.at(below)?.node.as_deref();
                node.ok_or_else(|| TrialError::Host(format!("the layer below layer {} is not open", at + 1)))?
            }
        };
        let (below, name) = (below.to_string_lossy(), mapping(&name_of(device), at));
        Ok((line.argv)(&LayerPlace { below: &below, name: &name, key: mapper.key()? }))
    }
}

fn name_of(device: &Path) -> String {
    device.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use super::super::act::Act;
    use super::super::error::TrialError;
    use super::super::spec::TrialSpec;
    use super::super::steps::TrialCourse;
    use super::{Mapper, OpenLayers, mapping};
    use crate::layer::{InUse, Layer, LayerLine};
    use fsverdict_judgement::plan::{Candidate, Layers};

    const fn layer(name: &'static str, make: Option<LayerLine>, open: LayerLine) -> Layer {
        Layer {
            name,
            summary: "",
            tools: &[],
            config: &[],
            modules: &[],
            driver: "",
            nodes: &["/dev/mapper/control"],
            header: 0,
            usual: false,
            free_cpu: None,
            make,
            open,
            mark: LayerLine { step: "mark", argv: |site| vec!["mark".to_owned(), site.name.to_owned()] },
            describe: None,
            in_use: InUse { lines: |_| Vec::new(), at_boot: None, note: None },
        }
    }

    const MAKE: LayerLine =
        LayerLine { step: "make", argv: |site| ["make", site.below, site.key].map(str::to_owned).into() };
    const OPEN: LayerLine =
        LayerLine { step: "open", argv: |site| ["open", site.below, site.name].map(str::to_owned).into() };
    static LOWER: Layer = layer("lower", Some(MAKE), OPEN);
    /// One that has nothing to make.
    static UPPER: Layer = layer("upper", None, OPEN);

    /// A machine that keeps a record, on which these things go wrong.
    #[derive(Default)]
    struct Fake {
        record: Vec<String>,
        open: Vec<String>,
        /// A program by its first word and the name that it is given.
        fails: Option<[&'static str; 2]>,
        stays: Vec<&'static str>,
    }

    impl Mapper for Fake {
        fn must(&mut self, _: &str, argv: Vec<String>) -> Result<(), TrialError> {
            self.record.push(argv.join(" "));
            match self.fails {
                Some([program, name]) if argv[0] == program && argv.last().unwrap() == name => {
                    Err(TrialError::Host(format!("{program} failed")))
                }
                _ => Ok(()),
            }
        }

        fn note(&mut self, step: &str, argv: Vec<String>) -> Result<(), TrialError> {
            self.must(step, argv)
        }

        fn key(&mut self) -> Result<&'static str, TrialError> {
            Ok("KEY")
        }

        fn opened(&mut self, name: &str) -> Result<(PathBuf, File), TrialError> {
            self.open.push(name.to_owned());
            let node = format!("/dev/dm-{}", self.open.len() - 1);
            Ok((node.into(), File::open("/dev/null").unwrap()))
        }

        fn goes(&mut self, name: &str) -> bool {
            self.record.push(format!("{name} goes"));
            !self.stays.contains(&name)
        }
    }

    /// Walks the steps of a trial as the agent does, as far as they are about layers.
    fn walk(fake: &mut Fake) -> (Option<String>, Vec<String>) {
        let candidate =
            Candidate { layers: Layers::of(["lower", "upper"]).unwrap(), ..Candidate::plain("ext4") };
        let spec = TrialSpec::without_work(candidate, 1, Duration::from_secs(1));
        let course = TrialCourse::of(&spec);
        let mut layers = OpenLayers::closed([&LOWER, &UPPER]);
        let mut act = |act: Act<'_>| match act {
            Act::Layer(at, of) => layers.act(at, of, Path::new("/dev/loop7"), fake),
            _ => Ok(()),
        };
        let failed =
            course.steps.iter().flat_map(super::super::steps::Step::acts).find_map(|one| act(one).err());
        (failed.map(|error| error.to_string()), course.last.past_errors(act))
    }

    const UP: [&str; 5] = [
        "make /dev/loop7 KEY",
        "open /dev/loop7 fsverdict-loop7",
        "mark fsverdict-loop7",
        "open /dev/dm-0 fsverdict-loop7-2",
        "mark fsverdict-loop7-2",
    ];

    #[test]
    fn layers_are_opened_from_the_device_up_and_closed_from_the_top_down() {
        let mut fake = Fake::default();
        assert_eq!(walk(&mut fake), (None, Vec::new()));
        let down = ["fsverdict-loop7-2 goes", "fsverdict-loop7 goes"];
        assert_eq!(fake.record, [&UP[..], &down].concat());
        assert_eq!(mapping("sda", 2), "fsverdict-sda-3");
    }

    #[test]
    fn what_was_opened_is_closed_where_the_next_fails_to_open() {
        let mut fake = Fake { fails: Some(["open", "fsverdict-loop7-2"]), ..Fake::default() };
        assert_eq!(walk(&mut fake), (Some("open failed".to_owned()), Vec::new()));
        // The one that never opened is waited for by nobody.
        assert_eq!(fake.record, [&UP[..4], &["fsverdict-loop7 goes"]].concat());
    }

    #[test]
    fn where_the_first_is_not_made_nothing_is_opened_or_closed() {
        let mut fake = Fake { fails: Some(["make", "KEY"]), ..Fake::default() };
        assert_eq!(walk(&mut fake), (Some("make failed".to_owned()), Vec::new()));
        assert_eq!(fake.record, UP[..1]);
    }

    #[test]
    fn each_that_stays_is_told_and_none_keeps_another_from_being_closed() {
        let mut fake = Fake { stays: vec!["fsverdict-loop7", "fsverdict-loop7-2"], ..Fake::default() };
        let (failed, left) = walk(&mut fake);
        assert_eq!(failed, None);
        let told = [
            "the device fsverdict-loop7-2 of the layer upper is still there",
            "the device fsverdict-loop7 of the layer lower is still there",
        ];
        assert_eq!(left, told);
        assert_eq!(fake.record.len(), UP.len() + 2);
    }
}
