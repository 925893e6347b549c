// Builds dist/ui: the page the server embeds. Scripts and styles are files of their own with a digest in
// the name, since the server's policy allows nothing inline. `npm run dev` asks a server that runs:
// VESTAL_SERVER, else http://127.0.0.1:4040.
import { defineConfig } from "vite";

const target = process.env.VESTAL_SERVER ?? "http://127.0.0.1:4040";
const proxy = Object.fromEntries(["/api/", "/-/", "/ready", "/metrics"].map((path) => [path, { target }]));

// The policy the server sends (src/server/web_files.c), so that what it forbids is noticed here, too.
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export default defineConfig({
  root: "src/ui",
  base: "/",
  server: { host: "127.0.0.1", proxy },
  preview: { host: "127.0.0.1", proxy, headers: { "Content-Security-Policy": policy } },
  worker: { format: "es" },
  build: {
    outDir: "../../dist/ui",
    emptyOutDir: true,
    target: "es2021",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    cssCodeSplit: false,
  },
});
