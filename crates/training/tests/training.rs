//! Jobs whose causes are known, tables and profiles of every kind, and the published analysis.

mod changes;
mod clocks;
mod exact;
mod extremes;
mod host_bound;
mod import;
mod import_real;
mod in_turn;
mod interleaved;
mod kineto;
mod links;
mod missing;
mod odd_rank;
mod public_jobs;
mod published;
mod published_graph;
mod stalls;
mod tables;
mod together;
mod traced;
mod whatif;
