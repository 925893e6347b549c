// Labels that fit: widths of single characters are measured once, and a name is cut where the sum
// runs out. Kerning is ignored; the error is below a pixel for names.

export class Labels {
  private readonly widths = new Map<number, number>();
  // The same for the characters nearly all names are made of; 0 = not measured.
  private readonly plain = new Float32Array(128);
  private dots = 0;
  private font = "";
  constructor(private readonly context: CanvasRenderingContext2D) {}

  setFont(font: string): void {
    if (font !== this.font) {
      this.font = font;
      this.widths.clear();
      this.plain.fill(0);
      this.context.font = font;
      this.dots = this.context.measureText("…").width;
    }
    this.context.font = font;
  }

  private width(code: number): number {
    if (code < 128) return this.plain[code] || (this.plain[code] = this.context.measureText(String.fromCharCode(code)).width);
    let w = this.widths.get(code);
    if (w === undefined) {
      w = this.context.measureText(String.fromCodePoint(code)).width;
      this.widths.set(code, w);
    }
    return w;
  }

  // The text as far as it fits into `room`; "" when not even three characters do.
  fit(text: string, room: number): string {
    let used = 0;
    let cut = 0;
    for (let i = 0; i < text.length; ) {
      const code = text.codePointAt(i) as number;
      used += this.width(code);
      if (used > room) return cut >= 2 ? text.slice(0, cut) + "…" : "";
      i += code > 0xffff ? 2 : 1;
      if (used + this.dots <= room) cut = i;
    }
    return text;
  }
}
