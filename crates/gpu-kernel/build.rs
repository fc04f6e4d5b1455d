//! Compiles the kernel's source as plain C++.

fn main() {
    let source = "../gpu/kernel/engine.cu";
    println!("cargo::rerun-if-changed={source}");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        // The suffix would make some compilers look for CUDA.
        .flag("-xc++")
        .opt_level(2)
        .file(source)
        .compile("straggler_kernel");
}
