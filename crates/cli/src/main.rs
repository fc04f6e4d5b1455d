//! The program `straggler`; all of it is in the library, which `straggler-mpi` uses too.

fn main() -> std::process::ExitCode {
    straggler::main()
}
