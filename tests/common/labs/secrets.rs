//! What the trials of root's read of this machine: every file but what only root may read, unless the plan names it.

use crate::common::{Place, is_root, one_command};

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
pub fn on_path(folder: &str) -> bool {
    let programs = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&programs).any(|program| program.starts_with(folder))
}

/// The lines of what the phase said.
pub fn said(place: &Place) -> Vec<String> {
    let said = place.journal().program("do")["stdout"].as_str().unwrap_or_default().to_owned();
    let seen = |line: &&str| !line.strip_prefix("SEEN ").is_some_and(on_path);
    said.lines().filter(seen).map(str::to_owned).collect()
}

fn plan(lab: &str) -> String {
    let verified = "''', verify = { dataset = \"etc\", at = \"etc\" } }]";
    one_command(lab, LOOK).replace("''' }]", verified) + "dataset.etc.path = \"/etc\"\n"
}

pub fn secrets_are_not_seen(lab: &str) {
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
