//! Datasets that commands need as files, staged in a guest's memory and on disk.

use crate::common::Place;
use crate::common::labs::staging::{all_ok, cautions, plan};

#[test]
fn uml_datasets_can_be_staged_on_disk_and_the_report_says_so() {
    let place = Place::new();
    let plan = plan(&place, "uml", "disk", 1);
    all_ok(place.run(&plan, &[]), &place);
    assert!(cautions(&place).contains("staged on disk"), "{}", cautions(&place));
}

#[test]
fn uml_datasets_that_are_most_of_a_guests_memory_are_staged_in_it() {
    let place = Place::new();
    let plan = plan(&place, "uml", "memory", 1).replace("device ", "memory = \"128MiB\"\ndevice ");
    let large = plan.replace(r#""mixed", files = 60, directories = 5, size = "2MiB""#, LARGE);
    let copied = large.replace(r#"cp -a "$TREE" "$MOUNT/tree"'"#, r#"find "$TREE" -name "*9*" | wc -l'"#);
    place.run(&copied.replace(r#"verify  = { dataset = "tree", at = "tree" }"#, ""), &[]).exits(0);
    assert_eq!(place.status("ext4").0, "ok");
}

/// Three times what the guest has for itself.
const LARGE: &str = r#""mixed", files = 400, directories = 5, size = "400MiB""#;
