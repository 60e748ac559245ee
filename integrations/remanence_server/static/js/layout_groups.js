// Where the nodes of a large map begin: each in a disc with those it belongs to, the discs beside each other. Forces
// from a random start need minutes to pull such groups apart; from here they only have to loosen them.

const SWEEPS = 8;
const MAX_SHARE = 1 / 14; // of all nodes, the most of one group: a graph that hangs together still becomes several
const SPACING = 11;
const GAP = 26;
const ROUNDS = 160;

/** Give every node a place. `edges` is [source, target, weight, …]. */
export function placeGroups(xs, ys, edges) {
  const links = neighbours(xs.length, edges);
  const groups = [...members(labels(links)).values()].sort((a, b) => b.length - a.length || a[0] - b[0]);
  const groupOf = new Int32Array(xs.length);
  groups.forEach((group, place) => group.forEach((node) => { groupOf[node] = place; }));
  const radii = groups.map((group) => SPACING * Math.sqrt(group.length) + GAP / 2);
  const middles = spread(radii, between(edges, groupOf));
  const golden = Math.PI * (3 - Math.sqrt(5));
  groups.forEach((group, place) => {
    // Nodes come by importance: the most important of a group is in its middle.
    group.forEach((node, number) => {
      const radius = SPACING * Math.sqrt(number);
      xs[node] = middles.xs[place] + radius * Math.cos(number * golden);
      ys[node] = middles.ys[place] + radius * Math.sin(number * golden);
    });
  });
}

function neighbours(count, edges) {
  const links = Array.from({ length: count }, () => []);
  for (let place = 0; place < edges.length; place += 3) {
    links[edges[place]].push([edges[place + 1], edges[place + 2]]);
    links[edges[place + 1]].push([edges[place], edges[place + 2]]);
  }
  return links;
}

/** The group of each node: again and again that of most of its neighbours, while there is room. */
function labels(links) {
  const found = Int32Array.from(links, (_, node) => node);
  const sizes = new Int32Array(links.length).fill(1);
  const most = Math.max(20, Math.floor(links.length * MAX_SHARE));
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    let changed = 0;
    for (let node = 0; node < links.length; node += 1) {
      const votes = new Map();
      for (const [other, weight] of links[node]) {
        // A hub says little about where its neighbours belong.
        votes.set(found[other], (votes.get(found[other]) ?? 0) + weight / Math.sqrt(links[other].length));
      }
      let best = found[node];
      let strongest = votes.get(best) ?? 0;
      for (const [label, votesFor] of votes) {
        if (votesFor > strongest && sizes[label] < most) [best, strongest] = [label, votesFor];
      }
      if (best !== found[node]) {
        sizes[found[node]] -= 1;
        sizes[best] += 1;
        found[node] = best;
        changed += 1;
      }
    }
    if (changed < links.length / 200) break;
  }
  return found;
}

function members(found) {
  const groups = new Map();
  found.forEach((label, node) => {
    if (groups.has(label)) groups.get(label).push(node);
    else groups.set(label, [node]);
  });
  return groups;
}

/** How strongly groups are connected: [one, other, weight]. */
function between(edges, groupOf) {
  const weights = new Map();
  for (let place = 0; place < edges.length; place += 3) {
    const [one, other] = [groupOf[edges[place]], groupOf[edges[place + 1]]];
    if (one === other) continue;
    const key = `${Math.min(one, other)} ${Math.max(one, other)}`;
    weights.set(key, (weights.get(key) ?? 0) + edges[place + 2]);
  }
  return [...weights].map(([key, weight]) => [...key.split(" ").map(Number), weight]);
}

/** Middles of discs: connected ones near each other, the largest near the middle, none on another. */
function spread(radii, connections) {
  const golden = Math.PI * (3 - Math.sqrt(5));
  const xs = new Float64Array(radii.length);
  const ys = new Float64Array(radii.length);
  let area = 0;
  radii.forEach((radius, place) => {
    const distance = Math.sqrt(area / Math.PI) * 1.15;
    xs[place] = distance * Math.cos(place * golden);
    ys[place] = distance * Math.sin(place * golden);
    area += 4 * radius * radius;
  });
  const strongest = Math.max(1, ...connections.map(([, , weight]) => weight));
  for (let round = 0; round < ROUNDS; round += 1) {
    const pull = 0.08 * (1 - round / ROUNDS);
    for (const [one, other, weight] of connections) {
      const share = pull * Math.sqrt(weight / strongest);
      const [ax, ay] = [xs[other] - xs[one], ys[other] - ys[one]];
      const total = radii[one] + radii[other];
      xs[one] += (ax * share * radii[other]) / total;
      ys[one] += (ay * share * radii[other]) / total;
      xs[other] -= (ax * share * radii[one]) / total;
      ys[other] -= (ay * share * radii[one]) / total;
    }
    for (let again = 0; again < (round === ROUNDS - 1 ? 40 : 2); again += 1) if (!pushApart(xs, ys, radii)) break;
  }
  return { xs, ys };
}

/** Move discs that overlap away from each other; whether there were any. Sorted by their left end, few are compared. */
function pushApart(xs, ys, radii) {
  const order = [...radii.keys()].sort((a, b) => xs[a] - radii[a] - (xs[b] - radii[b]));
  let moved = false;
  order.forEach((one, rank) => {
    for (let next = rank + 1; next < order.length; next += 1) {
      const other = order[next];
      if (xs[other] - radii[other] > xs[one] + radii[one]) break;
      const [ax, ay] = [xs[other] - xs[one], ys[other] - ys[one]];
      const distance = Math.hypot(ax, ay) || 0.01;
      const overlap = radii[one] + radii[other] - distance;
      if (overlap <= 0.5) continue;
      moved = true;
      const total = radii[one] + radii[other];
      const [mine, theirs] = [(overlap * radii[other]) / total, (overlap * radii[one]) / total];
      xs[one] -= (ax / distance) * mine;
      ys[one] -= (ay / distance) * mine;
      xs[other] += (ax / distance) * theirs;
      ys[other] += (ay / distance) * theirs;
    }
  });
  return moved;
}
