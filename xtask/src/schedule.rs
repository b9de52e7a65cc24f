//! Which stage starts next.

use anyhow::Result;

/// How far a stage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageState {
    /// It was not asked for.
    LeftOut,
    /// It has not started.
    Waiting,
    /// It runs.
    Running,
    /// It ran, and everything held.
    Passed,
    /// It failed or was skipped.
    NotPassed,
}

/// The next step.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Start the stage at this place.
    Start(usize),
    /// Skip the stage at this place: the one of that name has not passed.
    Skip(usize, String),
    /// Wait until a stage ends.
    Wait,
    /// All have ended.
    End,
}

/// The stages of a run, in order. A stage starts once those that it needs have passed. None overtakes one that waits for
/// its turn: so one that is alone gets it, and long stages that are named early start early.
#[derive(Debug)]
pub struct Schedule {
    stages: Vec<Planned>,
    at_once: usize,
}

#[derive(Debug)]
struct Planned {
    name: String,
    needs: Vec<String>,
    after: Vec<String>,
    alone: bool,
    state: StageState,
}

impl Schedule {
    /// Plans the stages in `only` and all that they need or come after, in turn, or all stages if it is empty. At most `at_once` run at
    /// the same time.
    pub fn new(stages: &[Stage], only: &[String], at_once: usize) -> Self {
        let mut asked = only.to_vec();
        let mut seen = 0;
        while let Some(name) = asked.get(seen) {
            let needed = stages.iter().filter(|stage| stage.name == *name);
            let needed = needed.flat_map(|stage| stage.needs.iter().chain(&stage.after));
            let needed: Vec<String> = needed.cloned().collect();
            for name in needed {
                if !asked.contains(&name) {
                    asked.push(name);
                }
            }
            seen += 1;
        }
        let plan = |stage: &Stage| Planned {
            name: stage.name.clone(),
            needs: stage.needs.clone(),
            after: stage.after.clone(),
            alone: stage.alone,
            state: match only.is_empty() || asked.contains(&stage.name) {
                true => StageState::Waiting,
                false => StageState::LeftOut,
            },
        };
        Self {
            stages: stages.iter().map(plan).collect(),
            at_once,
        }
    }

    /// Notes how far a stage is.
    pub fn set(&mut self, at: usize, state: StageState) {
        self.stages[at].state = state;
    }

    /// Returns what is to be done.
    pub fn next(&self) -> Next {
        let running = self
            .stages
            .iter()
            .filter(|stage| stage.state == StageState::Running);
        let alone = running.clone().any(|stage| stage.alone);
        let running = running.count();
        for (at, stage) in self.stages.iter().enumerate() {
            if stage.state != StageState::Waiting {
                continue;
            }
            let mut needed = stage.needs.iter().map(|name| (name, self.state(name)));
            let unfit =
                |state: &StageState| matches!(state, StageState::NotPassed | StageState::LeftOut);
            if let Some((name, _)) = needed.clone().find(|(_, state)| unfit(state)) {
                return Next::Skip(at, name.clone());
            }
            let ends = |name: &String| {
                !matches!(self.state(name), StageState::Waiting | StageState::Running)
            };
            if needed.any(|(_, state)| state != StageState::Passed) || !stage.after.iter().all(ends)
            {
                continue;
            }
            let room = match stage.alone {
                true => running == 0,
                false => !alone && running < self.at_once,
            };
            return if room { Next::Start(at) } else { Next::Wait };
        }
        match running {
            0 => Next::End,
            _ => Next::Wait,
        }
    }

    fn state(&self, name: &str) -> StageState {
        let found = self.stages.iter().find(|stage| stage.name == name);
        found.map_or(StageState::LeftOut, |stage| stage.state)
    }
}

/// How a stage ended that did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It ran and everything held.
    Passed,
    /// It did not run, for the reason given.
    Skipped(String),
}

/// One stage of a run.
pub struct Stage {
    /// Its name on the command line, in the table and in the budgets.
    pub name: String,
    /// The stages that must have passed before it starts.
    pub needs: Vec<String>,
    /// The stages that must have ended before it starts, well or not.
    pub after: Vec<String>,
    /// Whether nothing may run beside it: it keeps all cores busy by itself, or needs most of the memory.
    pub alone: bool,
    /// Whether its output is shown while it runs, and not at its end.
    pub shown: bool,
    pub body: Box<dyn Fn() -> Result<Outcome>>,
}

impl Stage {
    /// Returns a stage that needs nothing and may run beside others.
    pub fn new(name: &str, body: impl Fn() -> Result<()> + 'static) -> Self {
        Self::that_may_skip(name, move || body().map(|()| Outcome::Passed))
    }

    /// Returns a stage whose body says whether it could run.
    pub fn that_may_skip(name: &str, body: impl Fn() -> Result<Outcome> + 'static) -> Self {
        Self {
            name: name.to_owned(),
            needs: Vec::new(),
            after: Vec::new(),
            alone: false,
            shown: false,
            body: Box::new(body),
        }
    }

    /// Adds stages that must have passed.
    pub fn needs(mut self, stages: &[&str]) -> Self {
        self.needs.extend(stages.iter().map(ToString::to_string));
        self
    }

    /// Adds stages that must have ended.
    pub fn after(mut self, stages: &[&str]) -> Self {
        self.after.extend(stages.iter().map(ToString::to_string));
        self
    }

    /// Lets nothing run beside it, and shows its output while it runs.
    pub fn alone(mut self) -> Self {
        self.alone = true;
        self.shown()
    }

    /// Shows its output while it runs.
    pub fn shown(mut self) -> Self {
        self.shown = true;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(name: &str, needs: &[&str]) -> Stage {
        Stage::new(name, || Ok(())).needs(needs)
    }

    /// Starts what may start, and returns the names; ends nothing.
    fn started(schedule: &mut Schedule) -> Vec<String> {
        let mut names = Vec::new();
        while let Next::Start(at) = schedule.next() {
            schedule.set(at, StageState::Running);
            names.push(schedule.stages[at].name.clone());
        }
        names
    }

    /// Runs all to their ends, one by one, and returns the order of the starts.
    fn order(stages: &[Stage], only: &[&str]) -> Vec<String> {
        let only: Vec<String> = only.iter().map(ToString::to_string).collect();
        let mut schedule = Schedule::new(stages, &only, 1);
        let mut names = Vec::new();
        while let Next::Start(at) = schedule.next() {
            names.push(stages[at].name.clone());
            schedule.set(at, StageState::Passed);
        }
        assert_eq!(schedule.next(), Next::End);
        names
    }

    #[test]
    fn one_stage_brings_what_it_needs_in_turn() {
        let stages = [
            stage("first", &[]),
            stage("second", &["first"]),
            stage("other", &[]),
            stage("third", &["second"]),
        ];
        assert_eq!(order(&stages, &["third"]), ["first", "second", "third"]);
        assert_eq!(order(&stages, &["other"]), ["other"]);
        assert_eq!(order(&stages, &[]), ["first", "second", "other", "third"]);
    }

    #[test]
    fn no_more_run_than_may() {
        let stages = ["a", "b", "c"].map(|name| stage(name, &[]));
        let mut schedule = Schedule::new(&stages, &[], 2);
        assert_eq!(started(&mut schedule), ["a", "b"]);
        assert_eq!(schedule.next(), Next::Wait);
        schedule.set(0, StageState::Passed);
        assert_eq!(started(&mut schedule), ["c"]);
    }

    #[test]
    fn nothing_runs_beside_one_that_is_alone_and_nothing_overtakes_it() {
        let stages = [
            stage("a", &[]),
            stage("alone", &[]).alone(),
            stage("b", &[]),
        ];
        let mut schedule = Schedule::new(&stages, &[], 9);
        assert_eq!(started(&mut schedule), ["a"]);
        schedule.set(0, StageState::NotPassed);
        assert_eq!(started(&mut schedule), ["alone"]);
        schedule.set(1, StageState::Passed);
        assert_eq!(started(&mut schedule), ["b"]);
    }

    #[test]
    fn a_stage_comes_after_another_that_failed() {
        let stages = [stage("a", &[]), stage("b", &[]).after(&["a"])];
        let mut schedule = Schedule::new(&stages, &["b".to_owned()], 2);
        assert_eq!(started(&mut schedule), ["a"]);
        schedule.set(0, StageState::NotPassed);
        assert_eq!(started(&mut schedule), ["b"]);
    }

    #[test]
    fn what_cannot_start_yet_does_not_hold_up_others() {
        let stages = [stage("a", &[]), stage("b", &["a"]), stage("c", &[])];
        let mut schedule = Schedule::new(&stages, &[], 2);
        assert_eq!(started(&mut schedule), ["a", "c"]);
        schedule.set(0, StageState::NotPassed);
        assert_eq!(schedule.next(), Next::Skip(1, "a".to_owned()));
    }
}
