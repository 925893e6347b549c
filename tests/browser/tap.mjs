// Test Anything Protocol, the little of it we need.
let count = 0;
let failed = 0;

export class Skip extends Error {}

// Part of the names of those to run; all when nothing is said.
const only = process.env.ONLY ?? "";

export async function test(name, body) {
  if (!name.includes(only)) return;
  count++;
  try {
    const note = await body();
    console.log(`ok ${count} - ${name}`);
    if (note) console.log(`# ${note}`);
  } catch (e) {
    if (e instanceof Skip) return console.log(`ok ${count} - ${name} # SKIP ${e.message}`);
    failed++;
    console.log(`not ok ${count} - ${name}`);
    for (const line of String(e?.stack ?? e).split("\n").slice(0, 8)) console.log(`# ${line}`);
  }
}

export function finish() {
  console.log(`1..${count}`);
  console.log(`# pass ${count - failed}, fail ${failed}`);
  return failed === 0 ? 0 : 1;
}
