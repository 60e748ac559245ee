// Where the nodes of a neighbourhood are: in rings around its middle. The server says where those of the map are.

const RING = 190;

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
