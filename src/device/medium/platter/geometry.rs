//! Where a sector lies on a platter: on which cylinder, and how far round.
//!
//! Sectors lie along one spiral. `along_ns` is how long reading from the first sector to this one takes, head and track
//! switches spread evenly; modulo one rotation it is the sector's angle, because tracks are skewed by just what a switch
//! takes. So reading on loses nothing, and sustained rates come out as the model gives them.

use super::parameters::{PlatterParameters, Seek};

#[derive(Debug)]
pub(super) struct Geometry {
    zones: Vec<Zone>,
    rotation_ns: f64,
    cylinders: f64,
    seek: Seek,
    head_switch_ns: f64,
}

#[derive(Debug)]
struct Zone {
    sector: f64,
    sector_ns: f64,
    along_ns: f64,
    cylinder: f64,
    track_sectors: f64,
    heads: f64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct SectorPosition {
    pub(super) along_ns: f64,
    cylinder: f64,
    track: f64,
}

impl Geometry {
    /// Zones of as many cylinders each, with rates that fall evenly from the outermost to the innermost.
    pub(super) fn new(platter: &PlatterParameters, sectors: u64) -> Geometry {
        let count = platter.zones.max(1);
        let rate = |zone: u32| {
            let (outer, inner) = (1.0 / platter.outer_sector_ns, 1.0 / platter.inner_sector_ns);
            if count == 1 { outer } else { outer + (inner - outer) * f64::from(zone) / f64::from(count - 1) }
        };
        let total: f64 = (0..count).map(rate).sum();
        let heads = f64::from(platter.heads);
        let (mut sector, mut along_ns, mut cylinder) = (0.0, 0.0, 0.0);
        let zones = (0..count)
            .map(|zone| {
                let sector_ns = 1.0 / rate(zone);
                let track_sectors = (platter.rotation_ns + platter.head_switch_ns) / sector_ns;
                let this = Zone { sector, sector_ns, along_ns, cylinder, track_sectors, heads };
                let held = (sectors as f64 * rate(zone) / total).floor();
                sector += held;
                along_ns += held * sector_ns;
                cylinder += (held / (track_sectors * heads)).ceil();
                this
            })
            .collect();
        let (seek, head_switch_ns) = (platter.seek, platter.head_switch_ns);
        Geometry { zones, rotation_ns: platter.rotation_ns, cylinders: cylinder, seek, head_switch_ns }
    }

    fn zone(&self, after: impl Fn(&Zone) -> bool) -> &Zone {
        &self.zones[self.zones.partition_point(after).saturating_sub(1)]
    }

    pub(super) fn place(&self, sector: u64) -> SectorPosition {
        let sector = sector as f64;
        let zone = self.zone(|zone| zone.sector <= sector);
        let within = sector - zone.sector;
        let track = (within / zone.track_sectors).floor();
        let cylinder = zone.cylinder + (track / zone.heads).floor();
        SectorPosition {
            along_ns: zone.along_ns + within * zone.sector_ns,
            cylinder,
            track: zone.cylinder + track,
        }
    }

    /// The sector that is reached by reading on to this point, rounded down.
    pub(super) fn sector_at(&self, along_ns: f64) -> u64 {
        let zone = self.zone(|zone| zone.along_ns <= along_ns);
        // A millionth more, so that a point computed from a sector gives that sector back.
        (zone.sector + (along_ns - zone.along_ns) / zone.sector_ns + 1e-6) as u64
    }

    /// How long the arm takes from one place to another.
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

    fn seek_ns(&self, distance: f64) -> f64 {
        match self.seek {
            Seek::Root { minimum_ns, full_ns } => {
                minimum_ns + (full_ns - minimum_ns) * (distance / self.cylinders).sqrt()
            }
            Seek::Knee { a_ns, b_ns, knee, .. } if distance <= knee => a_ns + b_ns * distance.sqrt(),
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
