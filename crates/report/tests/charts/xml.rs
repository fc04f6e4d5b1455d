//! Checks that a text is well-formed XML, as far as pictures use it: elements, attributes and entities. It
//! knows nothing of how pictures are written.

/// What is wrong with a document.
pub fn well_formed(document: &str) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = document.trim_end();
    if !rest.starts_with('<') {
        return Err("text before the first element".into());
    }
    while let Some(inside) = rest.strip_prefix('<') {
        let (tag, after) = inside.split_once('>').ok_or("an element without end")?;
        let (text, next) = after.split_at(after.find('<').unwrap_or(after.len()));
        if let Some(name) = tag.strip_prefix('/') {
            let opened = open.pop();
            if opened != Some(name) {
                return Err(format!("</{name}> ends {opened:?}"));
            }
        } else {
            let is_empty = tag.ends_with('/');
            let (name, attributes) = split_name(tag.strip_suffix('/').unwrap_or(tag))?;
            check_attributes(attributes)?;
            if !is_empty {
                open.push(name);
            }
        }
        check_text(text)?;
        if open.is_empty() && !next.is_empty() {
            return Err(format!("after the end: {next}"));
        }
        rest = next;
    }
    if open.is_empty() { Ok(()) } else { Err(format!("never closed: {open:?}")) }
}

/// A name, and what follows it.
fn split_name(text: &str) -> Result<(&str, &str), String> {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | ':' | '_');
    let end = text.find(|letter| !is_letter(letter)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        Ok((name, rest))
    } else {
        Err(format!("no name: {text}"))
    }
}

fn check_attributes(text: &str) -> Result<(), String> {
    let mut names = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let start = rest.strip_prefix(' ').ok_or_else(|| format!("no space before {rest}"))?;
        let (name, value) = split_name(start)?;
        let value = value.strip_prefix("=\"").ok_or_else(|| format!("no value of {name}"))?;
        let (value, after) = value.split_once('"').ok_or_else(|| format!("no end of {name}"))?;
        check_text(value)?;
        if names.contains(&name) {
            return Err(format!("{name} twice"));
        }
        names.push(name);
        rest = after;
    }
    Ok(())
}

/// Only characters that XML allows, and `&` only in entities.
fn check_text(text: &str) -> Result<(), String> {
    let is_allowed = |c: char| {
        !c.is_control() && !matches!(c, '<' | '>' | '\u{fffe}' | '\u{ffff}') || matches!(c, '\n' | '\t')
    };
    if let Some(letter) = text.chars().find(|&c| !is_allowed(c)) {
        return Err(format!("{letter:?} in {text}"));
    }
    let entities = ["amp;", "lt;", "gt;", "quot;", "#39;"];
    match text.split('&').skip(1).find(|part| !entities.iter().any(|entity| part.starts_with(entity))) {
        Some(part) => Err(format!("no entity: &{part}")),
        None => Ok(()),
    }
}

#[test]
fn mistakes_are_found() {
    assert_eq!(well_formed("<a b=\"1\" c=\"&lt;\">x &amp; y<d/></a>\n"), Ok(()));
    for wrong in [
        "",
        "<a>",
        "<a></b>",
        "<a>&</a>",
        "<a>&nbsp;</a>",
        "<a b=1/>",
        "<a b=\"1\" b=\"2\"/>",
        "<a b=\"<\"/>",
        "<a>\u{1}</a>",
        "<a/><b/>",
        "<a>></a>",
        "</a>",
        "<a",
    ] {
        assert!(well_formed(wrong).is_err(), "{wrong}");
    }
}
