//! The simulation itself: that it finds planted bugs, that it repeats itself, and that nothing fails without them.

use icefield_simulation::{Broken, Figures, Scenario, play};

/// Scenarios of a test run, unless the variable says otherwise.
const SEEDS: u64 = 300;
const VARIABLE: &str = "ICEFIELD_SIMULATION_SEEDS";
/// Seeds that a planted bug may take to be found.
const PATIENCE: u64 = 60;

#[test]
fn no_scenario_breaks_a_rule() {
    let wanted = std::env::var(VARIABLE)
        .ok()
        .and_then(|text| text.parse().ok());
    let count: u64 = wanted.unwrap_or(SEEDS);
    let half = |first: u64| {
        move || {
            let mut figures = Figures::default();
            for seed in (first..count).step_by(2) {
                let scenario = Scenario::draw(seed);
                let outcome = play(&scenario);
                let last = outcome.last.join("\n");
                assert_eq!(outcome.broken, None, "seed {seed}: {scenario:?}\n{last}");
                figures += outcome.figures;
            }
            figures
        }
    };
    let threads = [0, 1].map(|first| std::thread::spawn(half(first)));
    let mut figures = Figures::default();
    for thread in threads {
        figures += thread.join().expect("no scenario fails");
    }
    eprintln!("{count} scenarios: {figures:?}");
    // Scenarios in which nothing happens would show nothing.
    assert!(
        figures.commits > 4 * count && figures.refused > count / 4,
        "{figures:?}"
    );
    assert!(
        figures.collections > count / 3 && figures.deleted > count,
        "{figures:?}"
    );
    assert!(
        figures.expirations > count / 10 && figures.reads > count,
        "{figures:?}"
    );
    assert!(
        figures.unknown > count / 20 && figures.judged > 2 * count,
        "{figures:?}"
    );
}

#[test]
fn a_scenario_repeats_itself() {
    for seed in 0..40 {
        let scenario = Scenario::draw(seed);
        let (one, two) = (play(&scenario), play(&scenario));
        assert_eq!(one.digest, two.digest, "seed {seed}");
        assert!(one.events > 0);
    }
    let digests: std::collections::BTreeSet<_> = (0..10)
        .map(|seed| play(&Scenario::draw(seed)).digest)
        .collect();
    assert_eq!(digests.len(), 10);
}

#[test]
fn every_planted_bug_is_found() {
    for broken in Broken::ALL {
        let found = (0..PATIENCE).find(|seed| {
            play(&Scenario::draw(*seed).with_broken(broken))
                .broken
                .is_some()
        });
        let found = found.unwrap_or_else(|| panic!("{broken:?} is not found by {PATIENCE} seeds"));
        eprintln!("{broken:?}: found by seed {found}");
    }
}

#[test]
fn a_failing_scenario_gets_smaller_and_can_be_written_down() {
    let broken = Broken::IgnoresConditions;
    let fails = |scenario: &Scenario| play(scenario).broken.is_some();
    let seed = (0..PATIENCE).find(|seed| fails(&Scenario::draw(*seed).with_broken(broken)));
    let scenario = Scenario::draw(seed.expect("a seed finds it")).with_broken(broken);
    let smallest = scenario.shrunk(fails, 60);
    assert!(
        smallest.actors.len() < scenario.actors.len(),
        "{smallest:?}"
    );
    let text = serde_json::to_string(&smallest).expect("plain data");
    let again: Scenario = serde_json::from_str(&text).expect("what was written");
    assert_eq!(again, smallest);
    assert!(fails(&again));
}

/// The write of `repo` arrives when its process has ended and others have committed in version 1: finishing the upgrade carries
/// their commits over.
#[test]
fn an_upgrade_whose_write_arrives_after_commits_can_be_finished() {
    let scenario: Scenario = serde_json::from_str(
        r#"{"seed": 102976, "spec": 1, "native_chunks": false, "faults": 20, "disruptions": [], "broken": null, "actors": [
            {"role": "bank", "rounds": 1, "skew_ms": 0}, {"role": "bank", "rounds": 1, "skew_ms": 0},
            {"role": "reader", "rounds": 1, "skew_ms": 0}, {"role": "register", "rounds": 1, "skew_ms": 0},
            {"role": "slow", "rounds": 1, "skew_ms": 0}, {"role": "forks", "rounds": 1, "skew_ms": 0},
            {"role": "window", "rounds": 1, "skew_ms": 0}, {"role": "collector", "rounds": 1, "skew_ms": 0},
            {"role": "upgrader", "rounds": 1, "skew_ms": 0}]}"#,
    )
    .expect("a scenario");
    let outcome = play(&scenario);
    assert_eq!(outcome.broken, None, "{}", outcome.last.join("\n"));
    // The upgrade did not end, and commits landed behind its beginning.
    assert_eq!(outcome.figures.upgrades, 0, "{:?}", outcome.figures);
    assert!(outcome.figures.commits >= 2, "{:?}", outcome.figures);
}
