//! The statements of one rank: operations and dependencies.

use straggler_model::{Rank, Tag};

use super::cursor::{Cursor, Label};
use super::labels::Labels;
use super::scan::Block;
use crate::goal::error::{Parsed, TextProblem};
use crate::goal::rounding::LONGEST_NS;
use crate::graph::ANY;
use crate::validate::cycle::find_cycle;
use crate::{GraphBuilder, Operation, OperationKind, RankBuilder};

/// Limits for a single rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub operations: u32,
    pub dependencies: u32,
}

/// Reads blocks into a graph, reusing its memory from rank to rank.
#[derive(Debug)]
pub(super) struct BlockReader<'a> {
    cursor: Cursor<'a>,
    bytes: &'a [u8],
    ranks: u32,
    limits: Limits,
    labels: Labels<'a>,
    rank: RankBuilder,
    /// Dependencies on labels that had not been defined yet.
    later: Vec<Dependency>,
    /// Whether every dependency so far goes from an earlier to a later operation, so that there can
    /// be no cycle.
    forward: bool,
}

#[derive(Clone, Copy, Debug)]
struct Dependency {
    dependent: Label,
    before: Label,
    on_start: bool,
}

/// The kind of operation that a word begins, if it is not a label.
fn kind_of(word: &[u8]) -> Option<OperationKind> {
    match word {
        b"calc" => Some(OperationKind::Calc),
        b"send" => Some(OperationKind::Send),
        b"recv" => Some(OperationKind::Recv),
        _ => None,
    }
}

impl<'a> BlockReader<'a> {
    pub fn new(bytes: &'a [u8], ranks: u32, limits: Limits) -> BlockReader<'a> {
        BlockReader {
            cursor: Cursor::new(bytes, 0, None),
            bytes,
            ranks,
            limits,
            labels: Labels::default(),
            rank: RankBuilder::default(),
            later: Vec::new(),
            forward: true,
        }
    }

    /// Appends the rank of a block to a graph.
    pub fn read(&mut self, block: Block, graph: &mut GraphBuilder) -> Parsed<()> {
        self.cursor = Cursor::new(&self.bytes[..block.end], block.start, Some(block.rank));
        self.labels.clear();
        self.rank.clear();
        self.later.clear();
        self.forward = true;
        self.cursor.skip_separators()?;
        while !self.cursor.at_end() {
            self.statement()?;
            self.cursor.skip_separators()?;
        }
        self.resolve_later()?;
        graph.push_rank(&self.rank);
        if !self.forward {
            self.refuse_cycle(block, graph)?;
        }
        Ok(())
    }

    fn statement(&mut self) -> Parsed<()> {
        let Some(first) = self.cursor.label() else {
            return self.cursor.unexpected("an operation, a label or `}`");
        };
        self.cursor.skip_blank()?;
        if self.cursor.peek() == b':' {
            self.cursor.at += 1;
            self.labelled(first)?;
        } else {
            self.unlabelled(first)?;
        }
        self.cursor.skip_blank()?;
        match self.cursor.peek() {
            b'\n' | b';' => Ok(()),
            _ if self.cursor.at_end() => Ok(()),
            _ => self.cursor.unexpected("the end of the line"),
        }
    }

    fn labelled(&mut self, label: Label) -> Parsed<()> {
        let name = self.cursor.slice(label.start, label.end);
        if !self.labels.define(label, name, self.rank.len() as u32) {
            let label_text = String::from_utf8_lossy(name).into_owned();
            return self.cursor.fault(label.start, TextProblem::RepeatedLabel { label: label_text });
        }
        self.cursor.skip_space()?;
        let start = self.cursor.at;
        match kind_of(self.cursor.word()) {
            Some(kind) => self.operation(kind, label.start),
            None => self.cursor.unexpected_at(start, "`calc`, `send` or `recv`"),
        }
    }

    /// An operation without a label, or a dependency.
    fn unlabelled(&mut self, first: Label) -> Parsed<()> {
        let on_start = if self.cursor.take(b"requires") {
            false
        } else if self.cursor.take(b"irequires") {
            true
        } else {
            return match kind_of(self.cursor.slice(first.start, first.end)) {
                Some(kind) => self.operation(kind, first.start),
                None => self.cursor.unexpected("`:`, `requires` or `irequires` after a label"),
            };
        };
        self.cursor.skip_blank()?;
        match self.cursor.label() {
            Some(before) => self.dependency(Dependency { dependent: first, before, on_start }),
            None => self.cursor.unexpected("the label of an operation"),
        }
    }

    fn operation(&mut self, kind: OperationKind, start: usize) -> Parsed<()> {
        if self.rank.len() >= self.limits.operations as usize {
            return self
                .cursor
                .fault(start, TextProblem::TooManyOperations { limit: self.limits.operations });
        }
        self.cursor.skip_blank()?;
        let mut operation = match kind {
            OperationKind::Calc => self.calc()?,
            OperationKind::Send | OperationKind::Recv => self.message(kind)?,
        };
        self.options(&mut operation)?;
        self.rank.push(operation);
        Ok(())
    }

    fn calc(&mut self) -> Parsed<Operation> {
        let ns = self.cursor.number("a length in nanoseconds", LONGEST_NS)?;
        Ok(Operation { kind: OperationKind::Calc, amount: ns * 1_000, peer: 0, tag: 0, cpu: 0, nic: 0 })
    }

    fn message(&mut self, kind: OperationKind) -> Parsed<Operation> {
        let amount = self.cursor.number("a size in bytes", u64::MAX)?;
        if !self.cursor.take(b"b") {
            return self.cursor.unexpected("`b` after the number of bytes");
        }
        self.cursor.skip_blank()?;
        let sends = kind == OperationKind::Send;
        if sends && !self.cursor.take(b"to") {
            return self.cursor.unexpected("`to`");
        }
        if !sends && !self.cursor.take(b"from") {
            return self.cursor.unexpected("`from`");
        }
        self.cursor.skip_blank()?;
        let peer = self.peer(sends)?;
        Ok(Operation { kind, amount, peer, tag: 0, cpu: 0, nic: 0 })
    }

    fn peer(&mut self, sends: bool) -> Parsed<Rank> {
        let start = self.cursor.at;
        let peer = self.number_or_wildcard("a rank", u64::MAX)?;
        if peer < u64::from(self.ranks) {
            Ok(peer as Rank)
        } else if peer != u64::from(ANY) {
            self.cursor.fault(start, TextProblem::PeerOutOfRange { peer, ranks: self.ranks })
        } else if sends {
            self.cursor.fault(start, TextProblem::WildcardSend { what: "destination" })
        } else {
            Ok(ANY)
        }
    }

    #[inline(always)]
    fn number_or_wildcard(&mut self, what: &'static str, limit: u64) -> Parsed<u64> {
        if self.cursor.peek() != b'-' {
            return self.cursor.number(what, limit);
        }
        let start = self.cursor.at;
        self.cursor.at += 1;
        match self.cursor.number(what, limit) {
            Ok(1) => Ok(u64::from(ANY)),
            _ => self.cursor.unexpected_at(start, what),
        }
    }

    /// `tag`, `cpu` and `nic`, each at most once.
    #[inline(always)]
    fn options(&mut self, operation: &mut Operation) -> Parsed<()> {
        let mut given = [false; 3];
        loop {
            self.cursor.skip_blank()?;
            let start = self.cursor.at;
            let option = match self.cursor.peek() {
                b't' if operation.kind != OperationKind::Calc && self.cursor.take(b"tag") => 0,
                b'c' if self.cursor.take(b"cpu") => 1,
                b'n' if self.cursor.take(b"nic") => 2,
                _ => return Ok(()),
            };
            if std::mem::replace(&mut given[option], true) {
                let problem = TextProblem::RepeatedOption { option: ["tag", "cpu", "nic"][option] };
                return self.cursor.fault(start, problem);
            }
            self.cursor.skip_blank()?;
            match option {
                0 => operation.tag = self.tag(operation.kind == OperationKind::Send)?,
                1 => operation.cpu = self.cursor.number("a CPU number", u64::from(u8::MAX))? as u8,
                _ => operation.nic = self.cursor.number("a NIC number", u64::from(u8::MAX))? as u8,
            }
        }
    }

    fn tag(&mut self, sends: bool) -> Parsed<Tag> {
        let start = self.cursor.at;
        let tag = self.number_or_wildcard("a tag", u64::from(u32::MAX))? as Tag;
        if sends && tag == ANY {
            return self.cursor.fault(start, TextProblem::WildcardSend { what: "tag" });
        }
        Ok(tag)
    }

    #[inline(always)]
    fn dependency(&mut self, dependency: Dependency) -> Parsed<()> {
        let dependent = self.find(dependency.dependent);
        let before = self.find(dependency.before);
        match (dependent, before) {
            (Some(dependent), Some(before)) => self.add(dependency, dependent, before),
            _ => {
                self.later.push(dependency);
                Ok(())
            }
        }
    }

    #[inline(always)]
    fn find(&self, label: Label) -> Option<u32> {
        self.labels.get(label, self.cursor.slice(label.start, label.end))
    }

    #[inline(always)]
    fn add(&mut self, dependency: Dependency, dependent: u32, before: u32) -> Parsed<()> {
        if dependent <= before {
            self.forward = false;
            if dependent == before {
                let label = self.text(dependency.dependent);
                return self.cursor.fault(dependency.dependent.start, TextProblem::SelfDependency { label });
            }
        }
        if self.rank.dependencies() >= self.limits.dependencies as usize {
            let problem = TextProblem::TooManyDependencies { limit: self.limits.dependencies };
            return self.cursor.fault(dependency.dependent.start, problem);
        }
        if dependency.on_start {
            self.rank.irequires(dependent, before);
        } else {
            self.rank.requires(dependent, before);
        }
        Ok(())
    }

    fn resolve_later(&mut self) -> Parsed<()> {
        for dependency in std::mem::take(&mut self.later) {
            let dependent = self.known(dependency.dependent)?;
            let before = self.known(dependency.before)?;
            self.add(dependency, dependent, before)?;
        }
        Ok(())
    }

    fn known(&self, label: Label) -> Parsed<u32> {
        match self.find(label) {
            Some(operation) => Ok(operation),
            None => {
                let text = self.text(label);
                let nearest = self.labels.nearest(&text);
                self.cursor.fault(label.start, TextProblem::UnknownLabel { label: text, nearest })
            }
        }
    }

    fn text(&self, label: Label) -> String {
        String::from_utf8_lossy(self.cursor.slice(label.start, label.end)).into_owned()
    }

    fn refuse_cycle(&self, block: Block, graph: &GraphBuilder) -> Parsed<()> {
        match find_cycle(&graph.last_rank()) {
            None => Ok(()),
            Some(cycle) => {
                let operations = self.labels.names_of(&cycle);
                self.cursor.fault(block.header, TextProblem::Cycle { operations })
            }
        }
    }
}
