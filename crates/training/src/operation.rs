//! The kinds of operations of a training job.

/// The kind of an operation, with the names of the published tables. In order of name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    BackwardCompute,
    BackwardRecv,
    BackwardSend,
    /// Waiting for the next batch. Not in the published tables.
    DataLoad,
    EmbeddingGradsAllReduce,
    ForwardCompute,
    ForwardRecv,
    ForwardSend,
    Gc,
    GradsReduceScatter,
    LayernormGradsAllReduce,
    Optimizer,
    OptimizerClipMainGrad,
    ParamsAllGather,
    SeparateGradsAllReduce,
}

impl Kind {
    pub const ALL: [Kind; 15] = [
        Kind::BackwardCompute,
        Kind::BackwardRecv,
        Kind::BackwardSend,
        Kind::DataLoad,
        Kind::EmbeddingGradsAllReduce,
        Kind::ForwardCompute,
        Kind::ForwardRecv,
        Kind::ForwardSend,
        Kind::Gc,
        Kind::GradsReduceScatter,
        Kind::LayernormGradsAllReduce,
        Kind::Optimizer,
        Kind::OptimizerClipMainGrad,
        Kind::ParamsAllGather,
        Kind::SeparateGradsAllReduce,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Kind::BackwardCompute => "backward-compute",
            Kind::BackwardRecv => "backward-recv",
            Kind::BackwardSend => "backward-send",
            Kind::DataLoad => "dataload",
            Kind::EmbeddingGradsAllReduce => "embedding-grads-all-reduce",
            Kind::ForwardCompute => "forward-compute",
            Kind::ForwardRecv => "forward-recv",
            Kind::ForwardSend => "forward-send",
            Kind::Gc => "gc",
            Kind::GradsReduceScatter => "grads-reduce-scatter",
            Kind::LayernormGradsAllReduce => "layernorm-grads-all-reduce",
            Kind::Optimizer => "optimizer",
            Kind::OptimizerClipMainGrad => "optimizer-clip-main-grad",
            Kind::ParamsAllGather => "params-all-gather",
            Kind::SeparateGradsAllReduce => "separate-grads-all-reduce",
        }
    }

    pub fn of_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    pub fn is_compute(self) -> bool {
        matches!(self, Kind::ForwardCompute | Kind::BackwardCompute)
    }

    /// The class that results are reported for. Sends and receives of a direction are one class.
    pub fn class(self) -> &'static str {
        match self {
            Kind::ForwardSend | Kind::ForwardRecv => "forward-pp-comm",
            Kind::BackwardSend | Kind::BackwardRecv => "backward-pp-comm",
            other => other.name(),
        }
    }

    pub fn is_send_or_recv(self) -> bool {
        matches!(self, Kind::ForwardSend | Kind::ForwardRecv | Kind::BackwardSend | Kind::BackwardRecv)
    }

    /// Whether all data-parallel ranks of a stage do it together.
    pub fn is_of_stage(self) -> bool {
        matches!(self, Kind::ParamsAllGather | Kind::GradsReduceScatter | Kind::SeparateGradsAllReduce)
    }

    /// Whether its ideal duration is the mean of all, not the median.
    pub fn pools_by_mean(self) -> bool {
        self.is_compute() || matches!(self, Kind::Optimizer | Kind::Gc)
    }
}

/// The operations of one direction. Its messages go from a chunk of the model to the chunk at distance `to`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Direction {
    pub compute: Kind,
    pub send: Kind,
    pub recv: Kind,
    pub to: i32,
}

impl Direction {
    pub const FORWARD: Direction =
        Direction { compute: Kind::ForwardCompute, send: Kind::ForwardSend, recv: Kind::ForwardRecv, to: 1 };
    pub const BACKWARD: Direction = Direction {
        compute: Kind::BackwardCompute,
        send: Kind::BackwardSend,
        recv: Kind::BackwardRecv,
        to: -1,
    };
    pub const BOTH: [Direction; 2] = [Direction::FORWARD, Direction::BACKWARD];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_found() {
        assert!(Kind::ALL.windows(2).all(|pair| pair[0] < pair[1] && pair[0].name() < pair[1].name()));
        assert!(Kind::ALL.iter().all(|kind| Kind::of_name(kind.name()) == Some(*kind)));
        assert_eq!(Kind::of_name("data-load"), None);
    }
}
