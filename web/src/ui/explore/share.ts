// Taking the view along: files, pictures, text for the clipboard.
import { copyText } from "../../bench/clipboard";
import type { App } from "../../bench/app";
import { LIGHT, makeSkin, Picture, ROW } from "../../flame";
import { address } from "../api";
import { diffCommand, vestalCommand } from "../cli";
import type { Command } from "../commands";
import { sidesOf, type Side } from "../diff/sides";
import { say } from "../notice";
import { view } from "../router";
import { treeParams } from "../tree";

const GROUP = "Share";

const FORMATS: [string, string, string][] = [
  ["pprof", "pprof", "pb.gz"], ["folded", "folded stacks", "folded"], ["speedscope", "speedscope", "speedscope.json"],
  ["html", "one HTML file", "html"], ["svg", "SVG", "svg"], ["otlp", "OTLP", "otlp"],
];

function save(href: string, name: string): void {
  const link = document.createElement("a");
  link.href = href;
  link.download = name;
  link.click();
}

function fileName(extension: string): string {
  const service = view.peek().query.replace(/[^\w.-]+/g, "-").replace(/^-|-$/g, "").slice(0, 60);
  return `${service || "profile"}.${extension}`;
}

async function copy(text: string, what: string): Promise<void> {
  say((await copyText(text)) ? `Copied ${what}` : "The browser did not allow copying");
}

const WIDE = 1600;
const SHARP = 2;

// The whole picture, not only what is on the screen; light, because it goes into documents.
export function pngOf(app: App): Promise<Blob | null> {
  const tree = app.tree();
  const lay = app.layout();
  const canvas = document.createElement("canvas");
  const picture = new Picture(canvas);
  const pitch = ROW * SHARP;
  const height = Math.min(16000, lay.rows * pitch + SHARP);
  const skin = makeSkin(app.model, tree, lay, {
    palette: LIGHT, tints: app.tints.frames, matches: app.derived.matches(app.state), func: -1,
    diff: app.model.meta.diff ? { totals: app.derived.compareTotals(app.state), samples: app.derived.samples(app.state) } : null,
  });
  picture.resize(WIDE * SHARP, height);
  const slot = lay.slotOf[app.state.zoom];
  const up = app.state.up;
  const win = { x0: lay.x0[slot], x1: Math.max(lay.x1[slot], lay.x0[slot] + 1e-12), width: WIDE * SHARP, height, pitch, gap: SHARP, top: up ? height : 0, up };
  picture.draw({ tree, lay, skin, palette: LIGHT, labelOf: (n) => app.model.name(tree.frame[n]) }, win, SHARP, { selected: -1, hovered: -1, faintAbove: 0 });
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

async function savePng(app: App): Promise<void> {
  const blob = await pngOf(app);
  if (!blob) return say("The browser could not make the picture");
  const url = URL.createObjectURL(blob);
  save(url, fileName("png"));
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

const png = (app: App): Command => ({ id: "share/png", group: GROUP, title: "Download the picture as PNG", run: () => void savePng(app) });

function command(make: () => string): Command {
  return { id: "share/command", group: GROUP, title: "Open in a terminal: copy the vestal command", keys: ["V"], run: () => void copy(make(), "the command") };
}

// `type`: the id of the type that is shown, "" when the model is not the server's.
export function shareCommands(app: App, type: string, typeWord: string): Command[] {
  if (type === "") return [png(app)];
  if (app.model.meta.diff) return diffCommands(app, type);
  const file = (format: string): string => address("export", [...treeParams({ ...view.peek(), type }), ["format", format]]);
  return [
    command(() => vestalCommand(view.peek(), typeWord, location.origin)),
    ...FORMATS.map(([format, word, extension]) => ({ id: `share/${format}`, group: GROUP, title: `Download as ${word}`, run: () => save(file(format), fileName(extension)) })),
    png(app),
  ];
}

// A diff is two files and a command that compares them.
function diffCommands(app: App, type: string): Command[] {
  const sides = (): { before: Side; after: Side } => sidesOf(view.peek(), Date.now());
  const download = (word: "before" | "after"): Command => ({
    id: `share/${word}`, group: GROUP, title: `Download ${word} as pprof`,
    run: () => save(address("export", [...treeParams({ ...view.peek(), ...sides()[word], type }), ["format", "pprof"]]), fileName(`${word}.pb.gz`)),
  });
  const compare = (): string => {
    const { before, after } = sides();
    return diffCommand(view.peek(), before, after, type, location.origin);
  };
  return [command(compare), download("before"), download("after"), png(app)];
}
