//! What only root may read is not seen in native trials, unless the plan names it.

use std::fs;

use crate::common::labs::secrets::{on_path, said, secrets_are_not_seen};
use crate::common::{Place, one_command};

fn what_is_named_is_seen(lab: &str) {
    let place = Place::new();
    let home = tempfile::Builder::new().prefix("fsverdict-it-").tempdir_in("/root").unwrap();
    fs::write(home.path().join("page"), "read me").unwrap();
    fs::write(home.path().join("other"), "").unwrap();
    let other = tempfile::Builder::new().prefix("fsverdict-it-other-").tempdir_in("/root").unwrap();
    let look = format!(
        "cat \"$MINE/page\"; [ -s /etc/shadow ] && echo and shadow; [ -e {:?} ] && echo BROKE; true",
        other.path()
    );
    let plan =
        one_command(lab, &look) + &format!("dataset.mine.path = {:?}\nreads = [\"/etc\"]\n", home.path());
    place.run(&plan, &[]).exits(0);
    assert_eq!(said(&place), ["read meand shadow"]);
    place.is_left_clean();
}

#[test]
fn loop_a_phase_of_roots_sees_no_secret_natively() {
    secrets_are_not_seen("native");
}

#[test]
fn loop_what_a_plan_names_is_seen_natively() {
    what_is_named_is_seen("native");
}

#[test]
fn loop_mkfs_puts_no_secret_into_a_filesystem() {
    let place = Place::new();
    let plan = one_command("native", "ls -A \"$MOUNT\"").replace(
        "matrix.filesystem = [\"ext4\"]",
        "candidate = [{ filesystem = \"ext4\", mkfs = \"-d /root\" }]",
    );
    place.run(&plan, &[]).exits(0);
    let found: Vec<String> = said(&place);
    let found: Vec<_> = found.iter().filter(|name| !on_path(&format!("/root/{name}"))).collect();
    assert_eq!(found, ["lost+found"]);
    place.is_left_clean();
}
