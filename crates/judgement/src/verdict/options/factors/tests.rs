//! Tests of the effects of options.

use super::{AXES, Additive, FILESYSTEM, FactorEffect, Levels, effects_of_factor};

const NOISE: f64 = 0.05;
const LUKS: f64 = 0.10;
const ON_XFS: f64 = 0.20;
const NOATIME: f64 = -0.06;

fn factor(key: &str) -> usize {
    AXES.iter().position(|axis| axis.key == key).unwrap()
}

/// Three filesystems, plain and on LUKS, with and without noatime, and one candidate besides the matrix.
fn cells() -> Vec<Levels> {
    let cell = |filesystem: &str, mount: &str, encryption: &str| {
        let mut levels = Levels::default();
        for (key, level) in [("filesystem", filesystem), ("mount", mount), ("encryption", encryption)] {
            level.clone_into(&mut levels[factor(key)]);
        }
        levels
    };
    let each = |(filesystem, mount)| ["", "luks2"].map(|encryption| cell(filesystem, mount, encryption));
    let pairs = ["ext4", "xfs", "jfs"].into_iter().flat_map(|name| [(name, ""), (name, "noatime")]);
    pairs.flat_map(each).chain([cell("btrfs", "ssd", "")]).collect()
}

fn centre(cell: &Levels) -> f64 {
    let is = |key, level: &str| f64::from(cell[factor(key)] == level);
    let [xfs, noatime, luks] = [is("filesystem", "xfs"), is("mount", "noatime"), is("encryption", "luks2")];
    0.3 * xfs + NOATIME * noatime + LUKS * luks + ON_XFS * luks * xfs
}

/// A world of so many blocks, where jfs is so many times as noisy; every third candidate rests after the third.
fn world(blocks: usize, jfs: f64, normal: &mut impl FnMut() -> f64) -> Vec<FactorEffect> {
    let cells = cells();
    let mut rows = Vec::new();
    for block in 0..blocks {
        let mood = normal();
        let rests = |at: usize| block >= 3 && at.is_multiple_of(3);
        let noise = |cell: &Levels| if cell[FILESYSTEM] == "jfs" { jfs * NOISE } else { NOISE };
        let mut score = |(at, cell)| (!rests(at)).then(|| centre(cell) + mood + noise(cell) * normal());
        rows.push(cells.iter().enumerate().map(&mut score).collect::<Vec<_>>());
    }
    effects_of_factor(&cells, &Additive::fit(&rows).unwrap(), 0.03, None, |_, _| false)
}

fn normals() -> impl FnMut() -> f64 {
    let mut state = 7_u64;
    let mut uniform = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    };
    move || {
        let radius = (-2.0 * uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * uniform()).cos()
    }
}

#[test]
fn an_interaction_that_is_not_there_is_rarely_called_certain_however_noise_differs() {
    let mut normal = normals();
    let worlds = 400;
    for jfs in [1.0, 4.0, 20.0] {
        let mut wrong = 0;
        for _ in 0..worlds {
            let found = world(5, jfs, &mut normal);
            let of = |level: &str| found.iter().find(|effect| effect.level == level).unwrap();
            let mut none = of("noatime").interactions.iter();
            wrong += u32::from(none.any(|one| one.certain));
        }
        assert!(wrong <= worlds * 5 / 100, "{jfs}: {wrong} of {worlds}");
    }
}

#[test]
fn known_effects_are_found_with_intervals_that_cover_them() {
    let mut normal = normals();
    let (worlds, mut covered, mut asked, mut found_luks, mut found_xfs) = (400, 0, 0, 0, 0);
    for _ in 0..worlds {
        let found = world(5, 1.0, &mut normal);
        let of = |level: &str| found.iter().find(|effect| effect.level == level).unwrap();
        let (luks, noatime) = (of("luks2"), of("noatime"));
        let xfs = luks.interactions.iter().find(|one| one.level == "xfs").unwrap();
        for (ratio, truth) in
            [(luks.ratio, LUKS + ON_XFS / 3.0), (noatime.ratio, NOATIME), (xfs.ratio, ON_XFS)]
        {
            asked += 1;
            covered += usize::from(ratio.low.unwrap() <= truth.exp() && truth.exp() <= ratio.high.unwrap());
        }
        found_luks += usize::from(luks.certain);
        found_xfs += usize::from(xfs.certain);
    }
    let share = covered as f64 / f64::from(asked);
    assert!((0.94..0.975).contains(&share), "{share}");
    assert!(found_luks == worlds && found_xfs > worlds * 95 / 100, "{found_luks}, {found_xfs}");
    // A filesystem alone has no others to differ from.
    let alone = [0, 1].map(|at| std::array::from_fn(|factor| cells()[at][factor].clone()));
    let rows = vec![vec![Some(1.0), Some(1.2)]; 3];
    assert!(effects_of_factor(&alone, &Additive::fit(&rows).unwrap(), 0.03, None, |_, _| false).is_empty());
    // Outside the matrix there is nothing to pair it with; and two blocks are too few to say anything.
    let found = world(2, 1.0, &mut normal);
    assert!(
        found.iter().all(|effect| effect.level != "ssd" && !effect.certain && effect.ratio.low.is_none())
    );
}
