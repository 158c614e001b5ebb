//! Plans that name a processor model: what they resolve to, and where they are refused.

use fsverdict_judgement::plan::{self, DEFAULT_CPU, DeviceSource, LabChoice, Overrides, Plan, digest};
use fsverdict_text::Bytes;

use super::{names, read_with, set, with_factors};

const MODELLED: &str = "model = \"nvme-ssd\"\nsize = \"4GiB\"";

fn modelled(top: &str) -> Plan {
    with_factors(MODELLED, "", top).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn computation_has_the_price_of_a_measured_processor_unless_the_plan_says_that_it_is_free() {
    let silent = modelled("");
    assert_eq!((silent.cpus(), digest(&silent)), (vec![DEFAULT_CPU], digest(&modelled("cpu = \"epyc-vm\""))));
    let free = modelled("cpu = \"free\"");
    assert!(!serde_json::to_string(&free).unwrap().contains("\"cpu\":") && free.cpus().is_empty());
    assert!(plan::write(&free).contains("cpu = \"free\""));
    // In real time, computation takes as long as this machine needs.
    for (device, top) in
        [("image = \"1GiB\"", ""), (MODELLED, "clock = \"real\""), (MODELLED, "lab = \"vm\"")]
    {
        let plan = with_factors(device, "", top).unwrap();
        assert!(plan.cpus().is_empty() && !plan::write(&plan).contains("\ncpu ="), "{device} {top}");
    }
    let priced = modelled("cpu = \"arm-board\"");
    assert_ne!(digest(&priced), digest(&silent));
    assert_eq!(priced.cpus(), ["arm-board"]);
    let written = plan::write(&priced);
    assert!(written.contains("cpu = \"arm-board\""), "{written}");
    // The command line takes it away again.
    let freed = read_with(&written, "w", &set(&["cpu=free"])).unwrap();
    assert_eq!(digest(&freed), digest(&free));
    assert_eq!(read_with(&plan::write(&free), "w", &set(&["cpu=arm-board"])).unwrap(), priced);
}

#[test]
fn processors_are_varied_like_models_and_free_is_one_of_them() {
    let plan = with_factors(MODELLED, "cpu = [\"free\", \"core2\", \"./mine.toml\"]", "cpu = \"arm-board\"")
        .unwrap();
    assert_eq!(names(&plan)[..3], ["ext4-cpu-free", "ext4-cpu-core2", "ext4-cpu-mine"]);
    let priced: Vec<_> = plan.candidates[..3].iter().map(|candidate| plan.cpu_of(candidate)).collect();
    assert_eq!(priced, [None, Some("core2"), Some("./mine.toml")]);
    let titles: Vec<String> = plan.environments().iter().map(|under| under.title()).collect();
    assert_eq!(titles, ["free computation", "processor core2", "processor mine"]);
    assert_eq!(read_with(&plan::write(&plan), "w", &Overrides::default()).unwrap(), plan);
}

#[test]
fn a_processor_goes_with_simulated_time_alone_and_must_be_known() {
    let image = "image = \"1GiB\"";
    for (device, matrix, top, told) in [
        (MODELLED, "", "cpu = \"core-2\"", "there is no processor model `core-2`"),
        (MODELLED, "cpu = [\"core-2\"]", "", "there is no processor model `core-2`"),
        (image, "", "cpu = \"core2\"", "the device is a scratch image"),
        (MODELLED, "", "cpu = \"core2\"\nclock = \"real\"", "takes this machine's time"),
        (MODELLED, "", "cpu = \"core2\"\nlab = \"vm\"", "a virtual machine's clock is this machine's"),
        (
            MODELLED,
            "",
            "cpu = \"free\"\ngoal = { metric = \"charged\" }",
            "computation has no price for `ext4`",
        ),
        (MODELLED, "cpu = [\"core2\", \"free\"]", "goal = { metric = \"charged\" }", "`ext4-cpu-free`"),
    ] {
        let error = with_factors(device, matrix, top).unwrap_err();
        assert!(error.contains(told) && error.contains("hint: "), "{top} {matrix}: {error}");
    }
    with_factors(image, "", "cpu = \"free\"").unwrap();
    with_factors(MODELLED, "", "cpu = \"core2\"\ngoal = { metric = \"charged\" }").unwrap();
}

#[test]
fn a_device_or_a_lab_in_real_time_on_the_command_line_takes_the_plans_processor_away() {
    let priced = plan::write(&modelled("cpu = \"core2\""));
    let image = || DeviceSource::Image(Bytes(1 << 30));
    let overrides =
        |device: Vec<DeviceSource>, lab, settings: &[&str]| Overrides { device, lab, ..set(settings) };
    let read = |overrides: &Overrides| read_with(&priced, "w", overrides);
    assert_eq!(read(&overrides(vec![image()], None, &[])).unwrap().cpu, None);
    assert_eq!(read(&overrides(vec![image()], Some(LabChoice::Native), &[])).unwrap().cpu, None);
    let other = DeviceSource::Model { name: "sata-ssd".to_owned(), size: Bytes(4 << 30) };
    let kept = read(&overrides(vec![other], Some(LabChoice::Uml), &[])).unwrap();
    assert_eq!(kept.cpu.as_deref(), Some("core2"));
    // One that the command line names is not taken away without a word.
    let error = read(&overrides(vec![image()], None, &["cpu=arm-board"])).unwrap_err().to_string();
    assert!(error.contains("the device is a scratch image"), "{error}");
}
