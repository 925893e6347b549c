// Writes the pages of samples.mjs to a folder, to look at: node make.mjs OUT [big]
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import * as samples from "./samples.mjs";
import { fillTemplate, writeVft } from "./vft-writer.mjs";

const out = process.argv[2] ?? "/tmp/vestal-pages";
mkdirSync(out, { recursive: true });
const template = readFileSync(new URL("../../web/dist/flame.html", import.meta.url), "utf8");
const page = (name, vft) => {
  writeFileSync(`${out}/${name}.html`, fillTemplate(template, vft, name));
  const [nodes] = new Uint32Array(vft.buffer, Math.ceil((8 + new DataView(vft.buffer).getUint32(4, true)) / 8) * 8, 1);
  console.log(`${out}/${name}.html ${nodes} boxes`);
};
page("small", writeVft(samples.small, samples.smallOptions));
page("diff", writeVft(samples.diff, samples.diffOptions));
page("deep", writeVft(samples.deep(2000)));
page("100k", writeVft(samples.large(100_000)));
if (process.argv[3] === "big") {
  page("1m", writeVft(samples.large(1_000_000)));
  page("1m-full-rows", writeVft(samples.large(1_000_000, true)));
}
