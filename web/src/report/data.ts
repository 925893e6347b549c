// The data block of the page: base64 of gzip of VFT. Every way this can fail is one sentence.

export class DataError extends Error {}

export function dataText(): string | null {
  const block = document.getElementById("vestal-data");
  return block ? (block.textContent ?? "").trim() : null;
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  let binary: string;
  try {
    binary = atob(text);
  } catch {
    throw new DataError("The data of this page was damaged on the way (not base64). Get the file again, or write it again with “vestal flame”.");
  }
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

export async function inflate(text: string): Promise<ArrayBuffer> {
  const bytes = fromBase64(text);
  if (typeof DecompressionStream === "undefined")
    throw new DataError("This browser cannot unpack the data (it has no DecompressionStream). Open the file with Chrome 80, Firefox 113, Safari 16.4 or newer.");
  try {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return await new Response(stream).arrayBuffer();
  } catch {
    throw new DataError("The data of this page is damaged or cut off (not gzip). Get the file again, or write it again with “vestal flame”.");
  }
}
