//! Parts of sentences.

/// The singular or the plural.
pub fn plural<'a>(count: usize, one: &'a str, several: &'a str) -> &'a str {
    if count == 1 { one } else { several }
}

/// `3`, `3 and 5`, `3, 5 and 7`. Long lists end with the number of omitted items.
pub fn list<T: ToString>(items: &[T]) -> String {
    list_up_to(8, items)
}

/// The same with at most this many items.
pub fn list_up_to<T: ToString>(most: usize, items: &[T]) -> String {
    let mut shown: Vec<String> = items.iter().take(most).map(T::to_string).collect();
    if items.len() > most {
        shown.push(format!("{} more", items.len() - most));
    }
    match shown.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_as_sentences() {
        let listed = |most: u32| list(&(0..most).collect::<Vec<_>>());
        assert_eq!(
            (listed(0), listed(1), listed(2), listed(3)),
            ("".into(), "0".into(), "0 and 1".into(), "0, 1 and 2".into())
        );
        assert_eq!(listed(10), "0, 1, 2, 3, 4, 5, 6, 7 and 2 more");
        assert_eq!(list_up_to(2, &["a", "b", "c"]), "a, b and 1 more");
    }
}
