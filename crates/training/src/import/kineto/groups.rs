//! The purpose of process groups, and a rank's position in them.

use super::events::Communication;
use serde_json::Value;

/// The purpose of a group, according to its description. `DATA_PARALLEL_GROUP` and the like come from Megatron, `mesh_dp` from
/// PyTorch. `default_pg` is the group of all ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    Data,
    Pipeline,
    Tensor,
    Embedding,
    /// All ranks, or those that hold one copy of the model.
    All,
    Other,
}

pub fn purpose(description: &str) -> Purpose {
    let text = description.to_lowercase();
    let has =
        |names: &[&str]| text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| names.contains(&word));
    let data = has(&["dp", "ddp", "fsdp", "data"]);
    let pipeline = has(&["pp", "pipeline"]);
    let tensor = has(&["tp", "tensor"]);
    // Groups over several dimensions, such as TENSOR_AND_DATA_PARALLEL_GROUP, are none of these.
    if has(&["ep", "expert", "moe", "partial"]) || u8::from(data) + u8::from(pipeline) + u8::from(tensor) > 1
    {
        return Purpose::Other;
    }
    match () {
        () if has(&["position"]) => Purpose::Other,
        () if has(&["embedding", "embd"]) => Purpose::Embedding,
        () if data => Purpose::Data,
        () if pipeline => Purpose::Pipeline,
        () if tensor => Purpose::Tensor,
        () if has(&["default", "world", "model"]) => Purpose::All,
        () => Purpose::Other,
    }
}

/// No job has more ranks than this.
const MOST_RANKS: u32 = 1 << 20;

#[derive(Clone, PartialEq, Eq, Debug)]
struct Group {
    name: String,
    purpose: Purpose,
    /// Whether the program gave a description.
    described: bool,
    ranks: Vec<u32>,
}

/// The groups that a rank is in.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    groups: Vec<Group>,
    rank: Option<u32>,
}

impl Groups {
    /// Reads the groups from `pg_config` of a trace.
    pub fn new(config: &Value, rank: Option<u32>) -> Groups {
        let (Some(of), Some(list)) = (rank, config.as_array()) else {
            return Groups { groups: Vec::new(), rank };
        };
        let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
        let group = |value: &Value| {
            let ranks: Option<Vec<u32>> = value["ranks"].as_array()?.iter().map(number).collect();
            let text = value["pg_desc"].as_str().unwrap_or_default();
            let name = value["pg_name"].as_str().unwrap_or_default().to_string();
            let described = !matches!(text, "" | "undefined");
            let ranks = ranks.filter(|ranks| ranks.contains(&of))?;
            Some(Group { name, purpose: purpose(text), described, ranks })
        };
        Groups { groups: list.iter().filter_map(group).collect(), rank }
    }

    /// Adds the groups of communications, for traces without a list of groups.
    pub fn add_used<'a>(&mut self, communications: impl Iterator<Item = &'a Communication>) {
        for known in communications {
            let group = self.used_by(known);
            self.groups.extend(group);
        }
    }

    /// The group of a communication, unless it is listed or its members are unknown.
    fn used_by(&self, known: &Communication) -> Option<Group> {
        let (name, rank) = (known.group.as_deref()?, self.rank?);
        if self.groups.iter().any(|group| group.name == name) {
            return None;
        }
        // Long lists are abbreviated, and then not JSON.
        let ranks: Vec<u32> = serde_json::from_str(known.ranks.as_deref()?).ok()?;
        let text = known.description.as_deref().unwrap_or_default();
        let described = !matches!(text, "" | "undefined");
        let group = Group { name: name.into(), purpose: purpose(text), described, ranks };
        group.ranks.contains(&rank).then_some(group)
    }

    /// The members of the largest group with a purpose. With context parallelism there are two data-parallel groups.
    pub fn members(&self, purpose: Purpose) -> Option<&[u32]> {
        let fitting = self.groups.iter().filter(|group| group.purpose == purpose);
        let largest =
            fitting.reduce(|best, group| if group.ranks.len() > best.ranks.len() { group } else { best });
        largest.map(|group| &group.ranks[..])
    }

    /// Whether every group has either all ranks or only this one, as in plain data parallelism. Then groups do not tell ranks
    /// apart.
    pub fn all_alike(&self, world: Option<u32>) -> bool {
        let is_of = |world: &u32| self.rank.is_some_and(|rank| rank < *world) && *world <= MOST_RANKS;
        let Some(world) = world.filter(is_of) else { return false };
        self.groups.iter().all(|group| group.ranks.len() == 1 || group.ranks.len() == world as usize)
    }

    /// This rank's position among the members.
    pub fn place(&self, purpose: Purpose) -> Option<u32> {
        place_in(self.members(purpose)?, self.rank?)
    }

    /// The purpose of a communication's group.
    pub fn purpose_of(&self, known: &Communication) -> Purpose {
        let listed =
            known.group.as_deref().and_then(|name| self.groups.iter().find(|group| group.name == name));
        match (listed, &known.description) {
            (Some(group), _) if group.purpose != Purpose::Other => group.purpose,
            (_, Some(text)) => purpose(text),
            _ => Purpose::Other,
        }
    }

    /// Infers the purpose of groups without a description from their use. The group with messages is the pipeline. The group that
    /// gathers parameters or reduces gradients, and shares only this rank with the pipeline, is data parallel. True if any
    /// purpose was inferred.
    pub fn infer<'a>(&mut self, communications: impl Iterator<Item = &'a Communication> + Clone) -> bool {
        let mut found = false;
        for (purpose, names) in [
            (Purpose::Pipeline, &["send", "recv"][..]),
            (Purpose::Data, &["reduce_scatter", "all_gather"][..]),
        ] {
            if self.members(purpose).is_some() {
                continue;
            }
            let pipeline = self.members(Purpose::Pipeline).unwrap_or_default().to_vec();
            let uses = |group: &Group| {
                let mut own = communications
                    .clone()
                    .filter(|known| known.group.as_deref() == Some(group.name.as_str()));
                own.any(|known| names.contains(&known.collective()))
            };
            let apart =
                |group: &Group| group.ranks.iter().filter(|rank| pipeline.contains(rank)).count() <= 1;
            let mut fitting: Vec<&mut Group> = (self.groups.iter_mut())
                .filter(|group| !group.described && uses(group) && apart(group))
                .collect();
            if let [group] = &mut fitting[..] {
                group.purpose = purpose;
                found = true;
            }
        }
        found
    }
}

pub fn place_in(members: &[u32], rank: u32) -> Option<u32> {
    members.iter().position(|member| *member == rank).and_then(|place| u32::try_from(place).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn descriptions_name_a_purpose() {
        let cases = [
            ("DATA_PARALLEL_GROUP", Purpose::Data),
            ("DATA_PARALLEL_GROUP_WITH_CP", Purpose::Data),
            ("mesh_dp", Purpose::Data),
            ("PIPELINE_MODEL_PARALLEL_GROUP", Purpose::Pipeline),
            ("mesh_pp", Purpose::Pipeline),
            ("TENSOR_MODEL_PARALLEL_GROUP", Purpose::Tensor),
            ("EMBEDDING_GROUP", Purpose::Embedding),
            ("POSITION_EMBEDDING_GROUP", Purpose::Other),
            ("MODEL_PARALLEL_GROUP", Purpose::All),
            ("default_pg", Purpose::All),
            ("TENSOR_AND_DATA_PARALLEL_GROUP", Purpose::Other),
            ("EXPERT_DATA_PARALLEL_GROUP", Purpose::Other),
            ("undefined", Purpose::Other),
        ];
        cases.into_iter().for_each(|(text, wanted)| assert_eq!(purpose(text), wanted, "{text}"));
    }

    #[test]
    fn groups_without_description_are_known_by_their_use() {
        let config = json!([
            {"pg_name": "0", "pg_desc": "default_pg", "ranks": [0, 1, 2, 3]},
            {"pg_name": "4", "pg_desc": "undefined", "ranks": [1, 3]},
            {"pg_name": "2", "pg_desc": "undefined", "ranks": [2, 3]},
            {"pg_name": "9", "pg_desc": "undefined", "ranks": [3]},
        ]);
        let mut groups = Groups::new(&config, Some(3));
        assert_eq!((groups.place(Purpose::Pipeline), groups.place(Purpose::Data)), (None, None));
        let on = |group: &str, name: &str| Communication {
            group: Some(group.into()),
            name: Some(name.into()),
            ..Communication::default()
        };
        let used = [on("4", "recv"), on("2", "_reduce_scatter_base"), on("0", "allreduce")];
        assert!(groups.infer(used.iter()));
        assert_eq!(groups.members(Purpose::Pipeline), Some(&[1, 3][..]));
        assert_eq!(groups.members(Purpose::Data), Some(&[2, 3][..]));
        // Without a list, the communications tell their groups.
        let listed = |group: &str, ranks: &str, name: &str| Communication {
            ranks: Some(ranks.into()),
            description: Some("mesh_pp".into()),
            ..on(group, name)
        };
        let mut groups = Groups::new(&json!(null), Some(3));
        let used =
            [listed("4", "[1, 3]", "recv"), listed("4", "[1, 3]", "send"), listed("2", "[2, ...]", "recv")];
        groups.add_used(used.iter());
        assert_eq!((groups.groups.len(), groups.place(Purpose::Pipeline)), (1, Some(1)));
        // If two groups fit, neither is chosen.
        let mut groups = Groups::new(&config, Some(3));
        let used = [on("4", "_reduce_scatter_base"), on("2", "_reduce_scatter_base")];
        assert!(!groups.infer(used.iter()));
    }
}
