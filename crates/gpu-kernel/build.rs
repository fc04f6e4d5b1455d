//! Compiles the kernel for the CPU twice: as plain C++, and its CUDA side with emulated warps.

fn main() {
    let source = "../gpu/kernel/engine.cu";
    let warps = "src/warps.cpp";
    println!("cargo::rerun-if-changed=../gpu/kernel");
    println!("cargo::rerun-if-changed={warps}");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        // The suffix .cu would make some compilers look for CUDA.
        .flag("-xc++")
        .opt_level(2)
        .file(source)
        .compile("straggler_kernel");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .flag("-pthread")
        // The CUDA side reads a state as four vectors.
        .flag("-fno-strict-aliasing")
        // Loop pragmas are for nvcc.
        .flag_if_supported("-Wno-unknown-pragmas")
        .opt_level(2)
        .file(warps)
        .compile("straggler_warps");
}
