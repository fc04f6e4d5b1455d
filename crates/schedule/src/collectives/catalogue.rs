//! What the algorithms are and where they come from, one line each.

use super::algorithm::Parameter;
use super::{Name, Operation};

/// An algorithm of an operation.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Entry {
    #[serde(serialize_with = "as_text")]
    pub name: Name,
    /// The parameters as they are typed: `segment=BYTES`.
    pub parameters: Vec<String>,
    pub text: &'static str,
    pub source: &'static str,
}

fn as_text<S: serde::Serializer>(name: &Name, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name.text())
}

const THAKUR: &str = "Thakur, Rabenseifner and Gropp 2005";
const PJESIVAC: &str = "Pjesivac-Grbovic et al. 2007";
const SANDERS: &str = "Sanders, Speck and Träff 2009";
const HENSGEN: &str = "Hensgen, Finkel and Manber 1988";
const BRUCK: &str = "Bruck et al. 1997";
const PLAIN: &str = "as the MPI standard describes the operation";

impl Operation {
    /// The algorithms of the operation, with explanations.
    pub fn catalogue(self) -> Vec<Entry> {
        let entry = |&name: &Name| {
            let (text, source) = explanation(self, name);
            Entry { name, parameters: parameters(name), text, source }
        };
        self.algorithms().iter().map(entry).collect()
    }
}

fn parameters(name: Name) -> Vec<String> {
    let value = |parameter: &Parameter| match parameter {
        Parameter::Segment => "BYTES",
        Parameter::Radix => "K",
        Parameter::PerNode => "RANKS",
        Parameter::Node | Parameter::Network => "ALGORITHM",
    };
    name.parameters().iter().map(|parameter| format!("{}={}", parameter.text(), value(parameter))).collect()
}

fn explanation(operation: Operation, name: Name) -> (&'static str, &'static str) {
    match operation.uniform() {
        Operation::Allreduce => allreduce(name),
        Operation::Barrier => barrier(name),
        Operation::Scan | Operation::Exscan => scan(name),
        Operation::Reduce | Operation::Gather => towards_root(name),
        Operation::Allgather | Operation::Alltoall => exchange(operation, name),
        _ => general(name),
    }
}

fn allreduce(name: Name) -> (&'static str, &'static str) {
    match name {
        Name::Binary => ("up a binary tree and down again, each way segment by segment", PJESIVAC),
        Name::Chain => ("along a chain and back, each way segment by segment", PJESIVAC),
        Name::DoubleTree => ("up two binary trees, each for half the data, and down again", SANDERS),
        Name::KNomial => {
            ("up a tree whose ranks shrink to 1/K in a round, and down again", "generalises binomial")
        }
        other => general(other),
    }
}

fn barrier(name: Name) -> (&'static str, &'static str) {
    match name {
        Name::Binomial | Name::KNomial => {
            ("up a tree to rank 0, and down again", "Yew, Tzeng and Lawrie 1987")
        }
        Name::Linear => ("all report to rank 0, which releases them", PLAIN),
        other => general(other),
    }
}

fn scan(name: Name) -> (&'static str, &'static str) {
    match name {
        Name::Binomial => ("up a binomial tree and down again", "Blelloch 1990"),
        Name::Linear => ("each rank waits for the previous one", PLAIN),
        Name::RecursiveDoubling => {
            ("round k adds the ranks that differ in bit k, in rank order", "Hillis and Steele 1986")
        }
        other => general(other),
    }
}

fn towards_root(name: Name) -> (&'static str, &'static str) {
    match name {
        Name::Linear => ("all send to the root", PLAIN),
        Name::Binomial => ("up a tree whose ranks halve in each round", THAKUR),
        Name::KNomial => ("up a tree whose ranks shrink to 1/K in a round", "generalises binomial"),
        Name::Binary => ("up a binary tree, segment by segment", PJESIVAC),
        Name::Chain => ("from neighbour to neighbour to the root, segment by segment", PJESIVAC),
        Name::DoubleTree => ("two binary trees, each for half the data", SANDERS),
        Name::Rabenseifner => {
            ("recursive halving, then gather: each rank reduces a part", "Rabenseifner 2004")
        }
        other => general(other),
    }
}

fn exchange(operation: Operation, name: Name) -> (&'static str, &'static str) {
    let all_to_all = operation.uniform() == Operation::Alltoall;
    match name {
        Name::Bruck if all_to_all => ("log P rounds; blocks travel over other ranks", BRUCK),
        Name::Bruck => ("log P rounds; each sends all it has gathered", BRUCK),
        Name::Dissemination => ("the same as bruck", HENSGEN),
        Name::Linear => ("all send to all at once", PLAIN),
        Name::Ring => ("P - 1 rounds; blocks go from neighbour to neighbour", THAKUR),
        other => general(other),
    }
}

fn general(name: Name) -> (&'static str, &'static str) {
    match name {
        Name::Binary => ("down a binary tree, segment by segment", PJESIVAC),
        Name::Binomial => ("a tree whose ranks double in each round", THAKUR),
        Name::Bruck => ("log P rounds; data travels over other ranks", BRUCK),
        Name::Chain => ("from neighbour to neighbour, segment by segment", PJESIVAC),
        Name::Dissemination => ("round k: send to rank + K^k, receive from rank - K^k", HENSGEN),
        Name::DoubleTree => ("two binary trees, each for half the data", SANDERS),
        Name::KNomial => ("a tree whose ranks grow K-fold in each round", "generalises binomial"),
        Name::Linear => ("the root serves all ranks in turn", PLAIN),
        Name::Pairwise => ("P - 1 rounds of exchanges in pairs", THAKUR),
        Name::Rabenseifner => ("recursive halving, then recursive doubling back", "Rabenseifner 2004"),
        Name::RecursiveDoubling => ("round k: exchange with the rank that differs in bit k", THAKUR),
        Name::RecursiveHalving => ("exchange half of what is left with ever nearer ranks", THAKUR),
        Name::ReduceBcast => ("binomial reduce to rank 0, then binomial broadcast", THAKUR),
        Name::Ring => ("blocks go round from neighbour to neighbour", "Patarasuk and Yuan 2009"),
        Name::ScatterAllgather => {
            ("binomial scatter, then a ring gathers it everywhere", "Barnett et al. 1994")
        }
        Name::Tournament => {
            ("each pair of ranks exchanges once, as in a tournament", "Tabe, Hardwick and Stout 1995")
        }
        Name::TwoLevel => ("inside the nodes, and between their leaders", "Karonis et al. 2000"),
    }
}
