//! Tests that each kind of decay changes its block, and only for as long as that block is the rotten one.

use super::tests::{SIZE, done, log_of};
use super::{Decay, ROT_BLOCK, RottenBlock, RottenImage};
use crate::device::{Action, Completion, Store};

/// Block 1 is written twice, the second time completely; block 2 once, in part; block 3 is written and discarded.
fn writes() -> Vec<Completion> {
    vec![
        done(Action::Write, 8, 8, 0, 10),
        done(Action::Write, 16, 4, 11, 20),
        done(Action::Write, 24, 8, 21, 30),
        done(Action::Write, 8, 8, 31, 40),
        done(Action::Discard, 24, 8, 41, 50),
    ]
}

fn build_image() -> (Store, RottenImage) {
    let mut store = Store::new(tempfile::tempfile().unwrap(), SIZE).unwrap();
    let mut image = RottenImage::new(log_of(&writes()).1);
    image.enter_block(&mut store, None).unwrap();
    (store, image)
}

/// The runs of equal bytes in a block: each byte and the length of its run.
fn counts(store: &Store, block: u64) -> Vec<(u8, usize)> {
    let mut bytes = vec![0; ROT_BLOCK as usize];
    store.read_at(&mut bytes, block * ROT_BLOCK).unwrap();
    let pieces = bytes.chunk_by(|one, other| one == other);
    pieces.map(|piece| (piece[0], piece.len())).collect()
}

#[test]
fn a_block_rots_as_its_name_says_and_the_next_finds_it_whole() {
    let (mut store, mut image) = build_image();
    assert_eq!(image.log().written_blocks(0), [2, 1]);
    assert_eq!((image.log().written_blocks(30), image.log().written_blocks(32)), (vec![1], vec![]));
    let whole = [counts(&store, 1), counts(&store, 2)];
    assert_eq!(whole, [vec![(4, 4096)], vec![(2, 2048), (0, 2048)]]);
    for (name, block, expected) in [
        ("rot-1-zero", 1, vec![(0, 4096)]),
        ("rot-1-shorn3", 1, vec![(4, 1536), (1, 2560)]),
        ("rot-1-shorn7", 1, vec![(4, 3584), (1, 512)]),
        ("rot-1-lost", 1, vec![(1, 4096)]),
        ("rot-2-lost", 2, vec![(0, 4096)]),
        ("rot-1-from2", 1, vec![(2, 2048), (0, 2048)]),
        ("rot-1-flip9", 1, vec![(4, 1), (6, 1), (4, 4094)]),
        ("rot-1-unreadable", 1, vec![(4, 4096)]),
    ] {
        let rotten: RottenBlock = name.parse().unwrap();
        assert_eq!(rotten.to_string(), name);
        image.enter_block(&mut store, Some(rotten)).unwrap();
        assert_eq!(counts(&store, block), expected, "{name}");
        // What is written in the meantime is dropped with the rotten block.
        store.write_at(&[9; 8192], 4096).unwrap();
        image.enter_block(&mut store, None).unwrap();
        assert_eq!([counts(&store, 1), counts(&store, 2)], whole, "{name}");
    }
}

#[test]
fn what_is_the_same_as_before_has_not_rotted() {
    let (store, image) = build_image();
    let changes = |name: &str| image.decayed_content(&store, name.parse().unwrap()).unwrap().is_some();
    assert!(changes("rot-1-zero") && changes("rot-5-flip0"));
    assert!(
        !changes("rot-5-zero") && !changes("rot-5-lost") && !changes("rot-1-from1") && !changes("rot-3-zero")
    );
    assert!(image.decayed_content(&store, "rot-256-zero".parse().unwrap()).is_err(), "beyond the end");
}

#[test]
fn what_is_no_name_is_refused() {
    for name in [
        "",
        "rot-",
        "rot-1",
        "rot-1-",
        "rot-1-flip",
        "rot-1-flip32768",
        "rot-1-shorn0",
        "rot-1-shorn8",
        "rot-x-zero",
        "1-zero",
    ] {
        let error = name.parse::<RottenBlock>().unwrap_err();
        assert!(error.to_string().contains("is no name of a rotten block"), "{name}: {error}");
    }
    assert_eq!(Decay::KINDS.iter().filter(|kind| kind.changes_content()).count(), 6);
}
