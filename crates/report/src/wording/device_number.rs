//! Describes the numbers that vary within a class of devices, in words that need no knowledge of the models.

use fsverdict_text::DrawnNumber;

/// Each number by its key in a model's file, as a phrase that follows "by" and "depends on".
const NUMBERS: [(&str, &str); 46] = [
    ("cache.delay_ms", "how long its cache waits before it writes back"),
    ("cache.flush_us", "the time that a flush adds"),
    ("cache.size", "the size of its cache"),
    ("cache.window", "among how many writes its cache looks for the nearest"),
    ("flash.channel_mb_s", "the rate of a channel of its flash"),
    ("flash.channels", "the number of channels of its flash"),
    ("flash.dies_per_channel", "the number of flash dies on a channel"),
    ("flash.elsewhere", "how full the rest of the drive is"),
    ("flash.erase_ms", "the time to erase a block of flash"),
    ("flash.fast_program_us", "the time to program a page of its fast cells"),
    ("flash.fast_read_us", "the time to read a page of its fast cells"),
    ("flash.fast_share", "the share of free flash that serves as fast cells"),
    ("flash.fast_size", "the size of the fast cells that it always has"),
    ("flash.fold_delay_ms", "how long it is idle before it moves data out of fast cells"),
    ("flash.fold_first", "what it does when its fast cells are full"),
    ("flash.map_cache", "how much of its mapping table is in memory"),
    ("flash.over_provisioning", "how much spare flash it has"),
    ("flash.program_us", "the time to program a page of flash"),
    ("flash.read_ahead", "how far it reads ahead"),
    ("flash.read_us", "the time to read a page of flash"),
    ("link.command_us", "the time of a command on its link"),
    ("link.mb_s", "the rate of its link"),
    ("link.read_us", "the time that its firmware adds to a read"),
    ("link.write_us", "the time that its firmware adds to a write"),
    ("platter.head_switch_ms", "the time to switch heads"),
    ("platter.heads", "the number of its heads"),
    ("platter.inner_mb_s", "the rate of its inner tracks"),
    ("platter.on_arrival", "whether it keeps the sectors that pass under the head before the wanted one"),
    ("platter.outer_mb_s", "the rate of its outer tracks"),
    ("platter.read_ahead", "how far it reads ahead"),
    ("platter.rpm", "its speed of rotation"),
    ("platter.seek.average_ms", "its average seek time"),
    ("platter.seek.minimum_ms", "its shortest seek time"),
    ("platter.segments", "for how many readers it reads ahead"),
    ("platter.through", "whether it goes on reading through a gap"),
    ("platter.write_settle_ms", "the time that the head settles before a write"),
    ("platter.zones", "the number of its zones"),
    ("units.copy_mb_s", "the rate at which it copies a unit of flash"),
    ("units.erase_ms", "the time to erase a unit of flash"),
    ("units.log_pages", "how many small writes it collects before it copies a unit"),
    ("units.open", "in how many places it can write at once"),
    ("units.read_mb_s", "the rate at which it reads"),
    ("units.read_us", "the time that its firmware adds to a read"),
    ("units.unit", "the size of a unit of its flash"),
    ("units.write_mb_s", "the rate at which it writes"),
    ("units.write_us", "the time that its firmware adds to a write"),
];

/// The numbers that are true or false: the device when it is false, and when it is true, after "a device that".
const FLAGS: [(&str, [&str; 2]); 3] = [
    ("flash.fold_first", ["then writes to its slow cells", "then makes room in its fast cells first"]),
    ("platter.on_arrival", ["does not keep them", "keeps them"]),
    ("platter.through", ["begins anew behind a gap", "goes on reading through a gap"]),
];

/// `how far it reads ahead (platter.read_ahead)`; the key alone if it is one of a user's own.
pub fn describe_number(key: &str) -> String {
    match NUMBERS.iter().find(|(known, _)| *known == key) {
        Some((_, words)) => format!("{words} ({key})"),
        None => key.to_owned(),
    }
}

/// `where it keeps them`, `where that is 8 to 12`.
pub(crate) fn describe_value(key: &str, from: DrawnNumber, to: DrawnNumber) -> String {
    let flag = FLAGS.iter().find(|(known, _)| *known == key);
    match (from, flag) {
        (DrawnNumber::Flag(is), Some((_, [without, with]))) => {
            format!("where it {}", if is { with } else { without })
        }
        _ => format!("where that is {}", format_values(from, to)),
    }
}

/// `true`, `8`, `256 KiB to 1.2 MiB`.
pub(crate) fn format_values(from: DrawnNumber, to: DrawnNumber) -> String {
    match (from, to) {
        (DrawnNumber::Flag(flag), _) => flag.to_string(),
        (from, to) if from == to => from.to_string(),
        (from, to) => format!("{from} to {to}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{FLAGS, NUMBERS, describe_number, describe_value};
    use fsverdict_text::DrawnNumber;

    #[test]
    fn a_number_is_described_and_one_of_a_users_own_keeps_its_key() {
        assert_eq!(describe_number("platter.read_ahead"), "how far it reads ahead (platter.read_ahead)");
        assert_eq!(describe_number("mine.number"), "mine.number");
        let flag = DrawnNumber::Flag(true);
        assert_eq!(describe_value("platter.on_arrival", flag, flag), "where it keeps them");
        let (from, to) = (DrawnNumber::Number(2.0), DrawnNumber::Number(4.0));
        assert_eq!(describe_value("flash.channels", from, to), "where that is 2 to 4");
        assert!(NUMBERS.is_sorted() && FLAGS.is_sorted());
    }
}
