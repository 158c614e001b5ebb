//! The pages of an atlas, from the command line: without a kernel nothing can be computed, and no page pretends so.

use crate::common::Place;

fn build(place: &Place, arguments: &[&str]) -> String {
    let begin = ["atlas", "build", "--render", "--out", "site", "--kernel", "6.12.117"];
    let made = place.fsverdict(&[&begin[..], arguments].concat());
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    made.stdout + &made.stderr
}

fn page(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.path().join("site").join(name)).unwrap()
}

#[test]
fn a_cell_that_was_not_computed_is_empty_and_says_so() {
    let place = Place::new();
    let told = build(&place, &["games", "photo-backup", "--devices", "nvme-ssd,hdd-7200"]);
    assert!(told.contains("nothing was computed yet"), "{told}");
    let index = page(&place, "index.html");
    assert_eq!(index.matches("not computed yet").count(), 4, "{index}");
    let cell = page(&place, "games@nvme-ssd.html");
    assert!(
        cell.contains("Not answered yet") && cell.contains("fsverdict atlas build games --devices nvme-ssd")
    );
    assert!(!place.path().join("site/cards").exists());
}

#[test]
fn all_works_and_kinds_have_pages_with_a_description() {
    let place = Place::new();
    build(&place, &[]);
    let names: Vec<String> = std::fs::read_dir(place.path().join("site"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".html"))
        .collect();
    assert!(names.len() > 100, "{}", names.len());
    for name in &names {
        let page = page(&place, name);
        let description = page.split("name=\"description\" content=\"").nth(1).unwrap();
        assert!(description.find('"').unwrap() > 20, "{name}");
    }
    let studies = page(&place, "studies.html");
    assert!(studies.contains("no longer holds") && studies.contains("What the author found"));
}

#[test]
fn a_damaged_bundle_is_left_out_with_the_reason() {
    let place = Place::new();
    let bundles = place.path().join("bundles");
    std::fs::create_dir(&bundles).unwrap();
    std::fs::write(bundles.join("a.tar.gz"), b"\x1f\x8bnothing").unwrap();
    std::fs::write(bundles.join("b.tar.gz"), [0; 100]).unwrap();
    let told = build(&place, &["games", "--devices", "nvme-ssd", bundles.to_str().unwrap()]);
    assert!(told.contains("runs of others: 0 joined, 2 left out") && told.contains("left out "), "{told}");
}

#[test]
fn an_answer_can_be_a_picture() {
    let place = Place::new();
    place.recorded();
    let made = place.fsverdict(&["report", "run", "--card", "card.png"]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert_eq!(&std::fs::read(place.path().join("card.png")).unwrap()[1..4], b"PNG");
}
