use super::*;

#[derive(Default)]
struct Seen {
    elements: Vec<String>,
    members: Vec<(String, String)>,
    strange: usize,
    damaged: Vec<u64>,
}

impl Sink for Seen {
    fn is_list(&self, key: &str) -> bool {
        key == "list"
    }
    fn element(&mut self, text: &[u8]) -> Result<usize, serde_json::Error> {
        let mut values = Deserializer::from_slice(text).into_iter::<&RawValue>();
        match values.next() {
            Some(Ok(value)) => self.elements.push(value.get().to_string()),
            Some(Err(error)) => return Err(error),
            None => {}
        }
        Ok(values.byte_offset())
    }
    fn member(&mut self, key: &str, value: &RawValue) {
        self.members.push((key.to_string(), value.get().to_string()));
    }
    fn strange(&mut self) {
        self.strange += 1;
    }
    fn may_begin(&self, text: &[u8]) -> bool {
        text.starts_with(b"{\"")
    }
    fn damaged(&mut self, at: u64) {
        self.damaged.push(at);
    }
}

const TEXT: &str = r#" {"a": 12, "list": [{"x": "}]\""}, 7, {"y": [1.5, -2e-3]},
    {"ö": true,
    "z": 0.25}], "b": {"c": null}, "d": 345.75} "#;

const ELEMENTS: [&str; 3] = [r#"{"x": "}]\""}"#, r#"{"y": [1.5, -2e-3]}"#, LAST];

const LAST: &str = "{\"ö\": true,\n    \"z\": 0.25}";

#[test]
fn elements_and_members_come_in_order() {
    // Small blocks cut every value at some point.
    for size in (1..40).chain([BLOCK]) {
        let mut seen = Seen::default();
        assert_eq!(walk_in_blocks(TEXT.as_bytes(), size, &mut seen).unwrap(), End::Whole);
        assert_eq!(seen.elements, ELEMENTS);
        let members: Vec<_> = seen.members.iter().map(|(key, value)| (&key[..], &value[..])).collect();
        assert_eq!(members, [("a", "12"), ("b", r#"{"c": null}"#), ("d", "345.75")]);
        assert_eq!(seen.strange, 1);
    }
}

#[test]
fn text_cut_anywhere_keeps_what_is_whole() {
    for cut in 0..TEXT.trim_end().len() {
        let mut seen = Seen::default();
        let end = walk(&TEXT.as_bytes()[..cut], &mut seen).unwrap();
        assert!(matches!(end, End::Broken(at) if at <= cut as u64), "{cut}");
        // Exactly the elements that ended before the cut.
        let whole = ELEMENTS.iter().take_while(|element| TEXT.find(*element).unwrap() + element.len() <= cut);
        assert_eq!(seen.elements, whole.copied().collect::<Vec<&str>>(), "{cut}");
    }
}

#[test]
fn what_is_no_json_is_passed_over() {
    let text =
        r#"{"list": [{"x": 1}, {"y": [nonsense, {"a": 2}]}, {"z": 3}, {"u": 4} {"v": 5}, {"w": 6}], "b": 7}"#;
    for size in (1..40).chain([BLOCK]) {
        let mut seen = Seen::default();
        assert_eq!(walk_in_blocks(text.as_bytes(), size, &mut seen).unwrap(), End::Whole);
        // A comma is missing before v, so v is lost, too.
        assert_eq!(seen.elements, [r#"{"x": 1}"#, r#"{"z": 3}"#, r#"{"u": 4}"#, r#"{"w": 6}"#], "{size}");
        let places = [text.find("{\"y").unwrap() as u64, text.find("{\"v").unwrap() as u64];
        assert_eq!((seen.damaged, seen.members.len()), (places.to_vec(), 1), "{size}");
    }
}

#[test]
fn elements_may_be_longer_than_a_block() {
    let long = format!(r#"{{"list": [{{"x": "{}"}}, {{}}]}}"#, "y".repeat(3 * BLOCK));
    let mut seen = Seen::default();
    assert_eq!(walk(long.as_bytes(), &mut seen).unwrap(), End::Whole);
    assert_eq!((seen.elements.len(), seen.elements[0].len()), (2, 3 * BLOCK + 9));
}

/// A text that is repeated without end, and how much of it was read.
struct Endless {
    text: &'static [u8],
    read: usize,
}

impl Read for Endless {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        for (at, byte) in into.iter_mut().enumerate() {
            *byte = self.text[(self.read + at) % self.text.len()];
        }
        self.read += into.len();
        Ok(into.len())
    }
}

/// A few kilobytes of gzip can stand for a gigabyte of brackets, or for a text without an end.
#[test]
fn nothing_is_nested_or_long_without_bound() {
    let deep = ["[", "{\"a\":"].map(|text| (text, "", 4 * BLOCK));
    for (text, quote, most) in deep.into_iter().chain([("x", "\"", 3 * LONGEST)]) {
        for begin in ["{\"list\": [{\"x\": ", "{\"other\": "] {
            let mut endless = Endless { text: text.as_bytes(), read: 0 };
            let begin = format!("{begin}{quote}");
            let end = walk(begin.as_bytes().chain(&mut endless), &mut Seen::default()).unwrap();
            assert!(matches!(end, End::Broken(_)), "{begin}{text}");
            assert!(endless.read <= most, "{begin}{text}: {} bytes", endless.read);
        }
    }
}
