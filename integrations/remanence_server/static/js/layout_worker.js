// Force layout of the map, in a worker: repulsion by a quadtree, attraction along edges, a pull to the middle.
// Nodes come with where they were before, so that a map of another day keeps its shape.

const THETA = 0.9;
const MIN_SIZE = 1e-3;

onmessage = ({ data }) => {
  const { id, xs, ys, weights, edges, steps } = data;
  const count = xs.length;
  const dx = new Float64Array(count);
  const dy = new Float64Array(count);
  let speed = 1;
  for (let step = 0; step < steps; step += 1) {
    dx.fill(0);
    dy.fill(0);
    repel(xs, ys, weights, dx, dy);
    attract(xs, ys, weights, edges, dx, dy);
    move(xs, ys, weights, dx, dy, speed);
    speed = Math.max(0.03, speed * (1 - 2.6 / steps));
    if (step % 12 === 11 && step < steps - 1) postMessage({ id, xs, ys, done: false });
  }
  postMessage({ id, xs, ys, done: true });
};

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
        const force = (60 * weights[i] * cell.weight) / squared;
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
    const pull = (Math.log1p(distance) * 1.6 * Math.sqrt(edges[place + 2])) / distance;
    dx[a] += ax * pull;
    dy[a] += ay * pull;
    dx[b] -= ax * pull;
    dy[b] -= ay * pull;
  }
  for (let i = 0; i < xs.length; i += 1) {
    const distance = Math.hypot(xs[i], ys[i]) + 0.01;
    const pull = 0.014 * weights[i] * Math.sqrt(distance) / distance * 6;
    dx[i] -= xs[i] * pull;
    dy[i] -= ys[i] * pull;
  }
}

function move(xs, ys, weights, dx, dy, speed) {
  const most = 40 * speed;
  for (let i = 0; i < xs.length; i += 1) {
    const force = Math.hypot(dx[i], dy[i]);
    const length = Math.min(most, (force * speed) / Math.sqrt(weights[i]));
    if (force > 0) {
      xs[i] += (dx[i] / force) * length;
      ys[i] += (dy[i] / force) * length;
    }
  }
}
