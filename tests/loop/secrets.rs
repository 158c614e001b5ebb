//! What only root may read is not seen in native trials, unless the plan names it.

use std::fs;

use crate::common::labs::secrets::{on_path, said, secrets_are_not_seen};
use crate::common::{Place, one_command, tool};

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

/// Who may write where a folder of the plan's lies can put a link there after the plan was shown.
#[test]
fn loop_a_link_of_somebody_elses_leads_a_run_of_roots_nowhere() {
    let place = Place::new();
    let others = place.path().join("others");
    fs::create_dir(&others).unwrap();
    let home = tempfile::Builder::new().prefix("fsverdict-it-").tempdir_in("/root").unwrap();
    fs::create_dir(home.path().join("keys")).unwrap();
    fs::write(home.path().join("keys/page"), "read me").unwrap();
    let link = others.join("data");
    std::os::unix::fs::symlink(home.path().join("keys"), &link).unwrap();
    let run = || {
        let _ = fs::remove_dir_all(place.path().join("run"));
        let plan = one_command("native", "cat \"$MINE/page\"");
        place.run(&(plan + &format!("dataset.mine.path = {link:?}\n")), &[])
    };
    // Root's own link is followed.
    run().exits(0);
    assert_eq!(said(&place), ["read me"]);
    tool(&["chown", "-hR", "65534:65534", others.to_str().unwrap()]);
    let seen = run();
    assert_ne!(seen.code, Some(0), "{seen:?}");
    seen.says(&["data is a link of user 65534", "hint: name the folder itself"]);
    let journal = fs::read_to_string(place.path().join("run/journal.jsonl")).unwrap_or_default();
    assert!(!journal.contains("read me"), "{journal}");
    place.is_left_clean();
}
