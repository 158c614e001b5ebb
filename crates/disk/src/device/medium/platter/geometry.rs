//! Maps sectors to positions on a platter: cylinder, track and angle.
//!
//! The real layout of a drive is in `zoned_tracks.rs`; here is an approximation for drives of which only the rates are known.
//! Sectors lie along one spiral. `along_ns` is the time that reading from the first sector to this one takes, with
//! head and track switches spread evenly; modulo one rotation it is the sector's angle, because tracks are skewed by
//! exactly the time of a switch. So sequential reading loses no time, and sustained rates are those of the model.

use super::parameters::{PlatterParameters, Seek, Surface};
use super::zoned_tracks::{SectorPosition, TrackBounds, ZonedTracks};

/// The layout of a platter, and the times of its arm.
#[derive(Debug)]
pub(super) struct Geometry {
    layout: TrackLayout,
    rotation_ns: f64,
    cylinders: f64,
    seek: Seek,
    head_switch_ns: f64,
}

#[derive(Debug)]
enum TrackLayout {
    /// It is approximated from the rates.
    Smooth(Vec<SmoothZone>),
    /// It is the real layout of the drive.
    Zoned(ZonedTracks),
}

/// A zone of equal rate, from its first sector, position and cylinder on.
#[derive(Debug)]
struct SmoothZone {
    sector: f64,
    sector_ns: f64,
    along_ns: f64,
    cylinder: f64,
    track_sectors: f64,
    heads: f64,
}

impl Geometry {
    pub(super) fn new(platter: &PlatterParameters, sectors: u64) -> Geometry {
        let (layout, cylinders) = match &platter.surface {
            Surface::Zoned { zones } => {
                let zoned = ZonedTracks::new(platter, zones);
                let cylinders = zoned.cylinders();
                (TrackLayout::Zoned(zoned), cylinders)
            }
            Surface::Smooth { outer_sector_ns, inner_sector_ns, zones } => {
                let (zones, cylinders) =
                    build_smooth_zones(platter, *outer_sector_ns, *inner_sector_ns, *zones, sectors);
                (TrackLayout::Smooth(zones), cylinders)
            }
        };
        let seek = platter.seek.clone();
        let mut geometry = Geometry {
            layout,
            rotation_ns: platter.rotation_ns,
            cylinders,
            seek,
            head_switch_ns: platter.head_switch_ns,
        };
        if let TrackLayout::Zoned(_) = geometry.layout {
            // The other head is a little beside its track: finding that is a seek, if a short one.
            geometry.head_switch_ns = geometry.head_switch_ns.max(geometry.seek_ns(1.0));
        }
        geometry
    }

    /// Returns the position of a sector.
    pub(super) fn place(&self, sector: u64) -> SectorPosition {
        let zones = match &self.layout {
            TrackLayout::Zoned(zoned) => return zoned.place(sector),
            TrackLayout::Smooth(zones) => zones,
        };
        let sector = sector as f64;
        let zone = find_zone(zones, |zone| zone.sector <= sector);
        let within = sector - zone.sector;
        let track = (within / zone.track_sectors).floor();
        let cylinder = zone.cylinder + (track / zone.heads).floor();
        SectorPosition {
            along_ns: zone.along_ns + within * zone.sector_ns,
            cylinder,
            track: zone.cylinder + track,
        }
    }

    /// The position at which the last sector before `end` ends, without the skew between tracks.
    pub(super) fn finish_ns(&self, end: u64) -> f64 {
        match &self.layout {
            TrackLayout::Zoned(zoned) => zoned.finish_ns(end),
            TrackLayout::Smooth(_) => self.place(end).along_ns,
        }
    }

    /// The sector that sequential reading reaches at this position, rounded down.
    pub(super) fn sector_at(&self, along_ns: f64) -> u64 {
        let zones = match &self.layout {
            TrackLayout::Zoned(zoned) => return zoned.sector_at(along_ns),
            TrackLayout::Smooth(zones) => zones,
        };
        let zone = find_zone(zones, |zone| zone.along_ns <= along_ns);
        // A millionth is added, so that a position computed from a sector gives that sector.
        (zone.sector + (along_ns - zone.along_ns) / zone.sector_ns + 1e-6) as u64
    }

    /// The sectors on the track, and on the cylinder, of a sector.
    pub(super) fn bounds(&self, sector: u64) -> TrackBounds {
        let zones = match &self.layout {
            TrackLayout::Zoned(zoned) => return zoned.bounds(sector),
            TrackLayout::Smooth(zones) => zones,
        };
        let zone = find_zone(zones, |zone| zone.sector <= sector as f64);
        let track = ((sector as f64 - zone.sector) / zone.track_sectors).floor();
        let first_sector_of = |track: f64| (zone.sector + track * zone.track_sectors).ceil() as u64;
        let cylinder = (track / zone.heads).floor() + 1.0;
        TrackBounds {
            track: (first_sector_of(track), first_sector_of(track + 1.0)),
            cylinder_end: first_sector_of(cylinder * zone.heads),
        }
    }

    /// Time that the arm takes from one position to another, or the switch of heads on the same cylinder.
    pub(super) fn arm_ns(&self, from: SectorPosition, to: SectorPosition) -> f64 {
        let distance = (from.cylinder - to.cylinder).abs();
        if distance > 0.0 {
            self.seek_ns(distance)
        } else if from.track == to.track {
            0.0
        } else {
            self.head_switch_ns
        }
    }

    /// Time of a seek over a number of cylinders.
    fn seek_ns(&self, distance: f64) -> f64 {
        match &self.seek {
            Seek::Table(table) => interpolate(table, distance),
            Seek::Root { minimum_ns, full_ns } => {
                minimum_ns + (full_ns - minimum_ns) * (distance / self.cylinders).sqrt()
            }
            Seek::Knee { a_ns, b_ns, knee, .. } if distance <= *knee => a_ns + b_ns * distance.sqrt(),
            Seek::Knee { c_ns, e_ns, .. } => c_ns + e_ns * distance,
        }
    }
    /// Rotational latency from `ready_ns` until this position comes round: less than one rotation. A position that
    /// was missed by less than a microsecond, the rounding of times, counts as not missed: then the time is negative.
    pub(super) fn wait_ns(&self, ready_ns: f64, place: SectorPosition) -> f64 {
        let wait = (place.along_ns - ready_ns).rem_euclid(self.rotation_ns);
        if wait > self.rotation_ns - 1e3 { wait - self.rotation_ns } else { wait }
    }
}

/// Builds zones of equal numbers of cylinders, with rates that fall evenly from the outermost to the innermost;
/// returns them and the total number of cylinders.
fn build_smooth_zones(
    platter: &PlatterParameters,
    outer_sector_ns: f64,
    inner_sector_ns: f64,
    count: u32,
    sectors: u64,
) -> (Vec<SmoothZone>, f64) {
    let count = count.max(1);
    let rate = |zone: u32| {
        let (outer, inner) = (1.0 / outer_sector_ns, 1.0 / inner_sector_ns);
        if count == 1 { outer } else { outer + (inner - outer) * f64::from(zone) / f64::from(count - 1) }
    };
    let total: f64 = (0..count).map(rate).sum();
    let heads = f64::from(platter.heads);
    let (mut sector, mut along_ns, mut cylinder) = (0.0, 0.0, 0.0);
    let zones = (0..count)
        .map(|zone| {
            let sector_ns = 1.0 / rate(zone);
            let track_sectors = (platter.rotation_ns + platter.head_switch_ns) / sector_ns;
            let this = SmoothZone { sector, sector_ns, along_ns, cylinder, track_sectors, heads };
            let zone_sectors = (sectors as f64 * rate(zone) / total).floor();
            sector += zone_sectors;
            along_ns += zone_sectors * sector_ns;
            cylinder += (zone_sectors / (track_sectors * heads)).ceil();
            this
        })
        .collect();
    (zones, cylinder)
}

/// The last zone for which a condition holds that is true for the first zones.
fn find_zone(zones: &[SmoothZone], after: impl Fn(&SmoothZone) -> bool) -> &SmoothZone {
    &zones[zones.partition_point(after).saturating_sub(1)]
}

/// Interpolates between the two nearest distances of the table; beyond its ends, the nearest value counts.
fn interpolate(table: &[(f64, f64)], distance: f64) -> f64 {
    let index = table.partition_point(|(known, _)| *known <= distance);
    match (index.checked_sub(1).and_then(|before| table.get(before)), table.get(index)) {
        (Some((from, before)), Some((to, after))) => {
            before + (after - before) * (distance - from) / (to - from)
        }
        (Some((_, ns)), None) | (None, Some((_, ns))) => *ns,
        (None, None) => 0.0,
    }
}
