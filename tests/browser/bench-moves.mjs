// What is done in every page that is measured, the same way.

/** Zooms in and out at a point, then pans, with a wheel event per frame; milliseconds between frames. */
export const moveAround = (page, selector) =>
  page.evaluate(async (painted) => {
    const canvas = document.querySelector(painted);
    const box = canvas.getBoundingClientRect();
    const list = [];
    let last = 0;
    const turn = async (init) => {
      canvas.dispatchEvent(new WheelEvent("wheel", { clientX: box.x + box.width * 0.4, clientY: box.y + 40, bubbles: true, cancelable: true, ...init }));
      const now = await new Promise((r) => requestAnimationFrame(r));
      if (last) list.push(now - last);
      last = now;
    };
    for (let i = 0; i < 80; i++) await turn({ deltaY: i < 50 ? -22 : 22, ctrlKey: true });
    for (let i = 0; i < 60; i++) await turn({ deltaX: i < 30 ? 40 : -40 });
    // One dropped frame at the start is allowed.
    return list.slice(1);
  }, selector);

/** Types into the search; milliseconds from each key until the picture is drawn. */
export const typeKeys = (page, selector, keys) =>
  page.evaluate(async ([input, texts]) => {
    const list = [];
    for (const text of texts) {
      await new Promise((r) => setTimeout(r, 60));
      const field = document.querySelector(input);
      const start = performance.now();
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(field, text);
      field.dispatchEvent(new Event("input", { bubbles: true }));
      await new Promise((r) => requestAnimationFrame(r));
      list.push(performance.now() - start);
    }
    return list;
  }, [selector, keys]);
