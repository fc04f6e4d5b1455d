//! The program `straggler`; all of it is in the library.

fn main() -> std::process::ExitCode {
    straggler::main()
}
