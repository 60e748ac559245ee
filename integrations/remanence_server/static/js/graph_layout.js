// Where the nodes are: a large map as the server says, a smaller one by forces, in a worker; a neighbourhood in rings
// around its middle.

const places = new Map(); // of each entity, where it was on the last map
const RING = 190;
const MILLISECONDS = 1500; // that forces may take, whatever the machine
const WORKER = new URL("./layout_worker.js", import.meta.url).href;
// The content security policy lets no other script become a worker.
const policy = globalThis.trustedTypes?.createPolicy("layout", { createScriptURL: (url) => (url === WORKER ? url : "") });
let worker = null;
let turn = 0;

/** Lay out a map; `given` is where its nodes are, if the server knows. `moved(done)` is called as the nodes move; they
 * carry x and y. */
export function layoutMap(nodes, edges, given, moved) {
  stopLayout();
  if (given.length === nodes.length) {
    nodes.forEach((node, place) => {
      [node.x, node.y] = given[place];
    });
    moved(true);
    return;
  }
  worker = new Worker(policy ? policy.createScriptURL(WORKER) : WORKER, { type: "module" });
  const golden = Math.PI * (3 - Math.sqrt(5));
  let known = 0;
  nodes.forEach((node, place) => {
    const before = places.get(node.id);
    known += before ? 1 : 0;
    const radius = 11 * Math.sqrt(place + 0.5);
    [node.x, node.y] = before ?? [radius * Math.cos(place * golden), radius * Math.sin(place * golden)];
  });
  const degrees = new Float64Array(nodes.length);
  for (const { source, target } of edges) {
    degrees[source] += 1;
    degrees[target] += 1;
  }
  worker.onmessage = ({ data }) => {
    if (data.id !== turn) return;
    nodes.forEach((node, place) => {
      node.x = data.xs[place];
      node.y = data.ys[place];
      places.set(node.id, [node.x, node.y]);
    });
    moved(data.done);
  };
  const steps = known > nodes.length * 0.9 ? 60 : 400;
  worker.postMessage({
    id: turn, steps, milliseconds: MILLISECONDS, weights: degrees.map((degree) => 1 + degree ** 0.7), xs: Float64Array.from(nodes, (node) => node.x), ys: Float64Array.from(nodes, (node) => node.y),
    edges: Float64Array.from(edges.flatMap(({ source, target, weight }) => [source, target, weight])),
  });
}

export function stopLayout() {
  worker?.terminate();
  worker = null;
  turn += 1;
}

/** Rings around the first node: its neighbours by the name of their edge, then those beyond, near whom they belong to. */
export function layoutRings(nodes, edges) {
  const neighbours = new Map(nodes.map((node) => [node.place, []]));
  for (const edge of edges) {
    neighbours.get(edge.source).push([edge.target, edge.name]);
    neighbours.get(edge.target).push([edge.source, edge.name]);
  }
  nodes[0].x = 0;
  nodes[0].y = 0;
  let parents = [{ node: nodes[0], from: 0, to: 2 * Math.PI }];
  const seen = new Set([0]);
  for (let depth = 1; parents.length; depth += 1) {
    const next = [];
    for (const { node, from, to } of parents) {
      const around = neighbours.get(node.place).filter(([other]) => !seen.has(other) && seen.add(other)).sort((a, b) => a[1].localeCompare(b[1]));
      around.forEach(([other], place) => {
        const share = (to - from) / around.length;
        const angle = from + share * (place + 0.5);
        const crowded = Math.max(1, (around.length * 46) / ((to - from) * RING * depth));
        const radius = RING * depth * Math.min(crowded, 3.2) + (around.length > 10 && place % 2 ? RING * 0.42 : 0);
        nodes[other].x = radius * 1.35 * Math.cos(angle);
        nodes[other].y = radius * Math.sin(angle);
        next.push({ node: nodes[other], from: from + share * place, to: from + share * (place + 1) });
      });
    }
    parents = next;
  }
}
