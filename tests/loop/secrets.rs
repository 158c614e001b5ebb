//! What the trials of root's read of this machine: every file but what only root may read, unless the plan names it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic in its helpers too")]

mod common;

use std::fs;

use common::{Place, is_root, one_command};

/// What a phase reads that it should not; each line it prints begins with SEEN.
const LOOK: &str = r#"
for file in /etc/shadow /etc/shadow- /etc/gshadow /etc/ssh/ssh_host_*_key; do
    [ -s "$file" ] && echo "SEEN $file: $(head -c 20 "$file" | tr -dc 'a-z')"
done
for folder in /root /home /etc/ssl/private /var/log; do
    for name in "$folder"/* "$folder"/.[!.]*; do
        [ -e "$name" ] && echo "SEEN $name"
    done
done
[ -s "$ETC/shadow" ] && echo "SEEN the shadow of the dataset"
[ -s "$ETC/passwd" ] && [ -s /etc/passwd ] && echo "may read what everybody may"
rsync -a "$ETC/" "$MOUNT/etc/" && echo "may copy"
true
"#;

/// Whether it is a folder on the way to programs that whoever runs the tests has on their PATH.
fn on_path(folder: &str) -> bool {
    let programs = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&programs).any(|program| program.starts_with(folder))
}

/// The lines of what the phase said.
fn said(place: &Place) -> Vec<String> {
    let said = place.journal().program("do")["stdout"].as_str().unwrap_or_default().to_owned();
    let seen = |line: &&str| !line.strip_prefix("SEEN ").is_some_and(on_path);
    said.lines().filter(seen).map(str::to_owned).collect()
}

fn plan(lab: &str) -> String {
    let verified = "''', verify = { dataset = \"etc\", at = \"etc\" } }]";
    one_command(lab, LOOK).replace("''' }]", verified) + "dataset.etc.path = \"/etc\"\n"
}

fn secrets_are_not_seen(lab: &str) {
    let place = Place::new();
    let seen = place.run(&plan(lab), &[]).exits(0);
    let lines = said(&place);
    assert_eq!(lines, ["may read what everybody may", "may copy"], "{seen:#?}");
    // Who reads the numbers is told.
    let cautions: Vec<String> =
        place.journal().all("caution").map(|event| event["text"].as_str().unwrap().to_owned()).collect();
    let told = cautions.iter().any(|text| text.contains("dataset `etc`: what only root may read is"));
    assert_eq!(told, is_root(), "{cautions:#?}");
    place.is_left_clean();
}

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
fn uml_a_phase_sees_no_secret_in_a_guest() {
    let place = Place::new();
    if is_root() {
        return secrets_are_not_seen("uml");
    }
    place.run(&one_command("uml", "head -c 1 /etc/shadow && echo SEEN; true"), &[]).exits(0);
    assert_eq!(said(&place), Vec::<String>::new());
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
