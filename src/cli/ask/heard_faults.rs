//! Faults that a question names besides another work: power cuts of a mail server, bit rot under photos. If the plan of
//! that work says which files must survive a fault, its candidates are examined for them after the trials.

use fsverdict_judgement::plan::{Overrides, Preset, preset, read_with};

use super::super::with_vocabulary;
use super::asked_fault::AskedFault;
use super::heard::HeardQuestion;
use super::heard_work::HeardWork;
use super::sentence::Said;

/// Takes the faults out of the works that were named, if the other work can be examined for them.
pub(super) fn take_faults(heard: &mut HeardQuestion) -> Vec<Said<AskedFault>> {
    let Some(Said { value: HeardWork::Preset(first), .. }) = &heard.work else { return Vec::new() };
    let named: Vec<&Preset> =
        std::iter::once(*first).chain(heard.other_works.iter().map(|said| said.value)).collect();
    let mut works = named.iter().filter(|preset| AskedFault::of_preset(preset).is_none());
    let (Some(work), None) = (works.next(), works.next()) else { return Vec::new() };
    let faults: Vec<AskedFault> = named.iter().filter_map(|preset| AskedFault::of_preset(preset)).collect();
    if faults.is_empty() || !can_be_examined(work, &faults) {
        return Vec::new();
    }
    let mut other_works: Vec<Said<&'static Preset>> = std::mem::take(&mut heard.other_works);
    if let Some(Said { value: HeardWork::Preset(first), words }) = heard.work.take() {
        other_works.push(Said::new(first, words));
    }
    let mut asked = Vec::new();
    for one in other_works {
        match AskedFault::of_preset(one.value) {
            Some(fault) => asked.push(Said::new(fault, one.words)),
            None => {
                heard.work = preset(one.value.name).map(|work| Said::new(HeardWork::Preset(work), one.words));
            }
        }
    }
    asked
}

/// Whether the plan of this work says which files must survive these faults.
fn can_be_examined(work: &Preset, faults: &[AskedFault]) -> bool {
    let set = faults.iter().map(|fault| fault.setting().to_owned()).collect();
    let overrides = Overrides { set, ..Overrides::default() };
    with_vocabulary(|vocabulary| read_with(work.toml, work.name, &overrides, vocabulary)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::heard::hear;
    use super::super::heard_work::HeardWork;
    use super::{AskedFault, take_faults};

    #[test]
    fn faults_are_examined_with_a_work_that_says_what_must_be_there() {
        let both = [AskedFault::PowerCuts];
        for (said, work, faults) in [
            ("nextcloud and power cuts", "nextcloud", &both[..]),
            ("bit rot for nextcloud", "nextcloud", &[AskedFault::Rot]),
            // Nothing of it says what must be there.
            ("games and power cut", "games", &[]),
            ("power cut", "power-cut", &[]),
        ] {
            let mut heard = hear(&[said.to_owned()], false);
            let found: Vec<AskedFault> = take_faults(&mut heard).into_iter().map(|one| one.value).collect();
            let Some(HeardWork::Preset(preset)) = heard.work.map(|work| work.value) else { panic!("{said}") };
            assert_eq!((preset.name, found.as_slice()), (work, faults), "{said}");
        }
    }
}
