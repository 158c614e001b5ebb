//! Compares modelled devices with closed forms computed from a model's parameters.

use super::{Checked, disk_forms, flash_firmware_forms, flash_forms, platter_forms};

type Form = (&'static str, fn() -> Checked);

const FORMS: &[Form] = &[
    ("sequential reads", disk_forms::sequential_reads),
    ("sequential writes", disk_forms::sequential_writes),
    ("random reads", disk_forms::random_reads),
    ("elevator", disk_forms::elevator),
    ("queue", disk_forms::queue),
    ("open units", flash_forms::open_units),
    ("flashbench", flash_forms::flashbench),
    ("shingles", disk_forms::shingles),
    ("write amplification", flash_forms::write_amplification),
    ("solid state rates", flash_forms::solid_state_rates),
    ("write through", flash_forms::write_through),
    ("fast cells", flash_firmware_forms::fast_cells),
    ("folding when idle", flash_firmware_forms::folding_when_idle),
    ("map cache", flash_firmware_forms::map_cache),
    ("page registers", flash_firmware_forms::page_registers),
    ("read ahead", flash_firmware_forms::read_ahead),
    ("part of a drive", flash_firmware_forms::part_of_a_drive),
    ("flushes", disk_forms::flushes),
    ("layout", platter_forms::layout),
    ("through", platter_forms::through),
    ("on arrival", platter_forms::on_arrival),
    ("turn", platter_forms::turn),
    ("written stay", platter_forms::written_stay),
    ("overheads", platter_forms::overheads),
    ("early arm", platter_forms::early_arm),
    ("fill", platter_forms::fill),
    ("how far ahead", platter_forms::how_far_ahead),
    ("ahead from the second", platter_forms::ahead_from_second),
    ("breaks off", platter_forms::breaks_off),
    ("taking", platter_forms::taking),
];

#[test]
fn devices_give_what_their_numbers_say() {
    let wrong: Vec<String> = FORMS
        .iter()
        .filter_map(|(name, form)| form().err().map(|error| format!("{name}: {error}")))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
