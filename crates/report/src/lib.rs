//! Tables of results for other programs.
