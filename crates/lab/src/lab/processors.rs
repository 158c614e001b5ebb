//! The processor models that price the computation of a plan's candidates, in simulated time.

use crate::cpu::{ClassPrice, CpuModel};
use fsverdict_disk::device::Draw;
use fsverdict_judgement::journal::{Facts, ProcessorModel};
use fsverdict_judgement::plan::{Candidate, Plan};
use fsverdict_text::Hinted;

use super::LabError;

/// The models of a plan, by the names it gives them.
#[derive(Debug, Default)]
pub(super) struct Processors(Vec<(String, CpuModel)>);

impl Processors {
    /// Reads every model that a plan names.
    pub(super) fn read_models(plan: &Plan) -> Result<Self, LabError> {
        let read = |name: &str| {
            let model = CpuModel::find(name).map_err(|error| LabError::Given(error.reason()))?;
            Ok((name.to_owned(), model))
        };
        plan.cpus().into_iter().map(read).collect::<Result<_, _>>().map(Processors)
    }

    /// The model that prices a candidate's computation, if it has a price.
    pub(super) fn model_for(&self, plan: &Plan, candidate: &Candidate) -> Option<&CpuModel> {
        let name = plan.cpu_of(candidate)?;
        self.0.iter().find(|(known, _)| known == name).map(|(_, model)| model)
    }

    /// Describes each model for the reader of the results.
    pub(super) fn describe_models(&self) -> Vec<ProcessorModel> {
        self.0.iter().map(|(_, model)| model.about.clone()).collect()
    }

    /// How times include computation, as a text.
    pub(super) fn title(&self, plan: &Plan, drawn: bool) -> String {
        if self.0.is_empty() {
            return "CPU taken as free".to_owned();
        }
        let titles: Vec<String> = self.0.iter().map(|(_, model)| model.about.title()).collect();
        let drawn = if drawn { ", each price drawn within 20 % for each block" } else { "" };
        let is_free = |candidate: &Candidate| plan.cpu_of(candidate).is_none();
        let rest =
            if plan.candidates.iter().any(is_free) { ", and free for the other candidates" } else { "" };
        format!("computation priced as on {}{drawn}{rest}", titles.join(" and "))
    }
}

/// The prices that a block met, as facts of its trial.
pub(super) fn drawn_prices(prices: &[ClassPrice], draw: Option<Draw>) -> Facts {
    let fact =
        |price: &ClassPrice| (format!("drawn.cpu.{}", price.class), format!("{} ps", price.picoseconds));
    if draw.is_some() { prices.iter().map(fact).collect() } else { Facts::new() }
}

#[cfg(test)]
mod tests {
    use super::{Processors, drawn_prices};
    use fsverdict_disk::device::Draw;
    use fsverdict_judgement::plan::{Candidate, Plan};

    fn plan(cpu: Option<&str>, of_candidates: [Option<&str>; 2]) -> Plan {
        let mut plan: Plan =
            serde_json::from_str(include_str!("../../../../tests/runs/demo/plan.json")).unwrap();
        plan.cpu = cpu.map(str::to_owned);
        plan.candidates = of_candidates
            .into_iter()
            .zip(["ext4", "xfs"])
            .map(|(cpu, name)| {
                let mut candidate = Candidate::with_defaults(name);
                candidate.under.cpu = cpu.map(str::to_owned);
                candidate
            })
            .collect();
        plan
    }

    #[test]
    fn a_candidate_is_priced_by_its_own_model_or_the_plan_s_and_free_is_none() {
        let mixed = plan(Some("core2"), [None, Some("free")]);
        let found = Processors::read_models(&mixed).unwrap();
        assert_eq!(found.model_for(&mixed, &mixed.candidates[0]).unwrap().about.name, "core2");
        assert!(found.model_for(&mixed, &mixed.candidates[1]).is_none());
        let title = found.title(&mixed, true);
        for told in ["priced as on core2 (2 processors", "estimated", "within 20 %", "free for the other"] {
            assert!(title.contains(told), "{told}: {title}");
        }
        let two = plan(None, [Some("arm-board"), Some("core2")]);
        let found = Processors::read_models(&two).unwrap();
        assert_eq!(found.describe_models().len(), 2);
        assert!(!found.title(&two, false).contains("free"), "{}", found.title(&two, false));
        let free = plan(None, [None, Some("free")]);
        assert_eq!(Processors::read_models(&free).unwrap().title(&free, true), "CPU taken as free");
        assert!(Processors::read_models(&plan(Some("core-2"), [None, None])).is_err());
    }

    #[test]
    fn prices_are_facts_where_they_were_drawn() {
        let plan = plan(Some("core2"), [None, None]);
        let found = Processors::read_models(&plan).unwrap();
        let model = found.model_for(&plan, &plan.candidates[0]).unwrap();
        assert!(drawn_prices(&model.prices(None), None).is_empty());
        let draw = Some(Draw { seed: 1, mirrored: false });
        let facts = drawn_prices(&model.prices(draw), draw);
        assert!(facts["drawn.cpu.block_hot"].ends_with(" ps"), "{facts:?}");
    }
}
