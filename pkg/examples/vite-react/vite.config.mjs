// The settings of Vite. The package needs none of its own: Vite finds its wasm modules and copies them.

import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({ plugins: [react()] });
