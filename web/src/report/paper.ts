// On paper: light, the whole graph as large as the page, nothing else.
import { LIGHT, makeSkin, Picture, ROW, units } from "../flame";
import type { App } from "../bench/app";
import { byId, h } from "../bench/dom";
import type { Stage } from "../bench/stage";

const WIDTH = 1400;
const HEIGHT = 900;
const SHARP = 2;

export function listenPrint(app: App, stage: Stage): void {
  const sheet = byId("paper");
  addEventListener("beforeprint", () => {
    const scenes = stage.scenes();
    const rows = scenes.reduce((sum, s) => sum + s.lay.rows, 0);
    // Rows shrink until all of them fit, down to two pixels; a label needs about ten.
    const pitch = Math.max(2, Math.min(ROW, Math.floor(HEIGHT / Math.max(1, rows)))) * SHARP;
    const [first] = app.derived.columns(app.state).totals;
    const words = [document.title, app.model.meta.subtitle, units.amount(first, app.model.meta.types[app.state.type])];
    sheet.replaceChildren(h("p", { text: words.filter(Boolean).join(" · ") }));
    scenes.forEach((scene, i) => {
      const canvas = h("canvas", null);
      const picture = new Picture(canvas);
      const height = Math.min(16000, scene.lay.rows * pitch + SHARP);
      const up = app.state.view === "sandwich" ? i === 0 : app.state.up;
      const palette = { ...LIGHT, background: [255, 255, 255] as [number, number, number] };
      const skin = makeSkin(app.model, scene.tree, scene.lay, {
        palette, tints: app.tints.frames, matches: app.derived.matches(app.state), func: -1,
        diff: app.model.meta.diff ? { totals: app.derived.compareTotals(app.state), samples: app.derived.samples(app.state) } : null,
      });
      picture.resize(WIDTH * SHARP, height);
      const zoomed = scene.tree === app.tree() ? app.state.zoom : 0;
      const slot = scene.lay.slotOf[zoomed];
      const win = { x0: scene.lay.x0[slot], x1: Math.max(scene.lay.x1[slot], scene.lay.x0[slot] + 1e-12), width: WIDTH * SHARP, height, pitch, gap: pitch > 6 ? SHARP : 1, top: up ? height : 0, up };
      picture.draw({ ...scene, skin, palette }, win, SHARP, { selected: -1, hovered: -1, faintAbove: 0 });
      sheet.append(canvas);
    });
  });
  addEventListener("afterprint", () => sheet.replaceChildren());
}
