//! A plan that is not ours is shown, and agreed to, before anything of it is run.

use std::fs;

use crate::common::{PROGRAM, Place, Seen, is_root, not_run, one_command, tool};

/// A page of somebody's whose plan runs `command`, and has these further lines.
fn page(place: &Place, command: &str, more: &str) -> String {
    let letter = |letter: char| match letter {
        '"' | '\\' => format!("\\{letter}"),
        _ if letter.is_ascii_graphic() || letter == ' ' => letter.to_string(),
        _ => format!("\\U{:08X}", u32::from(letter)),
    };
    let command: String = command.chars().map(letter).collect();
    let text = one_command("uml", "COMMAND").replace("'''COMMAND'''", &format!("\"{command}\""));
    let plan = place.plan("theirs", &(text + more));
    let toml = place.fsverdict(&["show", &plan]).exits(0).stdout;
    let escaped = toml.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let page = place.path().join("page.html");
    fs::write(&page, format!("<!DOCTYPE html><pre id=\"plan\" tabindex=\"0\">{escaped}</pre>")).unwrap();
    page.display().to_string()
}

#[test]
fn a_page_is_not_carried_out_before_somebody_agreed() {
    let place = Place::new();
    let hidden = "x".repeat(500) + " hidden-at-the-end";
    let page = page(&place, &format!("cat /etc/passwd; : {hidden}"), "dataset.etc.path = \"/etc\"\n");
    let seen = place.fsverdict(&["run", &page, "--out", "run"]).exits(2);
    let seen = seen.says(&[
        "is a page",
        "cat /etc/passwd",
        "copies /etc (dataset etc)",
        "can read",
        "hint:",
        "--yes",
    ]);
    assert!(seen.stderr.replace('\n', "").contains("hidden-at-the-end"), "{}", seen.stderr);
    assert!(!place.path().join("run").exists());
    // To look at it needs no leave.
    place.fsverdict(&["show", &page]).exits(0);
    let dry = place.fsverdict(&["run", &page, "--dry-run"]);
    assert!(!dry.stderr.contains("--yes"), "{}", dry.stderr);
}

#[test]
fn the_options_of_a_page_are_not_even_tried_before_somebody_agreed() {
    let place = Place::new();
    let page = page(&place, "true", "matrix.mkfs = [\"-O nosuchfeature\"]\n");
    let words = ["not tried: commands of a plan that is not yours run only after you have confirmed them"];
    let dry = place.fsverdict(&["run", &page, "--dry-run"]).shows(&words);
    assert!(dry.stdout.contains("-O nosuchfeature") && !dry.stdout.contains("refused"), "{}", dry.stdout);
    place.fsverdict(&["doctor", &page]).shows(&words);
}

#[test]
fn whoever_is_asked_may_say_no() {
    let place = Place::new();
    let page = page(&place, "true", "");
    let line = format!("{PROGRAM} run {page} --out run");
    for (answer, refused) in [("n", true), ("", true), ("y", false)] {
        let typed = format!(
            "printf '{answer}\\n' | script --quiet --return --command '{line} --set device.folder=\"/proc/nowhere\"' /dev/null"
        );
        let seen = place.any("sh", &["-c", &typed]);
        let all = format!("{}{}", seen.stdout, seen.stderr);
        assert!(all.contains("Carry it out? [y/N]"), "{all}");
        assert_eq!(all.contains("you did not confirm it"), refused, "{answer:?}: {all}");
    }
}

#[test]
fn nothing_in_a_plan_hides_what_it_would_run() {
    let place = Place::new();
    let page = page(&place, "true\u{1b}[2K\u{1b}[1A\rrm -rf $HOME\u{202e}", "");
    let seen = place.fsverdict(&["run", &page, "--out", "run"]).exits(2);
    assert!(!seen.stderr.contains(['\u{1b}', '\r', '\u{202e}']), "{:?}", seen.stderr);
    assert!(seen.stderr.contains("rm -rf $HOME"), "{}", seen.stderr);
}

#[test]
fn a_page_gets_the_network_only_where_it_is_allowed() {
    let place = Place::new();
    let network = page(&place, "true", "").clone();
    let text = fs::read_to_string(&network).unwrap();
    // No guest has any network, which is said first: whoever wants it leaves the lab open.
    let open = text.replace("&quot;uml&quot;", "&quot;auto&quot;");
    let with = open.replacen("command = ", "network = true\ncommand = ", 1);
    assert!(open != text && with != open);
    fs::write(&network, with).unwrap();
    place
        .fsverdict(&["run", &network, "--out", "run", "--yes"])
        .exits(2)
        .says(&["network", "--allow-network"]);
    // There is no room for its image; what matters here is that it got so far.
    let nowhere = "device.folder=\"/proc/nowhere\"";
    let seen =
        place.fsverdict(&["run", &network, "--out", "run", "--yes", "--allow-network", "--set", nowhere]);
    assert!(!seen.stderr.contains("--allow-network"), "{}", seen.stderr);
    assert!(seen.stderr.contains("with this machine's network"), "{}", seen.stderr);
}

#[test]
fn a_plan_of_ones_own_asks_nothing() {
    let place = Place::new();
    let plan = place.plan("mine", &one_command("uml", "true"));
    let seen = place.fsverdict(&["run", &plan, "--out", "run", "--set", "device.folder=\"/proc/nowhere\""]);
    assert!(seen.stderr.contains("1 command of the plan, as "), "{}", seen.stderr);
    assert!(!seen.stderr.contains("not yours"), "{}", seen.stderr);
}

#[test]
fn what_belongs_to_another_user_is_a_strangers() {
    if !is_root() {
        return not_run("only root can give a file to another user");
    }
    let place = Place::new();
    let plan = place.plan("theirs", &one_command("uml", "true"));
    tool(&["chown", "12345", &plan]);
    place.fsverdict(&["run", &plan, "--out", "run"]).exits(2).says(&["belongs to user 12345", "--yes"]);
    // A pipe with a name belongs to who made it, whoever opened it.
    let pipe = place.path().join("pipe.toml").display().to_string();
    let line = format!(
        "mkfifo {pipe} && chown 12345 {pipe} && (cat {plan} > {pipe} &) && exec {PROGRAM} run {pipe} --out run"
    );
    place.any("sh", &["-c", &line]).exits(2).says(&["belongs to user 12345", "--yes"]);
    place.recorded();
    let run = place.path().join("run").display().to_string();
    tool(&["chown", "-R", "12345", &run]);
    place.fsverdict(&["resume", &run]).exits(2).says(&["belongs to user 12345", "--yes"]);
    place.fsverdict(&["block", &run, "--site", "a", "--block", "1"]).exits(2).says(&["--yes"]);
    place.fsverdict(&["resume", &run, "--yes"]).exits(0).says(&["this run is complete"]);
    // Who became root by sudo is who wrote it.
    let mut command = place.command(&["resume", &run]);
    let seen = Seen::of(&command.env("SUDO_UID", "12345").output().unwrap());
    seen.exits(0);
}
