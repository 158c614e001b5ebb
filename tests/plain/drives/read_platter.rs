//! Reads what is published of a drive in DiskSim's form, and writes it down as a model.

use std::fmt::Write;
use std::path::Path;

/// A drive's files without their comments; absent ones are empty.
struct Published {
    model: String,
    specs: String,
    bus: String,
    seek: String,
}

/// The model of the drive in this folder.
pub(super) fn model_of(folder: &Path, name: &str) -> String {
    let text = |file: &str| {
        let text = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
        text.lines()
            .map(|line| line.split('#').next().unwrap_or_default().to_owned() + "\n")
            .collect::<String>()
    };
    let published = Published {
        model: text("model.txt"),
        specs: text("diskspecs.txt"),
        bus: text("parameters.txt"),
        seek: text("seek.txt"),
    };
    let mut toml = format!("name = {name:?}\nversion = 1\nsummary = \"as it was published\"\n");
    for part in [head, cache, platter, firmware, zones, seek] {
        toml += &part(&published);
    }
    toml
}

/// The number after a key, where it is there.
fn number(text: &str, key: &str) -> Option<f64> {
    let rest = text.split_once(key)?.1.trim_start().strip_prefix('=')?;
    let word = rest.trim_start().split([' ', ',', '\n', '}']).next()?;
    word.parse().ok()
}

/// The same, 0 where it is not.
fn of(text: &str, key: &str) -> f64 {
    number(text, key).unwrap_or(0.0)
}

/// The numbers in brackets after a key.
fn list(text: &str, key: &str) -> Vec<f64> {
    let within = text.split_once(key).and_then(|(_, rest)| Some(rest.split_once('[')?.1.split_once(']')?.0));
    within.unwrap_or_default().split(',').filter_map(|word| word.trim().parse().ok()).collect()
}

/// The largest number any line has for a key.
fn largest(text: &str, key: &str) -> f64 {
    text.lines().map(|line| of(line, key)).fold(0.0, f64::max)
}

fn writes_without_cache(drive: &Published) -> bool {
    of(&drive.specs, "Fast write level") == 0.0
}

fn head(drive: &Published) -> String {
    let Published { model, specs, bus, .. } = drive;
    // Milliseconds a sector: of the drive, or of the bus.
    let sector_ms = of(specs, "Bulk sector transfer time").max(largest(bus, "Read block transfer time"));
    let after_read: f64 =
        ["Read completion overhead", "First reselect overhead", "Data preparation overhead"]
            .iter()
            .map(|key| of(specs, key))
            .sum();
    let after_write = if writes_without_cache(drive) { of(specs, "Write completion overhead") } else { 0.0 };
    format!(
        "[device]\ncapacity = \"{}B\"\nrotational = true\nlogical_block = \"512B\"\nphysical_block = \"512B\"\n\
         [link]\nmb_s = {}\ncommand_us = 0\nread_us = {}\nwrite_us = {}\n[queue]\ndepth = 1\nlargest = \"32MiB\"\n",
        of(model, "Block count") * 512.0,
        0.512 / sector_ms.max(1e-3),
        after_read * 1e3,
        after_write * 1e3
    )
}

/// What taking a write takes. A `Write miss` of these files is no write elsewhere: on all three drives with a cache, such
/// writes take what one after a read takes, and those on the same track as the request before what writes onwards do.
fn cache(drive: &Published) -> String {
    if writes_without_cache(drive) {
        return String::new();
    }
    let us = |key: &str| of(&drive.specs, key) * 1e3;
    format!(
        "[cache]\nsize = \"{}B\"\nflush_us = 0\nonwards_on_track = true\nonwards_us = {}\nonwards_after_read_us = {}\n\
         elsewhere_us = {}\n",
        (segment(drive) / 8.0).floor().max(1.0) * 4096.0,
        us("Write hit over. after write"),
        us("Write hit over. after read"),
        us("Write hit over. after read")
    )
}

fn segment(drive: &Published) -> f64 {
    of(&drive.specs, "Segment size (in blks)")
}

fn platter(drive: &Published) -> String {
    let Published { model, specs, .. } = drive;
    format!(
        "[platter]\nrpm = {}\nheads = {}\nhead_switch_ms = {}\nwrite_settle_ms = {}\nto_and_fro = {}\nread_ahead = \"{}B\"\n\
         segments = {}\nsegment = \"{}B\"\n",
        of(model, "Rotation speed (in rpms)"),
        of(model, "Number of data surfaces"),
        of(model, "Head switch time"),
        of(model, "Add. write settling delay"),
        of(model, "LBN-to-PBN mapping scheme") > 0.0,
        of(specs, "Maximum read-ahead (blks)") * 512.0,
        of(specs, "Number of buffer segments"),
        segment(drive) * 512.0
    )
}

fn firmware(drive: &Published) -> String {
    let Published { model, specs, .. } = drive;
    // 1: to the end of the track; 2: of the cylinder; 3: of the segment; 4: of the track, and of the next after a request that
    // lies on two.
    let ahead = of(specs, "Buffer continuous read") as u8;
    let fast = of(model, "Rotation speed (in rpms)") > 7000.0;
    let mut toml = format!(
        "on_arrival = {}\nwritten_stay = {}\nahead_tracks = {}\nahead_after_crossing = {}\nstops_at_cylinder = {}\n\
         turn_ms = {}\nread_fill = {}\nhit_ms = {}\nhit_after_write_ms = {}\nmiss_ms = {}\nmiss_after_write_ms = {}\n",
        of(specs, "Read any free blocks") > 0.0,
        of(specs, "Allow read hits on write data") > 0.0,
        u8::from([1, 4].contains(&ahead)),
        ahead == 4,
        ahead == 2,
        if fast { seeks(drive)[0].1 } else { 0.0 },
        of(specs, "High (read) water mark"),
        of(specs, "Read hit over. after read"),
        of(specs, "Read hit over. after write"),
        of(specs, "Read miss over. after read"),
        of(specs, "Read miss over. after write")
    );
    if writes_without_cache(drive) {
        let after = |key: &str| of(specs, &format!("Write miss over. after {key}"));
        let fill = of(specs, "Low (write) water mark");
        let (read, write) = (after("read"), after("write"));
        writeln!(
            toml,
            "early_arm = true\nwrite_fill = {fill}\nwrite_ms = {read}\nwrite_after_write_ms = {write}"
        )
        .unwrap();
    }
    toml
}

fn zones(drive: &Published) -> String {
    let scheme = of(&drive.model, "Sparing scheme used") as u8;
    let zone = |text: &str| {
        let of = |key: &str| of(text, key);
        let (first, last) = (of("First cylinder number"), of("Last cylinder number"));
        // Spares of other schemes lie where few requests notice.
        let track_spares = if scheme == 3 { of("Number of spares") } else { 0.0 };
        format!(
            "[[platter.zone]]\nfirst = {first}\ncylinders = {}\nsectors = {}\ntrack_skew = {}\ncylinder_skew = {}\noffset = {}\n\
             front = {}\ntrack_spares = {track_spares}\n",
            last - first + 1.0,
            of("Blocks per track"),
            of("Skew for track switch"),
            of("Skew for cylinder switch"),
            of("Offset of first block"),
            of("Empty space at zone front")
        )
    };
    drive.model.split("dm_layout_g1_zone").skip(1).map(zone).collect()
}

/// Cylinders and milliseconds: as measured, or by the equation, whose first ten may be given apart.
fn seeks(drive: &Published) -> Vec<(f64, f64)> {
    let pair = |line: &str| {
        let (distance, ms) = line.split_once(',')?;
        Some((distance.trim().parse().ok()?, ms.trim().parse().ok()?))
    };
    let measured: Vec<(f64, f64)> = drive.seek.lines().filter_map(pair).collect();
    if !measured.is_empty() {
        return measured;
    }
    let first = list(&drive.model, "First ten seek times");
    let [knee, a, b, c, e, ..] = list(&drive.model, "HPL seek equation values")[..] else {
        return vec![(1.0, 1.0)];
    };
    let last = of(&drive.model, "Number of cylinders");
    let curve = |distance: f64| if distance < knee { a + b * distance.sqrt() } else { c + e * distance };
    let near = (1_u16..).map(f64::from).zip(first.iter().copied());
    let far = (first.len() as u16 + 1..).step_by(8).map(f64::from).take_while(|distance| *distance < knee);
    near.chain(far.chain([knee, last]).map(|distance| (distance, curve(distance)))).collect()
}

fn seek(drive: &Published) -> String {
    let table: Vec<String> =
        seeks(drive).iter().map(|(distance, ms)| format!("[{distance}, {ms}]")).collect();
    format!("[platter.seek]\ntable = [{}]\n", table.join(", "))
}
