//! A reproduction defined as a study: a TOML file with the study, its two sizes, and the published numbers.

use crate::kernel::exit::{Failure, Outcome};
use crate::papers::reproduce::Size;
use crate::papers::reproduce::comparison::{Meaning, Quantity};
use serde::Deserialize;
use straggler_analysis::study::Study;
use straggler_model::toml_file;
use toml::Table;

/// A description of the reproduction.
#[derive(Clone, Debug, Deserialize)]
pub struct Description {
    pub figure: String,
    pub title: String,
    pub about: String,
    pub input: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Definition {
    pub figure: String,
    pub title: String,
    pub about: String,
    pub input: String,
    /// Whether the noise or the application is synthetic because the original is not public.
    pub synthesised: bool,
    /// The paper's definition of slowdown, if it is not T/T0 − 1.
    pub paper_means: Option<String>,
    /// Whether to compare the growth with detours and processes with laws.
    #[serde(default)]
    pub laws: bool,
    study: Table,
    quick: Table,
    full: Table,
    #[serde(default)]
    pub published: Vec<Published>,
}

/// A number of the paper, and how to find ours.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    pub text: String,
    pub statistic: Statistic,
    /// All series if not given.
    pub sweep: Option<String>,
    pub workload: Option<String>,
    pub cosched: Option<bool>,
    /// The largest simulated number if not given.
    pub processes: Option<u32>,
    pub value: Option<f64>,
    /// How the value relates to ours.
    #[serde(default)]
    pub meaning: Meaning,
    /// The source of the value, if it is not the paper.
    pub basis: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
pub enum Statistic {
    #[serde(rename = "median slowdown")]
    MedianSlowdown,
    #[serde(rename = "largest slowdown")]
    LargestSlowdown,
    /// The largest median over all numbers of processes.
    #[serde(rename = "largest median slowdown")]
    LargestMedian,
    #[serde(rename = "median ratio")]
    MedianRatio,
    #[serde(rename = "largest ratio")]
    LargestRatio,
    #[serde(rename = "inflection")]
    Inflection,
}

impl Statistic {
    pub fn is_largest(self) -> bool {
        matches!(self, Statistic::LargestSlowdown | Statistic::LargestRatio)
    }

    pub fn quantity(self) -> Quantity {
        match self {
            Statistic::MedianSlowdown | Statistic::LargestSlowdown | Statistic::LargestMedian => {
                Quantity::Slowdown
            }
            Statistic::MedianRatio | Statistic::LargestRatio => Quantity::Ratio,
            Statistic::Inflection => Quantity::Processes,
        }
    }
}

impl Definition {
    pub fn parse(text: &str) -> Outcome<Definition> {
        toml_file::read(text).map_err(|fault| Failure::bad_input(format!("a reproduction: {fault}")))
    }

    pub fn description(&self) -> Description {
        Description {
            figure: self.figure.clone(),
            title: self.title.clone(),
            about: self.about.clone(),
            input: self.input.clone(),
        }
    }

    /// The study at one of its sizes, with this seed.
    pub fn study(&self, size: Size, seed: u64) -> Outcome<Study> {
        let sized = match size {
            Size::Quick => &self.quick,
            Size::Full => &self.full,
        };
        let mut table = self.study.clone();
        table.insert("name".into(), format!("{}: {}", self.figure, self.title).into());
        table.insert("seed".into(), seed.to_string().into());
        table.extend(sized.clone());
        let text = toml::to_string(&table)
            .map_err(|fault| Failure::bad_input(format!("{}: {fault}", self.figure)))?;
        Study::parse(&text).map_err(|fault| Failure::bad_input(format!("{}: {fault}", self.figure)))
    }
}
