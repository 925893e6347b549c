// What must hold for any report, whatever profile is inside.
import assert from "node:assert/strict";
import { basename } from "node:path";
import { canvasBox, colours, hash, open, press, settle } from "./browser.mjs";
import { test } from "./tap.mjs";

export async function genericTests(browser, file) {
  const name = basename(file);
  for (const scheme of ["dark", "light"])
    await test(`${name}: opens ${scheme}, silent, with boxes`, async () => {
      const { page, done } = await open(browser, file, { scheme });
      assert.equal(await page.locator(".alone").count(), 0, "no error sentence");
      assert.ok((await page.title()).length > 0, "has a title");
      assert.ok((await colours(page)) > 2, "more than one colour on the canvas");
      assert.match(await page.locator("#foot").innerText(), /in the file: [\d,]+/);
      await done();
    });

  await test(`${name}: click, keys, views and search work`, async () => {
    const { page, done } = await open(browser, file);
    const box = await canvasBox(page);
    await page.mouse.click(box.x + 20, box.y + 8 + 21 + 8);
    await settle(page);
    const selected = await page.locator("#detail h2").innerText();
    assert.ok(selected.length > 0);
    await press(page, "Escape", "ArrowDown", "ArrowDown", "ArrowRight", "Enter", "0", "i", "i", "f", "f", "o", "]", "[");
    await page.locator("#functions tbody tr:not([aria-hidden])").first().click();
    await press(page, "s");
    assert.match(await hash(page), /view=sandwich/);
    await press(page, "Escape");
    const row = await page.locator("#functions tbody tr:not([aria-hidden]) th").first().innerText();
    await press(page, "/");
    await page.keyboard.type(row.slice(0, 40));
    await settle(page);
    assert.match(await page.locator(".match").innerText(), / %/);
    await done();
  });

  await test(`${name}: fits 320 pixels`, async () => {
    const { page, done } = await open(browser, file, { width: 320, height: 640 });
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 320);
    await done();
  });
}
