// Builds dist/flame.html: script and style inside, a policy that allows nothing else.
import { createHash } from "node:crypto";
import { defineConfig, type Plugin } from "vite";

const MARKERS = ["<!--VESTAL-DATA-->", "<!--VESTAL-TITLE-->"];

function oneFile(): Plugin {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_options, bundle) {
      let script = "";
      let style = "";
      for (const [name, part] of Object.entries(bundle)) {
        if (part.type === "chunk") script += part.code;
        else if (name.endsWith(".css")) style += String(part.source);
        else continue;
        delete bundle[name];
      }
      const page = bundle["flame.html"];
      if (!page || page.type !== "asset") throw new Error("flame.html was not built");
      script = script.trim().replace(/<\/script/g, "<\\/script").replace(/<!--/g, "<\\!--");
      // The one script is allowed by its digest: a script that came in with the data would not run.
      const digest = createHash("sha256").update(script).digest("base64");
      const policy = `default-src 'none'; script-src 'sha256-${digest}'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'`;
      const html = String(page.source)
        .replace(/\s*<script type="module"[^>]*><\/script>/, "")
        .replace(/\s*<link rel="stylesheet"[^>]*>/, "")
        .replace('<meta charset="utf-8">', () => `<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="${policy}">`)
        .replace("</head>", () => `<style>${style.trim()}</style>\n</head>`)
        .replace("</body>", () => `<script>${script}</script>\n</body>`);
      for (const marker of MARKERS) if (html.split(marker).length !== 2) throw new Error(`${marker} must stand once in the page`);
      page.source = html;
    },
  };
}

export default defineConfig({
  plugins: [oneFile()],
  build: {
    target: "es2021",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    rollupOptions: { input: "flame.html", output: { format: "iife" } },
  },
});
