//! A collective in words.

use crate::simulate::collective::CollectivePlan;
use straggler_model::Time;
use straggler_model::units::Bytes;
use straggler_schedule::collectives::sizes::Sizes;
use straggler_schedule::collectives::{Algorithm, Data, Job, Name, Operation};

/// Sizes to list; further ones become an ellipsis.
const NAMED: u64 = 4;

impl CollectivePlan {
    /// "an allreduce of 8 B by dissemination", "10 barriers by dissemination, each after 1 ms of
    /// computation".
    pub fn describe(&self) -> String {
        let compute = match self.compute {
            Time::ZERO => String::new(),
            time if self.cycles == 1 => format!(" after {time} of computation"),
            time => format!(", each after {time} of computation"),
        };
        let operation = word(self.operation);
        let (size, how) = (size(self.operation, &self.job), way(&self.algorithm));
        // The comma keeps "in two levels" from referring to the size.
        let comma = if how.starts_with("in ") && !size.is_empty() { "," } else { "" };
        if self.cycles == 1 {
            let article = if operation.starts_with(['a', 'e']) { "an" } else { "a" };
            format!("{article} {operation}{size}{comma} {how}{compute}")
        } else {
            let cycles = straggler_report::numbers::grouped(self.cycles);
            format!("{cycles} {operation}s{size}{comma} {how}{compute}")
        }
    }
}

fn word(operation: Operation) -> &'static str {
    match operation {
        Operation::Bcast => "broadcast",
        other => other.name(),
    }
}

/// " of 8 B", " of 8 B per rank".
fn size(operation: Operation, job: &Job) -> String {
    let each = match operation.data() {
        _ if !operation.has_size() => return String::new(),
        Data::Vector => "",
        Data::BlockForEachRank => " per rank",
        Data::BlockForEachPair => " per pair of ranks",
    };
    format!(" of {}{each}", amount(&job.sizes))
}

/// "8 B"; "1 KiB, 8 KiB, … in turn".
fn amount(sizes: &Sizes) -> String {
    if sizes.is_uniform() {
        return Bytes(sizes.size(0)).to_string();
    }
    let named: Vec<String> =
        (0..sizes.period().min(NAMED)).map(|block| Bytes(sizes.size(block)).to_string()).collect();
    let more = if sizes.period() > NAMED { ", …" } else { "" };
    format!("{}{more} in turn", named.join(", "))
}

/// "by recursive doubling", "by a chain (segment=8192)".
pub fn way(algorithm: &Algorithm) -> String {
    let words = match algorithm.name {
        Name::Binary => "by a binary tree",
        Name::Binomial => "by a binomial tree",
        Name::Bruck => "by Bruck's algorithm",
        Name::Chain => "by a chain",
        Name::Dissemination => "by dissemination",
        Name::DoubleTree => "by a double tree",
        Name::KNomial => "by a k-nomial tree",
        Name::Linear => "by the linear algorithm",
        Name::Pairwise => "by pairwise exchange",
        Name::Rabenseifner => "by Rabenseifner's algorithm",
        Name::RecursiveDoubling => "by recursive doubling",
        Name::RecursiveHalving => "by recursive halving",
        Name::ReduceBcast => "by reduce and broadcast",
        Name::Ring => "by a ring",
        Name::ScatterAllgather => "by scatter and allgather",
        Name::Tournament => "by a tournament",
        Name::TwoLevel => "in two levels",
    };
    match algorithm.to_string().split_once(',') {
        Some((_, parameters)) => format!("{words} ({})", parameters.replace(',', ", ")),
        None => words.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use crate::simulate::collective::{CollectiveRequest, DataOptions, Repetition};
    use straggler_model::Time;
    use straggler_model::units::Bytes;
    use straggler_schedule::collectives::Choice;

    fn described(choice: &str, sizes: &[u64], cycles: Option<u32>, compute: Option<Time>) -> String {
        let data =
            DataOptions { sizes: sizes.iter().map(|&size| Bytes(size)).collect(), ..Default::default() };
        let choice: Choice = choice.parse().unwrap();
        let request =
            CollectiveRequest::from_choice(&choice, 16, &data, Repetition { cycles, compute }).unwrap();
        request.build(choice.algorithm.unwrap()).unwrap().describe()
    }

    #[test]
    fn described_as_a_person_would() {
        assert_eq!(described("allreduce:ring", &[], None, None), "an allreduce of 8 B by a ring");
        assert_eq!(
            described("barrier:dissemination,radix=4", &[], Some(1), Some(Time::from_ns(1000))),
            "a barrier by dissemination (radix=4) after 1 µs of computation"
        );
        assert_eq!(
            described("bcast:binomial", &[], Some(1000), Some(Time::from_ns(1_000_000))),
            "1,000 broadcasts of 8 B by a binomial tree, each after 1 ms of computation"
        );
        assert_eq!(described("exscan:linear", &[], None, None), "an exscan of 8 B by the linear algorithm");
        assert_eq!(
            described("alltoallv:pairwise", &[1024, 0], None, None),
            "an alltoallv of 1 KiB, 0 B in turn per pair of ranks by pairwise exchange"
        );
        assert_eq!(
            described("allgatherv:ring", &[1, 2, 3, 4, 5], None, None),
            "an allgatherv of 1 B, 2 B, 3 B, 4 B, … in turn per rank by a ring"
        );
    }
}
