// Force layout of the map, in a worker: repulsion by a quadtree, attraction along edges, a pull to the middle.
// Nodes come with where they were before, so that a map of another day keeps its shape. What is not at rest when
// `milliseconds` have passed stays where it is.

const THETA = 1.1;
const REPULSION = 3;
const ATTRACTION = 1.6;
const GRAVITY = 0.6;
const FEW = 40; // parts that are not connected are nearer to each other on a map with fewer nodes
const GRAVITY_OF_FEW = 1.2;
const TOLERANCE = 1;
const LOOSENESS = 0.55;
const MIN_SIZE = 1e-3;
const SHOW_EVERY = 300;
const SHARE = 0.72; // the least distance of two nodes, in that of nodes spread evenly over the map
const FLATNESS = 0.6;
const ROUNDS = 60;

onmessage = ({ data }) => {
  const { id, xs, ys, weights, edges, steps, milliseconds } = data;
  const began = performance.now();
  let shown = began;
  const forces = { dx: new Float64Array(xs.length), dy: new Float64Array(xs.length) };
  let before = { dx: new Float64Array(xs.length), dy: new Float64Array(xs.length) };
  let speed = 1;
  for (let step = 0; step < steps; step += 1) {
    forces.dx.fill(0);
    forces.dy.fill(0);
    repel(xs, ys, weights, forces.dx, forces.dy);
    attract(xs, ys, weights, edges, forces.dx, forces.dy);
    speed = move(xs, ys, weights, forces, before, speed);
    before = { dx: forces.dx.slice(), dy: forces.dy.slice() };
    const now = performance.now();
    if (now - began > milliseconds) break;
    if (now - shown > SHOW_EVERY && step < steps - 1) {
      postMessage({ id, xs, ys, done: false });
      shown = now;
    }
  }
  spread(xs, ys);
  postMessage({ id, xs, ys, done: true });
};

/** Move nodes apart that are nearer than their share of the map, so that dense groups are readable. Labels are wide, so
 * nodes side by side are kept further apart than nodes above each other. */
function spread(xs, ys) {
  const extent = (values) => values.reduce((high, value) => Math.max(high, value), -Infinity) - values.reduce((low, value) => Math.min(low, value), Infinity);
  const distance = SHARE * Math.sqrt((FLATNESS * extent(xs) * extent(ys)) / xs.length);
  for (let round = 0, near = true; near && round < ROUNDS; round += 1) {
    near = false;
    for (let i = 0; i < xs.length; i += 1) {
      for (let j = i + 1; j < xs.length; j += 1) {
        const ax = (xs[j] - xs[i]) * FLATNESS || Math.cos(i + j) * MIN_SIZE;
        const ay = ys[j] - ys[i] || Math.sin(i + j) * MIN_SIZE;
        const apart = Math.hypot(ax, ay);
        if (apart >= distance) continue;
        near = true;
        const push = (distance - apart) / (4 * apart);
        xs[i] -= (ax * push) / FLATNESS;
        xs[j] += (ax * push) / FLATNESS;
        ys[i] -= ay * push;
        ys[j] += ay * push;
      }
    }
  }
}

function repel(xs, ys, weights, dx, dy) {
  const tree = build(xs, ys, weights);
  const stack = [];
  for (let i = 0; i < xs.length; i += 1) {
    stack.length = 0;
    stack.push(tree);
    while (stack.length) {
      const cell = stack.pop();
      const ax = xs[i] - cell.x;
      const ay = ys[i] - cell.y;
      const squared = ax * ax + ay * ay + 0.01;
      if (cell.children && cell.size * cell.size > THETA * THETA * squared) {
        for (const child of cell.children) if (child) stack.push(child);
      } else if (cell.node !== i) {
        const force = (REPULSION * weights[i] * cell.weight) / squared;
        dx[i] += ax * force;
        dy[i] += ay * force;
      }
    }
  }
}

function build(xs, ys, weights) {
  let low = Infinity;
  let high = -Infinity;
  for (let i = 0; i < xs.length; i += 1) {
    low = Math.min(low, xs[i], ys[i]);
    high = Math.max(high, xs[i], ys[i]);
  }
  const root = cell(low, low, high - low + 1);
  for (let i = 0; i < xs.length; i += 1) insert(root, i, xs, ys, weights);
  return root;
}

const cell = (left, top, size) => ({ left, top, size, x: 0, y: 0, weight: 0, node: -1, children: null });

function insert(root, i, xs, ys, weights) {
  let at = root;
  for (;;) {
    const total = at.weight + weights[i];
    const wasEmpty = at.weight === 0;
    at.x = (at.x * at.weight + xs[i] * weights[i]) / total;
    at.y = (at.y * at.weight + ys[i] * weights[i]) / total;
    at.weight = total;
    if (wasEmpty) {
      at.node = i;
      return;
    }
    if (at.size < MIN_SIZE) return;
    if (!at.children) {
      at.children = [null, null, null, null];
      const other = at.node;
      at.node = -1;
      const below = child(at, xs[other], ys[other]);
      Object.assign(below, { x: xs[other], y: ys[other], weight: weights[other], node: other });
    }
    at = child(at, xs[i], ys[i]);
  }
}

function child(at, x, y) {
  const half = at.size / 2;
  const right = x >= at.left + half ? 1 : 0;
  const bottom = y >= at.top + half ? 1 : 0;
  const place = right + 2 * bottom;
  at.children[place] ??= cell(at.left + right * half, at.top + bottom * half, half);
  return at.children[place];
}

function attract(xs, ys, weights, edges, dx, dy) {
  for (let place = 0; place < edges.length; place += 3) {
    const a = edges[place];
    const b = edges[place + 1];
    const ax = xs[b] - xs[a];
    const ay = ys[b] - ys[a];
    const distance = Math.hypot(ax, ay) + 0.01;
    const pull = (ATTRACTION * Math.log1p(distance) * Math.sqrt(edges[place + 2])) / (distance * (weights[a] * weights[b]) ** LOOSENESS);
    dx[a] += ax * pull;
    dy[a] += ay * pull;
    dx[b] -= ax * pull;
    dy[b] -= ay * pull;
  }
  const gravity = xs.length < FEW ? GRAVITY_OF_FEW : GRAVITY;
  for (let i = 0; i < xs.length; i += 1) {
    const distance = Math.hypot(xs[i], ys[i]) + 0.01;
    const pull = (gravity * weights[i]) / distance;
    dx[i] -= xs[i] * pull;
    dy[i] -= ys[i] * pull;
  }
}

/** Move the nodes: fast while forces agree with those of the step before, slowly where they swing. */
function move(xs, ys, weights, { dx, dy }, before, speed) {
  let swings = 0;
  let tractions = 0;
  for (let i = 0; i < xs.length; i += 1) {
    swings += weights[i] * Math.hypot(dx[i] - before.dx[i], dy[i] - before.dy[i]);
    tractions += (weights[i] * Math.hypot(dx[i] + before.dx[i], dy[i] + before.dy[i])) / 2;
  }
  const next = Math.min((TOLERANCE * tractions) / Math.max(swings, 1e-9), speed * 1.5);
  for (let i = 0; i < xs.length; i += 1) {
    const swing = weights[i] * Math.hypot(dx[i] - before.dx[i], dy[i] - before.dy[i]);
    const factor = next / (1 + next * Math.sqrt(swing));
    xs[i] += dx[i] * factor;
    ys[i] += dy[i] * factor;
  }
  return next;
}
