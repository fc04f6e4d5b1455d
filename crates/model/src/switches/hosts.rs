//! Lists of hosts as Slurm writes them: `n[001-016,20],login1,rack[1-2]n[1-4]`.

/// Limit on the names in a list, above the node count of any machine.
const MOST: usize = 1 << 20;

/// Expands a list to its names, in order, or says what is wrong with it.
pub fn expanded(list: &str) -> Result<Vec<String>, &'static str> {
    let mut names = Vec::new();
    for item in items(list).ok_or("brackets do not match")? {
        if item.is_empty() {
            return Err("there is an empty name");
        }
        names.extend(of_item(item)?);
        if names.len() > MOST {
            return Err("it has more than a million names");
        }
    }
    Ok(names)
}

/// Splits at commas outside brackets; `None` if brackets do not match.
fn items(list: &str) -> Option<Vec<&str>> {
    let (mut parts, mut start, mut inside) = (Vec::new(), 0, false);
    for (at, letter) in list.char_indices() {
        match letter {
            '[' if inside => return None,
            ']' if !inside => return None,
            '[' | ']' => inside = !inside,
            ',' if !inside => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    (!inside).then_some(parts)
}

/// Expands one item. Each bracket multiplies the names found so far.
fn of_item(item: &str) -> Result<Vec<String>, &'static str> {
    let (mut names, mut rest) = (vec![String::new()], item);
    while let Some((before, after)) = rest.split_once('[') {
        let (ranges, behind) = after.split_once(']').ok_or("brackets do not match")?;
        let numbers = numbers(ranges)?;
        if names.len().saturating_mul(numbers.len()) > MOST {
            return Err("it has more than a million names");
        }
        let longer = |name: &String| -> Vec<String> {
            numbers.iter().map(|number| format!("{name}{before}{number}")).collect()
        };
        names = names.iter().flat_map(longer).collect();
        rest = behind;
    }
    names.iter_mut().for_each(|name| name.push_str(rest));
    Ok(names)
}

/// `001-003,7`; leading zeros are kept.
fn numbers(ranges: &str) -> Result<Vec<String>, &'static str> {
    let mut all = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let [low, high] = [first, last].map(|end| end.parse::<u64>().ok());
        let (Some(low), Some(high)) = (low, high) else {
            return Err("brackets must hold numbers and ranges, for example [001-016,20]");
        };
        if low > high {
            return Err("a range is descending");
        }
        if high - low >= MOST as u64 {
            return Err("it has more than a million names");
        }
        all.extend((low..=high).map(|number| format!("{number:0width$}", width = first.len())));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_expanded() {
        let names = |list: &str| expanded(list).unwrap();
        assert_eq!(names("n1"), ["n1"]);
        assert_eq!(names("n[008-010],login"), ["n008", "n009", "n010", "login"]);
        assert_eq!(names("r[1-2]n[1,3]-ib"), ["r1n1-ib", "r1n3-ib", "r2n1-ib", "r2n3-ib"]);
        for (list, what) in [
            ("n[1-2", "brackets"),
            ("n1]", "brackets"),
            ("n[[1]]", "brackets"),
            ("n[3-1]", "is descending"),
            ("n[a-b]", "numbers and ranges"),
            ("n[]", "numbers and ranges"),
            ("a,,b", "empty name"),
            ("n[0-99999999]", "a million"),
            ("n[0-9999]m[0-9999]", "a million"),
        ] {
            let fault = expanded(list).unwrap_err();
            assert!(fault.contains(what), "{list}: {fault}");
        }
    }
}
