//! Where a sector lies on a platter: on which cylinder, and how far round.
//!
//! A drive's own layout is in `laid.rs`; here is what stands for one where only rates are known. Sectors lie along one spiral. `along_ns` is how long reading from the first sector to this one takes, head and track
//! switches spread evenly; modulo one rotation it is the sector's angle, because tracks are skewed by just what a switch
//! takes. So reading on loses nothing, and sustained rates come out as the model gives them.

use super::super::super::planted::{Bug, planted};
use super::laid::Laid;
use super::parameters::{PlatterParameters, Seek, Surface};
use super::place::{SectorPosition, TrackBounds};

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
    /// By rates.
    Smooth(Vec<SmoothZone>),
    /// As the drive has it.
    Laid(Laid),
}

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
            Surface::Laid { zones } => {
                let laid = Laid::new(platter, zones);
                let cylinders = laid.cylinders();
                (TrackLayout::Laid(laid), cylinders)
            }
            Surface::Smooth { outer_sector_ns, inner_sector_ns, zones } => {
                let (zones, cylinders) = smooth(platter, *outer_sector_ns, *inner_sector_ns, *zones, sectors);
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
        if let TrackLayout::Laid(_) = geometry.layout {
            // The other head stands a little beside its track: finding that is a seek, if a short one.
            geometry.head_switch_ns = geometry.head_switch_ns.max(geometry.seek_ns(1.0));
        }
        geometry
    }

    pub(super) fn place(&self, sector: u64) -> SectorPosition {
        let zones = match &self.layout {
            TrackLayout::Laid(laid) => return laid.place(sector),
            TrackLayout::Smooth(zones) => zones,
        };
        let sector = sector as f64;
        let zone = zone(zones, |zone| zone.sector <= sector);
        let within = sector - zone.sector;
        let track = (within / zone.track_sectors).floor();
        let cylinder = zone.cylinder + (track / zone.heads).floor();
        SectorPosition {
            along_ns: zone.along_ns + within * zone.sector_ns,
            cylinder,
            track: zone.cylinder + track,
        }
    }

    /// Where the last sector before this one ends, without what lies between tracks.
    pub(super) fn finish_ns(&self, end: u64) -> f64 {
        match &self.layout {
            TrackLayout::Laid(laid) => laid.finish_ns(end),
            TrackLayout::Smooth(_) => self.place(end).along_ns,
        }
    }

    /// The sector that is reached by reading on to this point, rounded down.
    pub(super) fn sector_at(&self, along_ns: f64) -> u64 {
        let zones = match &self.layout {
            TrackLayout::Laid(laid) => return laid.sector_at(along_ns),
            TrackLayout::Smooth(zones) => zones,
        };
        let zone = zone(zones, |zone| zone.along_ns <= along_ns);
        // A millionth more, so that a point computed from a sector gives that sector back.
        (zone.sector + (along_ns - zone.along_ns) / zone.sector_ns + 1e-6) as u64
    }

    /// What lies on the track, and on the cylinder, of a sector.
    pub(super) fn bounds(&self, sector: u64) -> TrackBounds {
        let zones = match &self.layout {
            TrackLayout::Laid(laid) => return laid.bounds(sector),
            TrackLayout::Smooth(zones) => zones,
        };
        let zone = zone(zones, |zone| zone.sector <= sector as f64);
        let track = ((sector as f64 - zone.sector) / zone.track_sectors).floor();
        let at = |track: f64| (zone.sector + track * zone.track_sectors).ceil() as u64;
        let cylinder = (track / zone.heads).floor() + 1.0;
        TrackBounds { track: (at(track), at(track + 1.0)), cylinder_end: at(cylinder * zone.heads) }
    }

    /// How long the arm takes from one place to another.
    pub(super) fn arm_ns(&self, from: SectorPosition, to: SectorPosition) -> f64 {
        let distance = (from.cylinder - to.cylinder).abs();
        if distance > 0.0 {
            self.seek_ns(distance)
        } else if from.track == to.track || planted(Bug::HeadSwitchForgotten) {
            0.0
        } else {
            self.head_switch_ns
        }
    }

    fn seek_ns(&self, distance: f64) -> f64 {
        match &self.seek {
            Seek::Table(table) => interpolated(table, distance),
            Seek::Root { minimum_ns, full_ns } => {
                minimum_ns + (full_ns - minimum_ns) * (distance / self.cylinders).sqrt()
            }
            Seek::Knee { a_ns, b_ns, knee, .. } if distance <= *knee => a_ns + b_ns * distance.sqrt(),
            Seek::Knee { c_ns, e_ns, .. } => c_ns + e_ns * distance,
        }
    }

    pub(super) fn full_seek_ns(&self) -> f64 {
        self.seek_ns(self.cylinders)
    }

    /// How long from `ready_ns` until this place comes round: less than one rotation. What was missed by less than a
    /// microsecond, the rounding of times, was not missed: then it is negative.
    pub(super) fn wait_ns(&self, ready_ns: f64, place: SectorPosition) -> f64 {
        let wait = (place.along_ns - ready_ns).rem_euclid(self.rotation_ns);
        if wait > self.rotation_ns - 1e3 { wait - self.rotation_ns } else { wait }
    }
}

/// Zones of as many cylinders each, with rates that fall evenly from the outermost to the innermost; and how many cylinders
/// that makes.
fn smooth(
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
            let held = (sectors as f64 * rate(zone) / total).floor();
            sector += held;
            along_ns += held * sector_ns;
            cylinder += (held / (track_sectors * heads)).ceil();
            this
        })
        .collect();
    (zones, cylinder)
}

fn zone(zones: &[SmoothZone], after: impl Fn(&SmoothZone) -> bool) -> &SmoothZone {
    &zones[zones.partition_point(after).saturating_sub(1)]
}

/// Between the two distances of the table that are nearest; beyond its ends, as at them.
fn interpolated(table: &[(f64, f64)], distance: f64) -> f64 {
    let at = table.partition_point(|(known, _)| *known <= distance);
    match (at.checked_sub(1).and_then(|before| table.get(before)), table.get(at)) {
        (Some((from, least)), Some((to, most))) => least + (most - least) * (distance - from) / (to - from),
        (Some((_, ns)), None) | (None, Some((_, ns))) => *ns,
        (None, None) => 0.0,
    }
}
