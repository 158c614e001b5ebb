//! Maps sectors to positions in the real layout of a drive: zones of tracks with equal numbers of sectors, skewed
//! from track to track, some of them kept as spares.
//!
//! As in `geometry.rs`, `along_ns` is the time that reading from the first sector to a position takes, and modulo one
//! rotation the angle of the position; between two tracks lies the skew.

use super::parameters::{PlatterParameters, TrackZone};

/// The position of a sector on a platter.
#[derive(Debug, Clone, Copy)]
pub(super) struct SectorPosition {
    /// Time that reading from the first sector to this one takes; modulo one rotation, the sector's angle.
    pub(super) along_ns: f64,
    pub(super) cylinder: f64,
    pub(super) track: f64,
}

/// Sectors that are read without moving the arm or switching heads (`track`), and without moving the arm (to
/// `cylinder_end`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TrackBounds {
    pub(super) track: (u64, u64),
    pub(super) cylinder_end: u64,
}

#[derive(Debug)]
pub(super) struct ZonedTracks {
    zones: Vec<PlacedZone>,
    rotation_ns: f64,
    heads: u64,
    cylinders: f64,
    to_and_fro: bool,
}

#[derive(Debug)]
struct PlacedZone {
    given: TrackZone,
    /// First sector, number of sectors, and position of the first sector.
    sector: u64,
    sectors: u64,
    along_ns: f64,
    /// Time from the start of a track, and of a cylinder, to the start of the next.
    track_ns: f64,
    cylinder_ns: f64,
    /// Sectors of a track, and of a cylinder, without spares.
    track_sectors: u64,
    cylinder_sectors: u64,
}

/// A place in a zone: cylinder, track in the cylinder, and sector on the track.
struct ZonePlace(u64, u64, u64);

impl PlacedZone {
    fn locate(&self, sector: u64) -> ZonePlace {
        let within = sector.saturating_sub(self.sector).min(self.sectors) + self.given.front_sectors;
        let (cylinder, rest) = (within / self.cylinder_sectors, within % self.cylinder_sectors);
        ZonePlace(cylinder, rest / self.track_sectors, rest % self.track_sectors)
    }

    fn along_ns(&self, ZonePlace(cylinder, track, sector): &ZonePlace, sector_ns: f64) -> f64 {
        let tracks_ns = *cylinder as f64 * self.cylinder_ns + *track as f64 * self.track_ns;
        self.along_ns + tracks_ns + *sector as f64 * sector_ns
    }

    /// The sector that comes a number of sectors after the start of the zone's first track, without spares.
    fn sector_of(&self, within: u64) -> u64 {
        self.sector + within.saturating_sub(self.given.front_sectors).min(self.sectors)
    }
}

impl ZonedTracks {
    pub(super) fn new(platter: &PlatterParameters, zones: &[TrackZone]) -> ZonedTracks {
        let (rotation_ns, heads) = (platter.rotation_ns, u64::from(platter.heads));
        let mut zoned = ZonedTracks {
            zones: Vec::new(),
            rotation_ns,
            heads,
            cylinders: 0.0,
            to_and_fro: platter.to_and_fro,
        };
        let (mut sector, mut free_ns) = (0, 0.0);
        for given in zones {
            let sector_ns = rotation_ns / given.track_sectors as f64;
            // The skew of a layout gives a switch the time that it needs.
            let track_ns = rotation_ns + given.track_skew * sector_ns;
            let cylinder_ns = track_ns * (heads - 1) as f64 + rotation_ns + given.cylinder_skew * sector_ns;
            let track_sectors = given.track_sectors - given.track_spares;
            // The first sector of a zone is at the given angle, after the end of the zone before it.
            let angle_ns = given.offset * sector_ns;
            let turns = ((free_ns - angle_ns) / rotation_ns - 1e-9).ceil().max(0.0);
            let zone = PlacedZone {
                given: *given,
                sector,
                sectors: given.sectors(platter.heads),
                along_ns: angle_ns + turns * rotation_ns,
                track_ns,
                cylinder_ns,
                track_sectors,
                cylinder_sectors: heads * track_sectors - given.cylinder_spares,
            };
            sector += zone.sectors;
            free_ns = zone.along_ns + cylinder_ns * given.cylinders as f64;
            zoned.cylinders = zoned.cylinders.max((given.first + given.cylinders) as f64);
            zoned.zones.push(zone);
        }
        zoned
    }

    pub(super) fn cylinders(&self) -> f64 {
        self.cylinders
    }

    fn sector_ns(&self, zone: &PlacedZone) -> f64 {
        self.rotation_ns / zone.given.track_sectors as f64
    }

    fn find_zone(&self, after: impl Fn(&PlacedZone) -> bool) -> &PlacedZone {
        &self.zones[self.zones.partition_point(after).saturating_sub(1)]
    }

    /// Returns the position of a sector.
    pub(super) fn place(&self, sector: u64) -> SectorPosition {
        let zone = self.find_zone(|zone| zone.sector <= sector);
        let place = zone.locate(sector);
        let along_ns = zone.along_ns(&place, self.sector_ns(zone));
        let cylinder = zone.given.first + place.0;
        // Every second cylinder is filled from its last head to its first, so that the step to it needs no head
        // switch.
        let head = if self.to_and_fro && cylinder % 2 == 1 { self.heads - 1 - place.1 } else { place.1 };
        SectorPosition { along_ns, cylinder: cylinder as f64, track: (cylinder * self.heads + head) as f64 }
    }

    /// The position at which the last sector before `end` ends.
    pub(super) fn finish_ns(&self, end: u64) -> f64 {
        let Some(last) = end.checked_sub(1) else { return self.place(0).along_ns };
        let zone = self.find_zone(|zone| zone.sector <= last);
        let sector_ns = self.sector_ns(zone);
        zone.along_ns(&zone.locate(last), sector_ns) + sector_ns
    }

    /// The sector that sequential reading reaches at this position, rounded down.
    pub(super) fn sector_at(&self, along_ns: f64) -> u64 {
        let zone = self.find_zone(|zone| zone.along_ns <= along_ns);
        let rest_ns = (along_ns - zone.along_ns).max(0.0);
        let cylinder = (rest_ns / zone.cylinder_ns).floor();
        let rest_ns = rest_ns - cylinder * zone.cylinder_ns;
        let track = (rest_ns / zone.track_ns).floor().min((self.heads - 1) as f64);
        // A millionth is added, so that a position computed from a sector gives that sector.
        let sector = ((rest_ns - track * zone.track_ns) / self.sector_ns(zone) + 1e-6).floor();
        let sector = (sector as u64).min(zone.track_sectors);
        let within = (track as u64 * zone.track_sectors + sector).min(zone.cylinder_sectors);
        zone.sector_of(cylinder as u64 * zone.cylinder_sectors + within)
    }

    /// The sectors on the track, and on the cylinder, of a sector.
    pub(super) fn bounds(&self, sector: u64) -> TrackBounds {
        let zone = self.find_zone(|zone| zone.sector <= sector);
        let ZonePlace(cylinder, track, _) = zone.locate(sector);
        let start = cylinder * zone.cylinder_sectors;
        let end =
            |track: u64| zone.sector_of(start + (track * zone.track_sectors).min(zone.cylinder_sectors));
        TrackBounds {
            track: (end(track), end(track + 1)),
            cylinder_end: zone.sector_of(start + zone.cylinder_sectors),
        }
    }
}
