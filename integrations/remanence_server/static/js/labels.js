// Which labels are drawn: in the order given, each where no other is, as on a map.

const CELL = 40;
const MOST = 420;

/** The labels that fit, below their node, or with `everywhere` above or beside it, best where they cover no node. `always` ones are drawn even over others.
 * `covered` are boxes in which none is drawn. */
export function placeLabels(order, { width, height, screen, context, text, font, below, always, everywhere, covered = [] }) {
  const taken = new Map();
  const nodes = new Map();
  if (everywhere) screen.forEach(([x, y], place) => {
    const radius = Math.max(2, below(place) - 3);
    keep(nodes, { left: x - radius, right: x + radius, top: y - radius, bottom: y + radius, place });
  });
  for (const box of covered) keep(taken, box);
  const out = [];
  for (const place of order) {
    if (out.length >= MOST) break;
    const [x, y] = screen[place];
    if (x < 0 || y < 0 || x > width || y > height) continue;
    const label = text(place);
    const style = font(place);
    context.font = style;
    const half = context.measureText(label).width / 2 + 5;
    const size = Number(/([\d.]+)px/.exec(style)[1]);
    const gap = below(place);
    const inside = Math.min(Math.max(x, half), Math.max(half, width - half)); // a label at an edge is not cut off
    const beside = [[x + half + gap, y - size / 2], [x - half - gap, y - size / 2]].filter(([middle]) => middle >= half && middle <= width - half);
    const spots = [[inside, y + gap], [inside, y - gap - size - 3], ...beside].slice(0, everywhere ? 4 : 1);
    const free = spots.filter(([middle, top]) => !overlaps(taken, boxAt(middle, top, half, size)));
    const open = free.find(([middle, top]) => !overlaps(nodes, boxAt(middle, top, half - 5, size), place));
    const spot = open ?? free[0] ?? (always(place) ? spots[0] : null);
    if (!spot) continue;
    keep(taken, boxAt(...spot, half, size));
    out.push({ place, text: label, x: spot[0], y: spot[1], font: style });
  }
  return out;
}

const boxAt = (x, y, half, size) => ({ left: x - half, right: x + half, top: y - 1, bottom: y + size + 4 });

function* cells({ left, right, top, bottom }) {
  for (let column = Math.floor(left / CELL); column <= Math.floor(right / CELL); column += 1) {
    for (let row = Math.floor(top / CELL); row <= Math.floor(bottom / CELL); row += 1) yield `${column},${row}`;
  }
}

function overlaps(taken, box, own) {
  for (const key of cells(box)) {
    for (const other of taken.get(key) ?? []) {
      if (other.place !== undefined && other.place === own) continue;
      if (box.left < other.right && box.right > other.left && box.top < other.bottom && box.bottom > other.top) return true;
    }
  }
  return false;
}

function keep(taken, box) {
  for (const key of cells(box)) taken.set(key, [...(taken.get(key) ?? []), box]);
}
