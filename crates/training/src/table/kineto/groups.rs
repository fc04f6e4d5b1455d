//! The process groups of a job, as Megatron creates and describes them.

use crate::{Kind, Row};
use std::collections::BTreeMap;

/// The places of ranks in the job.
#[derive(Debug)]
pub struct Layout {
    /// Keyed by data-parallel rank and stage.
    ranks: BTreeMap<(u32, u32), u32>,
    dp: u32,
    pp: u32,
    world: u32,
}

/// The process group in which communications of a kind run on a rank.
#[derive(Clone)]
pub struct Group {
    /// In PyTorch the name is a number.
    pub name: u32,
    pub stream: u32,
    pub kernel: &'static str,
    pub is_message: bool,
    /// The description as arguments of an event.
    pub described: String,
}

/// The form of communications of a kind: the rank's group, stream, collective, kernel, data type, and numbers of input and output
/// elements.
struct Form {
    group: usize,
    stream: u32,
    collective: &'static str,
    kernel: &'static str,
    dtype: &'static str,
    elements: (u64, u64),
    /// The stage at the other end of a message.
    peer: Option<u32>,
}

const SEND_RECV: &str = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";
const ALL_GATHER: &str = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
const REDUCE_SCATTER: &str = "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
const ALL_REDUCE: &str = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
/// Assumed elements of a microbatch between stages, and of the parameters of a stage. The table does not contain them.
const ACTIVATIONS: u64 = 1 << 24;
const PARAMETERS: u64 = 1 << 29;

impl Layout {
    pub fn new(rows: &[Row]) -> Layout {
        let ranks = rows.iter().map(|row| ((row.dp_rank, row.stage), row.rank)).collect();
        let most = |number: &dyn Fn(&Row) -> u32| rows.iter().map(number).max().map_or(1, |most| most + 1);
        let (dp, pp, world) = (most(&|row| row.dp_rank), most(&|row| row.stage), most(&|row| row.rank));
        Layout { ranks, dp, pp, world }
    }

    fn place(&self, rank: u32) -> (u32, u32) {
        self.ranks.iter().find(|(_, of)| **of == rank).map_or((0, 0), |(place, _)| *place)
    }

    /// The groups of a rank: name, description, ranks. All ranks create all groups in the same order.
    fn groups(&self, rank: u32) -> Vec<(u32, &'static str, Vec<u32>)> {
        let (dp_rank, stage) = self.place(rank);
        let at = |dp_rank: u32, stage: u32| self.ranks.get(&(dp_rank, stage)).copied();
        let data = (0..self.dp).filter_map(|dp_rank| at(dp_rank, stage)).collect();
        let pipeline: Vec<u32> = (0..self.pp).filter_map(|stage| at(dp_rank, stage)).collect();
        let mut ends: Vec<u32> =
            [0, self.pp - 1].into_iter().filter_map(|stage| at(dp_rank, stage)).collect();
        ends.dedup();
        let mut groups = vec![
            (0, "default_pg", (0..self.world).collect()),
            (1 + stage, "DATA_PARALLEL_GROUP", data),
            (1 + self.pp + dp_rank, "PIPELINE_MODEL_PARALLEL_GROUP", pipeline),
            (1 + self.pp + 2 * self.dp + rank, "TENSOR_MODEL_PARALLEL_GROUP", vec![rank]),
        ];
        if ends.contains(&rank) {
            groups.push((1 + self.pp + self.dp + dp_rank, "EMBEDDING_GROUP", ends));
        }
        groups
    }

    /// `distributedInfo` of a rank.
    pub fn described(&self, rank: u32) -> String {
        let groups = self.groups(rank);
        let described = |(name, description, ranks): &(u32, &str, Vec<u32>)| {
            format!(
                "{{\"pg_name\": \"{name}\", \"pg_desc\": \"{description}\", \"backend_config\": \"cuda:nccl\", \
                 \"pg_size\": {}, \"ranks\": {ranks:?}}}",
                ranks.len()
            )
        };
        format!(
            "{{\"backend\": \"nccl\", \"rank\": {rank}, \"world_size\": {}, \"pg_count\": {}, \"pg_config\": [{}], \
             \"nccl_version\": \"2.21.5\"}}",
            self.world,
            groups.len(),
            groups.iter().map(described).collect::<Vec<String>>().join(", ")
        )
    }

    /// The process group of an operation. `None` for computing.
    pub fn group(&self, row: &Row) -> Option<Group> {
        let form = self.form(row)?;
        let (name, description, ranks) = self.groups(row.rank).into_iter().nth(form.group)?;
        let peer = form.peer.and_then(|stage| self.ranks.get(&(row.dp_rank, stage)).copied());
        let peer = peer.map_or(String::new(), |rank| {
            let place = ranks.iter().position(|member| *member == rank).unwrap_or(0);
            let key = if form.collective == "send" { "Dst Rank" } else { "Src Rank" };
            format!(", \"Rank\": {place}, \"{key}\": {rank}")
        });
        let described = format!(
            "\"Collective name\": \"{}\", \"In msg nelems\": {}, \"Out msg nelems\": {}, \"Group size\": {}, \
             \"dtype\": \"{}\", \"In split size\": \"[]\", \"Out split size\": \"[]\", \"Process Group Name\": \"{name}\", \
             \"Process Group Description\": \"{description}\", \"Process Group Ranks\": \"{}\"{peer}",
            form.collective,
            form.elements.0,
            form.elements.1,
            ranks.len(),
            form.dtype,
            shortened(&ranks)
        );
        let is_message = form.peer.is_some();
        Some(Group { name, stream: form.stream, kernel: form.kernel, is_message, described })
    }

    fn form(&self, row: &Row) -> Option<Form> {
        let (next, before) = ((row.stage + 1) % self.pp, (row.stage + self.pp - 1) % self.pp);
        let share = PARAMETERS / u64::from(self.dp);
        let message = |collective, peer, stream| Form {
            group: 2,
            stream,
            collective,
            kernel: SEND_RECV,
            dtype: "BFloat16",
            elements: (ACTIVATIONS, ACTIVATIONS),
            peer: Some(peer),
        };
        let reduced = |group, stream, elements| Form {
            group,
            stream,
            collective: "allreduce",
            kernel: ALL_REDUCE,
            dtype: "Float",
            elements: (elements, elements),
            peer: None,
        };
        let of_data =
            |collective, kernel, elements| Form { collective, kernel, elements, ..reduced(1, 36, 0) };
        Some(match row.kind {
            Kind::ForwardSend => message("send", next, 20),
            Kind::ForwardRecv => message("recv", before, 24),
            Kind::BackwardSend => message("send", before, 28),
            Kind::BackwardRecv => message("recv", next, 32),
            Kind::ParamsAllGather => of_data("_allgather_base", ALL_GATHER, (share, PARAMETERS)),
            Kind::GradsReduceScatter => of_data("_reduce_scatter_base", REDUCE_SCATTER, (PARAMETERS, share)),
            Kind::SeparateGradsAllReduce => reduced(1, 36, PARAMETERS / 100),
            Kind::LayernormGradsAllReduce => reduced(3, 40, 1 << 16),
            Kind::EmbeddingGradsAllReduce => reduced(4, 44, PARAMETERS / 10),
            Kind::OptimizerClipMainGrad => reduced(0, 48, 1),
            _ => return None,
        })
    }
}

/// Formats ranks as PyTorch does, which leaves out the middle of long lists.
fn shortened(ranks: &[u32]) -> String {
    const SHOWN: usize = 30;
    match ranks {
        [first @ .., last] if ranks.len() > SHOWN => {
            let first: Vec<String> = first[..SHOWN - 1].iter().map(u32::to_string).collect();
            format!("[{}, ..., {last}]", first.join(", "))
        }
        _ => format!("{ranks:?}"),
    }
}
