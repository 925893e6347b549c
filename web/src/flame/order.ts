// Sorting a million small integers: stable counting sorts, no comparisons.

// `items` in ascending order of key[item]; keys are below `keys`.
function sortBy(items: Uint32Array, key: Uint32Array, keys: number): Uint32Array {
  const start = new Uint32Array(keys + 1);
  for (let i = 0; i < items.length; i++) start[key[items[i]] + 1]++;
  for (let k = 0; k < keys; k++) start[k + 1] += start[k];
  const sorted = new Uint32Array(items.length);
  for (let i = 0; i < items.length; i++) {
    const item = items[i];
    sorted[start[key[item]]++] = item;
  }
  return sorted;
}

// `items` from the heaviest to the lightest; equal ones keep their order.
export function heaviestFirst(items: Uint32Array, weight: Float64Array): Uint32Array {
  // The bits of a positive float sort like the float; inverted, they sort it downwards.
  const bits = new Uint32Array(Float32Array.from(weight).buffer);
  const key = new Uint32Array(weight.length);
  for (let i = 0; i < key.length; i++) key[i] = ~bits[i] & 0xffff;
  const low = sortBy(items, key, 0x10000);
  for (let i = 0; i < key.length; i++) key[i] = (~bits[i] >>> 16) & 0xffff;
  return sortBy(low, key, 0x10000);
}
