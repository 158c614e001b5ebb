//! What a guest reports is not trusted: a plan may name any program as its kernel, and a program in a guest whose kernel
//! works in seccomp mode can send what it likes.

use crate::common::{Place, kernels};

/// A stand-in for a kernel that counts as one: as a guest it does `lines`, with its events on descriptor 4.
fn kernel_that(place: &Place, lines: &str) -> String {
    let script = format!(
        "for word; do case $word in ssl0=null,fd:*) events=${{word##*:}} ;; esac; done\n\
         [ -n \"$events\" ] || exit 0\n\
         eval \"exec 4>&$events\"\n\
         say() {{ printf '%s\\n' \"$1\" >&4; }}\n{lines}\n"
    );
    let path = kernels::script(place, &script, &kernels::strings("6.1.0", &kernels::OPTIONS));
    format!("{:?}", path.display().to_string())
}

/// Two candidates, `own` and `rival`, in so many blocks.
fn two_candidates(kernel: &str, blocks: u32, timeout: &str) -> String {
    format!(
        r#"
title        = "Reports"
lab          = "uml"
kernel       = {kernel}
device.image = "64MiB"
protocol     = {{ blocks = {blocks}, timeout = "{timeout}", disturbed = false }}
candidate    = [{{ filesystem = "ext4", name = "own" }}, {{ filesystem = "ext4", name = "rival", mount = "noatime" }}]
phase        = [{{ name = "do", command = "true" }}]
"#
    )
}

/// Its numbers are the guest's to say; the run and the other candidates are not.
#[test]
fn uml_a_guest_reports_nothing_about_the_run_and_other_candidates() {
    let forged = r#"
say '{"event":"step_started","step":"do"}'
say '{"event":"candidate_dropped","candidate":"rival","reason":"so I say"}'
say '{"event":"candidate_skipped","candidate":"rival","reason":"so I say","hint":""}'
say '{"event":"block_finished","block":1,"attempt":1,"invalid":"so I say"}'
say '{"event":"run_finished","reason":"so I say"}'
say '{"event":"run_resumed","more":4000000000}'
say '{"event":"power_cut","candidate":"rival","states":1,"outcomes":{"unmountable":1},"back_s":[0.0,0.0]}'
say '{"event":"surroundings","killed":true}'
say '{"event":"observation","phase":"do","cache":"warm","measurements":[{"metric":"durable","unit":"s","value":1.0},{"metric":"device_read","unit":"B","value":1e19},{"metric":"device_written","unit":"B","value":1e19}]}'
say '{"event":"observation","phase":"other","cache":"warm","measurements":[{"metric":"device_read","unit":"B","value":1e19}]}'
printf '{"event":"caution","text":"%s"}\n' "$(head -c 5000000 /dev/zero | tr '\0' x)" >&4
i=0; while [ $i -lt 2000 ]; do say "{\"event\":\"caution\",\"phase\":\"$$-$i\",\"text\":\"x\"}"; i=$((i + 1)); done
printf '{"event":"trial_finished","status":"ok","wall":-1.0,"reason":"","hint":"%s"}\n' "$(head -c 9000000 /dev/zero | tr '\0' x)" >&4
"#;
    let place = Place::new();
    let kernel = kernel_that(&place, forged);
    let seen = place.run(&two_candidates(&kernel, 2, "60s"), &[]).exits(0);
    let journal = place.journal();
    for event in ["candidate_dropped", "candidate_skipped", "run_resumed", "power_cut"] {
        assert_eq!(journal.all(event).count(), 0, "{event}: {seen:#?}");
    }
    assert_eq!((journal.finished(), journal.all("block_finished").count()), (4, 2), "{seen:#?}");
    let ended: Vec<&str> = journal.all("run_finished").filter_map(|event| event["reason"].as_str()).collect();
    assert!(ended.len() == 1 && ended[0] != "so I say", "{ended:?}");
    let told =
        |words: &str| journal.all("caution").any(|event| event["text"].as_str().unwrap().contains(words));
    assert!(told("left out of what the trial reported: `candidate_dropped`, which no trial may report"));
    assert_eq!(place.status("rival").0, "ok");
    place.is_left_clean();
}

/// A guest that reports its end again and again, and never falls silent, has no longer than one that does.
#[test]
fn uml_a_guest_that_never_falls_silent_is_given_up() {
    let place = Place::new();
    let ends =
        "while :; do say '{\"event\":\"trial_finished\",\"status\":\"ok\",\"wall\":0.0}'; sleep 0.3; done";
    let kernel = kernel_that(&place, ends);
    let plan = two_candidates(&kernel, 1, "60s")
        .replace(", { filesystem = \"ext4\", name = \"rival\", mount = \"noatime\" }", "");
    let path = place.plan("plan", &plan);
    let command = place.command(&["run", &path, "--out", "run"]);
    let ended =
        assert_cmd::Command::from_std(command).timeout(std::time::Duration::from_secs(240)).output().unwrap();
    assert!(ended.status.code().is_some(), "it never ends: {ended:?}");
    assert_eq!(place.journal().finished(), 1);
    place.is_left_clean();
}
