//! The rules of every snapshot of every ref, and those of a whole run.

use std::collections::{BTreeMap, BTreeSet};

use icefield::Session;

use crate::facts::RegisterOp;
use crate::member::{Round, length, number, path, require};

/// Accounts of each of the two arrays of the bank, and the money on each when the run begins.
pub(crate) const ACCOUNTS: u32 = 4;
pub(crate) const DEPOSIT: u64 = 1_000;
/// Numbers in the window.
pub(crate) const WINDOW: u32 = 6;
/// Cells that forks fill.
pub(crate) const CELLS: u32 = 64;

pub(crate) const BANK: [&str; 2] = ["/bank/x", "/bank/y"];
pub(crate) const LEDGER: &str = "/ledger";
pub(crate) const WINDOW_ARRAY: &str = "/window";
pub(crate) const REGISTER: &str = "/register";
pub(crate) const FORKS: &str = "/forks";

/// Checks what holds at one snapshot.
///
/// # Errors
/// The rule, or that the store did not answer.
pub(crate) async fn check(session: &Session) -> Round {
    let bank = [path(BANK[0])?, path(BANK[1])?];
    if length(session, &bank[0])?.is_none() {
        // Before the arrays were there.
        return Ok(());
    }
    let mut sum = 0;
    for at in &bank {
        for account in 0..ACCOUNTS {
            sum += number(session, at, account).await?.unwrap_or(0);
        }
    }
    let all = DEPOSIT * u64::from(2 * ACCOUNTS);
    require(sum == all, || format!("the bank has {sum}, not {all}"))?;
    let at = path(WINDOW_ARRAY)?;
    let mut window = Vec::new();
    for index in 0..WINDOW {
        window.push(number(session, &at, index).await?);
    }
    let first = window[0];
    let follow = (0..)
        .zip(&window)
        .all(|(steps, value)| *value == first.map(|first| first + steps));
    require(first.is_some() && follow, || {
        format!("the window shows {window:?}")
    })?;
    let ledger = ledger(session).await?;
    let distinct: BTreeSet<_> = ledger.iter().collect();
    require(distinct.len() == ledger.len(), || {
        format!("the ledger has a number twice: {ledger:?}")
    })
}

/// Reads the ledger.
pub(crate) async fn ledger(session: &Session) -> Round<Vec<u64>> {
    let at = path(LEDGER)?;
    let count = length(session, &at)?.unwrap_or(0);
    let mut numbers = Vec::new();
    for index in 0..count {
        let index = index as u32;
        let found = number(session, &at, index).await?;
        require(found.is_some(), || {
            format!("the ledger has nothing at {index}")
        })?;
        numbers.extend(found);
    }
    Ok(numbers)
}

/// Checks that the ledger has what was acknowledged once, and the numbers of each writer in order.
pub(crate) fn check_ledger(ledger: &[u64], acknowledged: &BTreeMap<usize, Vec<u64>>) -> Round {
    let places: BTreeMap<u64, usize> = ledger
        .iter()
        .enumerate()
        .map(|(at, number)| (*number, at))
        .collect();
    for (writer, numbers) in acknowledged {
        let mut before = None;
        for number in numbers {
            let at = places.get(number).copied();
            require(at.is_some(), || {
                format!("{number} of writer {writer} was acknowledged and is not in the ledger")
            })?;
            require(before < at, || {
                format!("{number} of writer {writer} is not behind those before it: {ledger:?}")
            })?;
            before = at;
        }
    }
    Ok(())
}

/// Checks that reads and writes of a counter are linearizable: each write counts up by one, so that a value says its place in
/// the order, and an operation that begins after another has ended has no earlier place, nor has a write the same.
pub(crate) fn check_register(operations: &[RegisterOp]) -> Round {
    let mut ended: Vec<&RegisterOp> = operations.iter().collect();
    ended.sort_by_key(|it| it.ended);
    let mut begun: Vec<&RegisterOp> = operations.iter().collect();
    begun.sort_by_key(|it| it.begun);
    let mut written = BTreeSet::new();
    for write in operations.iter().filter(|it| it.is_write) {
        require(written.insert(write.value), || {
            format!("two writes were both number {}", write.value)
        })?;
    }
    let (mut next, mut newest) = (0, None::<&RegisterOp>);
    for later in begun {
        while let Some(earlier) = ended.get(next).filter(|it| it.ended < later.begun) {
            if newest.is_none_or(|it| it.value < earlier.value) {
                newest = Some(earlier);
            }
            next += 1;
        }
        let holds = newest.is_none_or(|newest| match later.is_write {
            true => newest.value < later.value,
            false => newest.value <= later.value,
        });
        require(holds, || {
            format!("{later:?} does not come after {newest:?}")
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn operation(begun: u64, ended: u64, value: u64, is_write: bool) -> RegisterOp {
        RegisterOp {
            begun: Duration::from_secs(begun),
            ended: Duration::from_secs(ended),
            value,
            is_write,
        }
    }

    #[test]
    fn a_read_that_misses_a_write_that_had_ended_is_found() {
        let write = operation(0, 1, 1, true);
        assert!(check_register(&[write, operation(2, 3, 1, false)]).is_ok());
        assert!(check_register(&[write, operation(0, 3, 0, false)]).is_ok());
        assert!(check_register(&[write, operation(2, 3, 0, false)]).is_err());
        assert!(check_register(&[write, operation(2, 3, 1, true)]).is_err());
        assert!(check_register(&[write, operation(0, 3, 1, true)]).is_err());
    }

    #[test]
    fn a_number_that_is_lost_or_out_of_order_is_found() {
        let acknowledged = BTreeMap::from([(0, vec![1, 2])]);
        assert!(check_ledger(&[1, 9, 2], &acknowledged).is_ok());
        assert!(check_ledger(&[2, 1], &acknowledged).is_err());
        assert!(check_ledger(&[1], &acknowledged).is_err());
    }
}
