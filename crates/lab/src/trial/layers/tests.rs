//! Layers that are made, opened, filled and closed in the right order, whatever fails.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::act::Act;
use super::super::arrangement::{Below, LayerSite};
use super::super::error::TrialError;
use super::super::spec::TrialSpec;
use super::super::steps::TrialCourse;
use super::{Mapper, OpenLayer, OpenLayers, OpenNode, mapping_name};
use fsverdict_judgement::plan::{Candidate, Layers};
use fsverdict_stack::layer::{Layer, LayerKind, LayerLine};

const fn layer(name: &'static str, make: Option<LayerLine>, open: LayerLine) -> Layer {
    Layer {
        name,
        nodes: &["/dev/mapper/control"],
        options: |_| Ok(1),
        make,
        open,
        mark: Some(LayerLine { step: "mark", argv: |site| vec!["mark".to_owned(), site.name.to_owned()] }),
        ..Layer::PLAIN
    }
}

const MAKE: LayerLine =
    LayerLine { step: "make", argv: |site| ["make", site.device(), site.key].map(str::to_owned).into() };
const OPEN: LayerLine =
    LayerLine { step: "open", argv: |site| ["open", site.device(), site.name].map(str::to_owned).into() };
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
    fn run_required(&mut self, _: &str, argv: Vec<String>) -> Result<(), TrialError> {
        self.record.push(argv.join(" "));
        match self.fails {
            Some([program, name]) if argv[0] == program && argv.last().unwrap() == name => {
                Err(TrialError::Host(format!("{program} failed")))
            }
            _ => Ok(()),
        }
    }

    fn run_recorded(&mut self, step: &str, argv: Vec<String>) -> Result<(), TrialError> {
        self.run_required(step, argv)
    }

    fn total_bytes(&mut self, _: &[String]) -> Option<u64> {
        None
    }

    fn write_key(&mut self) -> Result<&'static str, TrialError> {
        Ok("KEY")
    }

    fn open_node(&mut self, _: LayerKind, name: &str) -> Result<OpenNode, TrialError> {
        self.open.push(name.to_owned());
        let path = format!("/dev/dm-{}", self.open.len() - 1).into();
        Ok(OpenNode { path, held: File::open("/dev/null").unwrap() })
    }

    fn becomes_free(&mut self, _: &Path) {}

    fn wait_until_gone(&mut self, _: LayerKind, name: &str, _: &Path) -> bool {
        self.record.push(format!("{name} goes"));
        !self.stays.contains(&name)
    }
}

/// Walks the steps of a trial as the agent does, as far as they are about layers.
fn walk(fake: &mut Fake) -> (Option<String>, Vec<String>) {
    let candidate = Candidate {
        layers: Layers::from_names(["lower", "upper"]).unwrap(),
        ..Candidate::with_defaults("ext4")
    };
    let spec = TrialSpec::without_work(candidate, 1, Duration::from_secs(1));
    let course = TrialCourse::for_trial(&spec);
    // They are in no registry, where the arrangement would look for them; on one device it is this.
    let closed = |(layer, below): (&'static Layer, Below)| OpenLayer {
        layer,
        options: String::new(),
        site: LayerSite { layer: usize::from(below != Below::Device(1)), below: vec![below], device: 1 },
        node: None,
        held: None,
    };
    let each = [(&LOWER, Below::Device(1)), (&UPPER, Below::Site(0))].map(closed);
    let mut layers = OpenLayers { each: each.into() };
    let devices = [PathBuf::from("/dev/loop7")];
    let mut act = |act: Act<'_>| match act {
        Act::Layer(at, of) => layers.run_layer_act(at, of, &devices, fake),
        _ => Ok(()),
    };
    let failed = course
        .steps
        .iter()
        .flat_map(super::super::steps::Step::all_acts)
        .find_map(|step_act| act(step_act).err());
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
    assert_eq!(mapping_name("sda", 2), "fsverdict-sda-3");
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
