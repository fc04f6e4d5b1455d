import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

// A single self-contained HTML file; names have no hashes, so that a rebuild gives the same bytes.
export default defineConfig({
  plugins: [viteSingleFile({ removeViteModuleLoader: true })],
  build: {
    target: "es2022",
    outDir: "dist",
    modulePreload: false,
    reportCompressedSize: false,
    rollupOptions: { input: "report.html" },
  },
  test: { include: ["tests/**/*.unit.ts"] },
} as Parameters<typeof defineConfig>[0]);
