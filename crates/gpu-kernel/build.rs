//! Compiles the kernel's source as plain C++, and as a GPU takes it.

fn main() {
    let source = "../gpu/kernel/engine.cu";
    let warps = "src/warps.cpp";
    println!("cargo::rerun-if-changed=../gpu/kernel");
    println!("cargo::rerun-if-changed={warps}");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        // The suffix would make some compilers look for CUDA.
        .flag("-xc++")
        .opt_level(2)
        .file(source)
        .compile("straggler_kernel");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .flag("-pthread")
        // A GPU reads a state as four vectors.
        .flag("-fno-strict-aliasing")
        // Hints for loops are for nvcc.
        .flag_if_supported("-Wno-unknown-pragmas")
        .opt_level(2)
        .file(warps)
        .compile("straggler_warps");
}
