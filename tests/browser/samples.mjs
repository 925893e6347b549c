// Profiles the tests draw: a small one whose pixels are known, a diff, deep and large ones.

const shop = (name, file, line) => ({ name, module: "shop", file, line });
const json = (name, line) => ({ name, module: "libjson.so", file: "json.cc", line });
const libc = (name) => ({ name, module: "libc.so.6" });
const kernel = (name) => ({ name, module: "[kernel]", kind: "kernel" });

const main = shop("main", "main.cc", 12);
const serve = shop("http::serve", "serve.cc", 88);
const handle = shop("http::handle_request", "serve.cc", 140);

/** cpu in ns, samples in counts: 1 sample = 10 ms. */
const stacks = [
  [[main, serve, handle, shop("cart::load", "cart.cc", 31), json("JSON::parse", 90), json("JSON::parse_object", 214)], 30],
  [[main, serve, handle, shop("cart::load", "cart.cc", 31), json("JSON::parse", 90), json("JSON::parse_object", 214), json("JSON::parse_string", 300), libc("memcpy")], 20],
  [[main, serve, handle, shop("pricing::apply", "price.cc", 7), json("JSON::parse", 90)], 10],
  [[main, serve, handle, shop("pricing::apply", "price.cc", 7), libc("malloc")], 15],
  [[main, serve, kernel("tcp_sendmsg")], 15],
  [[main, shop("idle", "main.cc", 60), kernel("epoll_wait")], 8],
  [[main], 2],
];

export const TYPES = [{ name: "cpu", unit: "nanoseconds" }, { name: "samples", unit: "count" }];

export const small = stacks.map(([stack, n]) => ({ stack, values: [n * 1e7, n] }));
export const smallOptions = {
  types: TYPES,
  meta: { title: "shop.pb.gz", subtitle: "web-1 · 30 s", time_ns: "1731686400000000000", duration_ns: "30000000000", notes: ["12 stacks were cut"], nodes_pruned: 3, pruned_share: 0.0002 },
};

// Before: parse is light; after: it has tripled, one function came, one went.
const side = (stack, a, b) => ({ stack, values: [a * 1e7, b * 1e7, a, b] });
export const diff = [
  side([main, serve, handle, shop("cart::load", "cart.cc", 31), json("JSON::parse", 90)], 1000, 3000),
  side([main, serve, handle, shop("pricing::apply", "price.cc", 7), libc("malloc")], 1500, 1500),
  side([main, serve, handle, shop("cache::get", "cache.cc", 7)], 1200, 0),
  side([main, serve, handle, shop("rules::reload", "rules.cc", 7), libc("malloc")], 0, 900),
  side([main, serve, kernel("tcp_sendmsg")], 2000, 2010),
  side([main, shop("idle", "main.cc", 60)], 1300, 590),
];
export const diffOptions = {
  types: TYPES,
  diff: true,
  meta: { title: "diff", subtitle: "web-1", names: ["before.pb.gz", "after.pb.gz"], scale: [1, 7000 / 8000, 1, 7000 / 8000] },
};

export function deep(rows) {
  const stack = Array.from({ length: rows }, (_, i) => shop(`recurse_${i % 50}`, "deep.cc", i));
  return [{ stack, values: [1e9] }, { stack: stack.slice(0, rows >> 1), values: [1e9] }];
}

/** A random tree of about `boxes` boxes, the same on every run. */
export function large(boxes, adversarial = false) {
  let seed = 7;
  const random = () => (seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff) / 0x7fffffff;
  const names = Array.from({ length: 2000 }, (_, i) => ({ name: `ns${i % 37}::function_${i}`, module: `lib${i % 11}.so`, file: "f.cc", line: i }));
  const samples = [];
  if (adversarial) {
    // Rows full of equal boxes.
    const rows = 50;
    const wide = Math.ceil(boxes / rows);
    for (let i = 0; i < wide; i++) samples.push({ stack: Array.from({ length: rows }, (_, d) => names[(i + d * 7) % 2000]).map((f, d) => ({ ...f, line: d === 0 ? i : f.line, name: d === 0 ? `t${i}` : f.name })), values: [1] });
    return samples;
  }
  // A callee depends on its caller: mostly the first of a few, rarely any of them.
  let made = 0;
  const known = new Set();
  while (made < boxes) {
    const depth = 4 + Math.floor(random() * random() * 60);
    const stack = [];
    let f = Math.floor(random() ** 3 * 12);
    let path = 0;
    for (let d = 0; d < depth; d++) {
      stack.push(names[f]);
      path = (Math.imul(path, 31) + f + 1) | 0;
      if (!known.has(path)) {
        known.add(path);
        made++;
      }
      f = (f * 7 + 1 + Math.floor(random() ** 4 * 9)) % 2000;
    }
    samples.push({ stack, values: [1 + Math.floor(random() * 1000)] });
  }
  return samples;
}
