//! The description of a job next to its table: a flat list of `name: value`.

/// The parallel layout of a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meta {
    pub trial_name: String,
    pub dp: u32,
    pub pp: u32,
    pub tp: u32,
    pub dsp: u32,
    pub vpp: u32,
    pub world: u32,
}

/// Why the description of a job cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MetaError {
    #[error("line {line}: `{text}` is not `name: value`")]
    Line { line: usize, text: String },
    #[error("line {line}: {name} is `{value}`: expected a whole number of at least 1")]
    Number { line: usize, name: String, value: String },
    #[error(
        "world_size is {world}, and dp_size · pp_size · tp_size · dsp_size = {product}: one of them is wrong"
    )]
    World { world: u32, product: u64 },
}

impl Meta {
    pub fn parse(text: &str) -> Result<Meta, MetaError> {
        let mut meta = Meta { trial_name: String::new(), dp: 1, pp: 1, tp: 1, dsp: 1, vpp: 1, world: 1 };
        let mut world = None;
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.split(" #").next().unwrap_or(text).trim();
            if text.is_empty() || text.starts_with('#') || text == "---" {
                continue;
            }
            let Some((name, value)) = text.split_once(':') else {
                return Err(MetaError::Line { line, text: text.into() });
            };
            let value = value.trim().trim_matches(['"', '\'']);
            let number = || match value.parse() {
                Ok(number) if number > 0 => Ok(number),
                _ => Err(MetaError::Number { line, name: name.into(), value: value.into() }),
            };
            match name.trim() {
                "trial_name" => meta.trial_name = value.into(),
                "dp_size" => meta.dp = number()?,
                "pp_size" => meta.pp = number()?,
                "tp_size" => meta.tp = number()?,
                "dsp_size" => meta.dsp = number()?,
                "vpp_size" => meta.vpp = number()?,
                "world_size" => world = Some(number()?),
                _ => {}
            }
        }
        let product = [meta.dp, meta.pp, meta.tp, meta.dsp].into_iter().map(u64::from).product();
        meta.world = world.unwrap_or(u32::try_from(product).unwrap_or(u32::MAX));
        if u64::from(meta.world) != product {
            return Err(MetaError::World { world: meta.world, product });
        }
        Ok(meta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_defaults_and_must_fit() {
        let meta =
            Meta::parse("trial_name: 'a job'\n# comment\ndp_size: 4\npp_size: 2 # stages\nworld_size: 8\n")
                .unwrap();
        assert_eq!((meta.trial_name.as_str(), meta.dp, meta.pp, meta.tp, meta.world), ("a job", 4, 2, 1, 8));
        assert_eq!(Meta::parse("dp_size: 4\nworld_size: 5"), Err(MetaError::World { world: 5, product: 4 }));
        let zero = MetaError::Number { line: 1, name: "tp_size".into(), value: "0".into() };
        assert_eq!(Meta::parse("tp_size: 0"), Err(zero));
        assert!(matches!(Meta::parse("nonsense"), Err(MetaError::Line { line: 1, .. })));
    }
}
